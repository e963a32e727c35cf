"""Damage to the bytes of a file, and to its encoding."""

from __future__ import annotations

from typing import Final

import numpy as np

from tests.damaged_logs.samples import SAMPLES, Sample

ALL: Final = None
#: The damaged file, and the records that may have changed; None: all.
Damaged = tuple[bytes, "frozenset[int] | None"]


def cut(sample: Sample, rng: np.random.Generator) -> Damaged:
    raw, (start, _) = _range(sample, rng)
    return raw[:start], touched(sample, start, len(raw))


def overwritten(sample: Sample, rng: np.random.Generator) -> Damaged:
    changed = bytearray(plain(sample))
    places = rng.integers(0, len(changed), rng.integers(1, 8)).tolist()
    for place in places:
        changed[place] = rng.integers(0, 256)
    return bytes(changed), _all_of([touched(sample, p, p + 1) for p in places])


def digit_changed(sample: Sample, rng: np.random.Generator) -> Damaged:
    """One character for one like it: what check sums find, and nothing else does."""
    changed = bytearray(plain(sample))
    place = int(rng.integers(0, len(changed)))
    changed[place] ^= 1 << int(rng.integers(0, 3))
    return bytes(changed), touched(sample, place, place + 1)


def removed(sample: Sample, rng: np.random.Generator) -> Damaged:
    raw, (start, stop) = _range(sample, rng)
    return raw[:start] + raw[stop:], touched(sample, start, stop)


def repeated(sample: Sample, rng: np.random.Generator) -> Damaged:
    raw, (start, stop) = _range(sample, rng)
    # What lies within is there twice, and unchanged.
    ends = [touched(sample, start, start), touched(sample, stop, stop)]
    within = touched(sample, start, stop)
    return raw[:stop] + raw[start:], ALL if within is ALL else _all_of(ends)


def reversed_(sample: Sample, rng: np.random.Generator) -> Damaged:
    raw, (start, stop) = _range(sample, rng)
    return raw[:start] + raw[start:stop][::-1] + raw[stop:], touched(sample, start, stop)


def zeroed(sample: Sample, rng: np.random.Generator) -> Damaged:
    raw, (start, stop) = _range(sample, rng)
    return raw[:start] + bytes(stop - start) + raw[stop:], touched(sample, start, stop)


def spliced(sample: Sample, rng: np.random.Generator) -> Damaged:
    """A part of another format's file in the middle."""
    raw, (start, stop) = _range(sample, rng)
    foreign = plain(SAMPLES[rng.integers(len(SAMPLES))])
    begin, end = sorted(rng.integers(0, len(foreign) + 1, 2).tolist())
    stop = start if rng.random() < 0.5 else stop
    return raw[:start] + foreign[begin:end] + raw[stop:], touched(sample, start, stop)


def foreign_end(sample: Sample, rng: np.random.Generator) -> Damaged:
    """The file with another one after it."""
    raw = plain(sample)
    return raw + plain(SAMPLES[rng.integers(len(SAMPLES))]), touched(sample, len(raw), len(raw))


def recoded(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """The same text in another encoding, which gives the same result or an error."""
    if sample.pack is not None:
        return None
    text = unpacked(sample).decode()
    coding = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp037", "utf-7")
    chosen = coding[rng.integers(len(coding))]
    # UTF-7 is ASCII: what is not looks like another text, and no reader can tell.
    return sample.compressed(text.encode(chosen, "replace")), ALL if chosen == "utf-7" else frozenset()


def line_ends(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """Other line ends, or some of them, and blank lines at the end."""
    if sample.pack is not None:
        return None
    lines = unpacked(sample).split(b"\n")
    ends = ((b"\r\n",), (b"\r",), (b"\r\n", b"\n"), (b"\n\r",), (b"\n\n",), (b"\n", b"\r"), (b"\n", b"\0\n"))
    chosen = ends[rng.integers(len(ends))]
    mixed = b"".join(line + chosen[rng.integers(len(chosen))] for line in lines[:-1]) + lines[-1]
    return sample.compressed(mixed + b"\n" * int(rng.integers(3))), frozenset()


def plain(sample: Sample) -> bytes:
    """Return the undamaged file."""
    return sample.content(sample.texts())


def unpacked(sample: Sample) -> bytes:
    """Return the undamaged file's text."""
    return "".join(text for text, _ in sample.pieces(sample.texts())).encode()


def touched(sample: Sample, start: int, stop: int) -> frozenset[int] | None:
    """Return the records that damage from byte `start` to `stop` may change, those at the edges too."""
    if sample.packed:
        return frozenset() if sample.safe else ALL  # check sums find any change
    found: set[int] = set()
    at = 0
    for text, owners in sample.pieces(sample.texts()):
        end = at + len(text.encode())
        if at <= stop and end >= start:
            if owners is None:
                return ALL
            found.update(owners)
        at = end
    return frozenset(found)


def _all_of(parts: list[frozenset[int] | None]) -> frozenset[int] | None:
    return ALL if any(p is ALL for p in parts) else frozenset[int]().union(*(p for p in parts if p is not None))


def _range(sample: Sample, rng: np.random.Generator) -> tuple[bytes, tuple[int, int]]:
    raw = plain(sample)
    start, stop = sorted(rng.integers(0, len(raw) + 1, 2).tolist())
    if rng.random() < 0.5:  # short ones leave more of the file to read
        stop = min(stop, start + int(rng.integers(1, 40)))
    return raw, (start, stop)

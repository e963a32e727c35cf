"""Files that are small and stand for much: they must be refused in little time and memory."""

from __future__ import annotations

import functools
import gzip
import io
import json
import struct
import warnings
import zipfile
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet

from tests.damaged_logs.file_damages import ALL, Damaged, plain, unpacked
from tests.damaged_logs.samples import Sample

MB = 1 << 20


def blank_head(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """Tens of thousands of line ends, blanks, quotes or brackets first: what searches of the head may choke on."""
    if sample.pack is not None:
        return None
    starts = (
        b"\n",
        b" \n",
        b"# \n",
        b"---\n",
        b'\\"',
        b'{"',
        b'"\\',
        b"[",
        b"{",
        b"- ",
        b"\t",
        b",",
        b'""',
        b"a: ",
        b"- a\n",
    )
    start = starts[rng.integers(len(starts))] * int(rng.integers(2_000, 40_000))
    front = (b"", b"{", b"[", b"- a: b\n", b'{"a": ')[rng.integers(5)]
    return sample.compressed(front + start + unpacked(sample)), ALL


def many_values(sample: Sample, rng: np.random.Generator, large: bool) -> Damaged | None:
    """Millions of small values in one record, each many times its size in memory."""
    if sample.kind not in ("lines", "json", "zip"):
        return None
    unit = ("{},", "[],", '{"a":1},', "1,", '"a",', "null,", "[[[]]],", "0.1,")[rng.integers(8)]
    size = (120 if large and rng.random() < 0.2 else 2) * MB
    k, texts = int(rng.integers(len(sample.records))), sample.texts()
    record = sample.records[k]
    values = f"[{unit * (size // len(unit))}0]"
    if isinstance(record, dict):
        texts[k] = json.dumps(record | {"doc": "@@"}).replace('"@@"', values)
    else:
        texts[k] = values
    return sample.content(texts), frozenset((k,))


def unpacks_far(sample: Sample, rng: np.random.Generator, large: bool) -> Damaged | None:
    """A gzip file or archive member of zeros, blank lines, one long line, or good lines again and again."""
    size = (600 if large else 48) * MB
    if sample.file.endswith(".gz"):
        good = unpacked(sample)
        units = (b"\n", b" ", b"\0", b"{", good, b'{"a": 1}\n', b",", b'"', b"a,b,0\n", b"a\tb\t0\n")
        return _gzip_bomb(units[rng.integers(len(units))], size), ALL
    if sample.kind == "zip":
        unit = (b" ", b"[", b"\0", b'"', b"{},")[rng.integers(5)]
        return _zip_bomb(unit, size // 4, int(rng.integers(3))), ALL
    if sample.kind == "parquet":
        return _parquet_bomb(sample.name, int(rng.integers(4)), large), ALL
    return None


@functools.cache
def _gzip_bomb(unit: bytes, size: int) -> bytes:
    out = io.BytesIO()
    block = unit * max(1, MB // len(unit))
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6, mtime=0) as file:
        for _ in range(size // len(block)):
            file.write(block)
    return out.getvalue()


@functools.cache
def _zip_bomb(unit: bytes, size: int, kind: int) -> bytes:
    """Return an archive with a member of `size` bytes, one that says it is smaller, or thousands of members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        archive.writestr("header.json", '{"status": "success", "eval": {"model": "m"}}')
        if kind == 2:
            for k in range(3_000):
                archive.writestr(f"samples/{'../' * (k % 3)}q{k}_epoch_1.json", "{}")
        else:
            archive.writestr("samples/q_epoch_1.json", unit * (size // len(unit)))
    raw = out.getvalue()
    return raw.replace(struct.pack("<I", size // len(unit) * len(unit)), struct.pack("<I", 1000)) if kind == 1 else raw


@functools.cache
def _parquet_bomb(name: str, kind: int, large: bool) -> bytes:
    """Return a table that is small in its file: equal rows, one long text in all rows, columns, or lists."""
    rows = (40 if large else 4) * MB if kind == 0 else 2_000
    text = "x" * (2 * MB) if kind == 1 else "x"
    ids = "response_id" if name.startswith("openeval") else "system"
    columns: dict[str, Any] = {ids: _constant(text, rows), "item": _constant("q", rows), "score": _constant(1, rows)}
    if kind == 2:
        columns |= {f"c{k}": _constant(1, rows) for k in range(20_000 if large else 1_000)}
    if kind == 3:
        columns["scores"] = _lists(rows, 100_000 if large else 5_000)
    out = io.BytesIO()
    parquet.write_table(arrow.table(columns), out, row_group_size=1 << 30)
    return out.getvalue()


def _constant(value: Any, rows: int) -> Any:
    return arrow.DictionaryArray.from_arrays(arrow.array(np.zeros(rows, np.int32)), arrow.array([value]))


def _lists(rows: int, width: int) -> Any:
    offsets = arrow.array(np.arange(rows + 1, dtype=np.int32) * (width // 100))
    return arrow.ListArray.from_arrays(offsets, arrow.array(np.zeros(rows * (width // 100), np.int8)))


def in_its_format(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """What only a format has: anchors and constructors of YAML, members named twice or as paths, nothing at all."""
    if sample.kind == "yaml":
        anchors = "- &a {x: 1}\n" + "".join(
            f"- &{c} {{x: [*{chr(ord(c) - 1)}, *{chr(ord(c) - 1)}]}}\n" for c in "bcdefghijk"
        )
        made = (anchors, "- !!python/object/apply:os.system ['true']\n", "- a: " + "[" * 5_000, "- " * 5_000 + "a: b\n",
                "- a: b\n  a: c\n", "- ? [a]\n  : b\n", "- a: |\n" + " x\n" * 90_000, "- a: b\n--- \n- a: c\n",
                "%YAML 9.9\n---\n- a: b\n", "- a: !!binary =\n", "- a: " + "'" * 40_001, "- <<: {a: b}\n  c: d\n",
                )  # fmt: skip
        return made[rng.integers(len(made))].encode(), ALL
    if sample.kind == "zip":
        return _renamed_members(sample, rng)
    made_bytes = (b"", b"\n", b"\0", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"PAR1" * 3, b"\x1f\x8b",
                  b"\x80\x04K\x01.", b"\xff\xfe", b"{}", b"[]", b"[{}]", b"{}\n{}\n", b"null", b'""', b"{\"a\": 1}",
                  b"(\xb5/\xfd\x00", bytes(5_000))  # fmt: skip
    return made_bytes[rng.integers(len(made_bytes))], ALL


def _renamed_members(sample: Sample, rng: np.random.Generator) -> Damaged:
    """Return an archive whose members have other names, in both places where they stand."""
    names = (b"samples/q1_epoch_1.json", b"samples/q2_epoch_1.json", b"header.json")
    old = names[rng.integers(3)]
    new = (b"tamples/q9_epoch_1.json", b"samples/q1_epoch_1.json", b"samples/../../q_ep.json",
           b"/amples/q3_epoch_1.json", b"samples/q3_epoch_1.exe", b"samples/q3_epoch_x.json")  # fmt: skip
    chosen = new[rng.integers(len(new))].ljust(len(old), b"_")[: len(old)]
    # A member that is no sample any more is one record less, which must be told.
    return plain(sample).replace(old, chosen), frozenset()


def two_of_one_name(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    if sample.kind != "zip":
        return None
    out = io.BytesIO(plain(sample))
    with warnings.catch_warnings(), zipfile.ZipFile(out, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("samples/q1_epoch_1.json", sample.text(sample.records[1]))
    return out.getvalue(), frozenset()

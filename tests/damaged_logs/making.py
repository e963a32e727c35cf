"""Making damaged logs: which samples are damaged how, each again by its number."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from psychoeval.responses.readers.formats import FORMATS
from tests.damaged_logs import bombs, file_damages, record_damages
from tests.damaged_logs.file_damages import ALL, Damaged
from tests.damaged_logs.samples import SAMPLES, Sample


@dataclass(frozen=True)
class Input:
    """One damaged log: a sample, what is done to it, the seed; by `number` it is made again."""

    number: int
    sample: str
    damage: str
    large: bool


@dataclass(frozen=True)
class Made:
    """A damaged log in a folder: how it is read, and the records that may have changed (None: all)."""

    folder: Path
    read: Mapping[str, Any]
    whole: bool
    touched: frozenset[int] | None


Maker = Callable[[Sample, np.random.Generator, bool], Damaged | None]


def _plainly(damage: Callable[[Sample, np.random.Generator], Damaged | None]) -> Maker:
    return lambda sample, rng, large: damage(sample, rng)


DAMAGES: Final[dict[str, Maker]] = {
    **{d.__name__.strip("_"): _plainly(d) for d in (
        file_damages.cut, file_damages.overwritten, file_damages.digit_changed, file_damages.removed,
        file_damages.repeated, file_damages.reversed_, file_damages.zeroed, file_damages.spliced,
        file_damages.foreign_end, file_damages.recoded, file_damages.line_ends, record_damages.odd_value,
        record_damages.number_as_text, record_damages.lacking, record_damages.misspelled, record_damages.key_twice,
        record_damages.deep, record_damages.gigantic, record_damages.long_text, record_damages.no_record,
        record_damages.gone, record_damages.twice, record_damages.moved, bombs.blank_head, bombs.in_its_format,
        bombs.two_of_one_name)},
    "many_values": bombs.many_values,
    "unpacks_far": bombs.unpacks_far,
    "beside": lambda sample, rng, large: _damaged_beside(sample, rng),
    "other_format": lambda sample, rng, large: (file_damages.plain(sample), ALL),
}  # fmt: skip
BY_NAME: Final = {sample.name: sample for sample in SAMPLES}


def plan(n: int, seed: int = 0, large: bool = False, only: str = "") -> list[Input]:
    """Return `n` inputs, all samples and damages (or the one damage) in turn."""
    pairs = [(s.name, d) for s in SAMPLES for d in DAMAGES if _applies(s, d) and only in ("", d)]
    order = np.random.default_rng(seed).permutation(len(pairs)).tolist()
    turns = (pairs[k] for _ in range(n // len(pairs) + 1) for k in order)
    return [Input(seed * 1_000_000 + k, *pair, large) for k, pair in zip(range(n), turns, strict=False)]


def _applies(sample: Sample, damage: str) -> bool:
    """Whether a damage means something to a sample."""
    return {
        "recoded": sample.pack is None,
        "line_ends": sample.pack is None,
        "blank_head": sample.pack is None,
        "many_values": sample.kind in ("lines", "json", "zip"),
        "unpacks_far": sample.packed,
        "two_of_one_name": sample.kind == "zip",
        "beside": bool(sample.beside),
        "moved": sample.kind != "zip" and sample.name != "swe-bench",
        "gone": sample.name != "swe-bench",
        "twice": sample.name != "swe-bench",
        **dict.fromkeys(("number_as_text", "misspelled", "key_twice", "deep"), sample.kind != "cells"),
    }.get(damage, True)


def make(one: Input, folder: Path) -> Made:
    """Write a damaged log into a folder."""
    sample, rng = BY_NAME[one.sample], np.random.default_rng(one.number)
    damaged = None
    while damaged is None:  # some values cannot stand in some formats
        damaged = DAMAGES[one.damage](sample, rng, one.large)
    content, touched = damaged
    read, whole = dict(sample.read), sample.whole
    if one.damage == "other_format":
        names = [f.name for f in FORMATS if f.read is not None]
        read["format"] = names[int(rng.integers(len(names)))]
    elif rng.random() < 0.3:  # a folder passes over what it does not know, and may not do so silently
        whole = sample.kind not in ("cells", "parquet")
    put(sample, folder)
    target = folder / (_damaged_name(sample) if one.damage == "beside" else sample.file)
    target.write_bytes(content)
    return Made(folder, read, whole, touched)


def put(sample: Sample, folder: Path) -> None:
    """Write a sample, undamaged."""
    for name, content in sample.beside.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    (folder / sample.file).parent.mkdir(parents=True, exist_ok=True)
    (folder / sample.file).write_bytes(sample.content(sample.texts()))


def _damaged_name(sample: Sample) -> str:
    return sorted(sample.beside)[0]


def _damaged_beside(sample: Sample, rng: np.random.Generator) -> Damaged:
    """Damage a file that goes with the log: the log may say anything else then, but not break."""
    raw = bytearray(json.dumps(sample.beside[_damaged_name(sample)]).encode())
    start, stop = sorted(rng.integers(0, len(raw) + 1, 2).tolist())
    kind = rng.integers(4)
    if kind == 0:
        return bytes(raw[:start]), ALL
    if kind == 1:
        return bytes(raw[:start] + raw[stop:]), ALL
    if kind == 2:
        raw[min(start, len(raw) - 1)] = int(rng.integers(256))
        return bytes(raw), ALL
    value = record_damages._changed(json.loads(raw), rng, lambda _: record_damages._pick(rng, record_damages._ODD))
    return json.dumps(value).encode(), ALL

"""Damaged logs: each gives responses or a typed error, never another exception, a warning or a wrong score."""

from __future__ import annotations

import contextlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval.errors import PsychoevalError
from psychoeval.responses.readers.log import EvaluationLog
from psychoeval.responses.readers.reading import read_log
from psychoeval.responses.readers.selection import select

#: Damaged inputs of each format: 5,000 in all.
EACH = 1000
SAMPLES: list[dict[str, Any]] = [
    {"id": f"q{k}", "epoch": 1, "input": f"question {k}", "scores": {"match": {"value": "CI"[k % 2]}}} for k in range(6)
]
HEAD: dict[str, Any] = {"status": "success", "eval": {"model": "m", "task": "t"}, "plan": {}, "results": {}}
ODD: tuple[Any, ...] = (None, True, -1, 1e400, 10**40, "", "x", [], {}, [[]], {"a": None}, "\ud800", "C", 0.5)


def lm_eval(folder: Path) -> Path:
    rows = [
        {"doc_id": k, "doc": {"q": k}, "resps": [["y"]], "filter": "none", "metrics": ["acc"], "acc": float(k % 2)}
        for k in range(6)
    ]
    return text(folder / "samples_t.jsonl", "\n".join(json.dumps(r) for r in rows) + "\n")


def inspect_json(folder: Path) -> Path:
    return text(folder / "log.json", json.dumps(HEAD | {"samples": SAMPLES}))


def inspect_archive(folder: Path) -> Path:
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", json.dumps(HEAD))
        for s in SAMPLES:
            out.writestr(f"samples/{s['id']}_epoch_1.json", json.dumps(s))
    return path


def py_irt(folder: Path) -> Path:
    rows = [{"subject_id": f"s{i}", "responses": {f"q{j}": (i + j) % 2 for j in range(4)}} for i in range(3)]
    return text(folder / "data.jsonlines", "\n".join(json.dumps(r) for r in rows) + "\n")


def tau_bench(folder: Path) -> Path:
    rows = [{"task_id": k, "reward": float(k % 2), "trial": 0, "traj": [], "info": {}} for k in range(6)]
    return text(folder / "gpt-airline.json", json.dumps(rows))


FORMATS: tuple[Callable[[Path], Path], ...] = (lm_eval, inspect_json, inspect_archive, py_irt, tau_bench)


def text(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def scores(log: EvaluationLog) -> dict[tuple[str, str, str], float]:
    codes = {name: log.texts[name] for name in ("person", "item", "trial")}
    keys = zip(*([levels[k] for k in column] for column, levels in codes.values()), strict=True)
    return dict(zip(keys, log.numbers["score"].tolist(), strict=True))


def damage(raw: bytes, rng: np.random.Generator) -> bytes:
    """Cut, overwrite, splice, repeat or reverse a part."""
    start, stop = sorted(rng.integers(0, len(raw) + 1, 2).tolist())
    kind = rng.integers(0, 5)
    if kind == 0:
        return raw[:start]
    if kind == 1:
        changed = bytearray(raw)
        for place in rng.integers(0, len(raw), rng.integers(1, 8)):
            changed[place] = rng.integers(0, 256)
        return bytes(changed)
    if kind == 2:
        return raw[:start] + raw[stop:]
    if kind == 3:
        return raw[:start] + raw[start:stop] * 2 + raw[stop:]
    return raw[:start] + raw[start:stop][::-1] + raw[stop:]


def spoil(value: Any, rng: np.random.Generator) -> Any:
    """Return a JSON value with one part somewhere in it replaced by an odd one."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = list(value)[rng.integers(len(value))]
        return value | {key: spoil(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = int(rng.integers(len(value)))
        return [*value[:place], spoil(value[place], rng), *value[place + 1 :]]
    return ODD[rng.integers(len(ODD))]


@pytest.mark.parametrize("make", FORMATS)
def test_bytes_are_damaged(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path)
    raw = path.read_bytes()
    rng = np.random.default_rng(7)
    for _ in range(EACH // 2):
        path.write_bytes(damage(raw, rng))
        with contextlib.suppress(PsychoevalError):
            select(read_log(path, person="m"), duplicates="first")


@pytest.mark.parametrize("make", FORMATS)
def test_one_value_is_odd(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path)
    whole = scores(read_log(path, person="m"))
    if path.suffix == ".eval":
        path = inspect_json(tmp_path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rng = np.random.default_rng(8)
    for _ in range(EACH // 2):
        place = int(rng.integers(len(lines)))
        spoiled = [spoil(v, rng) if k == place else v for k, v in enumerate(lines)]
        path.write_text("\n".join(json.dumps(v) for v in spoiled) + "\n")
        try:
            found = scores(read_log(path, person="m"))
        except PsychoevalError:
            continue
        # One value was replaced: at most one response of one system may differ from those of the whole log.
        shared = found.keys() & whole.keys()
        different = [k for k in shared if found[k] != whole[k] and found[k] == found[k]]
        assert len(different) <= 1

"""Damage to one record, which must change no other: odd values, keys, depths, sizes, and records gone or twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from pyarrow.lib import ArrowException

from tests.damaged_logs.file_damages import Damaged
from tests.damaged_logs.samples import Sample

#: What stands for text that JSON's writer would not write.
_MARK: Final = "@@mark@@"
_ODD: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2, 0.5, 1e308, float("inf"), float("nan"), 10**40, 10**400, "", " ", "x", "C", "1",
    "NaN", "\0", "\r", "a\nb", "\u2028", "\ud800", "\U0001f600", [], {}, [[]], [None], {"a": None}, {"": 1}, [1, 0],
)  # fmt: skip
_ODD_CELLS: Final = (
    "", " ", "NA", "2", "-1", "0.5", "1e999", "1" * 400, "x", "\0", '"', '"x', "true", "=1+1", "\ufeff", "\u00a01",
    "1,5", "\u0661", "0x1", "1_0", "\u2028", "x" * 200_000, "\x85", "\x0b1",
)  # fmt: skip
_DEPTHS: Final = (60, 200, 800, *range(900, 1000, 7), 1_000, 3_000, 100_000)
#: Arrow reads 100 levels; to write a thousand objects within each other it takes 3 GB, and dies of less.
_MOST_OF_PARQUET: Final = 200

Change = Callable[[Any, np.random.Generator], Any]


def odd_value(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    return _one(sample, rng, lambda r: _cell(sample, r, _pick(rng, _ODD_CELLS), rng), lambda _: _pick(rng, _ODD))


def number_as_text(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """Values of another type that say the same."""
    return _one(sample, rng, None, lambda value: str(value) if rng.random() < 0.5 else [value])


def lacking(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """A key or cell gone."""

    def less(value: Any) -> Any:
        if isinstance(value, dict | list) and value:
            key = int(rng.integers(len(value)))
            if isinstance(value, list):
                return value[:key] + value[key + 1 :]
            return {k: v for j, (k, v) in enumerate(value.items()) if j != key}
        return None

    return _one(sample, rng, less, less)


def misspelled(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """A key under another name."""

    def other(value: Any) -> Any:
        if not (isinstance(value, dict) and value):
            return value
        at = int(rng.integers(len(value)))
        return {(k + "x" if j == at else k): v for j, (k, v) in enumerate(value.items())}

    return _one(sample, rng, None, other, stop_at=dict)


def key_twice(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """A key that occurs again with another value: what JSON's readers take the last of."""
    name = ""

    def twice(value: Any) -> Any:
        nonlocal name
        if not (isinstance(value, dict) and value):
            return value
        name = list(value)[rng.integers(len(value))]
        return value | {_MARK: _pick(rng, _ODD[:7]) if rng.random() < 0.7 else value[name]}

    return _one(sample, rng, None, twice, lambda text: text.replace(_MARK, name), stop_at=dict)


def deep(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """A value within hundreds of lists or objects."""
    depth = int(_pick(rng, _DEPTHS))
    if sample.kind == "parquet" and depth > _MOST_OF_PARQUET:
        return None
    start, end = (("[", "]"), ('{"a":', "}"))[rng.integers(2)]
    middle = '"x"' if rng.random() < 0.9 else ""
    nested = start * depth + middle + end * (depth if rng.random() < 0.9 else 0)
    return _one(
        sample, rng, None, lambda _: _MARK, lambda text: text.replace(f'"{_MARK}"', nested).replace(_MARK, nested)
    )


def gigantic(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """A number with thousands of digits."""
    number = ("9" * 4_299, "9" * 4_301, "9" * 1_000_000, "1e99999", "-1e400", "0." + "1" * 100_000, "1" + "0" * 308)
    chosen = _pick(rng, number)
    swap = lambda text: text.replace(f'"{_MARK}"', chosen).replace(_MARK, chosen)  # noqa: E731
    return _one(sample, rng, lambda r: _cell(sample, r, chosen, rng), lambda _: _MARK, swap)


def long_text(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """A text of megabytes, which may be all quotes, line ends or wide characters."""
    unit = _pick(rng, ("x", '\\"', "\\n", "\\u0000", "é", "\U0001f600", "{[,", "\\\\"))
    made = f'"{unit * int(_pick(rng, (70_000, 300_000, 2_000_000)) // len(unit))}"'
    swap = lambda text: text.replace(f'"{_MARK}"', made).replace(_MARK, made)  # noqa: E731
    return _one(sample, rng, lambda r: _cell(sample, r, _MARK, rng), lambda _: _MARK, swap)


def no_record(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """Something else where a record should be."""
    k, texts = _chosen(sample, rng)
    json_ = ("null", "1", '"x"', "[]", "{}", "true", "{", "]", "", "NaN", "{}{}", "[{}]", "\0", "\ufeff{}", "// no")
    texts[k] = _pick(rng, json_ if sample.kind != "yaml" else ("- x", "- [a]", "- {}", "x: 1", "-", "- - a", "- &a b"))
    return _made(sample, texts, k)


def gone(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    k, texts = _chosen(sample, rng)
    if sample.name == "swe-bench":  # its lists are told apart by position
        return None
    return _made(sample, texts[:k] + texts[k + 1 :], k)


def twice(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """A record that occurs again, whole or with another value, anywhere."""
    k, texts = _chosen(sample, rng)
    if sample.name == "swe-bench":
        return None
    record = sample.records[k]
    if rng.random() < 0.5 and sample.kind == "cells":
        record = _cell(sample, list(record), _pick(rng, _ODD_CELLS), rng)
    elif rng.random() < 0.5 and sample.kind != "cells":
        record = _changed(record, rng, lambda _: _pick(rng, _ODD[:8]))
    again = sample.text(record)
    place = int(rng.integers(len(texts) + 1))
    return _made(sample, [*texts[:place], again, *texts[place:]], k)


def moved(sample: Sample, rng: np.random.Generator) -> Damaged | None:
    """The records in another order."""
    if sample.name == "swe-bench" or sample.kind == "zip":
        return None
    texts = sample.texts()
    return sample.content([texts[k] for k in rng.permutation(len(texts))]), frozenset()


def _one(
    sample: Sample,
    rng: np.random.Generator,
    cells: Callable[[Any], Any] | None,
    change: Callable[[Any], Any],
    swap: Callable[[str], str] = lambda text: text,
    stop_at: type | None = None,
) -> Damaged | None:
    """Change one part of one record: of cells by `cells`, of JSON by `change`, and then its text by `swap`."""
    k, texts = _chosen(sample, rng)
    record = sample.records[k]
    if sample.kind == "cells":
        if cells is None:
            return None
        texts[k] = swap(sample.text(cells(list(record))))
    else:
        texts[k] = swap(sample.text(_changed(record, rng, change, stop_at)))
    return _made(sample, texts, k)


def _made(sample: Sample, texts: list[str], k: int) -> Damaged | None:
    """Return the file, None where no such file exists: UTF-8, JSON or Arrow cannot hold it."""
    cannot: tuple[type[Exception], ...] = (UnicodeEncodeError,)
    if sample.kind == "parquet":
        cannot = (ArrowException, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
    try:
        return sample.content(texts), frozenset((k,))
    except cannot:
        return None


def _changed(value: Any, rng: np.random.Generator, change: Callable[[Any], Any], stop_at: type | None = None) -> Any:
    """Return a JSON value with one part somewhere in it changed."""
    inner = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    if stop_at is not None:
        inner = [key for key in inner if isinstance(value[key], dict | list)]
    if not inner or rng.random() < 0.15:
        return change(value)
    key = inner[int(rng.integers(len(inner)))]
    new = _changed(value[key], rng, change, stop_at)
    if isinstance(value, dict):
        return value | {key: new}
    return [*value[:key], new, *value[key + 1 :]]


def _cell(sample: Sample, record: list[str], new: str, rng: np.random.Generator) -> list[str]:
    record[int(rng.integers(len(record)))] = new
    return record


def _chosen(sample: Sample, rng: np.random.Generator) -> tuple[int, list[str]]:
    return int(rng.integers(len(sample.records))), sample.texts()


def _pick(rng: np.random.Generator, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]

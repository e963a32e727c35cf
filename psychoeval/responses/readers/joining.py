"""Which rows of logs are about one item: by content where ids are only positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.responses.readers.log import EvaluationLog

_HASH_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Items:
    """Items of some rows.

    Parameters
    ----------
    of_row : (R,) intp array
        The item of each row.
    ids : tuple of str
        In order of first appearance.
    notes : tuple of str
    """

    of_row: NDArray[np.intp]
    ids: tuple[str, ...]
    notes: tuple[str, ...]


def join_items(log: EvaluationLog, rows: NDArray[np.intp]) -> Items:
    """Tell the items of rows apart.

    Rows of one benchmark with equal content are one item, whatever their ids; rows of equal id and different content
    are several, named ``id#hash``. Where one file gives a content two ids (a question asked twice), id and content
    together tell. Without content the id alone does, also where other rows of that id have one. With several
    benchmarks ids become ``benchmark/id``.
    """
    bench, item, content, file = (_codes(log, name, rows) for name in ("benchmark", "item", "content", "file"))
    base = groups(bench, item)
    content = _filled(content, content != _code(log, "content", ""), base)
    known = content != _code(log, "content", "")
    by_content = known & ~_contents_with_two_ids(file, bench, content, base)
    key = combined(bench, np.where(known, content, -1), np.where(by_content, -1, item))
    of_row, starts = by_appearance(key)
    return _named(log, rows[starts], of_row, base, starts)


def _named(
    log: EvaluationLog, starts: NDArray[np.intp], of_row: NDArray[np.intp], base: NDArray[np.intp], at: NDArray[np.intp]
) -> Items:
    ids = _texts(log, "item", starts)
    if len(np.unique(log.texts["benchmark"][0][starts])) > 1:
        ids = tuple(f"{b}/{i}" if b else i for b, i in zip(_texts(log, "benchmark", starts), ids, strict=True))
    _, one_each = np.unique(combined(of_row, base), return_index=True)
    contents_of_id = np.bincount(base[one_each])
    shared = contents_of_id[base[at]] > 1
    notes = []
    if shared.any():
        contents = _texts(log, "content", starts)
        ids = tuple(f"{i}#{c[:_HASH_SHOWN]}" if s else i for i, c, s in zip(ids, contents, shared, strict=True))
        notes.append(
            f"{int((contents_of_id > 1).sum())} item ids stand for several contents (positions that moved): their "
            f"{int(shared.sum())} items are named id#hash."
        )
    joined = int((np.bincount(of_row[one_each]) > 1).sum())
    if joined:
        notes.append(f"{joined} items have equal content under several ids, and are one each, under the first id.")
    return Items(of_row, ids, tuple(notes))


def _codes(log: EvaluationLog, column: str, rows: NDArray[np.intp]) -> NDArray[np.int32]:
    """Return the codes of rows; of all rows the column itself."""
    codes = log.texts[column][0]
    return codes if len(rows) == len(codes) else codes[rows]


def _texts(log: EvaluationLog, column: str, rows: NDArray[np.intp]) -> tuple[str, ...]:
    """Return the texts of rows; the levels themselves where each row has the next one."""
    codes, levels = log.texts[column][0][rows], log.texts[column][1]
    if len(codes) == len(levels) and (codes == np.arange(len(levels))).all():
        return levels
    return tuple(levels[k] for k in codes)


def _filled(content: NDArray[np.int32], known: NDArray[np.bool_], base: NDArray[np.intp]) -> NDArray[np.int32]:
    """Give rows without content (logs that lost it, runs that broke off) that of their id where it has just one."""
    n = int(base.max(initial=-1)) + 1
    lowest, highest = np.full(n, np.iinfo(np.int32).max, np.int32), np.full(n, -1, np.int32)
    np.minimum.at(lowest, base[known], content[known])
    np.maximum.at(highest, base[known], content[known])
    return np.where(known | (lowest != highest)[base], content, lowest[base])


def _contents_with_two_ids(
    file: NDArray[np.int32], bench: NDArray[np.int32], content: NDArray[np.int32], base: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Whether a row's content has several ids in one file, (R,)."""
    _, distinct = np.unique(combined(file, bench, content, base), return_index=True)
    _, where, counts = np.unique(combined(file, bench, content)[distinct], return_inverse=True, return_counts=True)
    twice = counts[where] > 1
    return np.isin(content, content[distinct][twice]) if twice.any() else np.zeros(len(content), np.bool_)


def by_appearance(key: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for each row the place of its key in order of first appearance, and the rows where keys first appear."""
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return rank[place], first[order]


def groups(*codes: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Return numbers below the number of rows or levels, equal exactly where all codes are."""
    varying = _varying(codes)
    if len(varying) == 1:
        return varying[0].astype(np.intp)
    return np.unique(combined(*varying), return_inverse=True)[1] if varying else np.zeros(len(codes[0]), np.intp)


def combined(*codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return one number for each combination of codes from -1 up; equal exactly where all are equal."""
    key = np.zeros(len(codes[0]), np.int64)
    for column in _varying(codes):
        size = int(column.max()) + 2
        if key.max() > np.iinfo(np.int64).max // size - 1:
            _, key = np.unique(key, return_inverse=True)
        key *= size
        key += column
        key += 1
    return key


def _varying(codes: Sequence[NDArray[np.integer[Any]]]) -> list[NDArray[np.integer[Any]]]:
    """Return the columns that tell rows apart."""
    return [column for column in codes if column.size and column.min() != column.max()]


def _code(log: EvaluationLog, column: str, text: str) -> int:
    levels = log.texts[column][1]
    return levels.index(text) if text in levels else -1

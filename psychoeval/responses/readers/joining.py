"""Which rows of logs are about one item: by content where ids are only positions."""

from __future__ import annotations

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
    bench, item, content, file = (log.texts[name][0][rows] for name in ("benchmark", "item", "content", "file"))
    _, base = np.unique(combined(bench, item), return_inverse=True)
    content = _filled(content, content != _code(log, "content", ""), base)
    known = content != _code(log, "content", "")
    repeated = _contents_with_two_ids(file, bench, content, base)
    by_content = known & ~repeated
    key = combined(bench, np.where(known, content, -1), np.where(by_content, -1, item))
    of_row, starts = by_appearance(key)
    return _named(log, rows[starts], of_row, base, starts)


def _named(
    log: EvaluationLog, starts: NDArray[np.intp], of_row: NDArray[np.intp], base: NDArray[np.intp], at: NDArray[np.intp]
) -> Items:
    texts = {
        name: [log.texts[name][1][k] for k in log.texts[name][0][starts]] for name in ("benchmark", "item", "content")
    }
    several = len(set(texts["benchmark"])) > 1
    ids = [f"{b}/{i}" if several and b else i for b, i in zip(texts["benchmark"], texts["item"], strict=True)]
    _, one_each = np.unique(combined(of_row, base), return_index=True)
    contents_of_id = np.bincount(base[one_each])
    shared = contents_of_id[base[at]] > 1
    ids = [f"{i}#{c[:_HASH_SHOWN]}" if s else i for i, c, s in zip(ids, texts["content"], shared, strict=True)]
    notes = []
    if shared.any():
        notes.append(
            f"{int((contents_of_id > 1).sum())} item ids stand for several contents (positions that moved): their "
            f"{int(shared.sum())} items are named id#hash."
        )
    joined = int((np.bincount(of_row[one_each]) > 1).sum())
    if joined:
        notes.append(f"{joined} items have equal content under several ids, and are one each, under the first id.")
    return Items(of_row, tuple(ids), tuple(notes))


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
    return np.isin(content, content[distinct][counts[where] > 1])


def by_appearance(key: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for each row the place of its key in order of first appearance, and the rows where keys first appear."""
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return rank[place], first[order]


def combined(*codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return one number for each combination of codes from -1 up; equal exactly where all are equal."""
    key = np.zeros(len(codes[0]), np.int64)
    for column in codes:
        size = int(column.max(initial=0)) + 2
        if key.max(initial=0) > np.iinfo(np.int64).max // size - 1:
            _, key = np.unique(key, return_inverse=True)
        key = key * size + column + 1
    return key


def _code(log: EvaluationLog, column: str, text: str) -> int:
    levels = log.texts[column][1]
    return levels.index(text) if text in levels else -1

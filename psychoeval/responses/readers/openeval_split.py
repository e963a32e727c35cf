"""A governed release: OpenEval's items in a public and a held-out part, by a seeded, stratified rotation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, SettingsError
from psychoeval.files import checked_target
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.joining import Items, join_items
from psychoeval.responses.readers.log import EvaluationLog, LogBuilder, Record
from psychoeval.responses.readers.openeval import add_item
from psychoeval.responses.readers.openeval_blocks import deal_blocks, difficulty_bands
from psychoeval.responses.readers.openeval_files import save_items
from psychoeval.responses.readers.openeval_release import (
    Part,
    describe_release,
    embargo_day,
    release_of,
    source_of,
    tagged,
)
from psychoeval.responses.readers.selection import select
from psychoeval.responses.readers.sources import need
from psychoeval.responses.writing import checked_ending, write_frame
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

Item = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The two parts of a release, and where each item went.

    Parameters
    ----------
    public, held_out : tuple of (str, dict)
        Items with their places, in the order given; the release is in the tags of their benchmarks.
    item_ids : tuple of str, length J
        As OpenEval has them.
    names : tuple of str, length J
        As `psychoeval.read` calls the items; equal for items of equal content.
    parts, benchmarks, strata : tuples of str, length J
    blocks : (J,) array
        From 1: the rotation in which the item is in the part that rotates.
    notes : tuple of str
    """

    public: tuple[Item, ...]
    held_out: tuple[Item, ...]
    item_ids: tuple[str, ...]
    names: tuple[str, ...]
    parts: tuple[Part, ...]
    benchmarks: tuple[str, ...]
    strata: tuple[str, ...]
    blocks: NDArray[np.intp]
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item as responses name it: item, openeval_id, part, benchmark, stratum, block."""
        import pandas as pd

        columns = {
            "item": self.names, "openeval_id": self.item_ids, "part": self.parts, "benchmark": self.benchmarks,
            "stratum": self.strata, "block": self.blocks,
        }  # fmt: skip
        return pd.DataFrame(columns).drop_duplicates("item", ignore_index=True)


def split_items(
    items: Sequence[Item],
    *,
    embargo: str | date,
    rotation: tuple[int, int] = (1, 4),
    rotating: Part = "held-out",
    seed: int = 0,
    bands: int = 5,
    strata: Mapping[str, str] | None = None,
    **chosen: Any,
) -> Split:
    """Divide items into a public and a held-out part.

    Items are dealt into n blocks, evenly within strata of benchmark, `strata` and difficulty, by the hash of `seed`
    and what the item is called in its logs: rotation k holds out block k. The n held-out parts are disjoint and are
    all items together, and the order of items changes nothing. Items of equal content go together. More items, other
    systems or another choice of strata make other blocks: keep the table of the first rotation (`Split.to_frame`).
    Who knows seed and ids can tell the blocks.

    Parameters
    ----------
    items : sequence of (str, dict)
        Each with its place, as `psychoeval.responses.readers.openeval_files.load_items` gives them; left as they are.
    embargo : str or date
        Until when the held-out part is not to be published: a day, ``2027-06-01``.
    rotation : (int, int)
        k of n, from 1.
    rotating : {"held-out", "public"}
        The part that is one block; the other is the rest.
    seed : int
    bands : int
        Of difficulty, of about equal size within a benchmark: the mean score over the systems that answered; 1 for
        none, which needs no scores.
    strata : mapping of str to str, optional
        A label for each item, by its OpenEval id or the name that `psychoeval.read` gives it.
    **chosen
        `metric`, `filter`, `errors`, `threshold`, `duplicates` and `bounds` of
        `psychoeval.responses.readers.selection.select`: the score that difficulty is of.

    Raises
    ------
    SettingsError
        For an embargo that is no day, or another setting that cannot be.
    DataError
        If an id repeats, an item is part of a release already or has no label, or the metric must be chosen.
    """
    day = embargo_day(embargo)
    _check(rotation, rotating, seed, bands)
    ids = _ids(items)
    log = _log(items)
    group, keys, names = _groups(items, log)
    benchmarks = [str(source_of(item, place).get("benchmark_name") or "") for place, item in items]
    first = [group.index(g) for g in range(len(keys))] if len(keys) < len(items) else list(range(len(items)))
    labels: list[list[str]] = [[benchmarks[k]] for k in first]
    if strata is not None:
        own = _labels(strata, ids, names)
        labels = [[*label, own[k]] for label, k in zip(labels, first, strict=True)]
    notes = [f"Strata: benchmark{'' if strata is None else ', label'}{f', {bands} bands of difficulty' * (bands > 1)}."]
    if bands > 1:
        proportion, said = _proportions(log, group, len(keys), chosen)
        of_group = difficulty_bands(proportion, [benchmarks[k] for k in first], bands)
        labels = [[*label, band] for label, band in zip(labels, of_group, strict=True)]
        notes += said
    blocks = deal_blocks(keys, [tuple(label) for label in labels], rotation[1], seed)[group]
    parts = _parts(blocks == rotation[0] - 1, rotating)
    if len(keys) < len(items):
        notes.append(f"{len(items) - len(keys)} items have the content of another and went with it.")
    release = describe_release(day, rotation, rotating, seed, parts, notes[0])
    marked = [(place, tagged(item, place, part, release)) for (place, item), part in zip(items, parts, strict=True)]
    public, held_out = (
        tuple(item for item, part in zip(marked, parts, strict=True) if part == wanted) for wanted in get_args(Part)
    )
    n = Counter(parts)
    notes.append(f"{n['public']} items are public, {n['held-out']} held out until {day}.")
    shown = [" | ".join(label) for label in labels]
    return Split(public, held_out, ids, tuple(names), parts, tuple(benchmarks), tuple(shown[g] for g in group),
                 blocks + 1, tuple(notes))  # fmt: skip


def save_split(
    split: Split, public: Path, held_out: Path, table: Path | None = None, *, inputs: Sequence[Path] = ()
) -> Counter[str]:
    """Write the two parts (as `save_items` does), and the table of items: ``.csv``, ``.tsv`` or ``.parquet``.

    Returns
    -------
    Counter
        What tables of Parquet cannot hold.

    Raises
    ------
    SettingsError
        Before anything is written: if two of the paths are one, or one would replace a file of `inputs`.
    """
    targets = [public, held_out, *([] if table is None else [checked_ending(table)])]
    files = [f for path in targets for f in _files_of(path)]
    if len(set(files)) < len(files):
        raise SettingsError("Two of the parts and the table would be one file.", "Give each a place of its own.")
    read = {path.resolve() for path in inputs}
    clash = next((f for f in files if f in read), None)
    if clash is not None:
        raise SettingsError(f"{clash} is read, and would be replaced.", "Write elsewhere.")
    lost = save_items(split.public, public) + save_items(split.held_out, held_out)
    if table is not None:
        write_frame(split.to_frame(), table)
    return lost


def _check(rotation: tuple[int, int], rotating: str, seed: int, bands: int) -> None:
    whole = isinstance(rotation, tuple | list) and len(rotation) == 2 and all(type(v) is int for v in rotation)
    if not whole or not (rotation[1] >= 2 and 1 <= rotation[0] <= rotation[1]):
        raise SettingsError(f"rotation is {rotation!r}.", "Give k of n as (k, n), n at least 2 and k from 1 to n.")
    if rotating not in get_args(Part):
        raise SettingsError(f"rotating is {rotating!r}.", "Give held-out or public.")
    for name, value, least in (("seed", seed, 0), ("bands", bands, 1)):
        if type(value) is not int or value < least:
            raise SettingsError(f"{name} is {value!r}.", f"Give a whole number of {least} or more.")


def _ids(items: Sequence[Item]) -> tuple[str, ...]:
    """Return the items' ids, after checks that name the item."""
    places: dict[str, str] = {}
    for place, item in items:
        need(item, dict, place, "the item")
        item_id = need(item.get("item_id"), str, place, "item_id")
        if not item_id.strip():
            raise DataError(f"{place}: item_id is empty.", "Without ids the table of the parts says nothing.")
        if item_id in places:
            raise DataError(f"{place}: item_id {item_id!r} is that of {places[item_id]} too.", "Make ids unique.")
        places[item_id] = place
        if "part" in release_of(item):
            raise DataError(
                f"{place}: item {item_id!r} is part of a release already.", "Split the whole that it was made from."
            )
    return tuple(places)


def _log(items: Sequence[Item]) -> EvaluationLog:
    """Return the items as a log; `line` is the number of the item, from 1."""
    builder = LogBuilder()
    for number, (place, item) in enumerate(items):
        add_item(item, number, place, Record("", "", "", file=place, line=number + 1), builder)
    return builder.build()


def _groups(items: Sequence[Item], log: EvaluationLog) -> tuple[list[int], list[str], list[str]]:
    """Return the group of each item (one for equal content), each group's key, and each item's name in responses.

    The key is what the logs say: ids that were made on conversion hold its time.
    """
    joined = join_items(log, np.arange(len(log))) if len(log) else Items(np.empty(0, np.intp), (), ())
    at = log.line.astype(np.intp) - 1
    of_item = np.full(len(items), -1, np.intp)
    of_item[at] = joined.of_row
    codes = [log.texts[name][0] for name in ("benchmark", "item", "content")]
    rows = np.unique(np.column_stack([joined.of_row, *codes]), axis=0)
    said: list[list[tuple[str, ...]]] = [[] for _ in joined.ids]
    levels = [log.texts[name][1] for name in ("benchmark", "item", "content")]
    for of, *texts in rows.tolist():
        said[of].append(tuple(level[code] for level, code in zip(levels, texts, strict=True)))
    keys: list[str] = []
    group: list[int] = []
    numbers: dict[int | str, int] = {}
    for k, (_, item) in enumerate(items):
        j = int(of_item[k])
        mark = j if j >= 0 else f"item {k}"  # without responses
        if mark not in numbers:
            numbers[mark] = len(keys)
            keys.append("\0".join(min(said[j]) if j >= 0 else ("", item["item_id"], "")))
        group.append(numbers[mark])
    names = [joined.ids[j] if j >= 0 else item["item_id"] for j, (_, item) in zip(of_item, items, strict=True)]
    return group, keys, names


def _proportions(
    log: EvaluationLog, group: Sequence[int], n_groups: int, chosen: Mapping[str, Any]
) -> tuple[NDArray[np.float64], list[str]]:
    """Return the mean score of each group of items between 0 and 1, NaN without any, and notes."""
    found = np.full(n_groups, np.nan)
    if not len(log):
        return found, ["No item has a response: difficulty is not known."]
    of_row = np.asarray(group, np.int32)[log.line - 1]
    texts = {
        **log.texts,
        "item": (of_row, tuple(str(g) for g in range(n_groups))),
        "content": (np.zeros(len(log), np.int32), ("",)),
    }
    responses = select(replace(log, texts=texts), **chosen).responses
    scores = responses.proportions if isinstance(responses, Responses) else responses.scores.astype(np.float64)
    if not isinstance(responses, Responses):
        scores = (scores - responses.lower) / (responses.upper - responses.lower)
    known = np.isfinite(scores)
    total, count = np.where(known, scores, 0.0).sum(axis=0), known.sum(axis=0)
    # With several benchmarks the name is benchmark/group.
    at = [int(name.rpartition("/")[2]) for name in responses.item_ids]
    found[at] = np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)
    holes = int((~known).sum())
    return found, [
        f"Difficulty is the mean over the systems that answered: {holes} cells are missing."
    ] if holes else []


def _labels(strata: Mapping[str, str], ids: Sequence[str], names: Sequence[str]) -> list[str]:
    found = {i: strata.get(i, strata.get(n)) for i, n in zip(ids, names, strict=True)}
    lacking = [i for i, label in found.items() if label is None]
    if lacking:
        raise DataError(f"{len(lacking)} items have no label for the strata: {some(lacking)}.", "Give each one.")
    return [str(label) for label in found.values()]


def _parts(in_block: NDArray[np.bool_], rotating: Part) -> tuple[Part, ...]:
    rest: Part = "public" if rotating == "held-out" else "held-out"
    return tuple(rotating if inside else rest for inside in in_block.tolist())


def _files_of(path: Path) -> list[Path]:
    """Return the files that writing items to a path makes."""
    if path.suffix:
        return [checked_target(path)]
    return [(path / f"{name}.parquet").resolve() for name in ("bench", "item", "response")]

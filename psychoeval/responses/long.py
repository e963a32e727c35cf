"""Responses from a long table: one row a response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.arrays import Missing, check_missing
from psychoeval.responses.cells import MAX_COUNT, MISSING, CellCoder, Coding, counted
from psychoeval.responses.columns import (
    ITEM_NAMES,
    PERSON_NAMES,
    SCORE_NAMES,
    SUCCESS_NAMES,
    TRIAL_NAMES,
    TRIALS_NAMES,
    Table,
    align_covariates,
    at,
    blanks_missing,
    constant_within,
    find,
    label_of,
    one_of,
)
from psychoeval.responses.ids_and_counts import (
    CountArray,
    PersonLabel,
    frozen,
    is_missing,
    refuse_surrogates,
    smallest_dtype,
)
from psychoeval.responses.matrix import Responses
from psychoeval.wording import shorten, some, some_of

if TYPE_CHECKING:
    import pandas as pd

Duplicates = Literal["error", "trials", "first", "last"]
_DUPLICATES = ("error", "trials", "first", "last")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class LongColumns:
    """Positions of the columns of a long table."""

    person: int
    item: int
    score: int
    trials: int | None
    trial: int | None


def long_columns(
    table: Table,
    person: str | None = None,
    item: str | None = None,
    score: str | None = None,
    successes: str | None = None,
    trials: str | None = None,
    trial: str | None = None,
) -> LongColumns:
    """Find the columns, by the names given or else by usual names.

    Raises
    ------
    DataError
        If one is not there, or several could be it.
    """
    if score is not None and (successes is not None or trials is not None):
        raise SettingsError("score= was given beside successes= or trials=.", "Scores are single trials: choose one.")
    found = {
        "person": one_of(table, person, "person", PERSON_NAMES),
        "item": one_of(table, item, "item", ITEM_NAMES),
    }
    count = one_of(table, successes, "successes", SUCCESS_NAMES) if score is None else None
    number = one_of(table, trials, "trials", TRIALS_NAMES) if score is None else None
    if count is None and number is None:
        found["score"] = one_of(table, score, "score", SCORE_NAMES)
    else:
        found["successes"], found["trials"] = count, number
    lacking = [option for option, position in found.items() if position is None]
    if lacking:
        raise DataError(
            f"{at(table)}no column has a usual name for {' and '.join(lacking)}; the columns are {some(table.names)}.",
            f"Name {'it' if len(lacking) == 1 else 'them'}: {', '.join(f'{option}=' for option in lacking)}.",
        )
    person_at, item_at, score_at = (cast(int, position) for position in list(found.values())[:3])
    return LongColumns(person_at, item_at, score_at, number, one_of(table, trial, "trial", TRIAL_NAMES))


def long_responses(
    table: Table,
    columns: LongColumns,
    *,
    duplicates: Duplicates = "error",
    missing: Missing = "missing",
    coding: Coding | None = None,
    persons: Sequence[str] | pd.DataFrame | None = None,
    items: Sequence[str] | pd.DataFrame | None = None,
    person_label: PersonLabel | None = None,
    name: str = "responses",
    source: str = "",
) -> Responses:
    """Make responses from a long table or file; the parameters are those of `psychoeval.responses.tables.from_long`."""
    check_missing(missing)
    if duplicates not in _DUPLICATES:
        raise SettingsError(f"duplicates={duplicates!r} is unknown.", f"Give one of {', '.join(_DUPLICATES)}.")
    label = person_label or label_of(table, columns.person)
    more = {
        what: [] if given is None or hasattr(given, "columns") else [find(table, c, what) for c in given]
        for what, given in (("persons", persons), ("items", items))
    }
    core = [j for j in (columns.person, columns.item, columns.score, columns.trials, columns.trial) if j is not None]
    wanted = list(dict.fromkeys([*core, *more["persons"], *more["items"]]))
    data = dict(zip(wanted, table.columns(wanted), strict=True))
    row_person, ids = _factorize(table, columns.person, data[columns.person], label)
    row_item, names = _factorize(table, columns.item, data[columns.item], "item")

    def row_name(i: int) -> str:
        return f"{label} {shorten(ids[row_person[i]])!r}, item {shorten(names[row_item[i]])!r} ({table.where(i)})"

    counts, trials = _row_counts(table, columns, data, coding, row_name)
    key = row_person * len(names) + row_item
    keep, notes = _settle_duplicates(
        table, key, None if columns.trial is None else data[columns.trial], duplicates, row_name
    )
    shape = (len(ids), len(names))
    successes, number, told = _sum_cells(key[keep], counts[keep], trials[keep], shape, missing, label)
    if columns.trial is not None:
        notes = (f"Trials are counted from column {table.names[columns.trial]!r}.", *notes)
    unused = [table.names[j] for j in range(len(table.names)) if j not in wanted and table.names[j].strip()]
    if unused:
        notes = (*notes, f"Columns not used: {some(unused)}.")

    def covariates(what: Literal["persons", "items"], given: Any) -> pd.DataFrame | None:
        one, keys, groups = (label, ids, row_person) if what == "persons" else ("item", names, row_item)
        if not more[what]:
            return align_covariates(given, keys, one) if given is not None else None
        import pandas as pd

        rows = groups.tolist()
        return pd.DataFrame(
            {table.names[j]: blanks_missing(constant_within(table, j, rows, keys, data[j], one)) for j in more[what]}
        )

    return Responses(
        successes,
        number,
        ids,
        names,
        persons=covariates("persons", persons),
        items=covariates("items", items),
        person_label=label,
        name=name,
        source=source,
        notes=(*told, *notes),
    )


def _factorize(table: Table, column: int, values: list[Any], what: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return for each row the place of its id among the distinct ids, in order of first appearance."""
    lacking = [i for i, v in enumerate(values) if is_missing(v) or not str(v).strip()]
    if lacking:
        raise DataError(
            f"{at(table)}no {what} id in {counted(len(lacking), 'row')} of column {table.names[column]!r}: "
            f"{', '.join(table.where(i) for i in lacking[:_SHOWN])}{', ...' if len(lacking) > _SHOWN else ''}.",
            "Give every row one.",
        )
    places: dict[str, int] = {}
    rows = np.fromiter((places.setdefault(str(v), len(places)) for v in values), np.int64, len(values))
    ids = tuple(places)
    refuse_surrogates(ids, what, lambda place: at(table) + table.where(int(np.argmax(rows == place))))
    return rows, ids


def _row_counts(
    table: Table,
    columns: LongColumns,
    data: dict[int, list[Any]],
    coding: Coding | None,
    row_name: Callable[[int], str],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return successes (-1 where missing) and trials of each row."""
    coder = CellCoder(1 if columns.trials is None else MAX_COUNT, coding)
    counts = coder.row(data[columns.score], 0).astype(np.int64)
    coder.check(lambda _, i: row_name(i), table.place)
    if columns.trials is None:
        return counts, np.ones_like(counts)
    coder = CellCoder(MAX_COUNT)
    trials = coder.row(data[columns.trials], 0).astype(np.int64)
    coder.check(lambda _, i: f"trials of {row_name(i)}", table.place)
    trials[trials == MISSING] = 0
    for wrong, problem, remedy in (
        ((counts == MISSING) & (trials > 0), "no number of successes", "Give it, or 0 trials."),
        (counts > trials, "more successes than trials", "Successes cannot exceed trials."),
    ):
        rows = np.flatnonzero(wrong)
        if rows.size:
            i = int(rows[0])
            raise DataError(
                f"{at(table)}{problem} in {counted(rows.size, 'row')}: {row_name(i)}, trials {trials[i]}.",
                remedy,
            )
    counts[trials == 0] = MISSING
    return counts, trials


def _settle_duplicates(
    table: Table,
    key: NDArray[np.int64],
    trial: list[Any] | None,
    duplicates: Duplicates,
    row_name: Callable[[int], str],
) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Return the rows to use, in order, and notes."""
    if trial is not None:
        places: dict[str, int] = {}
        codes = np.fromiter((places.setdefault(str(v), len(places)) for v in trial), np.int64, len(trial))
        key = key * len(places) + codes
    everything = np.arange(len(key))
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    n = len(key) - len(first)
    if n == 0:
        return everything, ()
    if duplicates == "trials":
        return everything, (f'{counted(n, "repeated row")} counted as further trials (duplicates="trials").',)
    if duplicates == "first":
        return np.sort(first), (f'{counted(n, "repeated row")} left out (duplicates="first").',)
    if duplicates == "last":
        _, last = np.unique(key[::-1], return_index=True)
        return np.sort(len(key) - 1 - last), (f'{counted(n, "repeated row")} left out (duplicates="last").',)
    starts = np.sort(first[counts > 1])
    shown = [f"{row_name(int(i))} again in {table.where(_next_row(key, int(i)))}" for i in starts[:_SHOWN]]
    of = "pair" if trial is None else "pair and trial"
    raise DataError(
        f"{at(table)}{counted(len(starts), of)} more than once in the table: {some_of(shown, len(starts), '; ')}.",
        'duplicates="trials" counts the rows as repeated trials; "first" and "last" keep one of them.',
    )


def _next_row(key: NDArray[np.int64], row: int) -> int:
    return row + 1 + int(np.argmax(key[row + 1 :] == key[row]))


def _sum_cells(
    key: NDArray[np.int64],
    counts: NDArray[np.int64],
    trials: NDArray[np.int64],
    shape: tuple[int, int],
    missing: Missing,
    label: PersonLabel,
) -> tuple[CountArray, CountArray, tuple[str, ...]]:
    """Return successes and trials (N, J), and notes on rows without a score."""
    blank = counts == MISSING
    n_blank = int(np.count_nonzero(blank))
    notes: tuple[str, ...] = ()
    if missing == "wrong":
        if (trials == 0).any():
            raise SettingsError('missing="wrong" cannot tell how many trials a row had.', "Give its trials.")
        counts = np.where(blank, 0, counts)
    elif n_blank:
        trials = np.where(blank, 0, trials)
        counts = np.where(blank, 0, counts)
        notes = (f"{counted(n_blank, 'row')} without a score: left out, neither right nor wrong.",)
    cells, place = np.unique(key, return_inverse=True)
    k, n = (np.bincount(place, weights=w).astype(np.int64) for w in (counts, trials))
    if n.max(initial=0) > MAX_COUNT:
        raise DataError(f"A {label} and item have {n.max()} trials together.", "Check the column of trials.")
    try:
        successes, number = (np.zeros(shape[0] * shape[1], smallest_dtype(int(v.max(initial=0)))) for v in (k, n))
    except (MemoryError, ValueError):
        raise DataError(
            f"{shape[0]} {label}s x {shape[1]} items do not fit in memory.", "Check which columns hold the ids."
        ) from None
    if missing == "wrong":
        n_absent = len(number) - len(cells)
        if n_absent and len(np.unique(n)) > 1:
            raise SettingsError(
                'missing="wrong" cannot tell how many trials an absent pair had: the others differ.',
                "Add rows for them.",
            )
        number[:] = n[0]
        told = f"{counted(n_blank, 'row')} without a score and {counted(n_absent, 'absent pair')}"
        notes = (f'{told} count as wrong (missing="wrong").',)
    successes[cells], number[cells] = k, n
    return frozen(successes).reshape(shape), frozen(number).reshape(shape), notes

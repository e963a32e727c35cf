"""Responses from a wide table: one row a person, one column an item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from psychoeval.errors import DataError
from psychoeval.responses.arrays import Missing, check_missing, check_trials, finish_counts, is_single
from psychoeval.responses.cells import MAX_COUNT, MISSING, CellCoder, Coding, as_number
from psychoeval.responses.columns import (
    PERSON_NAMES,
    Table,
    align_covariates,
    at,
    blanks_missing,
    check_header,
    find,
    label_of,
    one_of,
)
from psychoeval.responses.frames import FrameTable
from psychoeval.responses.ids_and_counts import CountArray, PersonLabel, check_ids, smallest_dtype
from psychoeval.responses.matrix import Responses
from psychoeval.wording import shorten, some

if TYPE_CHECKING:
    import pandas as pd

_HINT = (
    "If a column is about persons and no item, name it in persons=. If each row is one response, the table is long: "
    'give layout="long" (of data frames: from_long).'
)


def wide_responses(
    table: Table,
    *,
    person: str | None = None,
    trials: Any = None,
    missing: Missing = "missing",
    coding: Coding | None = None,
    persons: Sequence[str] | pd.DataFrame | None = None,
    items: pd.DataFrame | None = None,
    person_label: PersonLabel | None = None,
    name: str = "responses",
    source: str = "",
) -> Responses:
    """Make responses from a wide table or file; the parameters are those of `psychoeval.responses.tables.from_wide`."""
    check_missing(missing)
    if person is None:
        check_header(table)
    column = person_column(table, person)
    label = person_label or label_of(table, column)
    covariates = [] if persons is None or hasattr(persons, "columns") else [find(table, c, "persons") for c in persons]
    others = ([] if column is None else [column]) + covariates
    items_at = [j for j in range(len(table.names)) if j not in others]
    if not items_at:
        raise DataError(f"{at(table)}there is no item column.", "A wide table has one column for each item.")
    scalar = is_single(trials)
    coder = CellCoder(check_trials(trials) if scalar else MAX_COUNT, coding)
    found, codes = table.wide(others, items_at, coder)
    given: Sequence[object] = found[0] if column is not None else [f"{label}-{i + 1}" for i in range(len(codes))]
    ids = check_ids(given, len(codes), label, lambda i: f"{table.place}, {table.where(i)}".removeprefix(", "))
    names = check_ids([table.names[j] for j in items_at], len(items_at), "item")

    def cell(i: int, k: int) -> str:
        return f"{label} {shorten(ids[i])!r}, item {shorten(names[k])!r} ({table.where(i)}, column {items_at[k] + 1})"

    coder.check(cell, table.place, _HINT)
    number = check_trials(trials) if scalar else trials_like(trials, ids, names, label)
    counts, n_trials, notes = finish_counts(codes, number, missing, cell)
    if covariates:
        import pandas as pd

        columns = zip(covariates, found[len(others) - len(covariates) :], strict=True)
        person_table: pd.DataFrame | None = pd.DataFrame(
            {table.names[j]: blanks_missing(values) for j, values in columns}
        )
    else:
        given_table = cast("pd.DataFrame | None", persons)
        person_table = None if given_table is None else align_covariates(given_table, ids, label)
    return Responses(
        counts,
        n_trials,
        ids,
        names,
        persons=person_table,
        items=align_covariates(items, names, "item") if items is not None else None,
        person_label=label,
        name=name,
        source=source,
        notes=notes,
    )


def person_column(table: Table, person: str | None) -> int | None:
    """Return the column of person ids: the one named, one with a usual name, or a first column of texts; or None."""
    column = one_of(table, person, "person", PERSON_NAMES)
    unnamed = bool(table.names) and not table.names[0].strip()
    if column is not None:
        if unnamed and column != 0:
            raise DataError(
                f"{at(table)}the first column (or the index) has no name, and {table.names[column]!r} holds the ids.",
                "Leave the row names or the index out.",
            )
        return column
    if unnamed or _plain_id(table.names[0]) or any(_is_text(v) for v in table.peek(0)):
        return 0
    return None


def _plain_id(name: str) -> bool:
    return name.strip().lower() in ("id", "name")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and as_number(value) is None and not _is_cell(value)


def _is_cell(value: str) -> bool:
    return int(CellCoder(1).row([value], 0)[0]) >= MISSING


def trials_like(trials: Any, ids: tuple[str, ...], names: tuple[str, ...], label: PersonLabel) -> CountArray:
    """Return the trials of a second wide table, in the order of `ids` and `names`.

    Raises
    ------
    DataError
        If it has other persons or items.
    """
    table = FrameTable(trials, "the table of trials")
    column = person_column(table, None)
    items_at = [j for j in range(len(table.names)) if j != column]
    coder = CellCoder(MAX_COUNT)
    found, codes = table.wide([] if column is None else [column], items_at, coder)
    given: Sequence[object] = found[0] if column is not None else [f"{label}-{i + 1}" for i in range(len(codes))]
    rows = _order(ids, check_ids(given, len(codes), label), label)
    columns = _order(names, tuple(table.names[j] for j in items_at), "item")
    coder.check(lambda i, k: f"{table.where(i)}, column {table.names[items_at[k]]!r}", "the table of trials")
    ordered = codes[np.ix_(rows, columns)]
    ordered[ordered == MISSING] = 0
    return ordered.astype(smallest_dtype(int(ordered.max(initial=0))))


def _order(wanted: tuple[str, ...], given: tuple[str, ...], what: str) -> list[int]:
    lacking, foreign = sorted(set(wanted) - set(given)), sorted(set(given) - set(wanted))
    if lacking or foreign:
        told = f"lacks {what}s {some(lacking)}" if lacking else f"has {what}s {some(foreign)} too many"
        raise DataError(f"The table of trials {told}.", "It must have the persons and items of the successes.")
    position = {text: i for i, text in enumerate(given)}
    return [position[text] for text in wanted]

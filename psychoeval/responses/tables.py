"""Responses from tables and files: wide and long, data frames, CSV and Parquet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.arrays import Missing, responses_from_array
from psychoeval.responses.cells import Coding
from psychoeval.responses.columns import (
    ITEM_NAMES,
    PERSON_NAMES,
    SCORE_NAMES,
    SUCCESS_NAMES,
    Table,
    at,
    recognized,
)
from psychoeval.responses.files import FileTable
from psychoeval.responses.frames import FrameTable
from psychoeval.responses.ids_and_counts import PersonLabel
from psychoeval.responses.long import Duplicates, long_columns, long_responses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.parquet_files import parquet_frame
from psychoeval.responses.wide import wide_responses
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_long", "from_wide", "read_table", "responses_from_array"]

Layout = Literal["auto", "wide", "long"]

_PARQUET: Final = (".parquet", ".pq")


def from_wide(
    table: Any,
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
    """Make responses from a table with one row a person and one column an item.

    Cells are 0, 1, or missing: None, NaN, blank, ``"NA"``, ``"NaN"``, ``"nan"``; truth values count as 0 and 1, and
    so do texts that spell them (``"1"``, ``"1.0"``, ``"true"``). Anything else is refused by name. Rows and columns
    without any response stay, in place.

    Parameters
    ----------
    table : DataFrame, dict of columns, list of records, or anything with ``to_pandas()``
    person : str, optional
        The column of ids. By default the one with a usual name (system, model, agent, person, subject, student,
        ...), else an index of names, else a first column of texts; otherwise the rows are numbered.
    trials : int or table, optional
        Cells are successes in so many trials; a table has the same persons and items, in any order, and 0 or
        missing where a cell was not administered.
    missing : {"missing", "wrong"}
        ``"wrong"`` counts missing cells as failures; the choice is recorded in `notes`.
    coding : dict, optional
        What further values stand for: ``{"C": 1, "I": 0, "error": None}``.
    persons : list of str or DataFrame, optional
        Covariates: columns of this table, or a table of their own with the ids in its index or in a column.
    items : DataFrame, optional
        Covariates of items, likewise.
    person_label : {"person", "system"}, optional
        By default ``"system"`` where the column of ids is called system, model or agent.
    name, source : str
        Of the data set.

    Raises
    ------
    DataError
        If a cell is not a count (named by person, item, row, column and value), or ids or names repeat.

    Examples
    --------
    >>> r = from_wide({"system": ["A", "B"], "q1": [1, 0], "q2": [None, 1]})
    >>> r.person_label, r.n_observed
    ('system', 3)
    """
    return wide_responses(
        FrameTable(table), person=person, trials=trials, missing=missing, coding=coding, persons=persons,
        items=items, person_label=person_label, name=name, source=source,
    )  # fmt: skip


def from_long(
    table: Any,
    *,
    person: str | None = None,
    item: str | None = None,
    score: str | None = None,
    successes: str | None = None,
    trials: str | None = None,
    trial: str | None = None,
    duplicates: Duplicates = "error",
    missing: Missing = "missing",
    coding: Coding | None = None,
    persons: Sequence[str] | pd.DataFrame | None = None,
    items: Sequence[str] | pd.DataFrame | None = None,
    person_label: PersonLabel | None = None,
    name: str = "responses",
    source: str = "",
) -> Responses:
    """Make responses from a table with one row a response.

    Persons and items keep the order in which they first appear. A row without a score keeps its person and item,
    and counts as not administered.

    Parameters
    ----------
    table : DataFrame, dict of columns, list of records, or anything with ``to_pandas()``
    person, item, score : str, optional
        Columns; by default those with a usual name (system, model, ...; item, task, question, ...; score, correct,
        resolved, ...). Scores are 0, 1 or missing, as in `from_wide`.
    successes, trials : str, optional
        Columns of counts, in place of `score`: k successes in n trials.
    trial : str, optional
        Column that numbers repeated trials (epoch, run, attempt, ...): the rows of a pair become k of n.
    duplicates : {"error", "trials", "first", "last"}
        What a repeated pair (or pair and trial) is: refused, further trials, or one row to keep.
    missing : {"missing", "wrong"}
        ``"wrong"`` counts rows without a score, and pairs without a row, as failures; recorded in `notes`.
    coding : dict, optional
        What further values stand for: ``{"C": 1, "I": 0, "error": None}``.
    persons, items : list of str or DataFrame, optional
        Covariates: columns of this table that are constant within each person or item, or tables of their own.
    person_label : {"person", "system"}, optional
    name, source : str

    Raises
    ------
    DataError
        If a score is not a count, an id is missing, or a pair repeats: named by person, item, row and value.

    Examples
    --------
    >>> r = from_long({"model": ["A", "A", "B"], "task": ["t1", "t1", "t1"], "epoch": [1, 2, 1], "score": [1, 0, 1]})
    >>> r.successes.tolist(), r.trials.tolist()
    ([[1], [1]], [[2], [1]])
    """
    source_table = FrameTable(table)
    columns = long_columns(source_table, person, item, score, successes, trials, trial)
    return long_responses(
        source_table, columns, duplicates=duplicates, missing=missing, coding=coding, persons=persons, items=items,
        person_label=person_label, name=name, source=source,
    )  # fmt: skip


def read_table(
    path: str | os.PathLike[str],
    *,
    layout: Layout = "auto",
    person: str | None = None,
    item: str | None = None,
    score: str | None = None,
    successes: str | None = None,
    trials: str | int | None = None,
    trial: str | None = None,
    duplicates: Duplicates = "error",
    missing: Missing = "missing",
    coding: Coding | None = None,
    persons: Sequence[str] | pd.DataFrame | None = None,
    items: Sequence[str] | pd.DataFrame | None = None,
    person_label: PersonLabel | None = None,
    name: str | None = None,
    source: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Responses:
    """Read responses from a CSV, TSV or Parquet file.

    Text files have a header, may be compressed (``.gz``), and are read strictly: nothing is renamed, skipped or
    guessed, and ids stay the texts they are. Equal files give equal `Responses.sha256`.

    Parameters
    ----------
    path : str or path
        ``.parquet`` and ``.pq`` are read with pyarrow, all else as delimited text.
    layout : {"auto", "wide", "long"}
        ``"auto"`` takes a table as long if columns are called as persons, items and scores usually are, or if a
        column of a long table is named here; a table that could be both is refused.
    person, item, score, successes, trial, duplicates, missing, coding, persons, items, person_label
        As in `from_wide` and `from_long`.
    trials : int or str, optional
        Wide: the trials of every cell. Long: the column of trials.
    name, source : str, optional
        By default the file's name and path.
    delimiter : str, optional
        By default the one of comma, semicolon and tab that is most frequent in the header.
    encoding : str
        Of a text file.

    Raises
    ------
    DataError
        With file, line and cell.
    """
    table = open_table(path, delimiter, encoding)
    called = {"item": item, "score": score, "successes": successes, "trial": trial}
    shared = {
        "missing": missing, "coding": coding, "persons": persons, "person_label": person_label,
        "name": Path(path).name.split(".")[0] if name is None else name,
        "source": str(path) if source is None else source,
    }  # fmt: skip
    if choose_layout(table, layout, {**called, "trials": trials if isinstance(trials, str) else None}) == "long":
        if trials is not None and not isinstance(trials, str):
            raise SettingsError(f"trials={trials!r} with a long table.", "Name the column of trials.")
        columns = long_columns(table, person, trials=trials, **called)
        read = long_responses(table, columns, duplicates=duplicates, items=items, **cast(Any, shared))
        return replace(read, notes=(*_stored_notes(path), *read.notes))
    given = [option for option, value in called.items() if value is not None]
    given += ["duplicates"] if duplicates != "error" else []
    if given:
        raise SettingsError(f"{', '.join(given)} belong to long tables.", 'Leave them out, or give layout="long".')
    if isinstance(trials, str):
        raise SettingsError(f"trials={trials!r} with a wide table.", "Give the number of trials of every cell.")
    if items is not None and not hasattr(items, "columns"):
        raise SettingsError("items= names columns of a wide table.", "Give a DataFrame with one row an item.")
    return wide_responses(table, person=person, trials=trials, items=cast(Any, items), **cast(Any, shared))


def open_table(path: str | os.PathLike[str], delimiter: str | None = None, encoding: str = "utf-8") -> Table:
    """Open a file, by its suffix."""
    file = Path(path)
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "is no plain file" if file.exists() else "does not exist"
        raise DataError(f"{file} {what}.", "Check the path; load_dataset takes the names of bundled sets.")
    if file.suffix.lower() not in _PARQUET:
        return FileTable(file, delimiter, encoding)
    return FrameTable(parquet_frame(file), str(file))


def _stored_notes(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the notes that a file written by `write_table` holds."""
    if Path(path).suffix.lower() not in _PARQUET:
        return ()
    from psychoeval.responses.writing import parquet_notes

    return parquet_notes(Path(path))


def choose_layout(table: Table, layout: Layout, called: dict[str, str | None]) -> Literal["wide", "long"]:
    """Return the layout of a table.

    Raises
    ------
    DataError
        If it could be both.
    """
    if layout not in ("auto", "wide", "long"):
        raise SettingsError(f"layout={layout!r} is unknown.", 'Give "auto", "wide" or "long".')
    if layout != "auto":
        return layout
    if any(value is not None for value in called.values()):
        return "long"
    parts = [recognized(table, names) for names in (PERSON_NAMES, ITEM_NAMES, (*SCORE_NAMES, *SUCCESS_NAMES))]
    if not all(parts):
        return "wide"
    from psychoeval.responses.cells import CellCoder

    cells = CellCoder(1)
    items = [j for j in range(len(table.names)) if j not in parts[0]]
    for j in items:
        cells.row(table.peek(j), 0)
    if cells.n_refused:
        return "long"
    raise DataError(
        f"{at(table)}the columns {some(table.names)} are called as in a long table, and hold 0 and 1 as in a wide one.",
        'Is each row one response, or one person? Give layout="long" or layout="wide".',
    )

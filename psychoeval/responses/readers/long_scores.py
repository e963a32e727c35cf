"""Long tables of scores: one row a response, as CSV, TSV or Parquet; among them the Item Response Warehouse's.

IRW tables have the columns ``id``, ``item`` and ``resp``, with covariates ``cov_*`` and ``itemcov_*``. Scores need not
be 0 or 1: `psychoeval.responses.tables.read_table` reads such tables where they are.
"""

from __future__ import annotations

import re
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.cells import MISSING_TEXTS, as_number
from psychoeval.responses.columns import ITEM_NAMES, PERSON_NAMES, SCORE_NAMES, TRIAL_NAMES, Table, find, one_of
from psychoeval.responses.readers.log import LogBuilder, Record
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import Source
from psychoeval.responses.tables import open_table
from psychoeval.wording import shorten, some

_IRW: Final = ("id", "item", "resp")


def is_irw(source: Source, shape: Shape) -> bool:
    """Whether a file is a delimited table with the columns of the Item Response Warehouse."""
    if shape.kind != "text":
        return False
    header = source.head.split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    names = [name.strip().strip('"') for name in re.split(r"[,;\t]", header)]
    return names.count("resp") == names.count("id") == names.count("item") == 1


def read_irw(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read a table of the Item Response Warehouse; the file's name is the benchmark.

    Raises
    ------
    DataError
        If an id is blank, or ``resp`` no number; with the line.
    """
    table = open_table(source.path)
    person, item, score = (find(table, name, name) for name in _IRW)
    _read(table, source, log, person, item, score)


def read_long_scores(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read a long table whose columns have usual names (system, model, ...; item, task, ...; score, ...).

    Raises
    ------
    DataError
        If a column is not to be found, an id is blank, or a score no number; with the line.
    """
    table = open_table(source.path)
    found = {
        "persons": one_of(table, options.person_column or None, "person_column", PERSON_NAMES),
        "items": one_of(table, None, "item", ITEM_NAMES),
        "scores": one_of(table, None, "score", SCORE_NAMES),
    }
    lacking = [what for what, position in found.items() if position is None]
    if lacking:
        raise DataError(
            f"{table.place}: no column has a usual name for {' and '.join(lacking)}; the columns are "
            f"{some(table.names, 12)}.",
            "Call them for example system, item and score.",
        )
    person, item, score = (position for position in found.values() if position is not None)
    _read(table, source, log, person, item, score)


def _read(table: Table, source: Source, log: LogBuilder, person: int, item: int, score: int) -> None:
    trial = one_of(table, None, "trial", TRIAL_NAMES)
    wanted = [j for j in (person, item, score, trial) if j is not None]
    columns = dict(zip(wanted, table.columns(wanted), strict=True))
    benchmark, metric = source.name.split(".")[0], table.names[score]
    trials = columns[trial] if trial is not None else ["1"] * len(columns[person])
    ids = zip(columns[person], columns[item], columns[score], trials, strict=True)
    for row, (who, what, value, which) in enumerate(ids):
        where = table.where(row)
        line = int(where.removeprefix("line ")) if where.startswith("line ") else 0
        record = Record(
            _id(who), _id(what), metric, trial=_id(which), benchmark=benchmark, file=source.place, line=line
        )
        number = _number(value, f"{source.place}, {where}", metric)
        log.add(record._replace(outcome="unscored") if number is None else record._replace(score=number))
    unused = [name for j, name in enumerate(table.names) if j not in wanted]
    if unused:
        log.notes.append(f"{source.place}: columns not used: {some(unused, 12)}.")


def _id(value: Any) -> str:
    """Return an id as a text; blank where it is missing."""
    return "" if value is None or value != value else str(value).strip()


def _number(value: Any, place: str, name: str) -> float | None:
    """Return a score; None where it is missing."""
    if value is None or value != value or (isinstance(value, str) and value.strip() in MISSING_TEXTS):
        return None
    number = as_number(value)
    if number is None:
        raise DataError(f"{place}: {name} is {shorten(repr(value))}, not a number.", "Correct it, or make it blank.")
    return float(number)

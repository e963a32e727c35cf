"""Leaderboards: tables with one row a system and one column a benchmark, as CSV, TSV, Parquet or YAML.

A benchmark is an item, its score one number between bounds that the user gives. Which columns are benchmarks only the
user knows: ranks, averages and sizes are numbers too. Cells such as ``94.2/92.3`` are two scores, and two items. A
system in two rows is told by both, and `psychoeval.responses.readers.selection.select` asks what that means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.cells import MISSING_TEXTS, as_number
from psychoeval.responses.columns import PERSON_NAMES, Table, check_header, find, recognized
from psychoeval.responses.readers.log import LogBuilder, Record
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import NoSamplesError, Source
from psychoeval.responses.readers.yaml_table import looks_like_yaml, yaml_table
from psychoeval.responses.tables import open_table
from psychoeval.responses.wide import person_column
from psychoeval.wording import shorten, some

#: The metric of a leaderboard's cells.
METRIC: Final = "score"

_MOST_PARTS: Final = 2
#: What leaderboards write where a system was not run; none can be a score.
_BLANKS: Final = (*MISSING_TEXTS, "-", "--", "–", "—", "N/A", "n/a", "None", "null")


def is_yaml(source: Source, shape: Shape) -> bool:
    """Whether a file is a YAML list of objects; by its ending too, as Markdown may start alike."""
    return shape.kind == "text" and source.name.endswith((".yml", ".yaml")) and looks_like_yaml(source.head)


def read_leaderboard(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read a leaderboard.

    Raises
    ------
    NoSamplesError
        If neither `options.columns` nor `options.leave_out` says which columns are benchmarks.
    DataError
        If a cell of a benchmark is no number; with the line.
    """
    table = yaml_table(source) if looks_like_yaml(source.head) else open_table(source.path)
    if not options.person_column:
        check_header(table)
    person, numbering = _person(table, options.person_column)
    chosen = _benchmarks(table, options, {person, *numbering})
    names, *columns = table.columns([person, *chosen])
    benchmark = source.name.split(".")[0]
    cells: dict[str, list[float | None]] = {}
    for position, values in zip(chosen, columns, strict=True):
        cells |= _scores(table, position, values)
    for row, name in enumerate(names):
        place = f"{source.place}, {table.where(row)}"
        if not str(name).strip():
            raise DataError(f"{place}: the column {table.names[person]!r} is blank.", "Every row names a system.")
        line = int(table.where(row).removeprefix("line ")) if table.where(row).startswith("line ") else 0
        record = Record(str(name).strip(), "", METRIC, benchmark=benchmark, file=source.place, line=line)
        for item, scores in cells.items():
            score = scores[row]
            if score is None:
                log.add(record._replace(item=item, outcome="not attempted"))
            else:
                log.add(record._replace(item=item, score=score))
    unused = [n for j, n in enumerate(table.names) if j not in (person, *chosen)]
    if unused:
        log.notes.append(f"{source.place}: columns not used: {some(unused, 12)}.")


def _person(table: Table, given: str) -> tuple[int, tuple[int, ...]]:
    """Return the column of systems, and a first column without a name that only numbers the rows."""
    if given:
        return find(table, given, "person_column"), ()
    if table.names[0].strip():
        numbering: tuple[int, ...] = ()
    else:
        numbers = [as_number(v) for v in table.peek(0)]
        numbering = (0,) if numbers == list(range(len(numbers))) else ()
    usual = recognized(table, PERSON_NAMES)
    if numbering and len(usual) == 1:
        return usual[0], numbering
    found = person_column(table, None)
    if found is None:
        raise DataError(
            f"{table.place}: no column has a usual name for systems; the columns are {some(table.names, 12)}.",
            "Name it: person_column=.",
        )
    return found, ()


def _benchmarks(table: Table, options: ReadOptions, others: set[int]) -> list[int]:
    """Return the columns that are benchmarks, as the user says.

    Raises
    ------
    NoSamplesError
        If the user does not say.
    DataError
        If a column that is named is not there.
    """
    numeric = [j for j in range(len(table.names)) if j not in others and _has_number(table.peek(j))]
    if not (options.columns or options.leave_out):
        # In a folder it may be no leaderboard, and is passed over.
        raise NoSamplesError(
            f"{table.place}: which of its {len(numeric)} columns of numbers are benchmarks? "
            f"{some([table.names[j] for j in numeric], 12)}.",
            "Name them: columns=, also with * (columns=* takes all); or those that are not: leave_out=.",
        )
    wanted = _matched(table, options.columns, numeric) if options.columns else set(numeric)
    chosen = sorted(wanted - (_matched(table, options.leave_out, range(len(table.names))) - others) - others)
    if not chosen:
        raise DataError(f"{table.place}: no column of numbers is left.", "Check columns= and leave_out=.")
    return chosen


def _matched(table: Table, patterns: Sequence[str], among: Sequence[int]) -> set[int]:
    """Return the columns with these names, else those of `among` that match one as a pattern."""
    found: set[int] = set()
    for pattern in patterns:
        exact = {j for j, name in enumerate(table.names) if name == pattern}
        matched = exact or {j for j in among if fnmatchcase(table.names[j], pattern)}
        if not matched:
            raise DataError(f"{table.place}: no column is called {pattern!r}.", f"There are {some(table.names, 12)}.")
        found |= matched
    return found


def _has_number(values: Sequence[Any]) -> bool:
    return any(_parts(v) is not None for v in values if not _is_blank(v))


def _scores(table: Table, position: int, values: Sequence[Any]) -> dict[str, list[float | None]]:
    """Return the scores of one column, or of the two that cells such as ``94.2/92.3`` make.

    Raises
    ------
    DataError
        If a cell is no number, or some cells are one score and some two.
    """
    name = table.names[position]
    parts = [None if _is_blank(v) else _parts(v) for v in values]
    for row, (value, found) in enumerate(zip(values, parts, strict=True)):
        if found is None and not _is_blank(value):
            raise DataError(
                f"{table.place}, {table.where(row)}: {name!r} is {shorten(repr(value))}, not a number.",
                "Leave the column out (leave_out=), or make the cell blank where the system was not run.",
            )
    widths = {len(p) for p in parts if p is not None}
    if len(widths) > 1:
        row = next(i for i, p in enumerate(parts) if p is not None and len(p) == max(widths))
        raise DataError(
            f"{table.place}, {table.where(row)}: {name!r} is {values[row]!r}, {max(widths)} scores; other cells of the "
            f"column are {min(widths)}.",
            "Split the column, or leave it out (leave_out=).",
        )
    width = max(widths, default=1)
    names = [name] if width == 1 else [f"{name} ({k} of {width})" for k in range(1, width + 1)]
    return {n: [None if p is None else p[k] for p in parts] for k, n in enumerate(names)}


def _parts(value: Any) -> tuple[float, ...] | None:
    """Return the score of a cell, or the two that a slash parts; None if it is neither (dates have two slashes)."""
    texts = re.split(r"\s*/\s*", value.strip()) if isinstance(value, str) else [value]
    if len(texts) > _MOST_PARTS:
        return None
    numbers = [as_number(t.removesuffix("%") if isinstance(t, str) else t) for t in texts]
    return None if any(n is None for n in numbers) else tuple(float(n) for n in numbers if n is not None)


def _is_blank(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and value.strip() in _BLANKS)

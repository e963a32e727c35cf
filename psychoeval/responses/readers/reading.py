"""Reading logs: files, folders and globs in, one long table out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.formats import FORMATS, Format, format_named, recognize
from psychoeval.responses.readers.log import EvaluationLog, LogBuilder
from psychoeval.responses.readers.options import ReadOptions, item_ids
from psychoeval.responses.readers.reading_progress import Progress, ReadingLine
from psychoeval.responses.readers.scores import Threshold
from psychoeval.responses.readers.selection import Errors, Repeats, select
from psychoeval.responses.readers.sources import NoSamplesError, Source, find_files, open_source
from psychoeval.responses.tables import read_table
from psychoeval.wording import some

#: Endings of tables, which have no marks of their own.
_TABLES: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq")
_TABLE_FORMATS: Final = (
    "Tables of right and wrong answers are taken as they are, by read_table and all commands but import; for other "
    'scores name the format: format="leaderboard" (a system a row, a benchmark a column) or format="long scores" (a '
    "response a row)."
)

#: The format that does not name every item.
_LISTS: Final = "swe-bench"

_FOREIGN: Final = "Only texts are read from gzip, and only where the name ends in .gz: unpack it, or rename it."

PathLike = str | os.PathLike[str]


def read_log(
    paths: PathLike | Sequence[PathLike],
    *,
    format: str = "auto",
    person: str = "",
    columns: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    person_column: str = "",
    items: PathLike | Sequence[str] = (),
    progress: Progress | None = None,
) -> EvaluationLog:
    """Read evaluation logs into one long table.

    Parameters
    ----------
    paths : path or list of paths
        Files, folders (with all that is below them), globs.
    format : str
        ``"auto"`` recognises each file by its content; a name of `psychoeval.responses.readers.formats.FORMATS` reads
        every file so.
    person : str
        The system, for files that do not name theirs.
    columns, leave_out, person_column
        Of tables, as `psychoeval.responses.readers.options.ReadOptions` describes them.
    items : path or list of str
        Of lists of results (SWE-bench): the ids of all items, or a file of them
        (`psychoeval.responses.readers.options.item_ids`). Items in no list were not attempted where the log says what
        was tried; where it does not, they are wrong.
    progress : callable, optional
        Called with the bytes read, of all files, and the path being read; by default a long reading says so on one
        line of stderr, where that is a terminal.

    Returns
    -------
    EvaluationLog

    Raises
    ------
    DataError
        If a path does not exist, a file named by itself is of no known format, or a log breaks its format; with file
        and line.

    Notes
    -----
    In folders and globs, files of no known format are passed over and counted in `EvaluationLog.notes`.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    for path in given:
        if not isinstance(path, (str, os.PathLike)):
            raise SettingsError(f"A path is {path!r}.", "Give texts or paths.")
    files = find_files([os.fspath(p) for p in given])
    named = {Path(p) for p in given if Path(p).is_file()}
    options = ReadOptions(
        person=person, columns=_names(columns), leave_out=_names(leave_out), person_column=person_column,
        items=item_ids(items),
    )  # fmt: skip
    fixed = None if format == "auto" else format_named(format)
    log = LogBuilder()
    passed: list[Path] = []
    companions: dict[Format, Path] = {}
    empty: list[NoSamplesError] = []
    with ReadingLine(files, progress) as line:
        for path in files:
            line.file(path)
            source = open_source(path, line.within)
            found = fixed or recognize(source)
            if found is None:
                if path in named:
                    raise _unknown(source)
                passed.append(path)
            elif found.read is None:
                companions.setdefault(found, path)
            else:
                log.formats[str(path)] = found.name
                try:
                    found.read(source, log, options)
                except NoSamplesError as error:
                    if path in named:
                        raise
                    empty.append(error)
                    log.notes.append(f"Passed over: {error.problem}")
                except RecursionError:  # what could just be read cannot always be written, or shown in a message
                    raise DataError(f"{source.place} holds a value nested too deeply.", "Is it a log?") from None
    if empty and not len(log):
        raise empty[0]
    _check_read(log, files, companions, passed)
    if options.items and _LISTS not in log.formats.values():
        raise SettingsError("items= was given, and no list of results is among the files.", "Leave it out.")
    return log.build()


def read(
    paths: PathLike | Sequence[PathLike],
    *,
    format: str = "auto",
    person: str = "",
    columns: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    person_column: str = "",
    items: PathLike | Sequence[str] = (),
    metric: str | Sequence[str] | None = None,
    filter: str | Sequence[str] | None = None,
    errors: Errors = "missing",
    threshold: Threshold = None,
    duplicates: Repeats = "error",
    bounds: tuple[float, float] | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Responses | ContinuousResponses:
    """Read evaluation logs into responses; `notes` say what became of every row.

    A CSV, TSV or Parquet file of no log format is read by `psychoeval.responses.tables.read_table`.

    Parameters
    ----------
    paths, format, person, columns, leave_out, person_column, items, progress
        As in `read_log`.
    metric, filter, errors, threshold, duplicates, bounds
        As in `psychoeval.responses.readers.selection.select`.
    name : str, optional
        Of the data set; by default the name of the first path.

    Returns
    -------
    Responses or ContinuousResponses
        The latter where scores are not right or wrong and no `threshold` is given.

    Raises
    ------
    DataError
        With file and line, and the choices where one must be made.
    """
    if format == "auto" and isinstance(paths, (str, os.PathLike)) and _is_table(Path(paths)):
        given: dict[str, Any] = {"metric": metric, "filter": filter, "threshold": threshold, "bounds": bounds}
        given |= {"person": person or None, "columns": columns or None, "leave_out": leave_out or None}
        given |= {"items": items or None}
        if foreign := [option for option, value in given.items() if value is not None]:
            raise SettingsError(f"{paths} is a table: {', '.join(foreign)} would mean nothing.", _TABLE_FORMATS)
        try:
            return read_table(
                paths, person=person_column or None, duplicates=duplicates,
                missing="wrong" if errors == "wrong" else "missing", name=name,
            )  # fmt: skip
        except DataError as error:
            raise DataError(error.problem, f"{error.remedy} {_TABLE_FORMATS}") from None
    log = read_log(
        paths, format=format, person=person, columns=columns, leave_out=leave_out, person_column=person_column,
        items=items, progress=progress,
    )  # fmt: skip
    first = Path(next(iter(log.formats)) if not isinstance(paths, (str, os.PathLike)) else paths)
    return select(
        log, metric=metric, filter=filter, errors=errors, threshold=threshold, duplicates=duplicates, bounds=bounds,
        name=first.name.split(".")[0] or "responses" if name is None else name, source=str(first),
    ).responses  # fmt: skip


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _is_table(path: Path) -> bool:
    """Whether a file is a table of no log format, by its ending."""
    return path.is_file() and path.name.lower().endswith(_TABLES) and recognize(open_source(path)) is None


def _unknown(source: Source) -> DataError:
    if not source.head:
        return DataError(f"{source.place} is empty.", "Was the run finished?")
    if source.foreign:
        return DataError(f"{source.place} holds {source.foreign}.", _FOREIGN)
    if source.path.name.lower().endswith(_TABLES):
        return DataError(f"{source.place} is a table, and of no log format.", _TABLE_FORMATS)
    return DataError(
        f"{source.place} is of no known log format.",
        f"The formats are {', '.join(f.name for f in FORMATS if f.read is not None)}; name one with format=.",
    )


def _check_read(
    log: LogBuilder, files: Sequence[Path], companions: Mapping[Format, Path], passed: Sequence[Path]
) -> None:
    """Refuse to return nothing, and note what was passed over."""
    unknown = some(_below(passed), 3)
    if log.formats:
        if passed:
            log.notes.append(f"{len(passed)} files of no known format were passed over: {unknown}.")
    elif companions:
        names = " and ".join(f.name for f in companions)
        such = some(_below(list(companions.values())), 3)
        only = f"There are only {names} ({such}) among {len(files)} files: they hold"
        one = f"{files[0]} is of {names}: it holds" if len(files) == 1 else ""
        also = f"; {unknown} are of no known format" if passed else ""
        raise DataError(
            f"{one or only} no responses to items{also}.",
            f"Give them together with {' and '.join(dict.fromkeys(f.needs for f in companions))}.",
        )
    else:
        tables = any(path.name.lower().endswith(_TABLES) for path in passed)
        raise DataError(
            f"None of {len(files)} files is of a known log format: {unknown}.",
            f"Give each table by itself: {_TABLE_FORMATS}" if tables else "Check the path.",
        )


def _below(paths: Sequence[Path]) -> list[str]:
    """Return paths from the folder that holds them all: the end of a path is what tells it from others."""
    top = os.path.commonpath([path.absolute().parent for path in paths]) if paths else ""
    return [os.path.relpath(path, top) for path in paths]


def readable_formats() -> tuple[Format, ...]:
    """Return the formats that can be read."""
    return tuple(f for f in FORMATS if f.read is not None)

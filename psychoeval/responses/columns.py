"""Which column of a table is what, and covariates put in the order of the ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.responses.cells import MISSING, CellCoder, as_number
from psychoeval.responses.ids_and_counts import PersonLabel, check_ids, is_missing
from psychoeval.wording import shorten, some

if TYPE_CHECKING:
    import pandas as pd

SYSTEM_NAMES = ("system", "model", "agent", "llm", "system_id", "model_id", "agent_id", "system_name", "model_name")
PERSON_NAMES = (
    *SYSTEM_NAMES,
    *("person", "person_id", "participant", "participant_id", "subject", "subject_id", "student", "student_id"),
    *("respondent", "respondent_id", "examinee", "examinee_id"),
)
ITEM_NAMES = (
    *("item", "item_id", "task", "task_id", "question", "question_id", "problem", "problem_id"),
    *("instance", "instance_id", "sample", "sample_id"),
)
SCORE_NAMES = (
    *("score", "correct", "is_correct", "success", "resolved", "passed", "solved", "response", "result", "outcome"),
)
SUCCESS_NAMES = ("successes", "n_successes", "n_correct")
TRIALS_NAMES = ("trials", "n_trials")
TRIAL_NAMES = ("trial", "epoch", "run", "attempt", "repeat", "repetition", "replicate", "rep")


_NO_HEADER = " If the first line holds data, put a line of names above it."


class Table(Protocol):
    """A file or a data frame: named columns and rows that can be pointed at."""

    names: tuple[str, ...]
    place: str

    def where(self, row: int) -> str:
        """Name a row: ``"line 7"`` or ``"row 7"``."""
        ...

    def peek(self, column: int) -> list[Any]:
        """Return the first values of a column."""
        ...

    def columns(self, positions: Sequence[int]) -> list[list[Any]]:
        """Return whole columns."""
        ...

    def wide(
        self, others: Sequence[int], items: Sequence[int], coder: CellCoder
    ) -> tuple[list[list[Any]], NDArray[Any]]:
        """Return the columns `others`, and the codes (N, J) of the columns `items`."""
        ...


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_").replace(".", "_")


def at(table: Table) -> str:
    """Return ``"file: "``, or nothing for a data frame."""
    return f"{table.place}: " if table.place else ""


def find(table: Table, name: str, option: str) -> int:
    """Return the position of the column called `name`."""
    places = [j for j, known in enumerate(table.names) if known == name]
    if len(places) != 1:
        count = "no column" if not places else f"{len(places)} columns"
        raise DataError(
            f"{at(table)}there is {count} called {name!r}, which {option}= names.",
            f"The columns are {some(table.names)}.",
        )
    return places[0]


def recognized(table: Table, names: Sequence[str]) -> list[int]:
    """Return the positions of columns with one of these names, whatever their case and separators."""
    return [j for j, known in enumerate(table.names) if _plain(known) in names]


def one_of(table: Table, given: str | None, option: str, names: Sequence[str]) -> int | None:
    """Return the column that `given` names or, without it, the only one with a usual name; None if there is none.

    Raises
    ------
    DataError
        If several columns have usual names: with the question which it is.
    """
    if given is not None:
        return find(table, given, option)
    found = recognized(table, names)
    if len(found) > 1:
        raise DataError(
            f"{at(table)}columns {some([table.names[j] for j in found])} could each be the {option}.",
            f"Say which, with {option}=.",
        )
    return found[0] if found else None


def label_of(table: Table, person: int | None) -> PersonLabel:
    """Return ``"system"`` where the person column is called so, or model, or agent."""
    return "system" if person is not None and _plain(table.names[person]) in SYSTEM_NAMES else "person"


def check_names(table: Table) -> None:
    """Refuse repeated and empty column names; the first may be empty, as spreadsheets and R write row names."""
    seen: dict[str, int] = {}
    hint = _NO_HEADER if any(as_number(name) is not None for name in table.names) else ""
    for position, name in enumerate(table.names, 1):
        if not name.strip() and position > 1:
            raise DataError(f"{at(table)}column {position} has no name.", f"Give every column a name.{hint}")
        if name in seen:
            raise DataError(
                f"{at(table)}the column name {shorten(name)!r} occurs more than once: columns {seen[name]} and "
                f"{position}.",
                f"Make the names unique.{hint}",
            )
        seen[name] = position


def check_header(table: Table) -> None:
    """Refuse a file without a header, whose first row would be lost: its first line has numbers where others have.

    Names that number the items (0, 1, 2, ...) are accepted, and any where a column has a usual name.

    Raises
    ------
    DataError
        If the first line looks like data.
    """
    first = table.names[0].strip().lower() if table.names else ""
    usual = (*PERSON_NAMES, *ITEM_NAMES, *SCORE_NAMES, *SUCCESS_NAMES, *TRIALS_NAMES, *TRIAL_NAMES)
    is_file = table.where(0).startswith("line")
    if not is_file or first in ("", "id", "name") or recognized(table, usual):
        return
    numeric = [name for j, name in enumerate(table.names) if all(_is_value(v) for v in table.peek(j))]
    if not numeric or not all(_is_value(name) for name in numeric):
        return
    numbers = [as_number(name) for name in numeric]
    known = [n for n in numbers if n is not None and float(n).is_integer()]
    numbered = len(known) == len(numbers) and known == sorted(set(known)) and known[-1] > 1
    if not numbered:
        raise DataError(
            f"{table.place}, line 1 looks like data, not like the names of the columns: {some(table.names)}.",
            "Put a line of names above it; if these are names, call the column of persons system or person.",
        )


def _is_value(value: Any) -> bool:
    """Whether a cell is a number, a truth value or missing."""
    return as_number(value) is not None or int(CellCoder(1).row([value], 0)[0]) >= MISSING


def blanks_missing(values: list[Any]) -> list[Any]:
    """Return values with None for blank texts; texts that spell numbers stay: 1.1 is not 1.10, and 01 is not 1."""
    return [None if isinstance(v, str) and not v.strip() else v for v in values]


def align_covariates(
    table: pd.DataFrame | None, ids: tuple[str, ...], what: str, *, positional: bool = False
) -> pd.DataFrame | None:
    """Return a table of covariates with one row for each id, in their order.

    Parameters
    ----------
    table : DataFrame, optional
        Its ids stand in a column called as `what` (or ``person``, ``system``, ``item``, ``id``), else in the index.
    ids : tuple of str, length N
    what : str
        ``"person"``, ``"system"`` or ``"item"``.
    positional : bool
        Whether a table without ids is taken row by row.

    Raises
    ------
    DataError
        If an id is missing from the table, repeated in it, or in it alone.
    """
    if table is None:
        return None
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise DataError(f"The covariates of {what}s are a {type(table).__name__}.", "Give a DataFrame.")
    usual = ITEM_NAMES if what == "item" else PERSON_NAMES
    id_columns = [c for c in table.columns if _plain(str(c)) in (*usual, "id")]
    if len(id_columns) > 1:
        raise DataError(
            f"Columns {some(id_columns)} of the table of {what}s could each hold the ids.",
            "Put the ids in the index, or rename the others.",
        )
    if id_columns:
        table = table.set_index(id_columns[0])
    elif positional and isinstance(table.index, pd.RangeIndex):
        if len(table) != len(ids):
            raise DataError(f"The table of {what}s has {len(table)} rows for {len(ids)}.", "Give one row each.")
        return table.reset_index(drop=True)
    given = check_ids(list(table.index), len(table), what)
    lacking, foreign = sorted(set(ids) - set(given)), sorted(set(given) - set(ids))
    if lacking or foreign:
        told = [f"has no row for {some(lacking)}"] * bool(lacking) + [f"has rows for {some(foreign)}"] * bool(foreign)
        raise DataError(
            f"The table of {what}s {' and '.join(told)}" + (", which the responses lack." if foreign else "."),
            f"Give one row for each {what}, with its id in the index or in a column called {what!r}.",
        )
    position = {text: i for i, text in enumerate(given)}
    return table.iloc[[position[text] for text in ids]].reset_index(drop=True)


def _same(a: Any, b: Any) -> bool:
    if is_missing(a) or is_missing(b):
        return is_missing(a) and is_missing(b)
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # arrays
        return False


def constant_within(
    table: Table, column: int, groups: Sequence[int], ids: tuple[str, ...], values: list[Any], what: str
) -> list[Any]:
    """Return the one value that a covariate has in each group of rows.

    Raises
    ------
    DataError
        If a group has two.
    """
    found: list[Any] = [None] * len(ids)
    first: list[int | None] = [None] * len(ids)
    for row, (group, value) in enumerate(zip(groups, values, strict=True)):
        start = first[group]
        if start is None:
            found[group], first[group] = value, row
        elif not _same(value, found[group]):
            raise DataError(
                f"{at(table)}{what} {shorten(ids[group])!r} has two values of {table.names[column]!r}: "
                f"{found[group]!r} ({table.where(start)}) and {value!r} ({table.where(row)}).",
                f"A covariate must be constant within each {what}.",
            )
    return found

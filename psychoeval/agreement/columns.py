"""Find and read the columns of another program's table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.responses.ids_and_counts import check_ids

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

#: Names of columns of standard errors that do not say whose; read where there is no doubt.
_ERRORS = ("se", "std_error", "standard_error", "std.error", "s.e.")


@dataclass(frozen=True, slots=True)
class Columns:
    """A quantity and the column names it goes by, in lower case."""

    what: str
    names: tuple[str, ...]


def find(table: pd.DataFrame, wanted: Columns) -> str | None:
    """Return the column that holds a quantity, by name whatever the case; None if there is none.

    Raises
    ------
    DataError
        If several could.
    """
    found = [c for c in table.columns if str(c).lower() in wanted.names]
    if len(found) > 1:
        raise DataError(
            f"The columns {', '.join(map(repr, found))} could all be the {wanted.what}.", "Leave one of them in."
        )
    return found[0] if found else None


def ids_of(table: pd.DataFrame, names: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Return the ids of the rows: a column of `names`, else an index of texts.

    Raises
    ------
    DataError
        If there are none, or ids repeat or are blank.
    """
    found = [c for c in table.columns if str(c).lower() in names]
    if len(found) > 1:
        raise DataError(f"The columns {', '.join(map(repr, found))} could all be the {what} id.", "Leave one in.")
    if found:
        return check_ids(list(table[found[0]]), len(table), what)
    if len(table) and all(isinstance(label, str) for label in table.index):
        return check_ids(list(table.index), len(table), what)
    raise DataError(
        f"The {what} table has no ids: no column {', '.join(names)}, and no names as its index.",
        f"Add a column {what!r}; fits are matched by id, never by position.",
    )


def numbers(
    table: pd.DataFrame, column: str, ids: Sequence[str], *, infinite: bool = False, bare_errors: bool = False
) -> tuple[FloatArray, FloatArray | None]:
    """Return a column and its standard errors (None without a column of them), each (M,).

    Parameters
    ----------
    table : DataFrame
    column : str
    ids : sequence of str, length M
        Of the rows, for the messages.
    infinite : bool
        Whether infinite values are allowed.
    bare_errors : bool
        Whether a column ``se`` can only be about this one, whatever else the table holds.

    Raises
    ------
    DataError
        If a cell is no number, or an error is negative; by column and id.
    """
    values = np.array([_number(v, column, i, infinite) for v, i in zip(table[column], ids, strict=True)])
    return values, _errors(table, column, ids, bare_errors)


def _errors(table: pd.DataFrame, column: str, ids: Sequence[str], bare: bool) -> FloatArray | None:
    own = {f"{a}{s}{b}" for s in "_. " for a, b in (("se", column.lower()), (column.lower(), "se"))}
    found = [c for c in table.columns if str(c).lower() in own]
    if not found:
        plain = [c for c in table.columns if str(c).lower() in _ERRORS]
        # A bare "se" belongs to the one quantity of the table, such as the location of a Rasch table.
        others = [c for c in table.columns if c not in plain and c != column and _is_numeric(table[c]) and not bare]
        found = plain if not others else []
        if plain and others:
            raise DataError(
                f"The column {plain[0]!r} does not say whose standard errors it holds.",
                f"Name it after its column, for example 'se_{column}'.",
            )
    if len(found) > 1:
        raise DataError(
            f"The columns {', '.join(map(repr, found))} could all be the errors of {column!r}.", "Keep one."
        )
    if not found:
        return None
    errors = np.array([_number(v, str(found[0]), i, True) for v, i in zip(table[found[0]], ids, strict=True)])
    for label, error in zip(ids, errors, strict=True):
        if error < 0:
            raise DataError(
                f"Column {found[0]!r}, row {label!r}: a standard error of {error:g}.", "Errors are not negative."
            )
    return errors


def _is_numeric(values: pd.Series) -> bool:
    return bool(values.dtype.kind in "fiu")


def _number(value: Any, column: str, label: str, infinite: bool) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or math.isnan(number) or (math.isinf(number) and not infinite):
        shown = label if len(label) <= 60 else label[:57] + "..."
        raise DataError(
            f"Column {column!r}, row {shown!r}: {value!r} is not a{'' if infinite else ' finite'} number.",
            "Give a number, or leave out the row: what is not estimated is not compared.",
        )
    return number

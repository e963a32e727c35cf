"""Cells: which values are counts, which are missing, and what to say of all others."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, SettingsError
from psychoeval.wording import shorten, some_of

MISSING: Final = -1
REFUSED: Final = -2
#: R's largest integer; anything above is an identifier or a time, not a count.
MAX_COUNT: Final = 2**31 - 1
#: Texts that mean "not administered". Other spellings need `coding`.
MISSING_TEXTS: Final = ("", "NA", "NaN", "nan")

_BOOLEAN_TEXTS: Final = {"true": 1, "false": 0}
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.ASCII | re.IGNORECASE)
_SENTINELS: Final = {-(2**31): "looks like an R integer NA", -(2**63): "looks like a 64-bit integer NA"}
_NO_CELLS: Final = ("not a number", "too large for a count", "more than one success in one trial")
_SHOWN = 5

Coding = Mapping[Any, int | None]


def counted(n: int, noun: str) -> str:
    """Return ``"1 cell"``, ``"2 cells"``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


class CellCoder:
    """Turns values into counts, -1 (missing) and -2 (refused), and remembers what it refused.

    A value is missing if it is None, NaN, masked, blank or one of `MISSING_TEXTS`; it is a count if it is a whole
    number from 0 to `largest`, a truth value, or a text that spells one (``"1"``, ``"1.0"``, ``"true"``).

    Parameters
    ----------
    largest : int
        1 where every cell is one trial.
    coding : mapping, optional
        What further values stand for: a count, or None for missing.
    """

    def __init__(self, largest: int, coding: Coding | None = None) -> None:
        self.largest = largest
        self.dtype = np.dtype(np.int8 if largest == 1 else np.int32)
        self.refused: list[tuple[int, int, Any]] = []
        self.n_refused = 0
        self._known: dict[Hashable, int] = {}
        for value, code in (coding or {}).items():
            if code is not None and not (isinstance(code, (int, np.integer)) and 0 <= code <= largest):
                raise SettingsError(
                    f"coding maps {value!r} to {code!r}.", f"Give a count from 0 to {largest}, or None for missing."
                )
            self._known[value] = MISSING if code is None else int(code)
            if isinstance(value, (int, float)):  # a file spells it
                self._known.setdefault(str(value), self._known[value])
        self._coded = bool(self._known)

    def block(self, values: NDArray[Any], row: int = 0, column: int = 0) -> NDArray[Any]:
        """Return the codes of a block (R, C) whose first cell stands at `row`, `column`."""
        kind = values.dtype.kind
        if kind == "b" and not self._coded:
            return values.astype(self.dtype)
        if kind in "iu" and not self._coded:
            fine = (values >= 0) & (values <= self.largest)
            codes = np.where(fine, values, 0).astype(self.dtype)
            codes[~fine] = REFUSED
        elif kind == "f" and not self._coded:
            fine = (values >= 0) & (values <= self.largest) & (np.floor(values) == values)
            codes = np.where(fine, values, 0).astype(self.dtype)
            codes[~fine] = REFUSED
            codes[np.isnan(values)] = MISSING
        else:
            flat = values.astype(object).ravel()
            codes = np.fromiter(map(self._code, flat), self.dtype, flat.size).reshape(values.shape)
        self._remember(codes, values, row, column)
        return codes

    def row(self, values: Sequence[Any], row: int) -> NDArray[Any]:
        """Return the codes of one row of a file."""
        codes = np.fromiter(map(self._code, values), self.dtype, len(values))
        for j in np.flatnonzero(codes == REFUSED).tolist():
            self._refuse(row, j, values[j])
        return codes

    def _code(self, value: Any) -> int:
        try:
            return self._known[value]
        except KeyError:
            code = self._known[value] = self._classify(value)
            return code
        except TypeError:  # unhashable: a list, an array, a dict
            return REFUSED

    def _classify(self, value: Any) -> int:
        if value is None or type(value).__name__ == "NAType":  # pandas.NA, without importing pandas
            return MISSING
        if isinstance(value, str) and value.strip() in MISSING_TEXTS:
            return MISSING
        if isinstance(value, str) and value.strip().lower() in _BOOLEAN_TEXTS:
            return _BOOLEAN_TEXTS[value.strip().lower()]
        number = as_number(value)
        if number is None:
            return REFUSED
        if number != number:
            return MISSING
        return int(number) if 0 <= number <= self.largest and number == math.floor(number) else REFUSED

    def _remember(self, codes: NDArray[Any], values: NDArray[Any], row: int, column: int) -> None:
        bad = codes == REFUSED
        if not bad.any():
            return
        for i, j in np.argwhere(bad)[:_SHOWN]:
            if len(self.refused) < _SHOWN:
                self.refused.append((row + int(i), column + int(j), values[i, j]))
        self.n_refused += int(np.count_nonzero(bad))

    def _refuse(self, row: int, column: int, value: Any) -> None:
        if len(self.refused) < _SHOWN:
            self.refused.append((row, column, value))
        self.n_refused += 1

    def check(self, cell: Callable[[int, int], str], where: str = "", hint: str = "") -> None:
        """Raise a `DataError` that names the refused cells, if there are any.

        Parameters
        ----------
        cell : callable
            Names a cell, given row and column.
        where : str
            The file or table.
        hint : str
            A further remedy, where whole columns may be something else than cells.
        """
        if not self.n_refused:
            return
        what = "0, 1 or missing" if self.largest == 1 else "counts or missing"
        number = f"{counted(self.n_refused, 'cell')} {'is' if self.n_refused == 1 else 'are'}"
        shown: list[str] = []
        remedies: dict[str, None] = {}
        no_cells = False
        for i, j, value in self.refused:
            plain = value.item() if isinstance(value, np.generic) else value
            reason, remedy = explain(plain, self.largest)
            remedies[remedy] = None
            no_cells = no_cells or reason in _NO_CELLS
            text = plain if isinstance(plain, str) and as_number(plain) is not None else repr(plain)
            shown.append(f"{cell(i, j)}: {shorten(text)}, {reason}")
        start = f"{where}: " if where else ""
        raise DataError(
            f"{start}{number} not {what}: {some_of(shown, self.n_refused, '; ')}.",
            " ".join((*remedies, *([hint] if hint and no_cells else []))),
        )


def as_number(value: Any) -> float | int | None:
    """Return the number that `value` is or spells, or None."""
    if isinstance(value, (bytes, np.bytes_)):
        value = value.decode("latin-1")
    if isinstance(value, str):
        text = value.strip()
        return float(text) if _NUMBER.fullmatch(text) else None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int):
        return value
    if isinstance(value, complex):
        return value.real if value.imag == 0 else None
    try:
        # Decimal and Fraction; a date has no __float__.
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def explain(value: Any, largest: int) -> tuple[str, str]:
    """Return what is wrong with a refused value, and the remedy."""
    number = as_number(value)
    if number is None:
        return "not a number", 'Where a text stands for a result, say which: coding={"C": 1, "I": 0, "error": None}.'
    if number in _SENTINELS:
        return _SENTINELS[int(number)], "Write missing cells as blank or NaN."
    if isinstance(number, float) and math.isinf(number) and not any(c.isdigit() for c in str(value)):
        return "infinite", "Write missing cells as blank or NaN."
    if number < 0 and isinstance(number, float) and not number.is_integer():
        return "negative", "No count is negative: leave the column out, or make the cells blank."
    if number < 0:
        return (
            "negative",
            f"If it marks missing cells, make them blank, or give coding={{{shorten(str(value))}: None}}.",
        )
    if number > MAX_COUNT:
        return "too large for a count", "Say which column holds the ids, with person=, or drop the column."
    if number != math.floor(number):
        return "a fraction", "A mean over k trials is not a count: give the successes, with trials=."
    if largest == 1:
        return "more than one success in one trial", "Where cells are counts, give the number of trials, with trials=."
    return f"more than {largest} trials", "Successes cannot exceed trials."

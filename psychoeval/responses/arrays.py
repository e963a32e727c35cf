"""Responses from a persons x items array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.cells import MAX_COUNT, MISSING, CellCoder, Coding, counted
from psychoeval.responses.columns import align_covariates
from psychoeval.responses.ids_and_counts import CountArray, PersonLabel, check_ids, frozen, smallest_dtype
from psychoeval.responses.matrix import Responses
from psychoeval.wording import shorten

if TYPE_CHECKING:
    import pandas as pd

Missing = Literal["missing", "wrong"]
_BLOCK_CELLS = 1 << 20


def responses_from_array(
    successes: ArrayLike,
    trials: ArrayLike | None = None,
    *,
    person_ids: Sequence[object] | None = None,
    item_ids: Sequence[object] | None = None,
    missing: Missing = "missing",
    coding: Coding | None = None,
    persons: pd.DataFrame | None = None,
    items: pd.DataFrame | None = None,
    person_label: PersonLabel = "person",
    name: str = "responses",
    source: str = "",
) -> Responses:
    """Make responses from an array; see `psychoeval.responses.matrix.Responses.from_array`."""
    check_missing(missing)
    cells = _matrix(successes, "successes")
    n, j = cells.shape
    ids = check_ids(person_ids if person_ids is not None else [f"person-{i + 1}" for i in range(n)], n, person_label)
    names = check_ids(item_ids if item_ids is not None else [f"item-{k + 1}" for k in range(j)], j, "item")

    def cell(i: int, k: int) -> str:
        return f"{person_label} {shorten(ids[i])!r}, item {shorten(names[k])!r} (row {i + 1}, column {k + 1})"

    number: int | CountArray
    if is_single(trials):
        number = check_trials(trials)
        coder = CellCoder(number, coding)
    else:
        number = _trials_matrix(trials, (n, j), cell)
        coder = CellCoder(MAX_COUNT, coding)
    codes = _codes(cells, coder)
    coder.check(cell)
    counts, number, notes = finish_counts(codes, number, missing, cell)
    return Responses(
        counts,
        number,
        ids,
        names,
        persons=align_covariates(persons, ids, person_label, positional=person_ids is None),
        items=align_covariates(items, names, "item", positional=item_ids is None),
        person_label=person_label,
        name=name,
        source=source,
        notes=notes,
    )


def check_missing(missing: str) -> None:
    """Refuse anything but the two ways with missing cells."""
    if missing not in ("missing", "wrong"):
        raise SettingsError(f"missing={missing!r} is unknown.", 'Give "missing" or "wrong".')


def is_single(trials: Any) -> bool:
    """Return whether `trials` is one number, or nothing, for all cells."""
    many = hasattr(trials, "__len__") and not isinstance(trials, (str, bytes))
    return not many or getattr(trials, "ndim", 1) == 0


def check_trials(trials: Any) -> int:
    """Return the trials of every cell."""
    value = 1 if trials is None else np.asarray(trials).item()
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_COUNT:
        raise SettingsError(f"trials={value!r} is not a number of trials.", "Give a whole number from 1.")
    return value


def finish_counts(
    codes: NDArray[Any], trials: int | CountArray, missing: Missing, cell: Any
) -> tuple[CountArray, CountArray, tuple[str, ...]]:
    """Return successes, trials and notes; `codes` is used up.

    Parameters
    ----------
    codes : (N, J) array of counts and -1
    trials : int or (N, J) array
    missing : {"missing", "wrong"}
    cell : callable
        Names a cell, given row and column.
    """
    if not isinstance(trials, int):
        return _unsigned(_zero_missing(codes, trials, missing, cell)), trials, ()
    full = np.array(trials, smallest_dtype(trials))
    if codes.min(initial=0) > MISSING:
        return _unsigned(codes), np.broadcast_to(full, codes.shape), ()
    absent = codes == MISSING
    codes[absent] = 0
    if missing == "wrong":
        cells, rows = int(np.count_nonzero(absent)), int(np.count_nonzero(absent.any(axis=1)))
        note = f'{counted(cells, "missing cell")} in {counted(rows, "row")} count as wrong (missing="wrong").'
        return _unsigned(codes), np.broadcast_to(full, codes.shape), (note,)
    present = np.logical_not(absent, out=absent).view(np.uint8)
    return _unsigned(codes), frozen(present if trials == 1 else present * full), ()


def _zero_missing(codes: NDArray[Any], trials: CountArray, missing: Missing, cell: Any) -> NDArray[Any]:
    absent = codes == MISSING
    if missing == "wrong" and (absent.any() or not trials.all()):
        raise SettingsError(
            'missing="wrong" cannot tell how many trials a missing cell had.',
            "Put the trials, and 0 successes, into these cells.",
        )
    unknown = np.argwhere(absent & (trials > 0))
    if unknown.size:
        i, k = unknown[0]
        raise DataError(
            f"Trials without a number of successes in {counted(len(unknown), 'cell')}: {cell(i, k)}, "
            f"{counted(int(trials[i, k]), 'trial')}.",
            "Give the successes, or 0 trials.",
        )
    codes[absent] = 0
    return codes


def _unsigned(codes: NDArray[Any]) -> CountArray:
    return frozen(codes.view(np.dtype(f"u{codes.dtype.itemsize}")))


def _matrix(values: Any, what: str) -> NDArray[Any]:
    if hasattr(values, "columns"):
        raise DataError(f"{what} is a table with column names.", "Use Responses.from_wide, which keeps the ids.")
    if hasattr(values, "tocsr"):
        raise DataError(
            f"{what} is a sparse matrix, which cannot tell wrong from not administered.",
            "Give a dense array with NaN for cells that were not administered, or successes and trials.",
        )
    try:
        array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    except (ValueError, TypeError) as error:
        raise DataError(f"{what} is not a matrix: {error}.", "Give rows of equal length.") from None
    if array.ndim != 2:
        hint = " Sum over the trials and give their number with trials=." if array.ndim == 3 else ""
        raise DataError(f"{what} has {array.ndim} dimensions.", f"Give a persons x items matrix.{hint}")
    return array


def _codes(cells: NDArray[Any], coder: CellCoder) -> NDArray[Any]:
    """Code row blocks: a whole-matrix temporary in float64 would be eight times the data."""
    n, j = cells.shape
    codes = np.empty((n, j), coder.dtype)
    step = max(1, _BLOCK_CELLS // max(1, j))
    for start in range(0, n, step):
        block = cells[start : start + step]
        mask = np.ma.getmaskarray(block) if isinstance(block, np.ma.MaskedArray) else None
        if mask is None:
            codes[start : start + step] = coder.block(block, start)
        else:  # what stands behind the mask may be anything
            part = coder.block(np.where(mask, np.zeros((), block.dtype), np.ma.getdata(block)), start)
            codes[start : start + step] = np.where(mask, MISSING, part)
    return codes


def _trials_matrix(trials: Any, shape: tuple[int, int], cell: Any) -> CountArray:
    matrix = _matrix(trials, "trials")
    if matrix.shape != shape:
        raise DataError(f"successes has shape {shape} and trials {matrix.shape}.", "They must be equal.")
    coder = CellCoder(MAX_COUNT)
    codes = _codes(matrix, coder)
    coder.check(cell, "trials")
    codes[codes == MISSING] = 0
    return _unsigned(codes)

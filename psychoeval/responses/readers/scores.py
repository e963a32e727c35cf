"""Scores of cells: counts of right answers, or bounded means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.ids_and_counts import CountArray, frozen, smallest_dtype
from psychoeval.responses.readers.log import Scale

Threshold: TypeAlias = float | Literal["keep-mean"] | None

_MAX_CELLS: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows on their way into cells.

    Parameters
    ----------
    person, item : (R,) intp array
    score : (R,) float array
        NaN counts as the worst score.
    scale : Scale
    shape : (int, int)
        Persons and items.
    """

    person: NDArray[np.intp]
    item: NDArray[np.intp]
    score: NDArray[np.float64]
    scale: Scale
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        if self.shape[0] * self.shape[1] > _MAX_CELLS:
            raise DataError(f"{self.shape[0]} systems x {self.shape[1]} items are too many.", "Read fewer files.")

    @property
    def are_binary(self) -> bool:
        """Whether every score is 0 or 1."""
        return bool(np.isin(self.score[~np.isnan(self.score)], (0.0, 1.0)).all())

    def sums(self, weights: NDArray[Any] | None = None) -> NDArray[np.float64]:
        """Return the sum of weights (rows without them) in each cell, (N, J)."""
        n = self.shape[0] * self.shape[1]
        place = self.person * self.shape[1] + self.item
        return np.bincount(place, weights=weights, minlength=n).astype(np.float64).reshape(self.shape)


def check_scores(threshold: Threshold, bounds: tuple[float, float] | None) -> None:
    """Refuse a threshold or bounds that are no finite numbers.

    Raises
    ------
    SettingsError
    """
    if not (threshold is None or threshold == "keep-mean" or _is_number(threshold)):
        raise SettingsError(f"threshold={threshold!r} is unknown.", 'Give a finite number, or "keep-mean".')
    if bounds is None:
        return
    if not (isinstance(bounds, tuple | list) and len(bounds) == 2 and all(_is_number(b) for b in bounds)):
        raise SettingsError(f"bounds={bounds!r} are not two finite numbers.", "Give (lower, upper).")
    if bounds[0] >= bounds[1]:
        raise SettingsError(f"bounds={bounds!r} do not rise.", "Give the lower one first.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < np.inf


def counts(cells: Cells, threshold: Threshold) -> tuple[CountArray, CountArray, list[str]]:
    """Return successes and trials of each cell, and notes on what counts as a success."""
    notes: list[str] = []
    right = _right(cells.score, threshold, cells.scale, notes) & ~np.isnan(cells.score)
    successes, trials = cells.sums(right), cells.sums()
    k, n = (s.astype(smallest_dtype(int(s.max(initial=0)))) for s in (successes, trials))
    return frozen(k), frozen(n), notes


def means(
    cells: Cells, bounds: tuple[float, float] | None, cell_name: Callable[[int, int], str]
) -> tuple[NDArray[np.float64], float, float, list[str]]:
    """Return the mean score of each cell, NaN where there is none, the bounds, and notes; higher is better.

    Raises
    ------
    DataError
        If scores lie outside the bounds, or these are not known; with a cell, as `cell_name` names person and item.
    """
    notes: list[str] = []
    blank = np.isnan(cells.score)
    lower, upper = _bounds(cells, bounds, cell_name, notes)
    turned = cells.score if cells.scale.higher_is_better else lower + upper - cells.score
    total, number = cells.sums(np.where(blank, lower, turned)), cells.sums()
    mean = np.full(cells.shape, np.nan)
    np.divide(total, number, out=mean, where=number > 0)
    return np.clip(mean, lower, upper), lower, upper, notes


def _right(score: NDArray[np.float64], threshold: Threshold, scale: Scale, notes: list[str]) -> NDArray[np.bool_]:
    higher = scale.higher_is_better
    signed = score if higher else -score
    if threshold is None:
        if not higher:
            notes.append("Lower is better: scores of 0 are right and of 1 wrong.")
        return signed >= (1.0 if higher else 0.0)
    if threshold == "keep-mean" and np.isnan(signed).all():
        raise DataError("No response has a score.", 'threshold="keep-mean" needs some.')
    if threshold == "keep-mean":
        cut = _mean_keeping(signed[~np.isnan(signed)], scale)
        notes.append(f"The threshold that changes the mean least is {cut if higher else -cut:g}.")
    else:
        cut = float(threshold) if higher else -float(threshold)
    side = "at least" if higher else "at most"
    notes.append(f"Scores of {side} {cut if higher else -cut:g} are right, others wrong (threshold).")
    return signed >= cut


def _mean_keeping(signed: NDArray[np.float64], scale: Scale) -> float:
    """Return the score at which counting from it upwards changes the mean (as a share of the range) least."""
    lower, upper = (scale.lower, scale.upper) if scale.higher_is_better else (-scale.upper, -scale.lower)
    if not (np.isfinite(lower) and np.isfinite(upper)):
        lower, upper = min(0.0, signed.min()), max(1.0, signed.max())
    levels, counts = np.unique(signed, return_counts=True)
    share = np.cumsum(counts[::-1])[::-1] / signed.size
    target = (signed.mean() - lower) / (upper - lower)
    return float(levels[int(np.argmin(np.abs(share - target)))])


def _bounds(
    cells: Cells, bounds: tuple[float, float] | None, cell_name: Callable[[int, int], str], notes: list[str]
) -> tuple[float, float]:
    """Return the bounds of the scores: those given, those of the scale, or 0 and 1 where all lie between."""
    known = bounds or (cells.scale.lower, cells.scale.upper)
    said = bool(np.isfinite(known).all())
    lower, upper = known if said else (0.0, 1.0)
    if np.isnan(cells.score).all():
        return float(lower), float(upper)
    low, high = int(np.nanargmin(cells.score)), int(np.nanargmax(cells.score))
    least, most = cells.score[low], cells.score[high]
    if least < lower or most > upper:
        row = high if most > upper else low
        raise DataError(
            f"Scores run from {least:g} to {most:g} ({cell_name(int(cells.person[row]), int(cells.item[row]))}: "
            f"{cells.score[row]:g}), "
            + (
                f"outside their bounds {lower:g} to {upper:g}."
                if said
                else "and the log does not say between which bounds."
            ),
            "Give bounds=(lower, upper), or a threshold= to count them as right or wrong; leave out what is no score.",
        )
    if not said:
        notes.append("The log does not say between which bounds scores lie: 0 to 1 is assumed.")
    if not cells.scale.higher_is_better:
        notes.append(f"Lower is better: scores are turned round, {lower + upper:g} minus the score.")
    return float(lower), float(upper)

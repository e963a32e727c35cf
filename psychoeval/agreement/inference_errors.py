"""How far two fits are equally sure: ratios of standard errors, overlap of intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.matching import Matched
from psychoeval.irt.parameters import Abilities
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]
#: Item parameters whose errors are compared; the difficulty's is derived from these.
_ITEM_TERMS: Final = ("discrimination", "intercept", "guessing")


@dataclass(frozen=True, slots=True)
class ErrorRatio:
    """Standard errors of the second fit over those of the first, on one scale.

    Parameters
    ----------
    term : str
        ``ability``, ``discrimination``, ``intercept`` or ``guessing``.
    n : int
        Ids with a positive finite error in both.
    median, low, high : float
        Median, smallest and largest ratio.
    """

    term: str
    n: int
    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class IntervalOverlap:
    """Intervals of the abilities of two fits, on one scale.

    Parameters
    ----------
    n : int
        Persons with a finite interval in both.
    share : float
        Of them, whose intervals have a point in common.
    jaccard : float
        Mean over persons of length(intersection) / length(union of the two).
    apart : tuple of str
        Persons whose intervals have no point in common.
    """

    n: int
    share: float
    jaccard: float
    apart: tuple[str, ...]


def error_kind(fit: FitResult) -> str:
    """Return what the errors of a fit's abilities are: ``posterior SD, items fixed``, or "" where there are none."""
    abilities = fit.abilities
    if abilities is None or (abilities.standard_error is None and abilities.effective_n is None):
        return ""
    posterior = fit.convergence.status == "sampled" or abilities.method in ("EAP", "MAP")
    return f"{'posterior SD' if posterior else 'standard error'}, {abilities.uncertainty}"


def unlike_errors(first: Abilities, second: Abilities) -> str:
    """Return why the errors of two fits' abilities are not set side by side, or ""."""
    why = []
    if first.scale != second.scale:
        why.append(f"{first.scale}s against {second.scale}s")
    if first.uncertainty != second.uncertainty:
        why.append(f"{first.uncertainty} against {second.uncertainty}")
    return ", ".join(why)


def error_ratios(aligned: tuple[FitResult, FitResult], persons: Matched, items: Matched) -> tuple[ErrorRatio, ...]:
    """Return the ratios of each parameter whose errors both fits have and which are alike.

    Parameters
    ----------
    aligned : (first, second)
        On one scale.
    persons, items : Matched
    """
    pairs: list[tuple[str, FloatArray, FloatArray]] = []
    one, two = aligned[0].abilities, aligned[1].abilities
    if one is not None and two is not None and not unlike_errors(one, two):
        errors = [a.standard_error for a in (one, two)]
        if errors[0] is not None and errors[1] is not None:
            pairs.append(("ability", errors[0][persons.first], errors[1][persons.second]))
    known = [None if f.item_parameters is None else f.item_parameters.standard_errors for f in aligned]
    if known[0] is not None and known[1] is not None:
        pairs += [(t, known[0][t][items.first], known[1][t][items.second]) for t in _ITEM_TERMS]
    return tuple(found for term, x, y in pairs if (found := _ratio(term, x, y)) is not None)


def _ratio(term: str, first: FloatArray, second: FloatArray) -> ErrorRatio | None:
    both = np.isfinite(first) & np.isfinite(second) & (first > 0) & (second > 0)
    if not both.any():
        return None
    ratio = second[both] / first[both]
    return ErrorRatio(term, int(ratio.size), float(np.median(ratio)), float(ratio.min()), float(ratio.max()))


def interval_overlap(aligned: tuple[FitResult, FitResult], persons: Matched, level: float) -> IntervalOverlap | None:
    """Return how the intervals of two fits' abilities overlap; None where they are not alike, or none is known.

    Parameters
    ----------
    aligned : (first, second)
        On one scale.
    persons : Matched
    level : float
        Of the intervals (`Abilities.interval`).
    """
    one, two = aligned[0].abilities, aligned[1].abilities
    if one is None or two is None or unlike_errors(one, two):
        return None
    x, y = np.stack(one.interval(level))[:, persons.first], np.stack(two.interval(level))[:, persons.second]
    known = np.flatnonzero(np.isfinite(x).all(axis=0) & np.isfinite(y).all(axis=0))
    if not known.size:
        return None
    (low1, high1), (low2, high2) = x[:, known], y[:, known]
    shared = np.minimum(high1, high2) - np.maximum(low1, low2)
    inside = np.maximum(shared, 0.0)
    union = (high1 - low1) + (high2 - low2) - inside
    # Two equal points have no length and are one.
    jaccard = np.divide(inside, union, out=np.ones(known.size), where=union > 0)
    apart = tuple(persons.ids[i] for i in known[shared < 0])
    return IntervalOverlap(int(known.size), float(np.mean(shared >= 0)), float(jaccard.mean()), apart)

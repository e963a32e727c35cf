"""Differences of one parameter between two fits, in its own unit and in standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: How many ids are named as those that disagree most.
WORST: Final = 5


@dataclass(frozen=True, slots=True)
class Estimates:
    """One parameter in one fit: values and standard errors, (M,) each, NaN where there is none.

    `monte_carlo` are the Monte Carlo standard errors of a sampled fit's means, None for a fit that was not sampled.
    """

    value: FloatArray
    error: FloatArray
    monte_carlo: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Differences:
    """First minus second over the ids with a finite value in both.

    One standard error is the root mean square of the two fits' errors of that id; where one fit gives none, the other
    fit's. Both fits see the same data, so this is a yardstick and not the error of the difference.

    Parameters
    ----------
    n : int
    correlation : float or None
        Pearson; None below three ids or where a side is constant.
    mean, mean_absolute, rmsd : float
        NaN if n is 0.
    largest : float
        The difference of largest size, with its sign.
    mean_in_errors, largest_in_errors : float or None
        Mean and largest |difference| in standard errors; None where there are none or they are not alike.
    n_in_errors : int
        Ids that have a standard error in one fit at least.
    spread : float
        SD of the first fit's values; of a constant parameter its size.
    common : bool
        Whether it is one parameter of all ids, in both fits.
    mean_in_monte_carlo, largest_in_monte_carlo : float or None
        Mean and largest |difference| in Monte Carlo standard errors (of the difference: the root of the sum of the two
        fits' squares; a fit that was not sampled has none); None where no fit was sampled, or some id has no such
        error.
    monte_carlo_in_errors : float or None
        Mean of that Monte Carlo error in standard errors: how finely the draws can tell.
    """

    n: int
    correlation: float | None
    mean: float
    mean_absolute: float
    rmsd: float
    largest: float
    mean_in_errors: float | None
    largest_in_errors: float | None
    n_in_errors: int
    spread: float
    common: bool = False
    mean_in_monte_carlo: float | None = None
    largest_in_monte_carlo: float | None = None
    monte_carlo_in_errors: float | None = None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One id in two fits, both on one scale."""

    id: str
    first: float
    second: float
    difference: float
    in_errors: float | None


@dataclass(frozen=True, slots=True)
class TermComparison:
    """One parameter in two fits.

    Parameters
    ----------
    term : str
        ``ability``, ``discrimination``, ``difficulty``, ``intercept``, ``guessing``, ``expected_score`` (a person's
        mean probability of success) or ``expected_item_score`` (an item's).
    raw : Differences
        Of the values as given.
    aligned : Differences
        On one scale; these decide.
    worst : tuple of Disagreement
        The five largest, in standard errors where there are any.
    error_ratio : float or None
        Median of the second fit's errors over the first's, on one scale; None where they are not alike.
    only_first, only_second : tuple of str
        Common ids with a value in one fit only.
    infinite_in_both : int
        Ids with the same infinity in both: equal, and no part of the differences.
    infinite_in_one : tuple of str
        Ids infinite in one fit and finite, or the opposite, in the other.
    """

    term: str
    raw: Differences
    aligned: Differences
    worst: tuple[Disagreement, ...]
    error_ratio: float | None
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()
    infinite_in_both: int = 0
    infinite_in_one: tuple[str, ...] = ()


def compare_term(
    term: str,
    ids: tuple[str, ...],
    raw: tuple[Estimates, Estimates],
    aligned: tuple[Estimates, Estimates],
    *,
    errors_alike: bool = True,
) -> TermComparison:
    """Compare one parameter of two fits over common ids.

    Parameters
    ----------
    term : str
    ids : tuple of str, length M
    raw, aligned : (first, second)
        As given, and on one scale.
    errors_alike : bool
        Whether the two fits' standard errors are about the same thing (items fixed, estimated, sampled).
    """
    first, second = aligned
    name = np.array(ids, dtype=object)
    known1, known2 = ~np.isnan(first.value), ~np.isnan(second.value)
    infinite1, infinite2 = np.isinf(first.value), np.isinf(second.value)
    same = infinite1 & infinite2 & (first.value == second.value)
    one = (infinite1 | infinite2) & known1 & known2 & ~same
    return TermComparison(
        term,
        differences(*raw, errors_alike=errors_alike),
        differences(first, second, errors_alike=errors_alike),
        _worst(ids, first, second, errors_alike),
        _error_ratio(first, second) if errors_alike else None,
        tuple(name[known1 & ~known2]),
        tuple(name[known2 & ~known1]),
        int(np.count_nonzero(same)),
        tuple(name[one]),
    )


def differences(first: Estimates, second: Estimates, *, errors_alike: bool = True) -> Differences:
    """Return first minus second, summarised."""
    at, x, y, unit = _finite(first, second, errors_alike)
    if not x.size:
        return Differences(0, None, np.nan, np.nan, np.nan, np.nan, None, None, 0, np.nan)
    difference = x - y
    with np.errstate(divide="ignore", invalid="ignore"):
        in_errors = np.abs(difference) / unit
    in_errors = in_errors[~np.isnan(in_errors)]
    spread, constant = float(x.std()), _is_constant(x)
    varied = x.size > 2 and not constant and not _is_constant(y)
    return Differences(
        int(x.size),
        float(np.corrcoef(x, y)[0, 1]) if varied else None,
        float(difference.mean()),
        float(np.abs(difference).mean()),
        float(np.sqrt(np.mean(difference**2))),
        float(difference[np.argmax(np.abs(difference))]),
        float(in_errors.mean()) if in_errors.size else None,
        float(in_errors.max()) if in_errors.size else None,
        int(in_errors.size),
        float(np.abs(x).mean()) if constant else spread,
        x.size > 1 and constant and _is_constant(y),
        *_in_monte_carlo(np.abs(difference), unit, _noise(first, second, at)),
    )


def _noise(first: Estimates, second: Estimates, at: NDArray[np.intp]) -> FloatArray | None:
    """Return the Monte Carlo error of the differences at some ids; None where neither fit was sampled."""
    known = [e.monte_carlo[at] for e in (first, second) if e.monte_carlo is not None]
    return np.sqrt(np.sum(np.square(known), axis=0)) if known else None


def _in_monte_carlo(
    sizes: FloatArray, unit: FloatArray, noise: FloatArray | None
) -> tuple[float | None, float | None, float | None]:
    if noise is None or not np.all(noise > 0):  # a constant has no Monte Carlo error, and NaN is none that is known
        return None, None, None
    relative = noise / unit
    told = float(relative.mean()) if np.isfinite(relative).all() else None
    return float((sizes / noise).mean()), float((sizes / noise).max()), told


def _is_constant(values: FloatArray) -> bool:
    return float(values.std()) <= 1e-12 * max(1.0, float(np.abs(values).max()))


def _finite(
    first: Estimates, second: Estimates, errors_alike: bool
) -> tuple[NDArray[np.intp], FloatArray, FloatArray, FloatArray]:
    """Return the positions with a finite value in both, the values there, and one standard error for each."""
    at = np.flatnonzero(np.isfinite(first.value) & np.isfinite(second.value))
    squares = np.stack([first.error[at], second.error[at]]) ** 2
    # 0 is the error of a parameter that was fixed, not estimated exactly.
    known = np.isfinite(squares) & (squares > 0)
    count = known.sum(axis=0)
    unit = np.sqrt(np.where(known, squares, 0.0).sum(axis=0) / np.maximum(count, 1))
    unit[(count == 0) | (not errors_alike)] = np.nan
    return at, first.value[at], second.value[at], unit


def _worst(ids: tuple[str, ...], first: Estimates, second: Estimates, errors_alike: bool) -> tuple[Disagreement, ...]:
    at, x, y, unit = _finite(first, second, errors_alike)
    difference = x - y
    has_unit = bool(unit.size) and bool(np.isfinite(unit).all())
    order = np.argsort(-np.abs(difference / unit if has_unit else difference), kind="stable")[:WORST]
    return tuple(
        Disagreement(
            ids[at[k]],
            float(x[k]),
            float(y[k]),
            float(difference[k]),
            float(abs(difference[k]) / unit[k]) if np.isfinite(unit[k]) else None,
        )
        for k in order
        if difference[k] != 0
    )


def _error_ratio(first: Estimates, second: Estimates) -> float | None:
    both = np.isfinite(first.error) & np.isfinite(second.error) & (first.error > 0) & (second.error > 0)
    return float(np.median(second.error[both] / first.error[both])) if both.any() else None

"""Which pairs of persons a fit tells apart, and how two fits' claims compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from psychoeval.audit.paired import Correction, adjust
from psychoeval.irt.intervals import wilson_interval
from psychoeval.irt.parameters import Abilities
from psychoeval.irt.ranking import pair_p
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]
#: Pairs that are named; all are counted.
NAMED: Final = 10


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """What one fit claims about pairs of N persons.

    Parameters
    ----------
    known : (N,) bool array
        Persons with a finite estimate and a finite error: about others nothing is claimed.
    above : (N, N) int8 array
        1 where the row is claimed to be above the column, -1 below, 0 where they are not told apart; antisymmetric.
    """

    known: NDArray[np.bool_]
    above: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class DecisionCounts:
    """Claims of two fits about the P pairs of persons on which both decide.

    Parameters
    ----------
    n : int
        P, the sum of the next five.
    same, both_tied : int
        The same order claimed by both; told apart by neither.
    only_first, only_second : int
        Told apart by one, a tie in the other.
    opposite : int
        Opposite orders claimed.
    flipped : tuple of (id, id)
        Up to ten of the opposite ones: above, and below, by the first fit.
    """

    n: int
    same: int
    both_tied: int
    only_first: int
    only_second: int
    opposite: int
    flipped: tuple[tuple[str, str], ...]

    @property
    def lost(self) -> int:
        """Pairs told apart by one fit only."""
        return self.only_first + self.only_second


def errors_of(abilities: Abilities) -> FloatArray:
    """Return standard errors, (N,); of proportions that show no spread, at least half of Wilson's interval at z = 1.

    A proportion of 0 or 1 has no spread in the data, and yet is not known for certain. Beyond 0 and 1 (additive scores)
    it is the same. Wilson's n is the effective one, or the units that the estimate rests on.
    """
    error, n = abilities.standard_error, abilities.effective_n
    if error is None:
        error = np.full(abilities.estimate.shape, np.nan if n is None else 0.0)
    n = abilities.n_units if n is None else n
    if abilities.scale != "proportion" or n is None:
        return error
    inside = np.clip(abilities.estimate, 0.0, 1.0)
    low, high = wilson_interval(inside, n, 2 * ndtr(1.0) - 1)
    flat = (error == 0) | np.isin(inside, (0.0, 1.0))
    return np.where(flat, np.maximum(error, (high - low) / 2), error)


def claims_of(
    fit: FitResult,
    sign: float,
    place: dict[str, int],
    component: NDArray[np.int64],
    level: float,
    correction: Correction,
) -> Claims:
    """Return the claims of a fit: two-sided p of each difference, corrected for the number of pairs, p < 1 - level.

    By z_ij = (theta_i - theta_j) / SE(theta_i - theta_j), with the covariance of the errors where it is known or
    sampled; on the proportion scale with what the number of items allows (`psychoeval.irt.ranking.few_units_p`).

    Parameters
    ----------
    fit : FitResult
        With abilities.
    sign : float
        -1 for a fit whose scale runs backwards.
    place : mapping of id to position among the N persons
    component : (N,) integer array
        Pairs of different components are no pairs: nothing compares them.
    level, correction : float, str
    """
    ids, estimate, covariance, n_units = _estimates(fit)
    n, at = len(place), np.array([place[i] for i in ids], dtype=np.intp)
    known, above = np.zeros(n, dtype=bool), np.zeros((n, n), dtype=np.int8)
    known[at] = True
    p = pair_p(estimate, covariance, n_units)
    rows, columns = np.triu_indices(at.size, 1)
    within = component[at[rows]] == component[at[columns]]
    rows, columns = rows[within], columns[within]
    order = sign * np.sign(estimate[rows] - estimate[columns])
    claimed = np.where(adjust(p[rows, columns], correction) < 1 - level, order, 0.0).astype(np.int8)
    above[at[rows], at[columns]] = claimed
    above[at[columns], at[rows]] = -claimed
    return Claims(known, above)


def open_ranks(claims: tuple[Claims, ...], component: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and highest rank within its component that the claims of K fits leave each person, (N, K)."""
    low, high = [], []
    for given in claims:
        number = np.where(given.known, component, -1)
        sizes = np.bincount(np.maximum(number, 0))
        size = sizes[np.maximum(number, 0)]
        low.append(np.where(number > 0, 1 + np.count_nonzero(given.above < 0, axis=1), np.nan))
        high.append(np.where(number > 0, size - np.count_nonzero(given.above > 0, axis=1), np.nan))
    return np.column_stack(low), np.column_stack(high)


def _estimates(fit: FitResult) -> tuple[tuple[str, ...], FloatArray, FloatArray, FloatArray | None]:
    """Return ids, estimates (n,), covariance (n, n) and units of the persons whose estimate and error are finite."""
    abilities = fit.abilities
    assert abilities is not None
    if fit.draws is not None and "ability" in fit.draws.values:
        sample = fit.draws.pooled("ability")
        return fit.draws.ids("ability"), sample.mean(axis=0), np.atleast_2d(np.cov(sample, rowvar=False)), None
    error = errors_of(abilities)
    known = np.flatnonzero(np.isfinite(abilities.estimate) & np.isfinite(error))
    ids = tuple(abilities.person_ids[i] for i in known)
    covariance = np.zeros((known.size, known.size))
    if abilities.covariance is not None:
        covariance = abilities.covariance[np.ix_(known, known)].copy()
    np.fill_diagonal(covariance, error[known] ** 2)
    n_units = None if abilities.n_units is None else abilities.n_units[known]
    return ids, abilities.estimate[known], covariance, n_units


def compare_claims(ids: tuple[str, ...], first: Claims, second: Claims, component: NDArray[np.int64]) -> DecisionCounts:
    """Count how the claims of two fits compare.

    Parameters
    ----------
    ids : tuple of str, length N
    first, second : Claims
    component : (N,) integer array
        As for `claims_of`.
    """
    common = np.flatnonzero(first.known & second.known)
    rows, columns = np.triu_indices(common.size, 1)
    rows, columns = common[rows], common[columns]
    within = component[rows] == component[columns]
    rows, columns = rows[within], columns[within]
    x, y = first.above[rows, columns], second.above[rows, columns]
    opposite = np.flatnonzero(x * y < 0)
    ordered = [(rows[k], columns[k]) if x[k] > 0 else (columns[k], rows[k]) for k in opposite[:NAMED]]
    return DecisionCounts(
        int(rows.size),
        int(np.count_nonzero(x * y > 0)),
        int(np.count_nonzero((x == 0) & (y == 0))),
        int(np.count_nonzero((x != 0) & (y == 0))),
        int(np.count_nonzero((x == 0) & (y != 0))),
        int(opposite.size),
        tuple((ids[i], ids[k]) for i, k in ordered),
    )


@dataclass(frozen=True, slots=True)
class ContestedPair:
    """Two persons about whom fits decide differently.

    Parameters
    ----------
    first, second : str
    decisions : tuple of str, length K
        By each fit: ``above`` (the first is), ``below``, ``tie``, or "" where it decides nothing.
    opposite : bool
        Whether two fits make opposite claims.
    """

    first: str
    second: str
    decisions: tuple[str, ...]
    opposite: bool


def contested_pairs(
    ids: tuple[str, ...], claims: tuple[Claims, ...], component: NDArray[np.int64]
) -> tuple[ContestedPair, ...]:
    """Return the ten pairs of persons about which most pairs of fits differ, opposite claims first.

    Two fits differ where one claims what the other does not; with c+, c0 and c- fits of each decision these are
    c+ c0 + c0 c- + c+ c- pairs of fits.
    """
    rows, columns = np.triu_indices(len(ids), 1)
    counts = np.zeros((3, rows.size), dtype=np.int64)
    for given in claims:
        decided = given.known[rows] & given.known[columns] & (component[rows] == component[columns])
        value = given.above[rows, columns]
        for k, sign in enumerate((1, 0, -1)):
            counts[k] += decided & (value == sign)
    up, tied, down = counts
    clashes, differing = up * down, up * tied + tied * down + up * down
    order = np.lexsort((-differing, -clashes))[:NAMED]
    words = {1: "above", 0: "tie", -1: "below"}
    return tuple(
        ContestedPair(
            ids[i],
            ids[k],
            tuple(words[int(c.above[i, k])] if c.known[i] and c.known[k] else "" for c in claims),
            bool(clashes[m]),
        )
        for m, i, k in zip(order.tolist(), rows[order].tolist(), columns[order].tolist(), strict=True)
        if differing[m]
    )

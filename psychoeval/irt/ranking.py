"""Ranks of estimates with errors: shrinkage, draws, shares of ranks, tests of pairs, letters. Arrays in, arrays out."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, stdtr

from psychoeval.errors import NotComparableError
from psychoeval.irt.classical import BoolArray, FloatArray

#: Draws ranked at a time, so that the orders of all draws need not be held.
_BLOCK: Final = 256
#: Groups of a letter display above which none is given: of one letter and of two, as far as a reader may follow.
MOST_GROUPS: Final = 52
#: Draws and persons compared at a time: as many draws as a signed byte counts, 2 MB of truth values at 1,000 persons.
_BYTE: Final = 127
_PERSONS: Final = 16


class NormalPosterior(NamedTuple):
    """Normal distribution of N abilities: mean (N,), covariance (N, N); and the mean and SD they were shrunk to."""

    mean: FloatArray
    covariance: FloatArray
    center: float
    spread: float


def shrink(estimate: FloatArray, covariance: FloatArray) -> NormalPosterior:
    """Return the posterior of N abilities ~ N(center, spread^2), given estimates with known errors.

    estimate ~ N(ability, C): the posterior has precision C^-1 + I / spread^2; center and spread maximise the restricted
    likelihood (Efron & Morris 1973, doi 10.1080/01621459.1973.10481350, for a common error). That center and spread
    are estimated is left out. Without it, ranks of noisy estimates are drawn toward the ends twice.

    Parameters
    ----------
    estimate : (N,) array
    covariance : (N, N) array
        Symmetric, without negative eigenvalues but for rounding.
    """
    values, axes = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0)
    y, ones = axes.T @ estimate, axes.sum(axis=0)
    largest = float(np.var(estimate)) + float(values.max())
    if not largest > 0:
        return NormalPosterior(estimate, np.zeros(covariance.shape), float(estimate.mean()), 0.0)

    def center_of(variance: float) -> tuple[float, float, FloatArray]:
        weight = 1 / (values + variance)
        information = float(weight @ ones**2)
        return float(weight @ (ones * y)) / information, information, weight

    def deviance(log_variance: float) -> float:
        center, information, weight = center_of(np.exp(log_variance))
        return float(weight @ (y - center * ones) ** 2 - np.log(weight).sum() + np.log(information))

    ends = np.log(largest) + np.log([1e-8, 10.0])
    variance = float(np.exp(minimize_scalar(deviance, bounds=ends, method="bounded", options={"xatol": 1e-6}).x))
    center, _, weight = center_of(variance)
    mean = center + axes @ (variance * weight * (y - center * ones))
    return NormalPosterior(mean, (axes * (values * variance * weight)) @ axes.T, center, float(np.sqrt(variance)))


def normal_draws(
    mean: FloatArray, covariance: FloatArray, draws: int, generator: np.random.Generator, df: float = np.inf
) -> FloatArray:
    """Return (D, N) draws from a normal distribution of N abilities, whose covariance may be singular.

    With `df` degrees of freedom of the covariance, from the multivariate t distribution.
    """
    values, axes = np.linalg.eigh(covariance)
    out = generator.normal(size=(draws, mean.size)) @ (axes * np.sqrt(np.maximum(values, 0.0))).T
    if np.isfinite(df):
        out *= np.sqrt(df / generator.chisquare(df, size=(draws, 1)))
    return np.asarray(mean + out)


def rank_counts(ability: FloatArray, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each person has each rank, (N, N), rank 1 the highest ability; from (D, N) draws.

    Persons tied in a draw (equal responses may share their draws) are put in random order.

    Raises
    ------
    NotComparableError
        If a draw is not finite.
    """
    draws, n = ability.shape
    if not np.isfinite(ability).all():
        raise NotComparableError("Some draws of abilities are not finite.", "Look at the diagnostics of the chains.")
    counts = np.zeros(n * n, dtype=np.int64)
    for start in range(0, draws, _BLOCK):
        block = ability[start : start + _BLOCK]
        order = np.lexsort((generator.random(block.shape), -block), axis=1)  # person at each rank
        counts += np.bincount((order * n + np.arange(n)).ravel(), minlength=n * n)
    return counts.reshape(n, n)


def best_together(ability: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Return how often the first k of `order` are the k highest, for k = 1 to N - 1: shares of (D, N) draws, (N - 1,).

    A tie of one of them with one of the others counts against it.
    """
    draws, n = ability.shape
    count = np.zeros(n - 1, dtype=np.int64)
    for start in range(0, draws, _BLOCK):
        block = ability[start : start + _BLOCK, order]
        lowest = np.minimum.accumulate(block, axis=1)[:, :-1]
        highest = np.maximum.accumulate(block[:, ::-1], axis=1)[:, -2::-1]
        count += np.count_nonzero(lowest > highest, axis=0)
    return np.asarray(count / draws)


def rank_limits(counts: NDArray[np.int64], level: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the lowest and highest rank of each person, (N,): quantiles of the shares of ranks, at least `level`."""
    shares = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
    tail = (1 - level) / 2 + 1e-12  # shares are sums of fractions
    return np.argmax(shares > tail, axis=1) + 1, np.argmax(shares >= 1 - tail, axis=1) + 1


def share_above(ability: FloatArray) -> NDArray[np.float32]:
    """Return the share of (D, N) draws in which row i is above column j, (N, N), ties one half; diagonal one half.

    Blocks of draws and persons: N x N x D truth values are never held. What is compared are the places within a draw,
    small whole numbers, and sums of up to 127 truth values fit into a byte: both are several times faster than reals.
    """
    draws, n = ability.shape
    places, count = _places(ability), np.zeros((n, n), dtype=np.int64)
    for start in range(0, draws, _BYTE):
        block = places[start : start + _BYTE]
        for first in range(0, n, _PERSONS):
            above = block[:, first : first + _PERSONS, None] > block[:, None, :]
            count[first : first + _PERSONS] += np.add.reduce(above.view(np.int8), axis=0, dtype=np.int8)
    return np.asarray(0.5 + (count - count.T) / (2 * draws), dtype=np.float32)


def _places(ability: FloatArray) -> NDArray[np.signedinteger]:
    """Return the place of each of N persons within each draw, from 0 the lowest, ties at one place, (D, N)."""
    kind = np.int16 if ability.shape[1] <= np.iinfo(np.int16).max else np.int64
    order = np.argsort(ability, axis=1)
    ordered = np.take_along_axis(ability, order, axis=1)
    step = np.zeros(ability.shape, dtype=bool)
    step[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    out = np.empty(ability.shape, dtype=kind)
    np.put_along_axis(out, order, np.cumsum(step, axis=1, dtype=kind), axis=1)
    return out


def difference_z(estimate: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return z_ij = (estimate_i - estimate_j) / SE of the difference, (N, N); 0 where they are equal."""
    variance = np.diag(covariance)
    error = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0.0))
    difference = estimate[:, None] - estimate
    with np.errstate(divide="ignore", invalid="ignore"):
        z = difference / error
    return np.where(difference == 0, 0.0, z)


def two_sided(z: FloatArray) -> FloatArray:
    """Return the two-sided p value of normal z."""
    return np.asarray(2 * ndtr(-np.abs(z)))


def pair_p(
    estimate: FloatArray, covariance: FloatArray, n_units: FloatArray | None = None, *, items: bool = True
) -> FloatArray:
    """Return the two-sided p of each difference of N estimates, (N, N): normal, or by `few_units_p` over units."""
    z = difference_z(estimate, covariance)
    return two_sided(z) if n_units is None else few_units_p(z, n_units, items=items)


def few_units_p(z: FloatArray, n_units: FloatArray, *, items: bool = True) -> FloatArray:
    """Return the two-sided p of differences z = d / SE between means over few units (items, or clusters of them).

    Student's t with m - 1 degrees of freedom, m the smaller number of units. Differences of single items are no normal
    ones, and their spread is seen too small where all favor one side: for them p is at least that of
    z sqrt(m / (m - 1 + z^2)), the test by random signs in its normal approximation (McNemar's for 0/1 items), and
    2^(1 - m), below which no exact test of m paired items can go (sign-flip; Fisher 1935, The Design of Experiments,
    section 21). For clusters, whose means are near to normal, only a difference without any spread is held to that.

    Parameters
    ----------
    z : (N, N) array
        0 where two are equal, infinite where they differ without an error.
    n_units : (N,) array
    items : bool
        Whether the units are single items.
    """
    size = np.abs(z)
    m = np.maximum(np.minimum(n_units[:, None], n_units), 1.0)
    p = np.where(m > 1, 2 * stdtr(np.maximum(m - 1, 1), -size), 1.0)
    least = np.where(size > 0, 2.0 ** (1 - m), 1.0)
    if not items:
        return np.asarray(np.where(np.isinf(size), least, p))
    finite = np.where(np.isinf(size), 0.0, size)
    by_signs = np.where(np.isinf(size), np.sqrt(m), finite * np.sqrt(m / np.maximum(m - 1 + finite**2, 1e-300)))
    return np.asarray(np.maximum(np.maximum(p, two_sided(by_signs)), least))


def display_letters(different: BoolArray, order: NDArray[np.intp]) -> tuple[tuple[int, ...], ...]:
    """Return for each person the groups it is in, from 0: persons share one unless the pair is told apart.

    A compact letter display (Piepho 2004, doi 10.1198/1061860043515) with few groups instead of all possible ones,
    whose number can be exponential: a cover of the edges of the graph of pairs that are not told apart by cliques
    (Gramm et al. 2007, doi 10.1016/j.csda.2006.09.035), found in order. For each best person with an uncovered pair,
    the farthest such partner and, in order, all who are told apart from nobody in the group; then groups whose pairs
    are all in others are taken out, the last first. Where errors are equal, groups are runs of the order, and there
    are no fewer. No group lies within another. Groups are numbered in `order`.

    Parameters
    ----------
    different : (N, N) symmetric bool array
    order : (N,) array
        Persons, the best first.

    Returns
    -------
    tuple of tuple of int, length N
        Empty above `MOST_GROUPS` groups: letters would tell nothing.
    """
    near = ~different[np.ix_(order, order)]
    np.fill_diagonal(near, True)
    groups = _without_needless(_covering(near))
    if len(groups) > MOST_GROUPS:
        return ()
    groups = groups[np.lexsort((*(~groups).T[::-1],))]
    found: list[tuple[int, ...]] = [()] * order.size
    for place, person in enumerate(order):
        found[person] = tuple(np.flatnonzero(groups[:, place]).tolist())
    return tuple(found)


def _covering(near: BoolArray) -> BoolArray:
    """Return groups of persons that are all near each other, (G, N), so that each near pair is in one."""
    n = len(near)
    uncovered = np.triu(near, 1) | np.diag(near.sum(axis=1) == 1)  # who is near nobody is a group of his own
    groups = []
    while uncovered.any():
        i = int(uncovered.any(axis=1).argmax())
        j = n - 1 - int(uncovered[i, ::-1].argmax())
        group = np.zeros(n, dtype=bool)
        group[[i, j]] = True
        candidates = near[i] & near[j] & ~group
        while candidates.any():
            k = int(candidates.argmax())
            group[k] = True
            candidates &= near[k]
            candidates[k] = False
        groups.append(group)
        uncovered[np.ix_(group, group)] = False
    return np.array(groups)


def _without_needless(groups: BoolArray) -> BoolArray:
    """Return the groups without those whose pairs, or single person, are all in others."""
    size = groups.astype(np.int32)
    times, keep = size.T @ size, np.ones(len(groups), dtype=bool)
    for g in range(len(groups) - 1, -1, -1):
        if (times[np.ix_(groups[g], groups[g])] > 1).all():
            keep[g] = False
            times -= np.outer(size[g], size[g])
    return np.asarray(groups[keep])

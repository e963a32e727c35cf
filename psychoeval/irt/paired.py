"""Tests of two scores on the same items, for many pairs at once. Arrays in, arrays out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, gammaln, ndtri, stdtr

from psychoeval.irt.classical import BLOCK_CELLS, BoolArray, FloatArray
from psychoeval.irt.clustered import Grouping


class PairFigures(NamedTuple):
    """Figures of M pairs, (M,) each; NaN where undefined.

    Items and clusters in common; mean difference and its error between clusters, with the factor sqrt(G / (G - 1)) and
    NaN where all residuals are 0; items on which only the first, only the second is ahead; percentile limits and p of
    the bootstrap.
    """

    n_items: FloatArray
    n_clusters: FloatArray
    difference: FloatArray
    error: FloatArray
    first_only: FloatArray
    second_only: FloatArray
    bootstrap_low: FloatArray
    bootstrap_high: FloatArray
    p_bootstrap: FloatArray


def mcnemar(first_only: FloatArray, second_only: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return McNemar's exact two-sided p and its mid-p.

    With b and c items that only the first, only the second got right, and X ~ Binomial(b + c, 1/2): exact
    min(1, 2 P(X <= min(b, c))); mid-p 2 P(X <= min(b, c)) - P(X = min(b, c)), less conservative. 1 without
    discordant items. McNemar (1947), doi 10.1007/BF02295996; Fagerland, Lydersen & Laake (2013),
    doi 10.1186/1471-2288-13-91.

    Parameters
    ----------
    first_only, second_only : arrays of one shape
        Whole numbers; NaN gives NaN.

    Examples
    --------
    >>> exact, mid = mcnemar(np.array([1.0]), np.array([7.0]))
    >>> round(float(exact[0]), 7), round(float(mid[0]), 7)
    (0.0703125, 0.0390625)
    """
    n = first_only + second_only
    least = np.minimum(first_only, second_only)
    known = np.isfinite(n)
    k, m = np.where(known, least, 0), np.where(known, n, 0)
    tail = 2 * bdtr(k, m.astype(int), 0.5)
    point = np.exp(gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1) - m * np.log(2))
    exact, mid = np.minimum(tail, 1.0), np.minimum(tail - point, 1.0)
    return np.where(known, exact, np.nan), np.where(known, mid, np.nan)


def t_test(mean: FloatArray, error: FloatArray, df: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return t = mean / error and its two-sided p by Student's t; NaN where the error is 0 or unknown."""
    t = np.full(mean.shape, np.nan)
    np.divide(mean, error, out=t, where=(error > 0) & (df > 0))
    return t, np.asarray(2 * stdtr(np.maximum(df, 1), -np.abs(t)))


def without_spread(n: FloatArray, level: float) -> FloatArray:
    """Return how far a mean difference may lie from n equal differences, z^2 / (n + z^2).

    Wilson's upper limit of the share of other differences, of which none was seen, each of size 1.
    """
    z2 = float(ndtri(0.5 + level / 2)) ** 2
    return np.asarray(z2 / (n + z2))


def holm(p: FloatArray) -> FloatArray:
    """Return p values adjusted for all tests by Holm's step-down rule; NaN values are no tests.

    max over i <= k of (m - i + 1) p_(i), at most 1. Holm (1979), *Scandinavian Journal of Statistics* 6, 65-70.

    Parameters
    ----------
    p : (M,) array

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(12).tolist()
    [0.03, 0.06, 0.06]
    """
    out, known = np.full(p.size, np.nan), np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * np.arange(order.size, 0, -1)
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return out


def compare_differences(
    d: FloatArray, both: BoolArray, groups: Grouping, counts: FloatArray, level: float
) -> PairFigures:
    """Return the figures of M pairs.

    Where each item is its own cluster the error is s / sqrt(n), s^2 with n - 1: that of the paired t test.

    Parameters
    ----------
    d : (M, J) array
        Differences of scores, 0 where missing.
    both : (M, J) bool array
        Where they are not missing.
    groups : Grouping
        Of the items.
    counts : (R, G) array
        How often each cluster is drawn in each bootstrap sample; R may be 0.
    level : float
        Of the percentile interval.
    """
    n = np.count_nonzero(both, axis=1).astype(float)
    mean = np.full(n.size, np.nan)
    np.divide(d.sum(axis=1), n, out=mean, where=n > 0)
    size = groups.sums(both.astype(float))
    g = np.count_nonzero(size, axis=1).astype(float)
    sums = groups.sums(d)
    residual = sums - np.nan_to_num(mean)[:, None] * size
    squares = np.einsum("ij,ij->i", residual, residual)
    usable = (g > 1) & (squares > 1e-18 * n)
    error = np.full(n.size, np.nan)
    np.divide(np.sqrt(squares * g / np.maximum(g - 1, 1)), n, out=error, where=usable)
    low, high, p = _bootstrap(sums, size, counts, level)
    bad = g < 2
    low, high, p = (np.where(bad, np.nan, v) for v in (low, high, p))
    ahead, behind = (np.count_nonzero(sign * d > 0, axis=1).astype(float) for sign in (1, -1))
    return PairFigures(n, g, mean, error, ahead, behind, low, high, p)


def _bootstrap(
    sums: FloatArray, size: FloatArray, counts: FloatArray, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return percentile limits of the mean difference and twice the smaller share beyond 0, (M,) each."""
    m, replications = len(sums), len(counts)
    low, high, p = (np.full(m, np.nan) for _ in range(3))
    step = max(1, BLOCK_CELLS // 4 // max(replications, 1))
    for start in range(0, m if replications else 0, step):
        part = slice(start, start + step)
        drawn = counts @ size[part].T
        means = np.divide(counts @ sums[part].T, drawn, out=np.zeros(drawn.shape), where=drawn > 0)
        # A difference of 0 is rounding in sums of fractions.
        beyond = [np.count_nonzero(sign * means >= -1e-12, axis=0) for sign in (1, -1)]
        p[part] = np.minimum(2 * (np.minimum(*beyond) + 1) / (replications + 1), 1.0)
        low[part], high[part] = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high, p

"""Fit of a model to the means of items and the products of pairs: M2 and what is made of it. Arrays in, arrays out.

Moments are ordered: the J means E(x_j), then the J (J - 1) / 2 products E(x_j x_k), j < k, row by row of the upper
triangle (`pairs`). Abilities are N(0, 1) or on the nodes given; other origins and units go into slopes and intercepts.
Sources: Maydeu-Olivares & Joe (2005), J. Am. Stat. Assoc. 100, 1009-1020, doi:10.1198/016214504000002069; (2006),
Psychometrika 71, 713-732, doi:10.1007/s11336-005-1295-9; RMSEA2: (2014), Multivar. Behav. Res. 49, 305-328,
doi:10.1080/00273171.2014.911075.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import chi2, ncx2

from psychoeval.irt.quadrature import MAX_NODES, Grid, normal_grid

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: Half-width of `moment_grid` in SDs: the normal distribution has 1e-15 beyond.
_LIMIT: Final = 8.0
#: A column of the derivatives that, after the others, is left with less than this share of its length adds nothing.
_RANK: Final = 1e-9


class Curves(NamedTuple):
    """Curves of J items at Q nodes, weighted.

    Parameters
    ----------
    weight : (Q,) array
        Sums to 1.
    p : (Q, J) array
        P = c + (1 - c) L, L = expit(a t + d).
    slope, intercept : (Q, J) arrays
        Derivatives of P: (1 - c) L (1 - L) t by a, (1 - c) L (1 - L) by d.
    """

    weight: FloatArray
    p: FloatArray
    slope: FloatArray
    intercept: FloatArray


def moment_grid(discrimination: FloatArray) -> Grid:
    """Return nodes for N(0, 1) and curves of these slopes (J,).

    The step h is at most .25 and 1 / (2 max|a|): the trapezoid rule errs by 2 exp(-2 pi^2 / h^2) of the density and by
    exp(-2 pi^2 / (a h)), 1e-17, of a curve, whose poles lie pi / a off the real line.
    """
    step = min(0.25, 0.5 / max(float(np.abs(discrimination).max()), 1e-300))
    return normal_grid(min(2 * int(np.ceil(_LIMIT / step)) + 1, MAX_NODES), _LIMIT)


def item_curves(discrimination: FloatArray, intercept: FloatArray, guessing: FloatArray, grid: Grid) -> Curves:
    """Return the curves of J items, (J,) arrays a, d and c, at the nodes of a grid."""
    logistic = expit(np.multiply.outer(grid.nodes, discrimination) + intercept)
    by_intercept = (1.0 - guessing) * logistic * (1.0 - logistic)
    return Curves(
        np.exp(grid.log_weights),
        guessing + (1.0 - guessing) * logistic,
        by_intercept * grid.nodes[:, None],
        by_intercept,
    )


def pairs(n_items: int) -> tuple[IntArray, IntArray]:
    """Return the first and the second item of each pair, (J (J - 1) / 2,) each."""
    first, second = np.triu_indices(n_items, 1)
    return first, second


def pair_probabilities(curves: Curves) -> FloatArray:
    """Return E(P_j P_k), (J, J): of j != k the probability that both are right; the diagonal is no probability."""
    return np.asarray(curves.p.T @ (curves.weight[:, None] * curves.p))


def moments(curves: Curves) -> FloatArray:
    """Return the expected moments, (S,), S = J (J + 1) / 2."""
    both = pair_probabilities(curves)
    return np.concatenate((curves.weight @ curves.p, both[pairs(len(both))]))


def observed_moments(responses: FloatArray) -> FloatArray:
    """Return the moments of complete 0/1 responses (N, J), (S,)."""
    both = responses.T @ responses / len(responses)
    return np.concatenate((np.diag(both), both[pairs(len(both))]))


def moment_covariance(curves: Curves) -> FloatArray:
    """Return N times the covariance of the observed moments, (S, S).

    E(x_A x_B) - E(x_A) E(x_B) for sets A and B of one or two items, where E(x_A x_B) goes over their union. For sets
    without a common item it is E(P_A P_B), one matrix product; those that share an item i form a J x J block an item,
    {i} standing where {i, i} would.
    """
    p, weight = curves.p, curves.weight
    j = p.shape[1]
    first, second = pairs(j)
    sets = np.hstack((p, p[:, first] * p[:, second]))
    covariance = np.asarray(sets.T @ (weight[:, None] * sets))
    place = np.empty((j, j), np.intp)
    np.fill_diagonal(place, np.arange(j))
    place[first, second] = place[second, first] = j + np.arange(first.size)
    both = pair_probabilities(curves)
    mean = weight @ p
    np.fill_diagonal(both, mean)
    for i in range(j):  # one matrix product each
        block = p.T @ ((weight * p[:, i])[:, None] * p)
        np.fill_diagonal(block, both[i])
        block[i], block[:, i] = both[i], both[i]
        covariance[np.ix_(place[i], place[i])] = block
    expected = np.concatenate((mean, both[first, second]))
    covariance -= np.multiply.outer(expected, expected)
    return covariance


def moment_derivatives(curves: Curves, by: FloatArray) -> FloatArray:
    """Return the derivatives of the moments by one parameter of each item, (S, J).

    Parameters
    ----------
    curves : Curves
    by : (Q, J) array
        ``curves.slope`` or ``curves.intercept``. A parameter that items share has the sum of their columns.
    """
    j = curves.p.shape[1]
    first, second = pairs(j)
    weighted = curves.weight[:, None] * by
    with_other = np.asarray(weighted.T @ curves.p)  # [i, k]: of E(x_i x_k) by i's parameter
    out = np.zeros((j + first.size, j))
    out[np.arange(j), np.arange(j)] = weighted.sum(axis=0)
    rows = j + np.arange(first.size)
    out[rows, first] = with_other[first, second]
    out[rows, second] = with_other[second, first]
    return out


def m2(residual: FloatArray, covariance: FloatArray, derivatives: FloatArray, n: int) -> tuple[float, int]:
    """Return M2 and its degrees of freedom S - q.

    M2 = N e' C e with C = X^-1 - X^-1 D (D' X^-1 D)^-1 D' X^-1: whatever the parameters can explain is taken out, so
    that it is chi-squared for every estimate that is consistent at the rate of the root of N.

    Parameters
    ----------
    residual : (S,) array
        e, observed less expected moments.
    covariance : (S, S) array
        X, N times the covariance of the moments; overwritten.
    derivatives : (S, q) array
        D, by the free parameters.
    n : int
        Persons.

    Raises
    ------
    LinAlgError
        If the covariance is singular or the parameters are not determined by the moments, with which of them.
    """
    try:
        lower = cholesky(covariance, lower=True, overwrite_a=True, check_finite=True)
    except (LinAlgError, ValueError):
        raise LinAlgError("the covariance matrix of the moments is singular under the fitted model") from None
    white = solve_triangular(lower, np.column_stack((residual, derivatives)), lower=True, check_finite=False)
    e, d = white[:, 0], white[:, 1:]
    length = np.sqrt((d**2).sum(axis=0))
    if not length.all():
        raise LinAlgError("means and pairs say nothing of some parameter")
    basis, triangle, _ = qr(d / length, mode="economic", pivoting=True, check_finite=False)
    if np.abs(np.diag(triangle)).min() < _RANK:
        raise LinAlgError("means and pairs do not determine the parameters")
    left = e - basis @ (basis.T @ e)
    return float(n * (left @ left)), residual.size - d.shape[1]


def independence_m2(observed: FloatArray, n_items: int, n: int) -> tuple[float, int]:
    """Return M2 and degrees of freedom of the model that items have nothing in common, whose means are the observed.

    The moments that its J parameters leave are the covariances of pairs, uncorrelated under the model: M2 is N times
    the sum of squared correlations, df = J (J - 1) / 2.
    """
    correlation = correlations(observed, n_items)
    return float(n * (correlation**2).sum()), correlation.size


def correlations(values: FloatArray, n_items: int) -> FloatArray:
    """Return the correlations of all pairs of 0/1 items with these moments (S,), (J (J - 1) / 2,)."""
    first, second = pairs(n_items)
    mean, both = values[:n_items], values[n_items:]
    variance = mean * (1.0 - mean)
    return np.asarray((both - mean[first] * mean[second]) / np.sqrt(variance[first] * variance[second]))


def srmsr(observed: FloatArray, expected: FloatArray, n_items: int) -> float:
    """Return the root mean square of observed less expected correlations of pairs, from the moments (S,) of both."""
    difference = correlations(observed, n_items) - correlations(expected, n_items)
    return float(np.sqrt(np.mean(difference**2)))


def rmsea(statistic: float, df: int, n: int) -> float:
    """Return sqrt(max(X - df, 0) / (N df)), misfit for each degree of freedom whatever the number of persons."""
    return float(np.sqrt(max(statistic - df, 0.0) / (n * df)))


def rmsea_interval(statistic: float, df: int, n: int, level: float = 0.90) -> tuple[float, float]:
    """Return limits of the RMSEA: sqrt(l / (N df)), l the noncentralities that put X at the (1 -+ level) / 2 points.

    A limit is 0 where even the central distribution has X below that point.
    """

    def limit(share: float) -> float:
        if chi2.cdf(statistic, df) <= share:
            return 0.0
        high = 2.0 * statistic + 10.0
        while ncx2.cdf(statistic, df, high) > share:
            high *= 2.0
        # ncx2 is the central distribution in the limit 0, where it is not defined.
        noncentrality = brentq(lambda v: ncx2.cdf(statistic, df, v) - share, 1e-12, high, xtol=1e-10, rtol=1e-12)
        return float(np.sqrt(noncentrality / (n * df)))

    return limit((1.0 + level) / 2.0), limit((1.0 - level) / 2.0)


def incremental_fit(statistic: float, df: int, null: float, null_df: int) -> tuple[float, float]:
    """Return CFI and TLI against a null model; NaN where that fits no worse than chance.

    CFI = 1 - max(X - df, 0) / max(X0 - df0, X - df), TLI = (X0 / df0 - X / df) / (X0 / df0 - 1).
    """
    if null <= null_df:
        return float("nan"), float("nan")
    excess = max(statistic - df, 0.0)
    cfi = 1.0 - excess / max(null - null_df, excess)
    return cfi, (null / null_df - statistic / df) / (null / null_df - 1.0)

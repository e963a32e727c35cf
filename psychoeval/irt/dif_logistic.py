"""Logistic regressions of every item on a matching variable and groups, all items at once. Arrays in, arrays out."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Newton's steps, halved ones included; regressions whose maximum exists take 5 to 8.
MOST_STEPS: Final = 100
#: Converged where Newton's decrement g' H^-1 g, twice the log-likelihood still to be gained, is below.
TOLERANCE: Final = 1e-16
#: Share of a step at which a search that gains nothing is given up.
SMALLEST_RATE: Final = 1e-8
#: Relative rounding of a log-likelihood that counts as no loss.
ROUNDING: Final = 1e-13


class GroupSums(NamedTuple):
    """Responses to J items of the persons of one group: successes, trials and matching variable, (n, J) each."""

    successes: FloatArray
    trials: FloatArray
    matching: FloatArray


class Regression(NamedTuple):
    """One nested regression of each of J items.

    coefficients (J, P), covariance (J, P, P), log_likelihood (J,) without the binomial constant; NaN where the maximum
    does not exist or was not found, which converged (J,) says.
    """

    coefficients: FloatArray
    covariance: FloatArray
    log_likelihood: FloatArray
    converged: BoolArray


class LogisticTests(NamedTuple):
    """Regressions of J items on the matching variable alone, with groups, and with their slopes by group.

    exists (3, J): whether the maximum of each is finite; separated (G, J): whether one group's responses are ordered by
    the matching variable, or all alike; empty (J,): log-likelihood of an intercept alone; pearson (J,): Pearson's
    chi-squared of the last regression; n (J,): persons with a response; trials (J,).
    """

    models: tuple[Regression, Regression, Regression]
    exists: BoolArray
    separated: BoolArray
    empty: FloatArray
    pearson: FloatArray
    n: FloatArray
    trials: FloatArray


def logistic_tests(successes: FloatArray, trials: FloatArray, matching: FloatArray, group: NDArray[np.intp]) -> (
    LogisticTests
):  # fmt: skip
    """Fit, for each item, logit P = a + b m, = a + b m + u_g, and = a + b m + u_g + v_g m, by maximum likelihood.

    u_g and v_g are 0 for group 0; m is centered and in SDs over the persons with a response to the item, which changes
    no likelihood and no u_g of the second regression. Swaminathan & Rogers (1990), doi
    10.1111/j.1745-3984.1990.tb00754.x. Newton's method from 0 with halved steps, for all items at once: the
    log-likelihood is concave. Its maximum is finite unless a direction separates successes from failures (Albert &
    Anderson 1984, doi 10.1093/biomet/71.1.1); with one variable that is seen from the ranges of m.

    Parameters
    ----------
    successes, trials : (N, J) arrays
        Trials of 0 are cells without a response.
    matching : (N, J) array
        m; what stands in cells without a response does not matter.
    group : (N,) int array
        0 to G - 1, each at least once.

    Examples
    --------
    >>> x = np.array([[0.0, 0, 1, 0, 1, 1, 0, 1]]).T
    >>> m = np.array([[1.0, 3, 2, 4, 3, 1, 2, 4]]).T
    >>> found = logistic_tests(x, np.ones((8, 1)), m, np.repeat([0, 1], 4))
    >>> [round(float(2 * (b.log_likelihood - a.log_likelihood)[0]), 3) for a, b in zip(found.models, found.models[1:])]
    [2.093, 0.549]
    """
    n_groups = int(group.max()) + 1
    seen = trials > 0
    n = seen.sum(axis=0).astype(np.float64)
    scaled = _scaled(matching, seen, n)
    parts = [GroupSums(successes[group == g], trials[group == g], scaled[group == g]) for g in range(n_groups)]
    separated, exists = _existence(parts)
    full = _design(n_groups)
    models = [_maximize(parts, full[:p], exists[k]) for k, p in enumerate((2, n_groups + 1, 2 * n_groups))]
    right, total = successes.sum(axis=0), trials.sum(axis=0)
    empty = xlogy(right, right) + xlogy(total - right, total - right) - xlogy(total, total)
    pearson = _pearson(parts, models[2].coefficients @ full)
    return LogisticTests((models[0], models[1], models[2]), exists, separated, empty, pearson, n, total)


def _scaled(matching: FloatArray, seen: BoolArray, n: FloatArray) -> FloatArray:
    """Return m centered and in SDs over the persons with a response; 0 where it has no spread or no response."""
    m = np.where(seen, matching, 0.0)
    m -= np.where(seen, m.sum(axis=0) / np.maximum(n, 1), 0.0)
    sd = np.sqrt((m**2).sum(axis=0) / np.maximum(n, 1))
    return np.asarray(np.divide(m, sd, out=np.zeros_like(m), where=sd > 1e-12))


def _design(n_groups: int) -> FloatArray:
    """Return how intercepts and slopes of the groups, (2 G,), follow from coefficients a, b, u, v: (2 G, 2 G)."""
    design = np.zeros((2 * n_groups, 2 * n_groups))
    design[0, :n_groups] = design[1, n_groups:] = 1.0
    for g in range(1, n_groups):
        design[1 + g, g] = design[n_groups + g, n_groups + g] = 1.0
    return design


def _existence(parts: list[GroupSums]) -> tuple[BoolArray, BoolArray]:
    """Return which groups' responses are separated, (G, J), and which of the three maxima are finite, (3, J)."""
    ranges = np.stack([_ranges(part) for part in parts])  # (G, 4, J)
    low_right, high_right, low_wrong, high_wrong = ranges.transpose(1, 0, 2)
    up, down = high_wrong <= low_right, high_right <= low_wrong
    constant = np.isinf(low_right) | np.isinf(low_wrong)
    alone = (high_wrong.max(axis=0) <= low_right.min(axis=0)) | (high_right.max(axis=0) <= low_wrong.min(axis=0))
    groups = constant.any(axis=0) | up.all(axis=0) | down.all(axis=0)
    separated = up | down
    return separated, ~np.stack([alone, groups, separated.any(axis=0)])


def _ranges(part: GroupSums) -> FloatArray:
    """Return the lowest and highest m of successes and of failures, (4, J); infinite where there is none."""
    out = []
    for which in (part.successes > 0, part.trials - part.successes > 0):
        out += [np.where(which, part.matching, np.inf).min(axis=0), np.where(which, part.matching, -np.inf).max(axis=0)]
    return np.stack(out)


def _maximize(parts: list[GroupSums], design: FloatArray, exists: BoolArray) -> Regression:
    """Return the regression whose groups' intercepts and slopes are coefficients @ design."""
    j, p = exists.size, len(design)
    at, value = np.zeros((j, p)), np.full(j, -np.inf)
    step, rate, open_, converged = np.zeros((j, p)), np.ones(j), exists.copy(), np.zeros(j, dtype=bool)
    hessian = np.broadcast_to(np.eye(p), (j, p, p)).copy()
    for _ in range(MOST_STEPS):
        if not open_.any():
            break
        tried = at + rate[:, None] * step
        found, gradient, curvature = _derivatives(parts, design, tried)
        better = open_ & (found >= value - ROUNDING * np.abs(np.where(np.isfinite(value), value, 0.0)))
        rate = np.where(open_ & ~better, rate / 2, 1.0)
        at[better], value[better], hessian[better] = tried[better], found[better], curvature[better]
        step[better] = _solve(curvature[better], gradient[better])
        decrement = np.einsum("jp,jp->j", step, gradient)
        converged |= better & (decrement <= TOLERANCE * np.maximum(np.abs(found), 1.0))
        open_ &= ~converged & (rate > SMALLEST_RATE)
    at[converged] += step[converged]  # the last step is known, and too small to be judged by the log-likelihood
    covariance = np.full((j, p, p), np.nan)
    covariance[converged] = np.linalg.pinv(hessian[converged], hermitian=True)
    at[~converged], value[~converged] = np.nan, np.nan
    return Regression(at, covariance, value, converged)


def _solve(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return Newton's steps; a far first step can leave hardly any curvature, so that a trace of it is added."""
    p = hessian.shape[-1]
    trace = np.einsum("jpp->j", hessian)[:, None, None]
    return np.asarray(np.linalg.solve(hessian + (1e-12 * trace + 1e-300) * np.eye(p), gradient[:, :, None])[:, :, 0])


def _derivatives(
    parts: list[GroupSums], design: FloatArray, coefficients: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log-likelihood (J,), gradient (J, P) and information (J, P, P)."""
    g, j = len(parts), len(coefficients)
    lines = (coefficients @ design).T  # intercepts of the groups, then slopes
    value, score, weight = np.zeros(j), np.zeros((2 * g, j)), np.zeros((2 * g, 2 * g, j))
    for k, (x, n, m) in enumerate(parts):
        logit = lines[k] + lines[g + k] * m
        value += (x * logit - n * np.logaddexp(0.0, logit)).sum(axis=0)
        p = expit(logit)
        left, w = x - n * p, n * p * (1.0 - p)
        score[k], score[g + k] = left.sum(axis=0), (left * m).sum(axis=0)
        weight[k, k] = w.sum(axis=0)
        weight[k, g + k] = weight[g + k, k] = (w * m).sum(axis=0)
        weight[g + k, g + k] = (w * m**2).sum(axis=0)
    information = np.einsum("pu,uvj,qv->jpq", design, weight, design, optimize=True)
    return value, (design @ score).T, np.asarray(information)


def _pearson(parts: list[GroupSums], lines: FloatArray) -> FloatArray:
    """Return sum (x - n P)^2 / (n P (1 - P)) of each item, (J,), from intercepts and slopes of the groups, (J, 2 G)."""
    out = np.zeros(len(lines))
    for k, (x, n, m) in enumerate(parts):
        p = expit(lines[:, k] + lines[:, len(parts) + k] * m)
        variance = n * p * (1.0 - p)
        square = (x - n * p) ** 2
        out += np.divide(square, variance, out=np.zeros_like(p), where=variance > 0).sum(axis=0)
    return out

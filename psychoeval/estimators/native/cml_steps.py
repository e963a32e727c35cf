"""Conditional likelihood of Rasch items given raw scores: elementary symmetric functions, moments, Newton's method.

A person who saw items with trials k_j has P(x | sum x = r) = prod_j C(k_j, x_j) e_j^x_j / gamma_r with e_j = exp(d_j)
and gamma_r the coefficient of t^r in prod_j (1 + e_j t)^k_j: for binary cells the elementary symmetric function of
order r. That coefficient is Cauchy's integral on a circle of radius exp(theta),

    gamma_r = prod_j (1 + e_j exp(theta))^k_j exp(-theta r) P_theta(S = r),
    P_theta(S = r) = 1/M sum_m exp(-i w_m r) prod_j (1 + p_j (exp(i w_m) - 1))^k_j,    w_m = 2 pi m / M,

with p_j = expit(d_j + theta), S the sum of the independent successes. Where theta makes E S = r, P(S = r) is of the
order of 1 / SD(S): nothing underflows or cancels, whatever the number of items. The sum leaves out (S = r + n M, nodes
far from 0) less than exp(-38) by Bernstein's inequality. Expected scores and their covariances are the same sums with
u_j = p_j exp(i w) / (1 + p_j (exp(i w) - 1)) under them: the leave-one-out functions, without a recursion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.int64]

#: -log of what the sums over nodes leave out.
_LOG_LEFT_OUT: Final = 38.0
#: Complex numbers in a temporary of one block.
_BLOCK: Final = 1 << 19
#: |E S - r| in SDs of S: the sums are right on any circle, and hardly better on the best.
_TILT: Final = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Persons with equal trials and an equal raw score, who have one conditional distribution.

    Parameters
    ----------
    trials : (U, J) unsigned integer array
    totals : (U,) array
        Raw scores, above 0 and below the sum of the trials: others say nothing about the items.
    counts : (U,) array
        How many persons each stands for.
    sums : (J,) array
        Successes of all these persons on each item.
    persons : (sum of counts,) array
        Their rows, unit after unit.
    """

    trials: NDArray[np.unsignedinteger]
    totals: FloatArray
    counts: FloatArray
    sums: FloatArray
    persons: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    """The conditional likelihood at given intercepts.

    Parameters
    ----------
    log_likelihood : float
        Without the binomial constants of cells with more than one trial.
    gradient : (J,) array
        Observed minus expected sums; they add up to 0.
    information : (J, J) array, optional
        Covariance of the sums given the raw scores; its rows add up to 0.
    """

    log_likelihood: float
    gradient: FloatArray
    information: FloatArray | None = None


def make_units(successes: NDArray[np.unsignedinteger], trials: NDArray[np.unsignedinteger]) -> Units:
    """Return the units of persons with neither nothing nor everything right.

    Parameters
    ----------
    successes, trials : (N, J) arrays
    """
    totals, most = successes.sum(axis=1, dtype=np.int64), trials.sum(axis=1, dtype=np.int64)
    telling = np.flatnonzero((totals > 0) & (totals < most))
    rows = np.ascontiguousarray(trials[telling])
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, pattern = np.unique(keys, return_inverse=True)
    _, first, unit, counts = np.unique(
        np.column_stack([pattern.ravel(), totals[telling]]),
        axis=0, return_index=True, return_inverse=True, return_counts=True,
    )  # fmt: skip
    sums = np.zeros(trials.shape[1])
    for block in _blocks(len(telling), trials.shape[1]):
        sums += successes[telling[block]].sum(axis=0, dtype=np.float64)
    persons = telling[np.argsort(unit.ravel(), kind="stable")]
    return Units(rows[first], totals[telling][first].astype(np.float64), counts.astype(np.float64), sums, persons)


def conditional(units: Units, intercept: FloatArray, *, information: bool = False) -> Conditional:
    """Return the conditional log-likelihood with its exact gradient and, if asked for, exact information.

    Takes about 15 complex numbers a unit and item; the information J times as much, as a matrix product.
    """
    log_gamma, expected = 0.0, np.zeros(intercept.size)
    covariance = np.zeros((intercept.size, intercept.size)) if information else None
    for block in _blocks(len(units.totals), 16 * intercept.size):
        circles = _Circles.through(intercept, units.trials[block], units.totals[block])
        counts = units.counts[block]
        log_gamma += float(counts @ circles.log_gamma)
        under = circles.under()
        weight = circles.weight * counts[circles.unit]
        expected += (weight @ under).real
        if covariance is not None:
            covariance += circles.covariance(under, weight)
    value = float(units.sums @ intercept) - log_gamma
    return Conditional(value, units.sums - expected, covariance)


def pearson(units: Units, successes: NDArray[np.unsignedinteger], intercept: FloatArray) -> float:
    """Return the sum of (x - E(x | r))^2 / var(x | r) over the cells of the units' persons.

    `successes` (N, J) are those that `make_units` was given.
    """
    total, ends = 0.0, np.concatenate([[0], np.cumsum(units.counts)]).astype(np.int64)
    for block in _blocks(len(units.totals), 16 * intercept.size):
        mean, variance = _Circles.through(intercept, units.trials[block], units.totals[block]).moments()
        unit = np.repeat(np.arange(len(mean)), units.counts[block].astype(np.int64))
        persons = units.persons[ends[block.start] : ends[block.stop]]
        for part in _blocks(len(persons), intercept.size):
            u = unit[part]
            square = (successes[persons[part]] - mean[u]) ** 2
            total += float(np.divide(square, variance[u], out=np.zeros_like(square), where=variance[u] > 0).sum())
    return total


def log_symmetric(intercept: ArrayLike, scores: ArrayLike, trials: ArrayLike | None = None) -> FloatArray:
    """Return log gamma_r of items with e_j = exp(intercept_j), (R,).

    Parameters
    ----------
    intercept : (J,) array-like
    scores : (R,) array-like
        Orders r, above 0 and below the sum of the trials.
    trials : (J,) array-like, optional
        Equal items each stands for; 1 by default.

    Examples
    --------
    >>> log_symmetric([0.0, 0.0, 0.0, 0.0], [1, 2, 3]).round(12)
    array([1.38629436, 1.79175947, 1.38629436])
    """
    d, r = np.asarray(intercept, np.float64), np.asarray(scores, np.float64)
    k = np.ones(d.size, np.uint32) if trials is None else np.asarray(trials, np.uint32)
    rows = np.tile(k, (r.size, 1))
    parts = [_Circles.through(d, rows[b], r[b]).log_gamma for b in _blocks(r.size, 16 * d.size)]
    return np.concatenate(parts)


def approximate_information(units: Units, intercept: FloatArray) -> FloatArray:
    """Return the information with each score's covariance approximated by diag(v) - v v' / sum v, (J, J).

    v_j = k_j p_j (1 - p_j) at the ability whose expected score is r: the covariance of a normal distribution given its
    sum, right to the order of 1 / J. One real matrix product.
    """
    out = np.zeros((intercept.size, intercept.size))
    for block in _blocks(len(units.totals), intercept.size):
        trials, counts = units.trials[block].astype(np.float64), units.counts[block]
        _, p = _tilt(intercept, trials, units.totals[block])
        v = trials * p * (1 - p)
        scaled = v * np.sqrt(counts / v.sum(axis=1))[:, None]
        out -= scaled.T @ scaled
        np.einsum("jj->j", out)[:] += counts @ v
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _Circles:
    """Nodes on the upper half of each unit's circle, one after another: A in all."""

    trials: FloatArray  # (U, J)
    p: FloatArray  # (U, J), 0 where there are no trials
    binary: bool
    unit: IntArray  # (A,)
    start: IntArray  # (U,) first node of each unit
    turn: ComplexArray  # (A,) exp(i w)
    factor: ComplexArray  # (A, J) 1 + p (exp(i w) - 1)
    weight: ComplexArray  # (A,) what a quantity is multiplied by, its real parts then being summed
    log_gamma: FloatArray  # (U,)

    @classmethod
    def through(cls, intercept: FloatArray, counts: NDArray[np.unsignedinteger], totals: FloatArray) -> _Circles:
        trials, binary = counts.astype(np.float64), bool(counts.max(initial=0) <= 1)
        theta, p = _tilt(intercept, trials, totals)
        p = np.where(trials > 0, p, 0.0)
        variance = (trials * p * (1 - p)).sum(axis=1)
        n_nodes, half = _node_numbers(variance, trials.sum(axis=1))
        unit = np.repeat(np.arange(len(totals)), half)
        start = np.cumsum(half) - half
        m = np.arange(len(unit)) - start[unit]
        angle = 2 * np.pi * m / n_nodes[unit]
        turn = np.exp(1j * angle)
        factor = 1 + p[unit] * (turn - 1)[:, None]
        product = factor.prod(axis=1) if binary else np.exp((trials[unit] * np.log(factor)).sum(axis=1))
        # The lower half of the circle is the conjugate of the upper: its real parts are the same.
        weight = product * np.exp(-1j * angle * totals[unit]) * np.where(m == 0, 1.0, 2.0) / n_nodes[unit]
        mass = np.add.reduceat(weight.real, start)
        log_gamma = _log_height(intercept, theta, trials, p, totals) + np.log(mass)
        return cls(trials, p, binary, unit, start, turn, factor, weight / mass[unit], log_gamma)

    def under(self) -> ComplexArray:
        """Return k_j u_j at every node, (A, J): summed with the weights, the expected scores."""
        shares = self.p if self.binary else self.trials * self.p
        return np.asarray(shares[self.unit] * self.turn[:, None] / self.factor)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the expected scores and their variances, (U, J) each."""
        under = self.under()
        mean = np.add.reduceat((self.weight[:, None] * under).real, self.start)
        square = self.weight[:, None] * (under * (1 + under - self._one()))
        return mean, np.maximum(np.add.reduceat(square.real, self.start) - mean**2, 0.0)

    def covariance(self, under: ComplexArray, weight: ComplexArray) -> FloatArray:
        """Return the covariance of the scores, (J, J), summed over the persons that `weight` counts."""
        mean = np.add.reduceat((self.weight[:, None] * under).real, self.start)
        away = (under - mean[self.unit]) * np.sqrt(weight)[:, None]
        out = np.asarray(away.real.T @ away.real - away.imag.T @ away.imag)
        # Successes of one item are alike: E x^2 = k E u + k (k - 1) E u^2, and `out` has k^2 E u^2.
        np.einsum("jj->j", out)[:] += (weight @ (under * (1 - self._one()))).real
        return out

    def _one(self) -> ComplexArray:
        """Return u_j at every node, (A, J)."""
        return np.asarray(self.p[self.unit] * self.turn[:, None] / self.factor)


def _tilt(intercept: FloatArray, trials: FloatArray, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return theta (U,) with sum_j k_j expit(d_j + theta) = r, and these probabilities (U, J); Newton, bracketed."""
    seen = trials > 0
    logit = np.log(totals / (trials.sum(axis=1) - totals))
    low = logit - np.where(seen, intercept, -np.inf).max(axis=1)
    high = logit - np.where(seen, intercept, np.inf).min(axis=1)
    theta = logit - (trials @ intercept) / trials.sum(axis=1)
    p = expit(intercept + theta[:, None])
    for _ in range(200):
        excess = (trials * p).sum(axis=1) - totals
        variance = (trials * p * (1 - p)).sum(axis=1)
        if (np.abs(excess) <= _TILT * np.sqrt(variance)).all():
            break
        low, high = np.where(excess < 0, theta, low), np.where(excess > 0, theta, high)
        with np.errstate(divide="ignore", over="ignore"):
            step = theta - excess / variance
        theta = np.where((step > low) & (step < high), step, (low + high) / 2)
        p = expit(intercept + theta[:, None])
    return theta, p


def _log_height(
    intercept: FloatArray, theta: FloatArray, trials: FloatArray, p: FloatArray, totals: FloatArray
) -> FloatArray:
    """Return sum_j k_j log(1 + exp(d_j + theta)) - r theta, (U,), whose two parts are large and nearly equal."""
    away = np.abs(intercept + theta[:, None])
    entropy = np.log1p(np.exp(-away)) + away * expit(-away)
    slack = (trials * p).sum(axis=1) - totals
    return np.asarray((trials * entropy).sum(axis=1) + (trials * p) @ intercept + slack * theta)


def _node_numbers(variance: FloatArray, most: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the nodes M of each circle, odd, and how many of its upper half count."""
    # P(|S - r| >= M) <= 2 exp(-M^2 / (2 (variance + M / 3))), and no aliases at all beyond the number of trials.
    t = _LOG_LEFT_OUT / 3
    apart = t + np.sqrt(t**2 + 2 * _LOG_LEFT_OUT * variance)
    n_nodes = (np.minimum(np.ceil(apart) + 2, most + 1).astype(np.int64)) | 1
    # |1 + p (exp(i w) - 1)| <= exp(-p (1 - p) (1 - cos w)).
    widest = np.arccos(np.maximum(1 - _LOG_LEFT_OUT / variance, -1.0))
    half = np.floor(widest * n_nodes / (2 * np.pi)).astype(np.int64) + 1
    return n_nodes, np.minimum(half, (n_nodes + 1) // 2)


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, width))
    return (slice(at, min(at + step, n)) for at in range(0, n, step))

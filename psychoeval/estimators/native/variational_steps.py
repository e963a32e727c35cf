"""The evidence lower bound of a mean-field posterior and one sweep of its coordinate ascent, a block of persons a time.

Logits eta = a theta + d have independent theta ~ N(m, s^2), log a ~ N(mu, tau^2), d ~ N(delta, v). Jaakkola & Jordan
(2000, doi:10.1023/A:1008932416310) bound the softplus by a quadratic at xi, best at xi^2 = E[eta^2]:

    log(1 + exp(eta)) <= eta/2 + log(2 cosh(xi/2)) + w(xi) (eta^2 - xi^2),  w(xi) = tanh(xi/2) / (4 xi),

the same bound as of Polya-Gamma augmentation (Polson, Scott & Windle 2013, doi:10.1080/01621459.2013.829001). All
expectations are then closed form, and every update raises the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.map_objective import row_blocks
from psychoeval.estimators.native.variational_guessing import GuessingFactor, ascent_size
from psychoeval.irt.models import Normal

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.unsignedinteger[Any]]

#: Alternations of intercept and slope within a sweep; they cost nothing beside the sums over cells.
ITEM_CYCLES: Final = 2
LARGEST_STEP: Final = 1.0
#: Below it tanh(xi/2) / (4 xi) is 1/8 to rounding error.
SMALLEST_XI: Final = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """The independent factors of the posterior of N persons and J items.

    Parameters
    ----------
    theta, theta_log_sd : (N,) arrays
        Mean and log SD of each ability.
    slope, slope_log_sd : (J,) or (1,) arrays
        Mean and log SD of each log a, or of the common one.
    intercept, intercept_log_sd : (J,) arrays
    guessing : (2, J) or (0,) array
        Parameters of the guessing factors, as `GuessingFactor` has them.
    """

    theta: FloatArray
    theta_log_sd: FloatArray
    slope: FloatArray
    slope_log_sd: FloatArray
    intercept: FloatArray
    intercept_log_sd: FloatArray
    guessing: FloatArray

    @property
    def vector(self) -> FloatArray:
        """All parameters in one (P,) array."""
        parts = (self.theta, self.theta_log_sd, self.slope, self.slope_log_sd,
                 self.intercept, self.intercept_log_sd, self.guessing.ravel())  # fmt: skip
        return np.concatenate(parts)

    def with_vector(self, vector: FloatArray) -> Factors:
        """Return factors of the same shapes with the parameters of `vector`."""
        n, k, j = self.theta.size, self.slope.size, self.intercept.size
        theta, theta_log_sd, slope, slope_log_sd, intercept, intercept_log_sd, guessing = np.split(
            vector, np.cumsum([n, n, k, k, j, j])
        )
        guessing = guessing.reshape(self.guessing.shape)
        return Factors(theta, theta_log_sd, slope, slope_log_sd, intercept, intercept_log_sd, guessing)

    @property
    def slope_moments(self) -> tuple[FloatArray, FloatArray]:
        """E[a] and E[a^2] of every item, (J,) each."""
        j, variance = self.intercept.size, np.exp(2 * self.slope_log_sd)
        first, second = np.exp(self.slope + variance / 2), np.exp(2 * self.slope + 2 * variance)
        return np.broadcast_to(first, (j,)), np.broadcast_to(second, (j,))


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """The bound at some factors, and the factors one sweep on.

    Parameters
    ----------
    at : Factors
    elbo : float
        With the best xi; without the binomial constants.
    ability_divergence, item_divergence : float
        Kullback-Leibler divergences from the priors, which the bound subtracts from the expected log-likelihood.
    next : Factors
        Their bound is no lower.
    """

    at: Factors
    elbo: float
    ability_divergence: float
    item_divergence: float
    next: Factors


class MeanField:
    """The variational problem of N persons and J items: theta ~ N(0, 1), log a and d normal, c by its factor.

    Parameters
    ----------
    successes, trials : (N, J) unsigned integer arrays
    slope : Normal
        Density of log a; counts once if it is common.
    intercept : Normal
        Density of each d.
    common_slope : bool
    guessing : GuessingFactor, optional
        None where c = 0.
    """

    def __init__(
        self,
        successes: CountArray,
        trials: CountArray,
        slope: Normal,
        intercept: Normal,
        *,
        common_slope: bool = False,
        guessing: GuessingFactor | None = None,
    ) -> None:
        self.successes, self.trials = successes, trials
        self.slope, self.intercept, self.common_slope, self.guessing = slope, intercept, common_slope, guessing
        self.n_persons, self.n_items = successes.shape
        self._all_single = bool((trials == 1).all())

    def start(self) -> Factors:
        """Return factors around smoothed logits of the raw scores, with slopes at their prior's mean."""
        x, n = self.successes, self.trials
        by_person, by_item = (_logit(x.sum(k, dtype=np.int64), n.sum(k, dtype=np.int64)) for k in (1, 0))
        k = 1 if self.common_slope else self.n_items
        information = n.sum(0, dtype=np.int64) / 4
        slopes = np.array([information.sum()]) if self.common_slope else information
        return Factors(
            by_person - by_person.mean(),
            -0.5 * np.log1p(n.sum(1, dtype=np.int64) / 4),
            np.full(k, float(self.slope.mean)),
            -0.5 * np.log(self.slope.sd**-2 + slopes),
            by_item,
            -0.5 * np.log(self.intercept.sd**-2 + information),
            np.zeros(0) if self.guessing is None else self.guessing.start(self.n_items),
        )

    def sweep(self, at: Factors) -> Sweep:
        """Return the bound at `at`, and renew xi (and who guessed), then every ability, then every item.

        A bound that overflows is not finite.
        """
        first, second = at.slope_moments
        delta = at.intercept
        by_item = np.stack([second, 2 * first * delta, delta**2 + np.exp(2 * at.intercept_log_sd)])
        to_persons = np.column_stack([second, first * delta])
        theta, log_sd = np.empty(self.n_persons), np.empty(self.n_persons)
        weight_sums, score_sums = np.zeros((3, self.n_items)), np.zeros((2, self.n_items))
        guesses, failures = np.zeros(self.n_items), np.zeros(self.n_items)
        logs = None if self.guessing is None else self.guessing.expected_logs(at.guessing, self.n_items)
        total = 0.0
        for rows in row_blocks(self.n_persons, self.n_items):
            m, variance = at.theta[rows], np.exp(2 * at.theta_log_sd[rows])
            x = self.successes[rows].astype(np.float64)
            n = None if self._all_single else self.trials[rows].astype(np.float64)
            softplus, w = quadratic_bound(np.column_stack([m**2 + variance, m, np.ones_like(m)]) @ by_item)
            if n is not None:
                softplus *= n
                w *= n
            total -= float(softplus.sum())
            half = 0.5 if n is None else 0.5 * n
            if logs is None:
                x -= half
                total += float((x @ first) @ m + (x @ delta).sum())
            else:
                eta = np.multiply.outer(m, first)
                eta += delta
                failed = (1.0 if n is None else n) - x
                total -= float((half * eta).sum())
                gain, guessed = guessed_share(eta, logs[0])
                total += float(np.vdot(x, gain)) + float((failed @ logs[1]).sum())
                guessed *= x
                guesses += guessed.sum(0)
                failures += failed.sum(0)
                x -= guessed
                x -= half
            sums = w @ to_persons
            precision = 1.0 + 2.0 * sums[:, 0]
            m = (x @ first - 2.0 * sums[:, 1]) / precision
            theta[rows], log_sd[rows] = m, -0.5 * np.log(precision)
            ones = np.ones_like(m)
            weight_sums += np.stack([ones, m, m**2 + 1.0 / precision]) @ w
            score_sums += np.stack([ones, m]) @ x
        slope, slope_log_sd, intercept, intercept_log_sd = self._items(at, weight_sums, score_sums)
        guessing = at.guessing if self.guessing is None else self.guessing.update(at.guessing, guesses, failures)
        ability_divergence = normal_divergence(at.theta, at.theta_log_sd, Normal(0.0, 1.0))
        item_divergence = normal_divergence(at.slope, at.slope_log_sd, self.slope)
        item_divergence += normal_divergence(at.intercept, at.intercept_log_sd, self.intercept)
        if self.guessing is not None:
            item_divergence += self.guessing.divergence(at.guessing)
        new = Factors(theta, log_sd, slope, slope_log_sd, intercept, intercept_log_sd, guessing)
        return Sweep(at, total - ability_divergence - item_divergence, ability_divergence, item_divergence, new)

    def _items(
        self, at: Factors, weights: FloatArray, scores: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return renewed slopes and intercepts given sums of w (1, theta, theta^2) and of scores (1, theta)."""
        prior_precision = self.intercept.sd**-2
        precision = prior_precision + 2.0 * weights[0]
        slope, log_sd, delta = at.slope, at.slope_log_sd, at.intercept
        for _ in range(ITEM_CYCLES):
            first = np.exp(slope + np.exp(2 * log_sd) / 2)
            delta = (prior_precision * self.intercept.mean + scores[0] - 2.0 * first * weights[1]) / precision
            linear, square = scores[1] - 2.0 * delta * weights[1], weights[2]
            if self.common_slope:
                linear, square = linear.sum(keepdims=True), square.sum(keepdims=True)
            slope, log_sd = slope_step(slope, log_sd, linear, square, self.slope)
        return slope, log_sd, delta, -0.5 * np.log(precision)


def quadratic_bound(square: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(2 cosh(xi/2)) and w(xi) = tanh(xi/2) / (4 xi) for xi^2 = E[eta^2]; `square` is overwritten."""
    xi = np.sqrt(square, out=square)
    np.maximum(xi, SMALLEST_XI, out=xi)
    odds = np.exp(-xi)
    w = 1.0 - odds
    odds += 1.0
    w /= odds
    w /= xi
    w *= 0.25
    np.log(odds, out=odds)
    xi *= 0.5
    odds += xi
    return odds, w


def guessed_share(eta: FloatArray, log_c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(exp(E eta) + exp(E log c)) of each cell, and the probability that a success was guessed.

    A success is knowing, with probability sigma(eta), or else a lucky guess, with probability c. Which of the two is a
    Bernoulli factor of its own, here at its best.
    """
    odds = eta - log_c
    small = np.exp(-np.abs(odds))
    gain = np.maximum(eta, log_c) + np.log1p(small)
    share = np.where(odds > 0, small, 1.0) / (1.0 + small)
    return gain, share


def slope_step(
    mean: FloatArray, log_sd: FloatArray, linear: FloatArray, square: FloatArray, prior: Normal
) -> tuple[FloatArray, FloatArray]:
    """Return (mean, log SD) of each log a after one Newton step that does not lower f.

    f = linear E[a] - square E[a^2] - ((mean - m0)^2 + sd^2) / (2 s0^2) + log sd, a different one for each item.

    Parameters
    ----------
    mean, log_sd, linear, square : (J,) or (1,) arrays
    prior : Normal
        N(m0, s0) of log a.
    """
    precision = prior.sd**-2
    variance = np.exp(2 * log_sd)
    one, two = linear * np.exp(mean + variance / 2), square * np.exp(2 * mean + 2 * variance)
    by_mean = one - 2 * two - precision * (mean - prior.mean)
    curved = one - 4 * two - precision
    by_log_sd = variance * curved + 1.0
    cross = variance * (one - 8 * two)
    second = 2 * variance * curved + variance**2 * (one - 16 * two)
    determinant = curved * second - cross**2
    concave = (curved < 0) & (determinant > 0)
    safe = np.where(concave, determinant, 1.0)
    first_step = np.where(concave, (cross * by_log_sd - second * by_mean) / safe, by_mean / (4 * two + precision))
    second_step = np.where(
        concave, (cross * by_mean - curved * by_log_sd) / safe, by_log_sd / (2 + 20 * variance * two)
    )
    first_step, second_step = (np.clip(s, -LARGEST_STEP, LARGEST_STEP) for s in (first_step, second_step))

    def value(size: FloatArray) -> FloatArray:
        u, log_tau = mean + size * first_step, log_sd + size * second_step
        v = np.exp(2 * log_tau)
        gain = linear * np.exp(u + v / 2) - square * np.exp(2 * u + 2 * v)
        return np.asarray(gain - precision * ((u - prior.mean) ** 2 + v) / 2 + log_tau)

    size = ascent_size(value, mean.size)
    return mean + size * first_step, log_sd + size * second_step


def normal_divergence(mean: FloatArray, log_sd: FloatArray, prior: Normal) -> float:
    """Return the sum of the Kullback-Leibler divergences of N(mean, sd) from `prior`."""
    z = (mean - prior.mean) / prior.sd
    log_ratio = log_sd - np.log(prior.sd)
    return float(np.sum(0.5 * (z**2 + np.exp(2 * log_ratio) - 1.0) - log_ratio))


def _logit(successes: NDArray[np.int64], trials: NDArray[np.int64]) -> FloatArray:
    return np.asarray(np.log((successes + 0.5) / (trials - successes + 0.5)), dtype=np.float64)

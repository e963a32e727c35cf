"""The population that items come from: its parameters, its log density at nodes, and the derivatives by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: From 1 to the next number below it.
HALF_ULP: Final = 2.0**-53
#: Places in the vector of population parameters.
LOG_SLOPE_SD, LOCATION_MEAN, REGRESSION, LOG_LOCATION_SD, LOGIT_GUESSING = range(5)
SIZE: Final = 5
#: Standard deviations at or below it (logits) are 0 for every purpose, and the likelihood is flat in their logarithm.
SMALLEST_SD: Final = 0.01
#: Lower asymptotes outside are 0 or 1 for every purpose.
GUESSING_LIMITS: Final = (1e-4, 0.95)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Items (p, q), p = log a and q a location, in the unit of the abilities in which the mean of p is 0.

    p ~ N(0, s_a^2), q | p ~ N(m + r p, s_q^2): any bivariate normal distribution with mean (0, m). Without slopes p =
    0. The location is the intercept d, or minus the difficulty, -b = d / a.

    Parameters
    ----------
    values : (5,) array
        log s_a, m, r, log s_q, logit c.
    free : (5,) array of bool
        Which are estimated.
    has_slopes, has_guessing : bool
    by_difficulty : bool
        Whether q = -b rather than d.
    """

    values: FloatArray
    free: BoolArray
    has_slopes: bool
    has_guessing: bool
    by_difficulty: bool = False

    @property
    def guessing(self) -> float:
        """Lower asymptote c of every item."""
        # Below 1, so that log(1 - c) is a number.
        return min(float(expit(self.values[LOGIT_GUESSING])), 1.0 - HALF_ULP) if self.has_guessing else 0.0

    def moved(self, step: FloatArray) -> Population:
        """Return the population after a step (5,); standard deviations that vanish stay at `SMALLEST_SD`."""
        values, free = self.values + step, self.free.copy()
        for place in (LOG_SLOPE_SD, LOG_LOCATION_SD):
            if free[place] and values[place] <= np.log(SMALLEST_SD):
                values[place], free[place] = np.log(SMALLEST_SD), False
                if place == LOG_SLOPE_SD:
                    values[REGRESSION], free[REGRESSION] = 0.0, False
        if free[LOGIT_GUESSING]:
            low, high = (np.log(c / (1.0 - c)) for c in GUESSING_LIMITS)
            free[LOGIT_GUESSING] = low < values[LOGIT_GUESSING] < high
            values[LOGIT_GUESSING] = np.clip(values[LOGIT_GUESSING], low, high)
        return replace(self, values=values, free=free)

    @property
    def precision(self) -> FloatArray:
        """Inverse covariance of (p, q), (2, 2); its first row and column are 0 without slopes."""
        by_q = np.exp(-2.0 * self.values[LOG_LOCATION_SD])
        if not self.has_slopes:
            return np.array([[0.0, 0.0], [0.0, by_q]])
        r = self.values[REGRESSION]
        by_p = np.exp(-2.0 * self.values[LOG_SLOPE_SD])
        return np.array([[by_p + r * r * by_q, -r * by_q], [-r * by_q, by_q]])

    @property
    def mean(self) -> FloatArray:
        """Mean of (p, q), (2,)."""
        return np.array([0.0, self.values[LOCATION_MEAN]])

    @property
    def covariance(self) -> FloatArray:
        """Covariance of (p, q), (2, 2)."""
        var_q = np.exp(2.0 * self.values[LOG_LOCATION_SD])
        if not self.has_slopes:
            return np.array([[0.0, 0.0], [0.0, var_q]])
        var_p, r = np.exp(2.0 * self.values[LOG_SLOPE_SD]), self.values[REGRESSION]
        return np.array([[var_p, r * var_p], [r * var_p, r * r * var_p + var_q]])

    def intercept(self, a: FloatArray, q: FloatArray) -> FloatArray:
        """Return d at slopes a = exp(p) and locations q."""
        return a * q if self.by_difficulty else q

    def log_density(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return the log density at p, q without the powers of 2 pi."""
        v = self.values
        rest = (q - v[LOCATION_MEAN] - v[REGRESSION] * p) * np.exp(-v[LOG_LOCATION_SD])
        out = -0.5 * rest**2 - v[LOG_LOCATION_SD]
        if self.has_slopes:
            out = out - 0.5 * (p * np.exp(-v[LOG_SLOPE_SD])) ** 2 - v[LOG_SLOPE_SD]
        return np.asarray(out)

    def scores(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return the derivatives of the log density by the parameters, (5, ...); that by logit c is 0."""
        v, out = self.values, np.zeros((SIZE, *p.shape))
        by_q = np.exp(-2.0 * v[LOG_LOCATION_SD])
        rest = q - v[LOCATION_MEAN] - v[REGRESSION] * p
        if self.has_slopes:
            out[LOG_SLOPE_SD] = p**2 * np.exp(-2.0 * v[LOG_SLOPE_SD]) - 1.0
        out[LOCATION_MEAN] = rest * by_q
        out[REGRESSION] = rest * p * by_q
        out[LOG_LOCATION_SD] = rest**2 * by_q - 1.0
        return out

    def curvature_moments(self, p: FloatArray, q: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the sums with `weights` over all nodes of products of 1, p and what is left of q, (3, 3)."""
        v = self.values
        rest = q - v[LOCATION_MEAN] - v[REGRESSION] * p
        powers = np.stack([np.ones_like(p), p, rest]).reshape(3, -1)
        return np.asarray((powers * weights.ravel()) @ powers.T)

    def expected_curvature(self, moments: FloatArray) -> FloatArray:
        """Return the second derivatives of the log density, summed as `curvature_moments` is, (5, 5)."""
        v, out = self.values, np.zeros((SIZE, SIZE))
        by_q = np.exp(-2.0 * v[LOG_LOCATION_SD])
        (total, p, rest), (_, pp, p_rest), (_, _, rest_rest) = moments
        if self.has_slopes:
            out[LOG_SLOPE_SD, LOG_SLOPE_SD] = -2.0 * pp * np.exp(-2.0 * v[LOG_SLOPE_SD])
        out[LOCATION_MEAN, LOCATION_MEAN] = -by_q * total
        out[LOCATION_MEAN, REGRESSION] = -by_q * p
        out[LOCATION_MEAN, LOG_LOCATION_SD] = -2.0 * by_q * rest
        out[REGRESSION, REGRESSION] = -by_q * pp
        out[REGRESSION, LOG_LOCATION_SD] = -2.0 * by_q * p_rest
        out[LOG_LOCATION_SD, LOG_LOCATION_SD] = -2.0 * by_q * rest_rest
        return out + np.triu(out, 1).T

"""Variational factors of the lower asymptote c: fixed, beta, or logit-normal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, expit, log_expit

from psychoeval.irt.models import Beta, LogitNormal

FloatArray = NDArray[np.float64]

#: Gauss-Hermite nodes for E[log c] under a normal logit.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
NEWTON_STEPS: Final = 2
LARGEST_STEP: Final = 1.0
QUARTERINGS: Final = 6
#: Values that differ by less, relatively, are equal: else steps near the optimum are refused at random.
ROUNDING: Final = 1e-12


def ascent_size(value: Callable[[FloatArray], FloatArray], n: int) -> FloatArray:
    """Return the share, (n,), of each of n steps that does not lower its `value` at that share: 1, 1/4, ... or 0."""
    size = np.ones(n)
    floor = value(np.zeros(n))
    floor = floor - ROUNDING * (1.0 + np.abs(floor))
    for _ in range(QUARTERINGS):
        fell = ~(value(size) >= floor)
        if not fell.any():
            return size
        size[fell] /= 4.0
    size[~(value(size) >= floor)] = 0.0
    return size


class GuessingFactor(Protocol):
    """The factor of each item's c, with its prior; its parameters are one array, (2, J) or (0,)."""

    def start(self, n_items: int) -> FloatArray:
        """Return the prior's parameters for each item."""

    def expected_logs(self, parameters: FloatArray, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return E[log c] and E[log(1 - c)], (J,) each."""

    def update(self, parameters: FloatArray, guesses: FloatArray, failures: FloatArray) -> FloatArray:
        """Return parameters that raise guesses E[log c] + failures E[log(1 - c)] - divergence, counts (J,)."""

    def divergence(self, parameters: FloatArray) -> float:
        """Return the sum of the Kullback-Leibler divergences from the prior."""

    def moments(self, parameters: FloatArray, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of each c, (J,) each."""


@dataclass(frozen=True, slots=True)
class FixedGuessing:
    """Every c at `value` in (0, 1)."""

    value: float

    def start(self, n_items: int) -> FloatArray:
        """Return no parameters."""
        return np.zeros(0)

    def expected_logs(self, parameters: FloatArray, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return log c and log(1 - c)."""
        return np.full(n_items, np.log(self.value)), np.full(n_items, np.log1p(-self.value))

    def update(self, parameters: FloatArray, guesses: FloatArray, failures: FloatArray) -> FloatArray:
        """Return the parameters as they are."""
        return parameters

    def divergence(self, parameters: FloatArray) -> float:
        """Return 0."""
        return 0.0

    def moments(self, parameters: FloatArray, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return c and 0."""
        return np.full(n_items, self.value), np.zeros(n_items)


@dataclass(frozen=True, slots=True)
class BetaGuessing:
    """A beta factor, the exact optimum under a beta prior; parameters are the logs of the two shapes."""

    prior: Beta

    def start(self, n_items: int) -> FloatArray:
        """Return the prior's shapes."""
        return np.repeat(np.log([[self.prior.alpha], [self.prior.beta]]), n_items, axis=1)

    def expected_logs(self, parameters: FloatArray, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return digamma differences."""
        shapes = np.exp(parameters)
        total = digamma(shapes.sum(0))
        return digamma(shapes[0]) - total, digamma(shapes[1]) - total

    def update(self, parameters: FloatArray, guesses: FloatArray, failures: FloatArray) -> FloatArray:
        """Return the prior's shapes plus the counts."""
        return np.log(np.stack([self.prior.alpha + guesses, self.prior.beta + failures]))

    def divergence(self, parameters: FloatArray) -> float:
        """Return the sum over items."""
        shapes = np.exp(parameters)
        one, two = self.expected_logs(parameters, shapes.shape[1])
        gain = (shapes[0] - self.prior.alpha) * one + (shapes[1] - self.prior.beta) * two
        return float(np.sum(betaln(self.prior.alpha, self.prior.beta) - betaln(*shapes) + gain))

    def moments(self, parameters: FloatArray, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance."""
        shapes = np.exp(parameters)
        total = shapes.sum(0)
        mean = shapes[0] / total
        return mean, mean * (1.0 - mean) / (total + 1.0)


@dataclass(frozen=True, slots=True)
class LogitNormalGuessing:
    """A normal factor of logit c; parameters are mean and log SD."""

    prior: LogitNormal

    def start(self, n_items: int) -> FloatArray:
        """Return the prior's mean and log SD."""
        return np.repeat([[self.prior.mean], [np.log(self.prior.sd)]], n_items, axis=1)

    def _logits(self, parameters: FloatArray) -> FloatArray:
        return np.asarray(parameters[0][:, None] + np.exp(parameters[1])[:, None] * _NODES)

    def expected_logs(self, parameters: FloatArray, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return both by Gauss-Hermite quadrature."""
        log_c = log_expit(self._logits(parameters)) @ _WEIGHTS
        return log_c, log_c - parameters[0]

    def _value_along(
        self, parameters: FloatArray, step: FloatArray, guesses: FloatArray, failures: FloatArray, size: FloatArray
    ) -> FloatArray:
        parameters = parameters + size * step
        one, two = self.expected_logs(parameters, parameters.shape[1])
        return np.asarray(guesses * one + failures * two - self._divergences(parameters))

    def _divergences(self, parameters: FloatArray) -> FloatArray:
        log_ratio = parameters[1] - np.log(self.prior.sd)
        z = (parameters[0] - self.prior.mean) / self.prior.sd
        return np.asarray(0.5 * (z**2 + np.exp(2 * log_ratio) - 1.0) - log_ratio)

    def update(self, parameters: FloatArray, guesses: FloatArray, failures: FloatArray) -> FloatArray:
        """Return parameters after Newton steps in (mean, SD), in which the objective is concave."""
        precision, counts = self.prior.sd**-2, guesses + failures
        for _ in range(NEWTON_STEPS):
            sd = np.exp(parameters[1])
            c = expit(self._logits(parameters))
            slope = c * (1.0 - c)
            by_mean = guesses - counts * (c @ _WEIGHTS) - precision * (parameters[0] - self.prior.mean)
            by_sd = -counts * (c @ (_WEIGHTS * _NODES)) - precision * sd + 1.0 / sd
            one = counts * (slope @ _WEIGHTS) + precision
            cross = counts * (slope @ (_WEIGHTS * _NODES))
            two = counts * (slope @ (_WEIGHTS * _NODES**2)) + precision + sd**-2
            determinant = one * two - cross**2
            step = np.stack([
                (two * by_mean - cross * by_sd) / determinant, (one * by_sd - cross * by_mean) / determinant / sd
            ])  # fmt: skip
            step = np.clip(step, -LARGEST_STEP, LARGEST_STEP)
            size = ascent_size(partial(self._value_along, parameters, step, guesses, failures), step.shape[1])
            parameters = parameters + size * step
        return parameters

    def divergence(self, parameters: FloatArray) -> float:
        """Return the sum over items."""
        return float(self._divergences(parameters).sum())

    def moments(self, parameters: FloatArray, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance by Gauss-Hermite quadrature."""
        c = expit(self._logits(parameters))
        mean = c @ _WEIGHTS
        return mean, c**2 @ _WEIGHTS - mean**2

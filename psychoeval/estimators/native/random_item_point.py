"""Abilities and population at one point of the search: what is maximised there, with exact derivatives.

Maximising over abilities and population together has no maximum: with the abilities' SD s free, smaller abilities and
larger slopes of equal probabilities always have the larger density. The population therefore maximises the Laplace
approximation of the integral over abilities,

    E(population, s) = max over t of F - log det(H) / 2 + N log(2 pi) / 2,

F the log-likelihood plus log N(t; 0, s), H = -F'' by t. Its gradient is exact (`Evaluation.bend`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.random_item_population import SIZE, Population
from psychoeval.estimators.native.random_item_prior import PopulationPrior
from psychoeval.estimators.native.random_item_steps import Evaluation

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Point:
    """Abilities near their mode (N,), their log SD, the population, and the likelihood there."""

    t: FloatArray
    log_sd: float
    population: Population
    at: Evaluation
    prior: PopulationPrior

    @property
    def sd(self) -> float:
        """SD of the abilities."""
        return float(np.exp(self.log_sd))

    @property
    def free(self) -> BoolArray:
        """Which of the population parameters and the log SD are estimated, (6,)."""
        return np.append(self.population.free, True)

    @property
    def ability_log_density(self) -> float:
        """Sum over persons of log N(t; 0, sd)."""
        return float(-0.5 * self.t @ self.t / self.sd**2 - self.t.size * (self.log_sd + 0.5 * np.log(2.0 * np.pi)))

    @property
    def objective(self) -> float:
        """F: the log-likelihood plus the log densities of the abilities and of the population."""
        return self.at.log_likelihood + self.ability_log_density + self.prior.value(self.population)

    @cached_property
    def by_ability(self) -> FloatArray:
        """Gradient of F by the abilities, (N,)."""
        return np.asarray(self.at.gradient[: self.t.size] - self.t / self.sd**2)

    @cached_property
    def information(self) -> FloatArray:
        """H = -F'' by the abilities, (N, N)."""
        n = self.t.size
        return np.asarray(np.eye(n) / self.sd**2 - self.at.hessian[:n, :n])

    @cached_property
    def _eigen(self) -> tuple[FloatArray, FloatArray]:
        values, vectors = np.linalg.eigh(self.information)
        return values, vectors

    @property
    def is_maximum(self) -> bool:
        """Whether H is positive definite."""
        return bool(self._eigen[0][0] > 0)

    @cached_property
    def spread(self) -> FloatArray:
        """Inverse of H, (N, N); where H is not positive definite, directions count by size, at least the prior's."""
        values, vectors = self._eigen
        values = np.maximum(np.abs(values), 1.0 / self.sd**2 if not self.is_maximum else 0.0)
        return np.asarray((vectors / values) @ vectors.T)

    @property
    def step(self) -> FloatArray:
        """Newton step of the abilities, (N,)."""
        return np.asarray(self.spread @ self.by_ability)

    @cached_property
    def mixed(self) -> FloatArray:
        """F'' by abilities and by population parameters and log SD, (N, 6)."""
        n = self.t.size
        return np.column_stack([self.at.hessian[:n, n:], 2.0 * self.t / self.sd**2])

    @property
    def evidence(self) -> float:
        """E at the mode, the remaining Newton step corrected for."""
        n = self.t.size
        half = 0.5 * float(np.log(np.maximum(self._eigen[0], 1e-300)).sum())
        return self.objective + 0.5 * float(self.by_ability @ self.step) - half + 0.5 * n * float(np.log(2.0 * np.pi))

    @cached_property
    def gradient(self) -> FloatArray:
        """Of E by the population parameters and log SD, (6,); 0 where they are not free."""
        n, s2 = self.t.size, self.sd**2
        direct = np.append(self.at.gradient[n:], float(self.t @ self.t) / s2 - n)
        direct[:SIZE] += self.prior.gradient(self.population)
        bend = np.append(self.at.bend[n:], 2.0 * float(np.trace(self.spread)) / s2)
        pull = self.spread @ (self.by_ability + 0.5 * self.at.bend[:n])
        return np.where(self.free, direct + 0.5 * bend + self.mixed.T @ pull, 0.0)

    @property
    def curvature(self) -> FloatArray:
        """Information of the population parameters and log SD in F, the abilities following, (6, 6)."""
        n = self.t.size
        out = np.zeros((SIZE + 1, SIZE + 1))
        out[:SIZE, :SIZE] = -self.at.hessian[n:, n:]
        out[SIZE, SIZE] = 2.0 * float(self.t @ self.t) / self.sd**2
        return np.asarray(out - self.mixed.T @ self.spread @ self.mixed)

    @property
    def largest_gradient(self) -> float:
        """Largest absolute element: of E by the population, of F by the abilities in units of their SD."""
        return float(max(np.abs(self.gradient).max(), np.abs(self.by_ability).max() * self.sd))

"""Cells of responses and their log-likelihood under the logistic models, with derivatives by the logit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Persons x items x nodes held at once.
BLOCK: Final = 1 << 16
#: exp(700) is finite.
LARGEST_LOGIT: Final = 700.0


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Successes and trials, (N, J) counts of any type; trials of 0 are missing cells."""

    successes: NDArray[np.generic]
    trials: NDArray[np.generic]

    @property
    def shape(self) -> tuple[int, int]:
        """Persons and items."""
        n, j = self.successes.shape
        return n, j

    def block_items(self, nodes: int) -> int:
        """Return how many items a block holds at most."""
        n, j = self.shape
        return min(j, max(1, BLOCK // (n * nodes)))

    def blocks(self, nodes: int) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield items, their successes and their trials, as floats (N, B)."""
        j = self.shape[1]
        size = self.block_items(nodes)
        for start in range(0, j, size):
            items = slice(start, min(start + size, j))
            yield items, self.successes[:, items].astype(np.float64), self.trials[:, items].astype(np.float64)


def cell_terms(
    z: FloatArray, x: FloatArray, n: FloatArray, c: float, *, log_likelihood: bool = True
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log-likelihood of cells and its first two derivatives by the logit, each like `z`.

    With F = 1 / (1 + exp(-z)) and P = c + (1 - c) F the derivatives are F (x (1 - P) / P - (n - x)) and
    F (1 - P) / P x ((1 - F) - F / P) - (n - x) F (1 - F); for c = 0, x - n P and -n P (1 - P).
    """
    odds = np.exp(-np.maximum(z, -LARGEST_LOGIT))
    odds += 1.0
    f = 1.0 / odds
    if c == 0.0:
        value = (x - n) * z - n * np.log(odds) if log_likelihood else z
        nf = n * f
        return value, x - nf, nf * (f - 1.0)
    success = c + (1.0 - c) * f
    ratio = (1.0 - success) / success
    value = z
    if log_likelihood:
        value = x * np.log(success) + (n - x) * (np.log1p(-c) - z - np.log(odds))
    curvature = f * (x * ratio * (1.0 - f - f / success) - (n - x) * (1.0 - f))
    return value, f * (x * ratio - (n - x)), curvature


def cell_third(z: FloatArray, x: FloatArray, n: FloatArray, c: float) -> FloatArray:
    """Return the third derivative of the log-likelihood of cells by the logit."""
    f = 1.0 / (1.0 + np.exp(-np.maximum(z, -LARGEST_LOGIT)))
    slope = f * (1.0 - f)
    if c == 0.0:
        return n * slope * (2.0 * f - 1.0)
    success = c + (1.0 - c) * f
    ratio = (1.0 - success) / success
    inner = 1.0 - f - f / success
    inner_slope = f * f * ratio / success - slope * (1.0 + 1.0 / success)
    curvature = x * ratio * inner - (n - x) * (1.0 - f)
    return slope * curvature + f * (x * ratio * (inner_slope - f / success * inner) + (n - x) * slope)


@dataclass(frozen=True, slots=True, eq=False)
class GuessingTerms:
    """Derivatives by g = logit c at nodes: once and twice, (B, Q) and (BQ,), and with the logit once and twice."""

    score: FloatArray
    curvature: FloatArray
    by_ability: FloatArray
    by_ability_twice: FloatArray


def guessing_terms(z: FloatArray, x: FloatArray, n: FloatArray, a: FloatArray, c: float) -> GuessingTerms:
    """Return a block's derivatives by g.

    A cell's: by g, c (x (1 - P) / P - (n - x)); by g and z, m = -x c F (1 - P) / P^2; by g and z twice,
    m (1 - F - F / P - F (1 - P) / P); by g twice, x c (1 - P) / P (1 - c - c / P) - (n - x) c (1 - c).
    """
    persons = z.shape[0]
    f = 1.0 / (1.0 + np.exp(-np.maximum(z, -LARGEST_LOGIT)))
    success = c + (1.0 - c) * f
    ratio = (1.0 - success) / success
    score = c * (x * ratio - (n - x)).sum(axis=0)
    twice = (x * c * ratio * (1.0 - c - c / success) - (n - x) * c * (1.0 - c)).sum(axis=0)
    mixed = -c * x * f * ratio / success
    bent = mixed * (1.0 - f - f / success - f * ratio) * a * a
    return GuessingTerms(score, twice.ravel(), (mixed * a).reshape(persons, -1), bent.reshape(persons, -1))

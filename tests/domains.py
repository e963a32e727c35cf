"""Four published evaluation domains, reconstructed: true parameters, masks, and the rank correlations published.

Simple averages against the truth, arXiv 2605.11205. The true abilities and masks were never released; these
reproduce the published simple-average rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psychoeval.responses.ids_and_counts import smallest_dtype
from psychoeval.responses.matrix import Responses

SEEDS = range(20)


@dataclass(frozen=True)
class Domain:
    """One domain: theta (N,), items as (b, a) pairs, K trials a cell, mask (N, J), published mean and SD of rho."""

    name: str
    theta: NDArray[np.float64]
    items: tuple[tuple[float, float], ...]
    trials: int
    mask: NDArray[np.bool_]
    rho_avg: tuple[float, float]
    rho_2pl: tuple[float, float]

    @property
    def probability(self) -> NDArray[np.float64]:
        """P = 1 / (1 + exp(-a (theta - b))), (N, J)."""
        b, a = np.array(self.items).T
        return np.asarray(1 / (1 + np.exp(-a * (self.theta[:, None] - b))))

    def responses(self, seed: int) -> Responses:
        """Draw binomial counts over all cells, then mask."""
        drawn = np.random.default_rng(seed).binomial(self.trials, self.probability)
        dtype = smallest_dtype(self.trials)
        n, j = self.mask.shape
        return Responses(
            np.where(self.mask, drawn, 0).astype(dtype),
            np.where(self.mask, self.trials, 0).astype(dtype),
            tuple(f"system-{i + 1}" for i in range(n)),
            tuple(f"task-{i + 1}" for i in range(j)),
            person_label="system",
            name=self.name,
        )

    def all_responses(self) -> Iterator[Responses]:
        """The replications, seeds 0 to 19."""
        return (self.responses(seed) for seed in SEEDS)


def _mask(*rows: str) -> NDArray[np.bool_]:
    return np.array([[cell == "1" for cell in row] for row in rows])


def _domain(name: str, theta: Any, items: Any, trials: int, mask: Any, avg: Any, two_pl: Any) -> Domain:
    return Domain(name, np.asarray(theta, float), tuple(items), trials, mask, avg, two_pl)


DOMAINS = (
    _domain(
        "glue",
        np.linspace(2, -1, 12),
        [(-0.72, 1.08), (-0.55, 1.45), (-0.2, 2.1), (-0.1, 1.85), (0.15, 1.6), (0.3, 1.95), (0.65, 2.5), (0.89, 3.21)],
        500,
        np.ones((12, 8), dtype=bool),
        (1.0, 0.0),
        (1.0, 0.0),
    ),
    _domain(
        "clinical",
        [2.0, 1.8, 1.6, 1.4, 1.0, 0.7, 0.4, 0.2, -0.2, -1.3],
        [(-1.0, 1.2), (-0.5, 1.5), (0.0, 2.0), (0.5, 2.5), (1.0, 2.8), (1.5, 3.0)],
        200,
        _mask("001111", "101011", "111011", "101011", "100111", "110111", "100111", "001001", "111000", "100111"),
        (0.9224, 0.0288),
        (0.9994, 0.0026),
    ),
    _domain(
        "av",
        [2.0, 1.6, 1.5, 1.4, 0.9, 0.6, 0.4, 0.0, -0.3, -1.3],
        [(-1.5, 1.56), (-0.5, 2.1), (0.2, 2.45), (0.5, 3.69), (0.75, 2.9), (1.0, 2.5)],
        1000,
        _mask("000111", "001111", "110011", "010100", "001111", "011010", "110101", "111100", "111000", "101111"),
        (0.9158, 0.0160),
        (0.9994, 0.0026),
    ),
    _domain(
        "cyber",
        [2.0, 1.8, 1.5, 1.3, 0.9, -0.5, -0.9, -1.5],
        [(-1.5, 1.0), (-0.8, 1.5), (-0.3, 1.8), (0.5, 2.5), (1.2, 3.0), (2.0, 3.5)],
        500,
        _mask("001111", "100001", "011110", "111111", "111001", "111000", "111011", "101110"),
        (0.8095, 0.0),
        (1.0, 0.0),
    ),
)

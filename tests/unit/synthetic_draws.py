"""Draws made up for tests: what a sampler that mixes would give, from a 3PL with known parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.signal import lfilter

from psychoeval.irt.curves import probability
from psychoeval.results.draws import Draws


def made_up(
    *, persons: int = 30, items: int = 20, chains: int = 4, draws: int = 500, seed: int = 1, correlation: float = 0.2
) -> Draws:
    """Draws around parameters; autoregressive within a chain, nothing between chains."""
    rng = np.random.default_rng(seed)

    def noise(*shape: int) -> Any:
        shocks = np.sqrt(1 - correlation**2) * rng.normal(size=(chains, draws + 50, *shape))
        return lfilter([1.0], [1.0, -correlation], shocks, axis=1)[:, 50:]

    theta, b, log_a = rng.normal(size=persons), 1.3 * rng.normal(size=items), rng.normal(0, 0.35, items)
    ability = theta + 0.35 * noise(persons)
    a, difficulty = np.exp(log_a + 0.2 * noise(items)), b + 0.25 * noise(items)
    informative = rng.random(items) < 0.5
    guessing = 1 / (1 + np.exp(1.1 - np.where(informative, 0.4, 0.0) - np.where(informative, 0.2, 0.5) * noise(items)))
    p = probability(theta, np.exp(log_a), -np.exp(log_a) * b)
    spread = np.sqrt((p * (1 - p)).sum(axis=1))
    replicated = np.clip(np.rint(p.sum(axis=1) + 1.2 * spread * noise(persons)), 0, items).astype(np.int32)
    log_density = -500 + 5 * noise()
    return Draws(
        values={
            "ability": ability, "discrimination": a, "difficulty": difficulty, "intercept": -a * difficulty,
            "guessing": guessing, "mean_log_discrimination": 0.08 * noise(),
            "sd_log_discrimination": 0.35 * np.exp(0.15 * noise()), "mean_difficulty": 0.2 * noise(),
            "sd_difficulty": 1.3 * np.exp(0.1 * noise()),
        },
        person_ids=tuple(f"p{k}" for k in range(persons)), item_ids=tuple(f"i{k}" for k in range(items)),
        sample_stats={
            "lp": log_density, "energy": 5 * rng.normal(size=(chains, draws)) + 550,
            "acceptance_rate": np.full((chains, draws), 0.9),
            "step_size": np.full((chains, draws), 0.2), "tree_depth": np.full((chains, draws), 5),
            "n_steps": np.full((chains, draws), 31), "diverging": np.zeros((chains, draws), dtype=bool),
        },
        max_treedepth=10, log_likelihood=-0.5 * items + 0.4 * noise(persons), replicated_scores=replicated,
        observed_scores=rng.binomial(1, p).sum(axis=1),
    )  # fmt: skip

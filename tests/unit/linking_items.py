"""Items of two calibrations, one the other on another scale, and fits of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from psychoeval.irt.linking import LinkingMethod
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import Provenance

METHODS: tuple[LinkingMethod, ...] = ("mean-mean", "mean-sigma", "haebara", "stocking-lord")


def names(n: int, prefix: str = "q") -> tuple[str, ...]:
    return tuple(f"{prefix}{k}" for k in range(n))


def given(n: int = 10, error: float = 0.05, seed: int = 1) -> ItemParameters:
    rng = np.random.default_rng(seed)
    covariance = np.tile(np.diag([error**2, error**2, 0.0]), (n, 1, 1))
    return ItemParameters(names(n), rng.lognormal(0, 0.3, n), rng.normal(0, 1, n), np.zeros(n), covariance)


def moved(items: ItemParameters, scale: float = 1.3, shift: float = -0.4, noise: float = 0.0) -> ItemParameters:
    """The law, written out once more: a / A, d - (B / A) a."""
    a, d = items.discrimination, items.intercept
    rng = np.random.default_rng(2)
    n = items.n_items
    return replace(
        items,
        discrimination=a / scale + rng.normal(0, noise, n),
        intercept=d - shift / scale * a + rng.normal(0, noise, n),
    )


def a_fit(
    items: ItemParameters | None,
    abilities: Abilities | None = None,
    model: Literal["Rasch", "2PL"] = "2PL",
    convergence: Convergence | None = None,
) -> FitResult:
    return FitResult("mml", ItemModel(model), convergence or Convergence("converged"), Provenance(), abilities, items)


def people(theta: np.ndarray, error: float | None = 0.3, method: str = "WLE", prefix: str = "s") -> Abilities:
    errors = None if error is None else np.full(theta.size, error)
    return Abilities(names(theta.size, prefix), theta, errors, method)  # type: ignore[arg-type]


def drifted(by: float, item: int = 4) -> tuple[ItemParameters, ItemParameters]:
    one = given(12)
    two = moved(one, noise=0.05)
    d = two.intercept.copy()
    d[item] += by
    return one, replace(two, intercept=d)

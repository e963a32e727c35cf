"""Hand-made fits with known differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance

N, J = 40, 12


def ids(prefix: str, n: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{k}" for k in range(n))


def made(
    estimator: str = "mml",
    model: ItemModel | None = None,
    *,
    slope_error: float = 0.1,
    intercept_error: float = 0.1,
    ability_error: float = 0.3,
    **changes: Any,
) -> FitResult:
    """A converged marginal 2PL fit of N persons and J items; always the same values."""
    rng = np.random.default_rng(20)
    a, d, theta = rng.lognormal(0, 0.3, J), rng.normal(0, 1.2, J), np.sort(rng.normal(size=N))
    covariance = np.zeros((J, 3, 3))
    covariance[:, 0, 0], covariance[:, 1, 1] = slope_error**2, intercept_error**2
    fit = FitResult(
        estimator,
        ItemModel("2PL") if model is None else model,
        Convergence("converged"),
        Provenance(data_sha256="data"),
        Abilities(ids("p", N), theta, np.full(N, ability_error), "EAP"),
        ItemParameters(ids("i", J), a, d, np.zeros(J), covariance),
        latent_distribution=LatentDistribution(),
        log_likelihood=-1000.0,
        log_likelihood_kind="marginal",
    )
    return replace(fit, **changes)


def with_items(fit: FitResult, *, a: Any = None, d: Any = None, **changes: Any) -> FitResult:
    """The fit with other slopes or intercepts, given as functions of the old ones."""
    items = fit.item_parameters
    assert items is not None
    slopes = items.discrimination if a is None else a(items.discrimination)
    intercepts = items.intercept if d is None else d(items.intercept)
    return replace(fit, item_parameters=replace(items, discrimination=slopes, intercept=intercepts, **changes))


def with_theta(fit: FitResult, change: Any, **changes: Any) -> FitResult:
    """The fit with other abilities, given as a function of the old ones."""
    assert fit.abilities is not None
    return replace(fit, abilities=replace(fit.abilities, estimate=change(fit.abilities.estimate), **changes))


def proportions(estimator: str = "simple-average", change: Any = lambda p: p) -> FitResult:
    """A fit on the proportion scale, in the same order of persons as `made`."""
    abilities = Abilities(
        ids("p", N), change(np.linspace(0.1, 0.9, N)), np.full(N, 0.05), "mean", "proportion", "items sampled"
    )
    return FitResult(
        estimator, None, Convergence("not_iterative"), Provenance(data_sha256="data"), abilities=abilities
    )  # fmt: skip

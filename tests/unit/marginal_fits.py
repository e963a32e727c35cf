"""Fits as an EM with a fixed grid leaves them: stopped early, or at the maximum of what a coarse grid reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from psychoeval.irt.curves import node_log_likelihood
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.quadrature import Grid, marginal_posterior, normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance

FloatArray = NDArray[np.float64]


def simulated(n_persons: int, n_items: int, seed: int) -> Responses:
    """Complete 2PL data: N(0, 1) abilities and intercepts, slopes near 1."""
    rng = np.random.default_rng(seed)
    a, d = rng.lognormal(0.0, 0.2, n_items), rng.normal(size=n_items)
    p = expit(np.multiply.outer(rng.normal(size=n_persons), a) + d)
    return Responses.from_array((rng.random(p.shape) < p).astype(np.uint8))


def fixed_grid_em(
    responses: Responses, start: FitResult, *, n_nodes: int, limit: float, slopes: float, tolerance: float, cycles: int
) -> FitResult:
    """EM without any acceleration from the items of `start`, their slopes times `slopes`, on equally spaced nodes.

    It stops when no parameter changes by more than `tolerance`, as R's mirt does, or after `cycles`.
    """
    items, grid = start.item_parameters, normal_grid(n_nodes, limit)
    assert items is not None
    x, n = responses.successes.astype(float), responses.trials.astype(float)
    point = np.column_stack([slopes * items.discrimination, items.intercept])
    for _ in range(cycles):
        new = _cycle(x, n, point, grid)
        change = float(np.abs(new - point).max())
        point = new
        if change < tolerance:
            break
    return reporting(responses, items.item_ids, point, n_nodes=n_nodes, limit=limit)


def reporting(
    responses: Responses, item_ids: tuple[str, ...], point: FloatArray, *, n_nodes: int, limit: float
) -> FitResult:
    """A 2PL fit with these items that reports what its grid reads, and names the grid in its settings."""
    a, d = point.T
    zero = np.zeros_like(a)
    read = marginal_posterior(responses.successes, responses.trials, a, d, zero, normal_grid(n_nodes, limit))
    return FitResult(
        "engine",
        ItemModel("2PL"),
        Convergence("converged"),
        Provenance(settings={"quadrature_points": n_nodes, "quadrature_limit": limit}),
        item_parameters=ItemParameters(item_ids, a, d, zero),
        latent_distribution=LatentDistribution(),
        log_likelihood=float(read.log_marginal.sum()),
        log_likelihood_kind="marginal",
    )


def as_imported(fit: FitResult) -> FitResult:
    """The fit as a table of another program would give it."""
    return replace(fit, convergence=Convergence("imported"), provenance=Provenance())


def _cycle(x: FloatArray, n: FloatArray, point: FloatArray, grid: Grid) -> FloatArray:
    """One E-step, and Newton steps of every item to the maximum of the expected complete-data likelihood."""
    joint = node_log_likelihood(x, n, grid.nodes, point[:, 0], point[:, 1]) + grid.log_weights
    weights = np.exp(joint - joint.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    success, trials = x.T @ weights, n.T @ weights
    design = np.column_stack([grid.nodes, np.ones_like(grid.nodes)])
    for _ in range(20):
        p = expit(point @ design.T)
        gradient = (success - trials * p) @ design
        information = np.einsum("jq,qr,qs->jrs", trials * p * (1.0 - p), design, design)
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        point = point + step
        if np.abs(step).max() < 1e-10:
            break
    return point

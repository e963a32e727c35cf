"""Nodes of ability that stand for the cells of large complete data: against the cells themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from psychoeval.estimators.native import map_objective
from psychoeval.estimators.native.map_covariance import joint_covariance
from psychoeval.estimators.native.map_hessian import arrow_hessian
from psychoeval.estimators.native.map_nodes import curves, interpolation
from psychoeval.estimators.native.map_objective import JointObjective
from psychoeval.estimators.native.map_steps import minimize
from tests.unit.map_reference import PUBLISHED, WEAK, simulated
from tests.unit.test_map_objective import SD, a_point, all_slopes


def both(
    monkeypatch, slopes, n, j, *, trials=1, missing=0.0, keeps_cells=False
) -> tuple[JointObjective, JointObjective]:
    """The objective that keeps its cells, and the one that has nodes for them, of the same data."""
    x, _ = simulated(n, j, trials=trials)
    count = np.full_like(x, trials)
    if missing:
        count[np.random.default_rng(2).random(count.shape) < missing] = 0
        x = np.minimum(x, count)
    kept = JointObjective(x, count, WEAK, slopes=slopes, ability_sd=SD[slopes])
    monkeypatch.setattr(map_objective, "NODE_CELLS", 0)
    if not keeps_cells:
        monkeypatch.setattr(map_objective, "KEPT_CELLS", 0)
    return kept, JointObjective(x, count, WEAK, slopes=slopes, ability_sd=SD[slopes])


@pytest.mark.parametrize("steepest", [0.1, 1.0, 7.0])
def test_interpolation_is_exact_to_rounding(steepest) -> None:
    theta = np.random.default_rng(0).normal(0.4, 1.2, 3000)
    found = interpolation(theta, steepest)
    assert found is not None
    nodes, basis = found
    d = np.linspace(-30, 30, 50)
    for curve in (expit, lambda z: expit(z) * expit(-z), lambda z: np.logaddexp(0, z)):
        exact = curve(steepest * theta[:, None] + d)
        found_there = basis @ curve(steepest * nodes[:, None] + d)
        np.testing.assert_allclose(found_there, exact, atol=1e-12 * max(1.0, exact.max()), rtol=0)


@all_slopes
@pytest.mark.parametrize(("trials", "keeps_cells"), [(1, False), (3, False), (1, True)])
def test_nodes_give_what_cells_give(slopes, trials, keeps_cells, monkeypatch) -> None:
    kept, at_nodes = both(monkeypatch, slopes, 700, 12, trials=trials, keeps_cells=keeps_cells)
    point = a_point(kept)
    first, second = kept.evaluate(point), at_nodes.evaluate(point)
    assert first.curves is None
    assert second.curves is not None
    assert second.value == pytest.approx(first.value, rel=1e-13)
    np.testing.assert_allclose(second.gradient, first.gradient, atol=1e-9)
    np.testing.assert_allclose(second.item_sums, first.item_sums, atol=1e-9)
    np.testing.assert_allclose(second.theta_curvature, first.theta_curvature, atol=1e-10)
    v = np.random.default_rng(1).normal(size=700)
    for exact in (True, False):
        one, two = (arrow_hessian(o, at, exact=exact) for o, at in ((kept, first), (at_nodes, second)))
        y = one.to_items(v)
        np.testing.assert_allclose(two.to_items(v), y, atol=1e-9)
        np.testing.assert_allclose(two.to_persons(y), one.to_persons(y), atol=1e-8)


@all_slopes
@pytest.mark.parametrize(("n", "j"), [(700, 400), (900, 40)])  # the information reduced to persons, and to items
def test_nodes_lead_to_the_same_minimum_and_errors(slopes, n, j, monkeypatch) -> None:
    results = []
    for objective in both(monkeypatch, slopes, n, j):
        found = minimize(objective, objective.start(), tolerance=1e-8, max_iterations=50)
        assert found.converged
        results.append((found, joint_covariance(arrow_hessian(objective, found.at))))
    (first, by_cells), (second, by_nodes) = results
    assert second.at.curves is not None
    np.testing.assert_allclose(second.at.point, first.at.point, atol=1e-8)
    np.testing.assert_allclose(by_nodes.theta, by_cells.theta, rtol=1e-8)
    np.testing.assert_allclose(by_nodes.items, by_cells.items, rtol=1e-8, atol=1e-11)


def test_missing_cells_and_runaway_slopes_have_no_nodes(monkeypatch) -> None:
    _, gaps = both(monkeypatch, "free", 700, 12, missing=0.1)
    assert gaps.evaluate(gaps.start()).curves is None
    x, n = simulated(700, 12)
    steep = JointObjective(x, n, PUBLISHED, slopes="free")
    point = steep.start()
    assert steep.evaluate(point).curves is not None
    point[700] = 5.0  # a slope of 148
    assert steep.evaluate(point).curves is None
    for a in (np.inf, np.nan):
        assert curves(np.linspace(-3, 3, 700), np.array([1.0, a]), np.zeros(2), 1) is None

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.estimators.native import map_objective
from psychoeval.estimators.native.map_hessian import ArrowHessian, arrow_hessian
from psychoeval.estimators.native.map_objective import JointObjective
from tests.unit.map_reference import (
    PENALTIES,
    PUBLISHED,
    difference_gradient,
    difference_hessian,
    reference_objective,
    simulated,
)

every_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
all_slopes = pytest.mark.parametrize("slopes", ["fixed", "common", "free"])
#: Another than 1 where it is a choice.
SD = {"fixed": 1.7, "common": 1.0, "free": 1.0}
data = pytest.mark.parametrize(("trials", "missing"), [(1, 0.0), (1, 0.3), (4, 0.3)])


def a_point(objective: JointObjective, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.7, objective.n_parameters)


def dense(hessian: ArrowHessian) -> np.ndarray:
    """The whole matrix, in the order theta, u, d."""
    n, (j, q, _) = hessian.theta.size, hessian.items.shape
    cross = np.stack(hessian.cross_parts(slice(None), slice(None)), axis=2)
    every, size = np.arange(j), n + q * j + (hessian.border is not None)
    out = np.zeros((size, size))
    out[:n, :n] = np.diag(hessian.theta)
    first = n + (hessian.border is not None)
    for p in range(q):
        out[:n, first + p * j : first + (p + 1) * j] = cross[:, :, p]
        for r in range(q):
            out[first + p * j + every, first + r * j + every] = hessian.items[:, p, r]
    if hessian.border is not None:
        corner, theta, items = hessian.border
        out[n, n], out[:n, n], out[n, first:] = corner, theta, items[:, 0]
    return np.triu(out) + np.triu(out, 1).T


@every_penalty
@all_slopes
@data
def test_value_and_gradient_are_those_of_the_sum_over_cells(penalty, slopes, trials, missing) -> None:
    x, n = simulated(7, 5, trials=trials, missing=missing)
    objective = JointObjective(x, n, penalty, slopes=slopes, ability_sd=SD[slopes])
    reference = reference_objective(x, n, penalty, slopes=slopes, ability_sd=SD[slopes])
    point = a_point(objective)
    at = objective.evaluate(point)
    assert at.value == pytest.approx(reference(point), rel=1e-13)
    np.testing.assert_allclose(at.gradient, difference_gradient(reference, point), rtol=1e-6, atol=1e-7)


@every_penalty
@all_slopes
@data
def test_hessian_is_the_derivative_of_the_gradient(penalty, slopes, trials, missing) -> None:
    x, n = simulated(7, 5, trials=trials, missing=missing)
    objective = JointObjective(x, n, penalty, slopes=slopes, ability_sd=SD[slopes])
    point = a_point(objective)
    numeric = difference_hessian(lambda p: objective.evaluate(p).gradient, point)
    exact = dense(arrow_hessian(objective, objective.evaluate(point)))
    np.testing.assert_allclose(exact, numeric, rtol=1e-6, atol=1e-7)


@every_penalty
@all_slopes
def test_gauss_newton_part_is_positive_definite_anywhere(penalty, slopes) -> None:
    x, n = simulated(9, 6, trials=3, missing=0.2)
    objective = JointObjective(x, n, penalty, slopes=slopes, ability_sd=SD[slopes])
    for seed in range(20):
        at = objective.evaluate(3 * a_point(objective, seed))
        assert np.linalg.eigvalsh(dense(arrow_hessian(objective, at, exact=False))).min() > -1e-9


@all_slopes
@pytest.mark.parametrize("exact", [True, False])
def test_products_are_those_of_the_block_between_persons_and_items(slopes, exact) -> None:
    x, n = simulated(11, 6, trials=2, missing=0.2)
    objective = JointObjective(x, n, PUBLISHED, slopes=slopes, ability_sd=SD[slopes])
    hessian = arrow_hessian(objective, objective.evaluate(a_point(objective)), exact=exact)
    cross = np.stack(hessian.cross_parts(slice(None), slice(None)), axis=2)
    rng = np.random.default_rng(0)
    v, y = rng.normal(size=11), rng.normal(size=cross.shape[1:])
    np.testing.assert_allclose(hessian.to_items(v), np.einsum("njq,n->jq", cross, v), atol=1e-12)
    np.testing.assert_allclose(hessian.to_persons(y), np.einsum("njq,jq->n", cross, y), atol=1e-12)


@all_slopes
@pytest.mark.parametrize("trials", [1, 3])
def test_blocks_computed_again_give_what_kept_ones_give(slopes, trials, monkeypatch) -> None:
    x, n = simulated(23, 9, trials=trials, missing=0.1)
    kept = JointObjective(x, n, PUBLISHED, slopes=slopes, ability_sd=SD[slopes])
    point = a_point(kept)
    monkeypatch.setattr(map_objective, "KEPT_CELLS", 0)
    monkeypatch.setattr(map_objective.row_blocks, "__defaults__", (18,))  # two persons a block
    again = JointObjective(x, n, PUBLISHED, slopes=slopes, ability_sd=SD[slopes])
    first, second = kept.evaluate(point), again.evaluate(point)
    assert second.residuals is None
    assert second.value == pytest.approx(first.value, rel=1e-14)
    np.testing.assert_allclose(second.gradient, first.gradient, atol=1e-12)
    v = np.random.default_rng(1).normal(size=23)
    products = [arrow_hessian(o, at).to_items(v) for o, at in ((kept, first), (again, second))]
    np.testing.assert_allclose(*products, atol=1e-12)
    np.testing.assert_allclose(*(arrow_hessian(o, at).to_persons(products[0]) for o, at in
                                 ((kept, first), (again, second))), atol=1e-10)  # fmt: skip


def test_counts_are_as_good_as_repeated_columns_of_tied_items() -> None:
    x, n = simulated(8, 4, trials=1)
    more, _ = simulated(8, 4, trials=1, seed=9)
    counts = JointObjective(x + more, n + n, PUBLISHED, slopes="free")
    columns = JointObjective(np.hstack([x, more]), np.hstack([n, n]), PUBLISHED, slopes="free")
    point = a_point(counts)
    theta, u, d = counts.split(point)
    tied = np.concatenate([theta, u, u, d, d])
    one, two = counts.evaluate(point), columns.evaluate(tied)
    assert one.loss == pytest.approx(two.loss, rel=1e-13)
    np.testing.assert_allclose(counts.split(one.gradient)[0], columns.split(two.gradient)[0], atol=1e-12)


def test_no_probability_underflows_to_a_false_optimum() -> None:
    x, n = simulated(4, 3)
    objective = JointObjective(x, n, PUBLISHED, slopes="free")
    far = objective.start()
    far[4:7] = 8.0  # slopes of 3,000
    assert objective.evaluate(far).value > objective.evaluate(objective.start()).value

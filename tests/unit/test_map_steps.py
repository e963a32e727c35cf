from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from psychoeval.estimators.native.map_covariance import NotAMinimumError, joint_covariance
from psychoeval.estimators.native.map_hessian import arrow_hessian, arrow_solve
from psychoeval.estimators.native.map_objective import JointObjective
from psychoeval.estimators.native.map_steps import minimize, published_search, rescaled
from tests.unit.map_reference import PENALTIES, PUBLISHED, WEAK, difference_hessian, reference_objective, simulated
from tests.unit.test_map_objective import SD, all_slopes, dense, every_penalty


def solved(objective: JointObjective):
    return minimize(objective, objective.start(), tolerance=1e-8, max_iterations=200)


@every_penalty
@all_slopes
@pytest.mark.parametrize(("n", "j", "trials", "missing"), [(40, 25, 1, 0.0), (15, 40, 1, 0.2), (12, 8, 100, 0.3)])
def test_minimum_is_stationary_and_scipys(penalty, slopes, n, j, trials, missing) -> None:
    x, count = simulated(n, j, trials=trials, missing=missing)
    mixed = (x.sum(0) > 0) & (x.sum(0) < count.sum(0))  # no finite location otherwise, without its prior
    objective = JointObjective(x[:, mixed], count[:, mixed], penalty, slopes=slopes, ability_sd=SD[slopes])
    found = solved(objective)
    theirs = scipy_minimize(
        lambda p: (lambda at: (at.value, at.gradient))(objective.evaluate(p)), objective.start(), jac=True,
        method="BFGS", options={"gtol": 1e-7, "maxiter": 5000},
    )  # fmt: skip
    assert found.converged
    assert found.gradient < 1e-8
    assert found.at.value <= theirs.fun + 1e-8
    np.testing.assert_allclose(found.at.point, theirs.x, atol=1e-4)


@all_slopes
@pytest.mark.parametrize("shape", [(50, 12), (300, 20), (20, 300)])
def test_objective_never_rises(slopes, shape) -> None:
    x, n = simulated(*shape)
    found = solved(JointObjective(x, n, PUBLISHED, slopes=slopes, ability_sd=SD[slopes]))
    values = np.array(found.values)
    assert found.converged
    assert len(values) > 3
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()


@every_penalty
@all_slopes
def test_rescaling_keeps_every_probability_and_lowers_the_penalties(penalty, slopes) -> None:
    x, n = simulated(30, 8)
    objective = JointObjective(x, n, penalty, slopes=slopes, ability_sd=SD[slopes])
    point = objective.start() + np.random.default_rng(4).normal(0.3, 1.0, objective.n_parameters)
    moved = rescaled(objective, point)
    before, after = objective.evaluate(point), objective.evaluate(moved)
    assert after.loss == pytest.approx(before.loss, rel=1e-12)
    assert objective.penalties(moved) < objective.penalties(point)
    units = (0.0,) if slopes == "fixed" else (-1e-3, 0.0, 1e-3)
    for m, s in itertools.product((-1e-3, 0, 1e-3), units):  # no nearby origin and unit is better
        theta, u, d = objective.split(moved)
        a = np.exp(u) if u.size else 1.0
        near = np.concatenate([(theta - m) * np.exp(-s), u + s, d + a * m])
        assert objective.penalties(near) >= objective.penalties(moved) - 1e-12


@all_slopes
def test_conjugate_gradients_solve_the_arrow(slopes) -> None:
    x, n = simulated(20, 9)
    objective = JointObjective(x, n, WEAK, slopes=slopes, ability_sd=SD[slopes])
    hessian = arrow_hessian(objective, solved(objective).at)
    rng = np.random.default_rng(0)
    by_theta, by_items = rng.normal(size=20), rng.normal(size=hessian.items.shape[:2])
    theta, items = arrow_solve(hessian, by_theta, by_items, 1e-12)
    whole = dense(hessian)
    if slopes == "common":
        whole = np.delete(np.delete(whole, 20, 0), 20, 1)
    expected = np.linalg.solve(whole, np.concatenate([by_theta, by_items.T.ravel()]))
    np.testing.assert_allclose(np.concatenate([theta, items.T.ravel()]), expected, atol=1e-9)


@pytest.mark.parametrize(
    "x", [[[1]], [[0]], [[1, 0], [0, 1]], [[1, 1], [1, 0]], [[0, 0], [0, 0]], [[1, 1]], [[1], [0]]]
)
@all_slopes
def test_tiny_data_against_a_search_without_derivatives(x, slopes) -> None:
    successes = np.array(x, dtype=np.uint8)
    trials = np.ones_like(successes)
    objective = JointObjective(successes, trials, PUBLISHED, slopes=slopes, ability_sd=SD[slopes])
    reference = reference_objective(successes, trials, PUBLISHED, slopes=slopes, ability_sd=SD[slopes])
    found = solved(objective)
    rng = np.random.default_rng(0)
    starts = rng.normal(0, 1, (6, objective.n_parameters))
    best = min(
        (scipy_minimize(reference, s, method="Nelder-Mead",
                        options={"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-9, "fatol": 1e-12, "adaptive": True})
         for s in starts),
        key=lambda r: r.fun,
    )  # fmt: skip
    assert found.converged
    assert found.at.value == pytest.approx(best.fun, abs=1e-5)


# 520 persons: beyond 500 and twice the items, the information is reduced to the items; otherwise to the persons.
@pytest.mark.parametrize("name", ["published", "weak"])
@all_slopes
@pytest.mark.parametrize(("n", "j"), [(14, 30), (40, 6), (520, 30)])
def test_errors_are_those_of_the_dense_inverse(name, slopes, n, j) -> None:
    x, count = simulated(n, j, trials=3, missing=0.1)
    objective = JointObjective(x, count, PENALTIES[name], slopes=slopes, ability_sd=SD[slopes])
    found = solved(objective)
    got = joint_covariance(arrow_hessian(objective, found.at))
    hessian = difference_hessian(lambda p: objective.evaluate(p, curvature=False).gradient, found.at.point)
    inverse = np.linalg.inv(hessian)
    np.testing.assert_allclose(got.theta, np.diag(inverse)[:n], rtol=1e-5)
    for k in range(j):
        at = [n + objective.n_slopes + k]
        if slopes != "fixed":
            at.insert(0, n + (k if slopes == "free" else 0))
        np.testing.assert_allclose(got.items[k][-len(at) :, -len(at) :], inverse[np.ix_(at, at)], rtol=1e-4, atol=1e-8)
        assert slopes != "fixed" or (got.items[k][0] == 0).all()
    if n <= 500:
        np.testing.assert_allclose(got.theta_full, inverse[:n, :n], rtol=1e-4, atol=1e-8)
    else:
        assert got.theta_full is None


def test_a_saddle_has_no_errors() -> None:
    x, n = simulated(30, 5)
    objective = JointObjective(x, n, PUBLISHED, slopes="free")
    point = np.zeros(objective.n_parameters)
    assert np.linalg.eigvalsh(dense(arrow_hessian(objective, objective.evaluate(point)))).min() < 0
    with pytest.raises(NotAMinimumError):
        joint_covariance(arrow_hessian(objective, objective.evaluate(point)))


def test_published_rule_is_the_one_written_down() -> None:
    x, n = simulated(12, 8, trials=100, missing=0.3)
    persons, items = x.shape
    reference = reference_objective(x, n, PUBLISHED, slopes="free")
    seen = n > 0

    def function(point: np.ndarray) -> tuple[float, np.ndarray]:
        theta, b, u = np.split(point, [persons, persons + items])
        a = np.exp(u)
        p = 1 / (1 + np.exp(-a * (theta[:, None] - b)))
        g = np.where(seen, n * p - x, 0.0)
        gradient = np.concatenate([
            g @ a + theta, -a * g.sum(0) + b / 4, a * (g * (theta[:, None] - b)).sum(0) + u / 0.25
        ])  # fmt: skip
        return reference(np.concatenate([theta, u, -a * b])), gradient

    limits = np.repeat([4.0, 5.0, 3.0], [persons, items, items])
    theirs = scipy_minimize(
        function, np.zeros(persons + 2 * items), jac=True, method="L-BFGS-B",
        bounds=np.column_stack([-limits, limits]), options={"maxiter": 80, "ftol": 1e-7},
    )  # fmt: skip
    objective = JointObjective(x, n, PUBLISHED, slopes="free")
    found = published_search(objective)
    assert found.iterations == theirs.nit
    assert found.converged is theirs.success
    assert found.at.value == pytest.approx(theirs.fun, rel=1e-10)
    theta, u, d = objective.split(found.at.point)
    np.testing.assert_allclose(np.concatenate([theta, -d * np.exp(-u), u]), theirs.x, atol=1e-5)
    assert found.gradient > 1e-4  # the rule stops short of the maximum
    assert solved(objective).at.value < found.at.value

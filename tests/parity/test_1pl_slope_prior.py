"""One rule for the prior of a common slope: it counts once, in a marginal and in a joint objective, here in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from psychoeval.estimators.mirt.estimator import MirtEM
from psychoeval.estimators.native.map import MAP
from psychoeval.irt.models import ItemModel, Normal, Priors
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

FloatArray = NDArray[np.float64]
N, J, SD = 200, 10, 0.05
MODEL = ItemModel("1PL", Priors(log_discrimination=Normal(0.0, SD)))


@pytest.fixture(scope="module")
def x() -> FloatArray:
    rng = np.random.default_rng(11)
    p = 1 / (1 + np.exp(-(1.6 * rng.normal(size=(N, 1)) + rng.normal(size=J))))
    return (rng.random((N, J)) < p).astype(float)


def maximum(objective: Callable[[FloatArray], tuple[float, FloatArray]], n: int) -> float:
    """Return the common slope at the minimum; u = log a is the first of n parameters."""
    found = minimize(objective, np.zeros(n), jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 5000})
    assert np.abs(found.jac).max() < 1e-4
    return float(np.exp(found.x[0]))


def marginal(x: FloatArray, counts: int) -> float:
    nodes = np.linspace(-8, 8, 321)
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()

    def objective(point: FloatArray) -> tuple[float, FloatArray]:
        u, d = point[0], point[1:]
        eta = np.exp(u) * nodes[:, None] + d  # (Q, J)
        log_p = x @ eta.T - np.logaddexp(0, eta).sum(1) + np.log(weights)  # (N, Q)
        total = np.logaddexp.reduce(log_p, axis=1)
        posterior = np.exp(log_p - total[:, None])
        residual = posterior.T @ x - posterior.sum(0)[:, None] / (1 + np.exp(-eta))  # (Q, J)
        by_u = np.exp(u) * (nodes @ residual).sum() - counts * u / SD**2
        return counts * u**2 / (2 * SD**2) - total.sum(), -np.concatenate([[by_u], residual.sum(0)])

    return maximum(objective, 1 + J)


def joint(x: FloatArray, counts: int) -> float:
    def objective(point: FloatArray) -> tuple[float, FloatArray]:
        u, d, theta = point[0], point[1 : 1 + J], point[1 + J :]
        a = np.exp(u)
        eta = a * theta[:, None] + d
        loss = (np.logaddexp(0, eta) - x * eta).sum() + (theta @ theta) / 2 + counts * u**2 / (2 * SD**2)
        g = 1 / (1 + np.exp(-eta)) - x
        by_u = a * (theta @ g).sum() + counts * u / SD**2
        return loss, np.concatenate([[by_u], g.sum(0), a * g.sum(1) + theta])

    return maximum(objective, 1 + J + N)


def slope(fit: FitResult) -> float:
    assert fit.item_parameters is not None
    assert fit.model is not None
    assert fit.model.label == "1PL [log a ~ N(0, 0.05)]"
    return float(fit.item_parameters.discrimination[0])


def test_map_counts_the_prior_once(x: FloatArray) -> None:
    once, as_often_as_items = joint(x, 1), joint(x, J)
    assert slope(MAP(tolerance=1e-9).fit(Responses.from_array(x), MODEL)) == pytest.approx(once, abs=1e-5)
    assert abs(once - as_often_as_items) > 0.05


@needs("mirt")
def test_mirt_counts_the_prior_once(x: FloatArray) -> None:
    once, as_often_as_items = marginal(x, 1), marginal(x, J)
    fit = MirtEM(tolerance=1e-8, max_iterations=5000).fit(Responses.from_array(x), MODEL)
    # mirt's EM stops a variance a little short of its optimum.
    assert slope(fit) == pytest.approx(once, abs=2e-4)
    assert abs(once - as_often_as_items) > 0.05

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from psychoeval import item_model
from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import make_form
from psychoeval.estimators.native.mml_law import Law, make_nodes
from psychoeval.estimators.native.mml_newton import expand, rescaled
from psychoeval.estimators.native.mml_steps import e_step
from psychoeval.estimators.native.mml_terms import complete_terms
from psychoeval.irt.models import Beta, ItemModel, LogitNormal, LogNormal, Normal, Priors
from tests.unit.mml_reference import (
    THETA,
    dense,
    differences,
    expectation,
    gradient,
    reference_log_prior,
    reference_objective,
    simulated,
    spread,
)

DIFFICULTY = Priors(log_discrimination=Normal(0.1, 0.4), difficulty=Normal(0.3, 1.5))
DIFFICULTY_MEANS = Priors(log_discrimination=Normal(0.0, 0.4), difficulty=Normal(0.0, 1.5), estimated_means=True)
LOG_NORMAL = Priors(discrimination=LogNormal(0.2, 0.5), intercept=Normal(-0.2, 2.0))
SLOPE_ONLY = Priors(log_discrimination=Normal(0.0, 0.5))
PRIORS = {
    "none": "none", "weak": "weak", "hierarchical": "hierarchical", "difficulty": DIFFICULTY,
    "difficulty, means estimated": DIFFICULTY_MEANS, "log-normal": LOG_NORMAL, "slope only": SLOPE_ONLY,
}  # fmt: skip
GUESSING = {"fixed": 0.2, "free": "free", "beta": Beta(5.0, 17.0), "logit-normal": LogitNormal(-1.1, 0.5)}
SHAPES = {
    "binary": {}, "missing": {"missing": 0.3}, "counts": {"trials": 5}, "counts, missing": {"trials": 5, "missing": 0.3}
}  # fmt: skip


def models() -> list[ItemModel]:
    """Every model under every kind of priors that it takes."""
    out = [item_model(name, prior) for name in ("Rasch", "1PL", "2PL") for prior in PRIORS.values()
           if not (name == "Rasch" and prior is SLOPE_ONLY)]  # fmt: skip
    return out + [item_model("3PL", prior, guessing=g) for prior in ("none", "weak", "hierarchical", DIFFICULTY)
                  for g in GUESSING.values()]  # fmt: skip


def some_point(model: ItemModel, n_items: int, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns = [rng.normal(0, 0.4, n_items), rng.normal(0, 1, n_items), rng.normal(-1.2, 0.4, n_items)]
    if model.name in ("Rasch", "1PL"):
        columns[0][:] = 0.2
    return np.column_stack(columns[: 3 if model.guessing_is_estimated else 2])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("guessing", [0.0, 0.2, "free"])
def test_e_step_is_the_integral(shape, guessing) -> None:
    x, n = simulated(6, 4, **SHAPES[shape])
    model = item_model("3PL", "none", guessing=guessing)
    point, form = some_point(model, 4), make_form(model, signed=False)
    c = expit(point[:, 2]) if guessing == "free" else np.full(4, guessing)
    found, reference = expectation(Cells(x, n), form, point), dense(x, n, np.exp(point[:, 0]), point[:, 1], c)
    # Both sums are exact to rounding: posteriors have SDs of .3 and more, the nodes under test are .05 apart.
    np.testing.assert_allclose(found.log_likelihood, reference.log_marginal.sum(), rtol=1e-12)
    np.testing.assert_allclose(found.mean, reference.mean, atol=1e-12)
    np.testing.assert_allclose(found.sd, reference.sd, rtol=1e-11)
    # Expected counts, as moments over the nodes, which do not depend on where the nodes lie.
    nodes, x, n = found.nodes.theta, x.astype(float), n.astype(float)
    for power in range(3):
        expected = reference.weights @ THETA**power
        np.testing.assert_allclose(found.mass @ nodes**power, expected.sum(), rtol=1e-11, atol=1e-11)
        by_item = np.broadcast_to(found.node_trials, (4, nodes.size)) @ nodes**power
        np.testing.assert_allclose(by_item, n.T @ expected, rtol=1e-11, atol=1e-11)
        if found.node_successes is not None:
            np.testing.assert_allclose(found.node_successes @ nodes**power, x.T @ expected, rtol=1e-11, atol=1e-11)
    if found.slope_successes is not None:
        np.testing.assert_allclose(found.slope_successes, x.T @ reference.mean, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("k", [1, 4])
def test_sufficient_scores_and_products_of_cells_are_the_same(k) -> None:
    x, _ = simulated(40, 7, seed=5)
    x = (k * x).astype(np.uint8)
    n = np.full_like(x, k)
    model = item_model("2PL", "none")
    point, form, nodes = some_point(model, 7), make_form(model, signed=False), make_nodes(Law(), -10, 10, 0.05)
    scores = e_step(Cells(x, n), form, point, nodes)
    # One more person with an empty cell makes the trials unequal, and the posterior of the others must not move.
    more_x, more_n = np.vstack([x, np.zeros_like(x[:1])]), np.vstack([n, n[:1]])
    more_n[-1, 0] = 0
    assert Cells(x, n).equal_trials == k
    assert Cells(more_x, more_n).equal_trials == 0
    products = e_step(Cells(more_x, more_n), form, point, nodes)
    last = e_step(Cells(more_x[-1:], more_n[-1:]), form, point, nodes)
    np.testing.assert_allclose(products.mean[:-1], scores.mean, atol=1e-12)
    np.testing.assert_allclose(products.sd[:-1], scores.sd, rtol=1e-10)
    np.testing.assert_allclose(products.log_likelihood - last.log_likelihood, scores.log_likelihood, rtol=1e-12)
    parts = [complete_terms(Cells(*c), form, point, e) for c, e in (
        ((x, n), scores), ((more_x, more_n), products), ((more_x[-1:], more_n[-1:]), last)
    )]  # fmt: skip
    for one, both, other in zip(*parts, strict=True):
        np.testing.assert_allclose(both - other, one, rtol=1e-10, atol=1e-10)


def test_no_asymptote_is_an_asymptote_of_zero() -> None:
    x, n = simulated(30, 6, trials=3, missing=0.2)
    two, three = item_model("2PL", "none"), item_model("3PL", "none", guessing=1e-300)
    point = some_point(two, 6)
    forms = [make_form(m, signed=False) for m in (two, three)]
    assert [f.is_linear for f in forms] == [True, False]
    one, other = (complete_terms(Cells(x, n), f, point, expectation(Cells(x, n), f, point)) for f in forms)
    np.testing.assert_allclose(other[0], one[0], atol=1e-10)
    np.testing.assert_allclose(other[1], one[1], atol=1e-10)


@pytest.mark.parametrize("shape", ["binary", "counts, missing"])
@pytest.mark.parametrize("model", models(), ids=lambda m: m.label)
def test_gradient_is_that_of_the_objective(model, shape) -> None:
    x, n = simulated(20, 5, **SHAPES[shape], seed=2)
    form, point = make_form(model, signed=False), some_point(model, 5)
    objective, basis = reference_objective(x, n, model), spread(form, 5)
    free = np.linalg.lstsq(basis, point.ravel(), rcond=None)[0]
    reference = differences(lambda f: objective((basis @ f).reshape(point.shape)), free)
    # Differences of a value of about 100 over 2e-5 have rounding of 1e-9 and a truncation error of about 1e-9.
    found = basis.T @ gradient(Cells(x, n), form, point).ravel()
    np.testing.assert_allclose(found, reference, atol=2e-7)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("priors", ["none", "locations"])
def test_gradient_of_signed_slopes(shape, priors) -> None:
    x, n = simulated(20, 5, **SHAPES[shape], seed=2)
    model = item_model("2PL", None if priors == "none" else Priors(intercept=Normal(0.4, 1.5)))
    form, point = make_form(model, signed=True), some_point(model, 5)
    assert (point[:, 0] < 0).any()
    assert (point[:, 0] > 0).any()

    def objective(flat: np.ndarray) -> float:
        a, d = flat.reshape(5, 2).T
        prior = 0.0 if priors == "none" else -np.sum((d - 0.4) ** 2) / (2 * 1.5**2)
        return float(dense(x, n, a, d).log_marginal.sum() + prior)

    reference = differences(objective, point.ravel())
    np.testing.assert_allclose(gradient(Cells(x, n), form, point).ravel(), reference, atol=2e-7)


@pytest.mark.parametrize("model", models(), ids=lambda m: m.label)
@pytest.mark.parametrize(("m", "log_s"), [(0.7, 0.3), (-0.4, -0.5)])
def test_parameter_expansion_never_lowers_the_objective(model, m, log_s) -> None:
    x, n = simulated(40, 8, trials=2, missing=0.2, seed=4)
    form, cells = make_form(model, signed=False), Cells(x, n)
    point = rescaled(form, some_point(model, 8), m, log_s)
    counts = expectation(cells, form, point)
    mean = float(counts.mean.mean())
    variance = float(np.mean(counts.sd**2 + (counts.mean - mean) ** 2))
    objective = reference_objective(x, n, model)
    expanded = expand(form, point, mean, variance, 40)
    assert objective(expanded) >= objective(point) - 1e-9
    assert not np.allclose(expanded, point, atol=1e-3)


def test_parameter_expansion_maximises_what_it_says() -> None:
    model, form = item_model("2PL", "weak"), make_form(item_model("2PL", "weak"), signed=False)
    point, mean, variance, n = some_point(model, 8), 0.4, 1.7, 40
    expanded = expand(form, point, mean, variance, n)
    log_s = float(np.unique(np.round(expanded[:, 0] - point[:, 0], 10)).item())
    m = float(((expanded[:, 1] - point[:, 1]) / np.exp(point[:, 0])).mean())

    def bound(free: np.ndarray) -> float:
        u, d = point[:, 0] + free[1], point[:, 1] + np.exp(point[:, 0]) * free[0]
        persons = -free[1] - (variance + (mean - free[0]) ** 2) / (2 * np.exp(2 * free[1]))
        return float(n * persons + reference_log_prior(model, u, d))

    assert np.abs(differences(bound, np.array([m, log_s]))).max() < 1e-6


def test_rescaled_items_have_the_same_curves() -> None:
    model = item_model("3PL", "none", guessing="free")
    form, point = make_form(model, signed=False), some_point(model, 4)
    out = rescaled(form, point, 0.6, 0.3)
    theta = np.linspace(-2, 2, 5)
    before = np.outer(np.exp(point[:, 0]), theta) + point[:, 1, None]
    after = np.outer(np.exp(out[:, 0]), (theta - 0.6) * np.exp(-0.3)) + out[:, 1, None]
    np.testing.assert_allclose(after, before, atol=1e-12)
    np.testing.assert_array_equal(out[:, 2], point[:, 2])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_storage_and_threads_do_not_matter(dtype, n_threads) -> None:
    x, n = simulated(700, 40, trials=3, missing=0.2)
    model = item_model("3PL", "weak")
    form, point = make_form(model, signed=False), some_point(model, 40)
    one = expectation(Cells(x, n), form, point)
    two = expectation(Cells(x.astype(dtype), n.astype(dtype), n_threads), form, point)
    np.testing.assert_allclose(two.log_likelihood, one.log_likelihood, rtol=1e-13)
    np.testing.assert_allclose(two.mean, one.mean, atol=1e-13)
    np.testing.assert_allclose(two.node_trials, one.node_trials, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(two.node_successes, one.node_successes, rtol=1e-10, atol=1e-12)

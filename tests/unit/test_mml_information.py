from __future__ import annotations

import numpy as np
import pytest

from psychoeval import item_model
from psychoeval.estimators.native import mml_information
from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form, make_form
from psychoeval.estimators.native.mml_information import complete_curvature, observed_information
from psychoeval.estimators.native.mml_search import Maximum, maximize
from psychoeval.irt.models import ItemModel
from tests.unit.mml_reference import differences, expectation, gradient, reference_objective, simulated, spread
from tests.unit.test_mml_steps import models, some_point

SHAPES = {"binary": {}, "counts, missing": {"trials": 5, "missing": 0.3}}


def whole_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the series of a posterior run to its end, so that formulas are what is tested."""
    monkeypatch.setattr(mml_information, "MOST_TERMS", 100)
    monkeypatch.setattr(mml_information, "NEGLIGIBLE", 1e-14)


def information_and_reference(form: Form, cells: Cells, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the information of free parameters and minus the differences of the gradient.

    Both are divided by the information that complete data would have.
    """
    basis = spread(form, len(point))
    free = np.linalg.lstsq(basis, point.ravel(), rcond=None)[0]

    def slope(f: np.ndarray) -> np.ndarray:
        return basis.T @ gradient(cells, form, (basis @ f).reshape(point.shape)).ravel()

    counts = expectation(cells, form, point)
    found = basis.T @ observed_information(cells, form, point, counts) @ basis
    complete = basis.T @ np.abs(np.einsum("jpp->jp", complete_curvature(cells, form, point, counts)).ravel())
    scale = np.sqrt(np.outer(complete, complete))
    return found / scale, -differences(slope, free) / scale


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("model", models(), ids=lambda m: m.label)
def test_observed_information_is_minus_the_hessian(model, shape, monkeypatch) -> None:
    # What is left is the error of differences, 1e-9.
    whole_series(monkeypatch)
    x, n = simulated(30, 6, **SHAPES[shape], seed=6)
    found, reference = information_and_reference(make_form(model, signed=False), Cells(x, n), some_point(model, 6))
    np.testing.assert_allclose(found, reference, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("model", [m for m in models() if m.name != "3PL"], ids=lambda m: m.label)
def test_observed_information_ends_its_series_late_enough(model, shape) -> None:
    # Slopes up to 1.7 and six items: as slowly as the series of a 2PL converges. What a posterior SD leaves out falls
    # by a constant factor a term, so that what remains is of the size of the last one.
    x, n = simulated(30, 6, **SHAPES[shape], seed=6)
    found, reference = information_and_reference(make_form(model, signed=False), Cells(x, n), some_point(model, 6))
    np.testing.assert_allclose(found, reference, atol=1e-5)


def test_observed_information_of_signed_slopes(monkeypatch) -> None:
    whole_series(monkeypatch)
    x, n = simulated(30, 6, missing=0.2, seed=6)
    model = item_model("2PL", "none")
    form, point, cells = make_form(model, signed=True), some_point(model, 6), Cells(x, n)
    reference = -differences(lambda f: gradient(cells, form, f.reshape(6, 2)).ravel(), point.ravel())
    found = observed_information(cells, form, point, expectation(cells, form, point))
    np.testing.assert_allclose(found, reference, atol=1e-6 * np.diag(reference).max())


def test_observed_information_against_an_independent_objective(monkeypatch) -> None:
    whole_series(monkeypatch)
    x, n = simulated(25, 4, trials=3, missing=0.2, seed=8)
    model = item_model("3PL", "hierarchical")
    form, point, cells = make_form(model, signed=False), some_point(model, 4), Cells(x, n)
    objective, h = reference_objective(x, n, model), 1e-3
    steps = h * np.eye(point.size)

    def at(shift: np.ndarray) -> float:
        return objective(point + shift.reshape(point.shape))

    reference = -np.array([
        [(at(s + t) - at(s - t) - at(t - s) + at(-s - t)) / (4 * h**2) for t in steps] for s in steps
    ])  # fmt: skip
    found = observed_information(cells, form, point, expectation(cells, form, point))
    # Second differences over 1e-3: truncation of order 1e-6 times fourth derivatives of about 10.
    np.testing.assert_allclose(found, reference, atol=2e-5)


def at_maximum(model: ItemModel, cells: Cells) -> tuple[Form, Maximum]:
    form = make_form(model, signed=False)
    return form, maximize(cells, form, tolerance=1e-6, max_iterations=500)


@pytest.mark.parametrize(
    ("model", "j", "guessing"), [(item_model("2PL", "none"), 6, 0.0), (item_model("3PL", "weak"), 20, 0.2)]
)
def test_series_hardly_touches_standard_errors(model, j, guessing, monkeypatch) -> None:
    cells = Cells(*simulated(500, j, slope_sd=0.9, guessing=guessing, seed=4))
    form, found = at_maximum(model, cells)
    assert np.exp(found.point[:, 0]).max() > 2.5
    errors = []
    for most in (mml_information.MOST_TERMS, 200):
        monkeypatch.setattr(mml_information, "MOST_TERMS", most)
        information = observed_information(cells, form, found.point, found.counts)
        errors.append(np.sqrt(np.diag(np.linalg.inv(information))))
    # Measured: 3e-4 for an item with a = 4.1 of a 3PL. A thousandth of a standard error is nothing.
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-3)


@pytest.mark.parametrize("rest", [1e-4, 1e-16, 1e-15, 1e-30])
def test_polynomials_of_a_posterior_on_two_nodes_are_numbers(rest: float) -> None:
    """Elsewhere, where nobody is, they grow beyond all numbers."""
    weights = np.zeros((1, 2001))
    weights[0, :2] = 1.0 - rest, rest
    found = mml_information._polynomials(weights, np.linspace(-1.3, 1.3, 2001))
    assert all(np.isfinite(basis).all() for basis in found)
    if rest == 1e-4:  # one polynomial on two nodes, of mean 0 and variance 1
        assert found[0][0, :2] == pytest.approx([-np.sqrt(rest * (1 - rest)), np.sqrt(rest * (1 - rest))], rel=1e-6)

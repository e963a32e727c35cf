"""One item's expected counts, two maxima in (a, b): the M-step works in slope and intercept, where there is one."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form, make_form
from psychoeval.estimators.native.mml_law import Nodes
from psychoeval.estimators.native.mml_newton import newton_step
from psychoeval.estimators.native.mml_steps import Expectation
from psychoeval.estimators.native.mml_terms import complete_terms
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters

DATA = Path(__file__).parent / "data" / "06"
EXPECTED = json.loads((DATA / "expected.json").read_text())
with (DATA / "counts.csv").open(newline="") as file:
    THETA, TRIALS, SUCCESSES = np.array(list(csv.reader(file))[1:], float).T
#: Cells hold whole numbers, and the counts have six decimals.
UNIT = 1e6
#: From the failed (a, b) search, as (a, d); and worse.
STARTS = [(a, -a * b) for a, b in EXPECTED["lost_starts"]] + [(-3.0, 5.0), (0.0, 0.0), (8.0, -8.0), (0.01, -4.0)]


def one_item() -> tuple[Cells, Expectation]:
    whole = [np.rint(UNIT * c).astype(np.uint64)[:, None] for c in (SUCCESSES, TRIALS)]
    cells = Cells(*whole)
    nodes = Nodes(THETA, -0.5 * THETA**2)
    x, n = (c.ravel().astype(float) for c in whole)
    nobody = np.zeros(1)
    return cells, Expectation(
        nodes, 0.0, nobody, nobody, 0.0, n, n[None, :], slope_successes=np.array([x @ THETA]), node_successes=None
    )


def objective(a: float, d: float) -> float:
    z = a * THETA + d
    return float(SUCCESSES @ z - TRIALS @ np.logaddexp(0.0, z))


def climb(form: Form, point: NDArray[np.float64], steps: int = 60) -> tuple[float, float]:
    """Newton steps of the M-step until they are below 1e-9, halved where they go too far."""
    cells, counts = one_item()

    def value(at: NDArray[np.float64]) -> float:
        return objective(float(form.discrimination(at)[0]), float(at[0, 1]))

    for _ in range(steps):
        step = newton_step(form, point, *complete_terms(cells, form, point, counts))
        while value(point + step) < value(point) - 1e-9:
            step /= 2
        point = point + step
        if np.abs(step).max() < 1e-9:
            return float(form.discrimination(point)[0]), float(point[0, 1])
    raise AssertionError(f"still on its way at {point}")


@pytest.mark.parametrize("start", STARTS)
def test_slopes_of_either_sign_all_end_at_the_one_maximum(start: tuple[float, float]) -> None:
    form = make_form(ItemModel("2PL"), signed=True)
    a, d = climb(form, np.array([start], float))
    assert (a, d) == pytest.approx((EXPECTED["discrimination"], EXPECTED["intercept"]), abs=2e-6)
    assert objective(a, d) == pytest.approx(EXPECTED["objective"], abs=1e-6)
    items = ItemParameters.from_slope_intercept(("q",), np.array([a]), np.array([d]))
    assert items.difficulty[0] == pytest.approx(EXPECTED["difficulty"], abs=1e-5)


@pytest.mark.parametrize("start", [(1.0, 0.0), (0.05, -4.0), (8.0, -8.0), (0.1, 5.0)])
def test_positive_slopes_end_there_too(start: tuple[float, float]) -> None:
    form = make_form(ItemModel("2PL"), signed=False)
    a, d = climb(form, np.array([[np.log(start[0]), start[1]]]))
    assert (a, d) == pytest.approx((EXPECTED["discrimination"], EXPECTED["intercept"]), abs=2e-6)


def test_the_search_in_a_and_b_ended_far_below() -> None:
    assert objective(-0.000397, -0.000397 * 2376.86624) < EXPECTED["objective"] - 9


def test_terms_are_those_of_a_logistic_regression() -> None:
    form = make_form(ItemModel("2PL"), signed=True)
    cells, counts = one_item()
    gradient, information = complete_terms(cells, form, np.array([[0.4, -1.0]]), counts)
    p = 1 / (1 + np.exp(-(0.4 * THETA - 1.0)))
    design = np.vstack([THETA, np.ones_like(THETA)])
    np.testing.assert_allclose(gradient[0] / UNIT, design @ (SUCCESSES - TRIALS * p), rtol=1e-6)
    np.testing.assert_allclose(information[0] / UNIT, (design * TRIALS * p * (1 - p)) @ design.T, rtol=1e-6)


def test_a_difficulty_without_a_slope_is_marked() -> None:
    slopes, intercepts = np.array([-0.000397, EXPECTED["discrimination"]]), np.array([-0.9437, EXPECTED["intercept"]])
    items = ItemParameters.from_slope_intercept(("lost", "found"), slopes, intercepts)
    assert items.difficulty_is_stable.tolist() == [False, True]

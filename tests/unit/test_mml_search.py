from __future__ import annotations

import numpy as np
import pytest

from psychoeval import item_model
from psychoeval.estimators.native import mml_search
from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import make_form
from psychoeval.estimators.native.mml_search import ROUNDING, Maximum, maximize
from psychoeval.irt.models import ItemModel
from tests.unit.mml_reference import reference_objective, simulated, spread
from tests.unit.test_mml_steps import models

SHAPES = {"binary": {}, "counts, missing": {"trials": 4, "missing": 0.25}}
#: Without priors, forty persons leave free slopes to run away.
HELD = [m for m in models() if m.name in ("Rasch", "1PL") or (m.priors is not None and m.guessing != "free")]


def searched(model: ItemModel, x: np.ndarray, n: np.ndarray, **settings: object) -> Maximum:
    form = make_form(model, signed=False)
    return maximize(Cells(x, n), form, **{"tolerance": 1e-7, "max_iterations": 500, **settings})


def varied(n: int, j: int, **options: object) -> tuple[np.ndarray, np.ndarray]:
    x, trials = simulated(n, j, **options)
    kept = (x.sum(axis=0) > 0) & (x.sum(axis=0) < trials.sum(axis=0))
    return x[:, kept], trials[:, kept]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("model", HELD, ids=lambda m: m.label)
def test_ends_at_a_maximum_of_the_objective(model, shape) -> None:
    x, n = varied(40, 8, **SHAPES[shape], slope_sd=0.3, seed=11)
    found = searched(model, x, n)
    assert found.ended == "converged"
    form, objective = make_form(model, signed=False), reference_objective(x, n, model)
    top, rng, basis = objective(found.point), np.random.default_rng(0), spread(form, x.shape[1])
    scale = np.zeros(found.point.shape)
    scale[:, 0] = 1.0
    origin = np.zeros(found.point.shape)
    origin[:, 1] = np.exp(found.point[:, 0])
    away = [sign * size * direction for sign in (-1, 1) for size in (1e-3, 0.03, 0.3) for direction in (scale, origin)]
    away += [(basis @ rng.normal(0, size, basis.shape[1])).reshape(scale.shape) for size in 5 * [1e-3, 0.03, 0.3]]
    # Rounding of a sum of about -150; the search itself ends within 1e-7 of the maximum, 1e-12 of its value.
    assert max(objective(found.point + step) for step in away) <= top + 1e-10
    assert np.abs(basis.T @ found.gradient.ravel()).max() < 1e-4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", models(), ids=lambda m: m.label)
def test_objective_never_falls(model, seed) -> None:
    rng = np.random.default_rng(seed)
    options = {"trials": int(rng.integers(1, 4)), "missing": float(rng.choice([0.0, 0.3])), "seed": seed}
    x, n = varied(int(rng.integers(15, 60)), int(rng.integers(4, 15)), slope_sd=0.8, **options)
    found = searched(model, x, n, tolerance=1e-5, max_iterations=40)
    assert len(found.path) > 2
    assert found.path[-1] == found.objective
    falls = -np.diff(found.path)
    assert falls.max() <= ROUNDING * np.abs(found.path).max()


@pytest.mark.parametrize("model", [item_model("Rasch", "none"), item_model("2PL", "none")], ids=lambda m: m.label)
def test_objective_without_priors_is_the_log_likelihood(model) -> None:
    x, n = varied(100, 8, slope_sd=0.2, seed=2)
    found = searched(model, x, n)
    assert found.objective == pytest.approx(reference_objective(x, n, model)(found.point), rel=1e-11)
    assert found.objective == found.counts.log_likelihood


@pytest.mark.parametrize("name", ["Rasch", "2PL"])
def test_start_and_tolerance_do_not_decide_the_answer(name, monkeypatch) -> None:
    model = item_model(name, "hierarchical")
    x, n = varied(50, 12, seed=3)
    one = searched(model, x, n, tolerance=1e-9)
    start = mml_search.start

    def elsewhere(cells, form):
        point = start(cells, form)
        shift = np.random.default_rng(5).normal(0, 0.5, point.shape)
        if form.slopes == "common":
            shift[:, 0] = shift[0, 0]
        return point + shift

    monkeypatch.setattr(mml_search, "start", elsewhere)
    two = searched(model, x, n, tolerance=1e-9)
    assert one.ended == two.ended == "converged"
    np.testing.assert_allclose(two.point, one.point, atol=1e-6)


def test_extreme_abilities_widen_the_grid() -> None:
    # One person with 1,500 trials, all right: far out under items that the others find even.
    x, n = simulated(60, 5, trials=3, seed=1)
    x, n = x.astype(np.uint16), n.astype(np.uint16)
    n[0], x[0] = 300, 300
    found = searched(item_model("2PL", "weak"), x, n)
    nodes = found.counts.nodes.theta
    assert found.counts.edge <= 1e-9
    assert nodes[-1] > found.counts.mean[0] + 5 * found.counts.sd[0]
    assert found.ended == "converged"


def test_iterations_are_limited_and_reported() -> None:
    x, n = varied(40, 8, seed=1)
    seen = []
    model = item_model("2PL", "weak")
    found = maximize(
        Cells(x, n), make_form(model, signed=False), tolerance=1e-9, max_iterations=3,
        progress=lambda iteration, objective, wanted: seen.append((iteration, objective, wanted)),
    )  # fmt: skip
    assert found.ended == "iteration_limit"
    assert [s[0] for s in seen] == [0, 1, 2, 3]
    assert [s[1] for s in seen] == found.path
    assert len(found.path) == 4

"""Marginal maximum likelihood in NumPy against mirt and lme4."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from psychoeval.estimators.mirt.estimator import MirtEM
from psychoeval.estimators.native.mml import MML
from psychoeval.irt.models import ItemModel
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from psychoeval.results.fit_result import FitResult
from tests.gates import needs
from tests.golden import MODEL_KEYS, data, reference
from tests.parity import tolerances

SETS = ("lsat6", "lsat7", "simulated_15", "simulated_missing", "simulated_40", "simulated_40_missing")


def _model(name: str) -> ItemModel:
    return ItemModel(name, guessing=0.2 if name == "3PL" else None)


@cache
def _fit(name: str, model: str) -> FitResult:
    return MML(tolerance=1e-8, n_threads=1).fit(data(name), _model(model))


def _parameters(model: str) -> float:
    return tolerances.NATIVE_RASCH_PARAMETERS if model == "Rasch" else tolerances.NATIVE_PARAMETERS


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("model", MODEL_KEYS)
def test_parameters_and_log_likelihood_are_mirts(name, model):
    expected, found = reference(f"mirt_{name}")[MODEL_KEYS[model]], _fit(name, model)
    items = found.item_parameters
    exactly = {"rel": 0, "abs": _parameters(model)}
    assert found.convergence.status == "converged"
    assert found.convergence.gradient < 1e-4
    assert items.discrimination == pytest.approx(np.array(expected["slope"]), **exactly)
    assert items.intercept == pytest.approx(np.array(expected["intercept"]), **exactly)
    assert (items.guessing == (0.2 if model == "3PL" else 0.0)).all()
    assert found.latent_distribution.sd == pytest.approx(np.sqrt(expected["variance"]), **exactly)
    assert found.log_likelihood == pytest.approx(
        expected["log_likelihood"], rel=0, abs=tolerances.NATIVE_LOG_LIKELIHOOD
    )


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("model", MODEL_KEYS)
def test_standard_errors_are_mirts(name, model):
    expected, found = reference(f"mirt_{name}")[MODEL_KEYS[model]], _fit(name, model)
    items, bound = found.item_parameters, tolerances.NATIVE_ERRORS
    slope, intercept = np.array(expected["slope_se"]), np.array(expected["intercept_se"])
    assert items.standard_errors["discrimination"] == pytest.approx(slope, rel=bound)
    assert items.standard_errors["intercept"] == pytest.approx(intercept, rel=bound)
    covariance = np.array(expected["slope_intercept_covariance"])
    assert np.abs(items.covariance[:, 0, 1] - covariance).max() <= bound * (slope * intercept).max()
    if model == "Rasch":
        # d sd / d variance = 1 / (2 sd)
        error = expected["variance_se"] / (2 * np.sqrt(expected["variance"]))
        assert found.latent_distribution.sd_standard_error == pytest.approx(error, rel=bound)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("model", MODEL_KEYS)
def test_abilities_are_mirts(name, model):
    expected, found = reference(f"mirt_{name}")[MODEL_KEYS[model]], _fit(name, model).abilities
    rows, scores = expected["scored_rows"], expected["scores"]["EAP"]
    exactly = {"rel": 0, "abs": tolerances.NATIVE_SCORES}
    assert found.estimate[rows] == pytest.approx(np.array(scores["estimate"]), **exactly)
    assert found.standard_error[rows] == pytest.approx(np.array(scores["standard_error"]), **exactly)


@pytest.mark.parametrize(
    ("complete", "with_holes"), [("simulated_15", "simulated_missing"), ("simulated_40", "simulated_40_missing")]
)
def test_a_fifth_of_the_same_cells_is_missing(complete, with_holes):
    all_cells, some = data(complete), data(with_holes)
    assert all_cells.is_complete
    assert 0.78 < some.observed.mean() < 0.82
    assert (all_cells.successes == some.successes)[some.observed].all()


@needs("mirt")
@pytest.mark.parametrize("points", [61, 121])
def test_mirt_as_it_runs_here_agrees_on_any_fine_grid(points):
    live = MirtEM(tolerance=1e-10, max_iterations=5000, quadrature_points=points, quadrature_limit=8.0).fit(
        data("lsat7"), _model("2PL")
    )
    ours, theirs = _fit("lsat7", "2PL").item_parameters, live.item_parameters
    assert ours.discrimination == pytest.approx(theirs.discrimination, rel=0, abs=tolerances.NATIVE_PARAMETERS)
    assert ours.intercept == pytest.approx(theirs.intercept, rel=0, abs=tolerances.NATIVE_PARAMETERS)
    for term in ("discrimination", "intercept"):
        assert ours.standard_errors[term] == pytest.approx(theirs.standard_errors[term], rel=tolerances.NATIVE_ERRORS)
    assert _fit("lsat7", "2PL").log_likelihood == pytest.approx(
        live.log_likelihood, rel=0, abs=tolerances.NATIVE_LOG_LIKELIHOOD
    )


@needs("lme4")
@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_rasch_is_a_mixed_model(name):
    responses = data(name)
    job = {
        "x": np.ravel(responses.proportions, order="F"),
        "n_persons": responses.n_persons,
        "n_items": responses.n_items,
    }
    glmer = RscriptBridge().call(Path(__file__).with_name("rasch_lme4.R"), "glmer_rasch", job, timeout=300)
    found = _fit(name, "Rasch")
    exactly = {"rel": 0, "abs": tolerances.LME4}
    assert found.item_parameters.intercept == pytest.approx(np.asarray(glmer["easiness"]), **exactly)
    assert found.latent_distribution.sd**2 == pytest.approx(glmer["variance"][0], **exactly)
    assert found.log_likelihood == pytest.approx(glmer["log_likelihood"][0], **exactly)

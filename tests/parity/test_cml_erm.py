"""Conditional maximum likelihood of the Rasch model against R's eRm, and against the marginal one."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from psychoeval.estimators.native.cml_andersen import andersen_test
from psychoeval.fitting import fit
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from tests.gates import needs
from tests.golden import data, reference
from tests.parity import tolerances

SETS = ("lsat6", "lsat7", "simulated_missing")


def conditional(responses: Responses) -> FitResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(responses, "cml", model="Rasch")


def booklets(seed: int) -> Responses:
    """500 persons with normal abilities on three overlapping booklets of 8 of 12 Rasch items."""
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=(500, 1)), np.linspace(-1.5, 1.5, 12)[rng.permutation(12)]
    values = (rng.random((500, 12)) < 1 / (1 + np.exp(b - theta))).astype(float)
    for k in range(3):
        values[k::3, 4 * k : 4 * k + 4] = np.nan
    return Responses.from_array(values)


def assert_same(found: FitResult, difficulty: np.ndarray, error: np.ndarray, log_likelihood: float) -> None:
    items = found.item_parameters
    assert found.convergence.status == "converged"
    assert items.difficulty == pytest.approx(difficulty, rel=0, abs=tolerances.ERM)
    assert items.standard_errors["difficulty"] == pytest.approx(error, rel=tolerances.ERM)
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=0, abs=tolerances.ERM_LOG_LIKELIHOOD)
    # eRm's optimizer cannot end above the maximum.
    assert found.log_likelihood > log_likelihood - 1e-9


@pytest.mark.parametrize("name", SETS)
def test_difficulties_errors_and_likelihood_are_erms(name):
    expected, found = reference(f"erm_{name}"), conditional(data(name))
    assert found.item_parameters.item_ids == tuple(expected["items"])
    assert found.n_parameters == expected["parameters"]
    assert_same(
        found, np.array(expected["difficulty"]), np.array(expected["standard_error"]), expected["log_likelihood"]
    )


@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_andersens_test_is_erms(name):
    expected, found = reference(f"erm_{name}")["andersen"], andersen_test(data(name))
    assert found.statistic == pytest.approx(expected["statistic"], rel=0, abs=2 * tolerances.ERM_LOG_LIKELIHOOD)
    assert found.degrees_of_freedom == expected["df"]
    assert found.p_value == pytest.approx(expected["p_value"], rel=0, abs=tolerances.ERM_LOG_LIKELIHOOD)


def erm_itself(function: str, responses: Responses, **more) -> dict:
    x = np.ravel(responses.proportions, order="F")
    job = {"x": x, "n_persons": responses.n_persons, "n_items": responses.n_items, **more}
    return RscriptBridge().call(Path(__file__).with_name("rasch_erm.R"), function, job, timeout=300)


@needs("erm")
@pytest.mark.parametrize(
    ("source", "how"), [("lsat7", "mean"), ("guessed", "mean"), ("guessed", "median"), ("booklets", "given")]
)
def test_andersens_test_and_wald_tests_by_erm_itself(source, how):
    responses = booklets(1) if source == "booklets" else guessed(5) if source == "guessed" else data(source)
    first = np.arange(responses.n_persons) % 5 < 2
    erm = erm_itself("erm_andersen", responses, first=first.astype(float) if how == "given" else [0.0], split=how)
    found = andersen_test(responses, first) if how == "given" else andersen_test(responses, split=how)
    close = {"rel": 0, "abs": 2 * tolerances.ERM_LOG_LIKELIHOOD}
    assert found.statistic == pytest.approx(erm["statistic"][0], **close)
    assert found.degrees_of_freedom == erm["df"][0]
    assert found.p_value == pytest.approx(erm["p_value"][0], rel=0, abs=tolerances.ERM_LOG_LIKELIHOOD)
    for k, group in enumerate(("first", "second")):
        assert found.difficulty[k] == pytest.approx(erm[group], rel=0, abs=tolerances.ERM)
        assert found.standard_error[k] == pytest.approx(erm[f"se_{group}"], rel=tolerances.ERM)
    assert found.z == pytest.approx(erm["z"], rel=0, abs=tolerances.ERM_WALD)
    assert found.p == pytest.approx(erm["p"], rel=0, abs=tolerances.ERM_WALD)


def guessed(seed: int) -> Responses:
    """500 persons on 8 items, two of which can be guessed: the Rasch model is false."""
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=(500, 1)), np.linspace(-1.5, 1.5, 8)
    p = 1 / (1 + np.exp(b - theta))
    p[:, 6:] = 0.3 + 0.7 * p[:, 6:]
    return Responses.from_array((rng.random((500, 8)) < p).astype(float))


@needs("erm")
def test_booklets_by_erm_itself():
    responses = booklets(1)
    erm = erm_itself("erm_rasch", responses)
    assert_same(conditional(responses), erm["difficulty"], erm["standard_error"], erm["log_likelihood"][0])


def complete(seed: int) -> Responses:
    """500 persons with normal abilities on 12 Rasch items."""
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=(500, 1)), np.linspace(-1.5, 1.5, 12)
    return Responses.from_array((rng.random((500, 12)) < 1 / (1 + np.exp(b - theta))).astype(float))


@pytest.mark.parametrize("source", ["lsat6", "lsat7", 1, 2, 3])
def test_marginal_difficulties_are_near_where_abilities_are_normal(source):
    responses = data(source) if isinstance(source, str) else complete(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        marginal = fit(responses, "mml", model="Rasch", priors="none").item_parameters.difficulty
    items = conditional(responses).item_parameters
    apart = (marginal - marginal.mean() - items.difficulty) / items.standard_errors["difficulty"]
    assert np.abs(apart).max() < tolerances.CML_AGAINST_MML


def test_marginal_difficulties_are_not_near_where_abilities_are_far_from_normal():
    # What the bound is worth: under a skewed distribution the marginal fit, which assumes a normal one, leaves it.
    rng = np.random.default_rng(4)
    theta, b = rng.exponential(1.5, (20_000, 1)), np.linspace(-1, 3, 9)
    responses = Responses.from_array((rng.random((20_000, 9)) < 1 / (1 + np.exp(b - theta))).astype(float))
    marginal = fit(responses, "mml", model="Rasch", priors="none").item_parameters.difficulty
    items = conditional(responses).item_parameters
    error = items.standard_errors["difficulty"]
    assert np.abs((marginal - marginal.mean() - items.difficulty) / error).max() > tolerances.CML_AGAINST_MML
    assert np.abs((items.difficulty - (b - b.mean())) / error).max() < 3.5

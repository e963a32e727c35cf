from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import psychoeval as pe
from psychoeval.errors import ConvergenceWarning, DataError, ModelError, SettingsError
from psychoeval.estimators.native.map import MAP
from psychoeval.irt import scoring
from psychoeval.irt.models import ItemModel, LogNormal, Normal, Priors
from psychoeval.responses.matrix import Responses
from tests.unit.map_reference import PUBLISHED, difference_gradient, fit, reference_objective, responses, simulated

SLOPES_ONLY = Priors(log_discrimination=Normal(0.0, 0.5))
MODELS = ("Rasch", "1PL", "2PL")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("priors", ["published", "weak"])
def test_converged_result_is_complete(model, priors) -> None:
    data = responses(40, 25, trials=3, missing=0.2)
    found = fit(data, model, priors)
    assert found.convergence.status == "converged"
    assert found.convergence.gradient <= 1e-6
    assert found.convergence.last_change <= 1e-6
    assert found.log_likelihood_kind == "joint"
    assert found.aic is None
    assert np.isfinite(found.ability_table()["std_error"]).all()
    errors = found.item_parameters.standard_errors
    assert np.isfinite(errors["intercept"]).all()
    assert (errors["discrimination"] == 0).all() if model == "Rasch" else (errors["discrimination"] > 0).all()
    variance = np.diag(found.abilities.covariance)
    np.testing.assert_allclose(np.sqrt(variance), found.abilities.standard_error, rtol=1e-12)


@pytest.mark.parametrize("model", ["Rasch", "2PL"])
def test_errors_of_abilities_hold_those_of_the_items_and_say_so(model) -> None:
    x, trials = simulated(20, 9, trials=3, missing=0.2)
    found = fit(Responses.from_array(x, trials), model)
    items = found.item_parameters
    given, fixed = scoring.map_(x, trials, items.discrimination, items.intercept, items.guessing)
    np.testing.assert_allclose(given, found.abilities.estimate, atol=1e-5)
    assert (found.abilities.standard_error > fixed).all()
    assert found.abilities.uncertainty == "items estimated"


def test_mode_is_stationary_for_the_sum_over_cells() -> None:
    x, trials = simulated(20, 9, trials=4, missing=0.3)
    found = fit(Responses.from_array(x, trials), tolerance=1e-9)
    items = found.item_parameters
    point = np.concatenate([found.abilities.estimate, np.log(items.discrimination), items.intercept])
    reference = reference_objective(x, trials, PUBLISHED, slopes="free")
    assert np.abs(difference_gradient(reference, point)).max() < 1e-5
    assert found.statistics["penalised_log_likelihood"] == pytest.approx(-reference(point), rel=1e-12)
    p = 1 / (1 + np.exp(-(np.outer(point[:20], items.discrimination) + items.intercept)))
    log_likelihood = np.sum(x * np.log(p) + (trials - x.astype(float)) * np.log(1 - p))
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)


def test_prior_of_a_itself_has_its_jacobian() -> None:
    data = responses(25, 10)
    found = fit(data, priors=Priors(discrimination=LogNormal(0.1, 0.5), intercept=Normal(0.0, 3.0)), tolerance=1e-9)
    items = found.item_parameters
    x = data.successes

    def negative_log_density(point: np.ndarray) -> float:
        theta, a, d = np.split(point, [25, 35])
        eta = np.outer(theta, a) + d
        prior = np.sum(theta**2) / 2 + np.sum(d**2) / 18 + np.sum(np.log(a) + (np.log(a) - 0.1) ** 2 / 0.5)
        return float(np.sum(np.logaddexp(0, eta) - x * eta) + prior)

    point = np.concatenate([found.abilities.estimate, items.discrimination, items.intercept])
    assert np.abs(difference_gradient(negative_log_density, point)).max() < 1e-5


@pytest.mark.parametrize("model", MODELS)
def test_exchanging_success_and_failure_turns_the_scale(model) -> None:
    x, n = simulated(40, 12, trials=2, missing=0.2)
    one, two = (fit(Responses.from_array(kind, n), model, tolerance=1e-9) for kind in (x, n - x))
    np.testing.assert_allclose(two.item_parameters.discrimination, one.item_parameters.discrimination, atol=1e-6)
    np.testing.assert_allclose(two.item_parameters.intercept, -one.item_parameters.intercept, atol=1e-6)
    np.testing.assert_allclose(two.abilities.estimate, -one.abilities.estimate, atol=1e-6)
    np.testing.assert_allclose(two.abilities.standard_error, one.abilities.standard_error, atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_permuting_persons_and_items_permutes_the_answer(model) -> None:
    data = responses(30, 12, trials=2, missing=0.2)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(30), rng.permutation(12)
    one, two = fit(data, model), fit(data.select(rows, columns), model)
    np.testing.assert_allclose(two.abilities.estimate, one.abilities.estimate[rows], atol=1e-7)
    np.testing.assert_allclose(two.abilities.standard_error, one.abilities.standard_error[rows], atol=1e-7)
    np.testing.assert_allclose(two.item_parameters.intercept, one.item_parameters.intercept[columns], atol=1e-7)
    np.testing.assert_allclose(two.item_parameters.covariance, one.item_parameters.covariance[columns], atol=1e-7)


@pytest.mark.parametrize("priors", ["none", "weak", "published"])
@pytest.mark.parametrize("sd", [1.0, 2.5])
def test_rasch_has_unit_slopes_and_the_sd_that_was_chosen(priors, sd) -> None:
    data = responses(30, 20, trials=2, missing=0.1)
    found = fit(data, "Rasch", priors, ability_sd=sd, tolerance=1e-9)
    items, n = found.item_parameters, 30
    assert (items.discrimination[items.estimated] == 1).all()
    assert (items.standard_errors["discrimination"][items.estimated] == 0).all()
    assert found.latent_distribution.sd == sd
    assert found.latent_distribution.sd_standard_error is None
    assert found.n_parameters == n + items.estimated.sum()
    kept, count = items.estimated, data.trials[:, items.estimated].astype(float)
    x, precision = data.successes[:, kept].astype(float), {"none": 0.0, "weak": 1 / 9, "published": 1 / 4}[priors]

    def negative_log_density(point: np.ndarray) -> float:
        theta, d = point[:n], point[n:]
        eta = theta[:, None] + d
        loss = np.sum(count * np.logaddexp(0, eta) - x * eta)
        return float(loss + np.sum(theta**2) / (2 * sd**2) + precision * np.sum(d**2) / 2)

    point = np.concatenate([found.abilities.estimate, items.intercept[kept]])
    assert np.abs(difference_gradient(negative_log_density, point)).max() < 1e-5
    assert found.statistics["penalised_log_likelihood"] == pytest.approx(-negative_log_density(point), rel=1e-12)
    p = 1 / (1 + np.exp(-(point[:n, None] + point[n:])))
    w = count * p * (1 - p)
    hessian = np.block([
        [np.diag(w.sum(1) + sd**-2), w], [w.T, np.diag(w.sum(0) + precision)]
    ])  # fmt: skip
    covariance = np.linalg.inv(hessian)
    np.testing.assert_allclose(found.abilities.covariance, covariance[:n, :n], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(items.standard_errors["difficulty"][kept] ** 2, np.diag(covariance)[n:], rtol=1e-6)
    prior_share = np.trace(covariance[:n, :n]) / sd**2 + precision * np.trace(covariance[n:, n:])
    assert found.statistics["effective_parameters"] == pytest.approx(found.n_parameters - prior_share, rel=1e-6)


def test_rasch_difficulty_prior_is_about_minus_the_intercept() -> None:
    data = responses(30, 20)
    one = fit(data, "Rasch", Priors(difficulty=Normal(0.5, 1.0)))
    two = fit(data, "Rasch", Priors(intercept=Normal(-0.5, 1.0)))
    np.testing.assert_allclose(one.item_parameters.intercept, two.item_parameters.intercept, atol=1e-9)


def test_slope_prior_of_the_1pl_counts_once() -> None:
    data = responses(25, 12, trials=3)
    found = fit(data, "1PL", Priors(log_discrimination=Normal(0.2, 0.3), intercept=Normal(0.0, 3.0)), tolerance=1e-9)
    a = found.item_parameters.discrimination
    assert (a == a[0]).all()
    x, trials = data.successes.astype(float), data.trials.astype(float)

    def negative_log_density(point: np.ndarray) -> float:
        theta, u, d = point[:25], point[25], point[26:]
        eta = np.exp(u) * theta[:, None] + d
        prior = np.sum(theta**2) / 2 + (u - 0.2) ** 2 / (2 * 0.3**2) + np.sum(d**2) / 18
        return float(np.sum(trials * np.logaddexp(0, eta) - x * eta) + prior)

    point = np.concatenate([found.abilities.estimate, [np.log(a[0])], found.item_parameters.intercept])
    assert np.abs(difference_gradient(negative_log_density, point)).max() < 1e-5
    assert found.statistics["penalised_log_likelihood"] == pytest.approx(-negative_log_density(point), rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_perfect_and_zero_persons_and_constant_items_are_finite_and_flagged(model) -> None:
    x, _ = simulated(20, 12)
    x[0], x[1] = 1, 0
    x[2:, 3] = 1
    x[1, 3] = 1
    found = fit(Responses.from_array(x), model)
    assert found.abilities.status[:2] == ("extreme_all_1", "estimated")
    assert found.item_parameters.status[3] == "constant_all_1"
    assert np.isfinite(found.abilities.estimate).all()
    assert np.argmax(found.abilities.estimate) == 0
    assert np.argmin(found.abilities.estimate) == 1
    assert np.isfinite(found.item_parameters.intercept[3])
    assert any("answered alike" in w and "priors' doing" in w for w in found.convergence.warnings)


def test_constant_items_without_a_location_prior_are_left_out() -> None:
    x, _ = simulated(30, 10)
    x[:, 4], x[:, 7] = 1, 0
    x[5, 4] = 1
    found = fit(Responses.from_array(x), priors=SLOPES_ONLY)
    alone = fit(Responses.from_array(np.delete(x, [4, 7], axis=1)), priors=SLOPES_ONLY)
    status = found.item_parameters.status
    assert (status[4], status[7]) == ("constant_all_1", "constant_all_0")
    assert np.isnan(found.item_parameters.intercept[[4, 7]]).all()
    assert np.isnan(found.item_parameters.covariance[4]).all()
    np.testing.assert_allclose(found.abilities.estimate, alone.abilities.estimate, atol=1e-9)
    kept = np.delete(np.arange(10), [4, 7])
    np.testing.assert_allclose(found.item_parameters.intercept[kept], alone.item_parameters.intercept, atol=1e-9)
    assert any("no finite maximum" in w for w in found.convergence.warnings)


def test_what_was_never_run_stays_in_place_without_a_number() -> None:
    x, trials = simulated(12, 8, trials=3)
    trials[:, 2], trials[5] = 0, 0
    x = np.where(trials == 0, 0, x)
    found = fit(Responses.from_array(x, trials))
    alone = fit(Responses.from_array(np.delete(np.delete(x, 2, 1), 5, 0), np.delete(np.delete(trials, 2, 1), 5, 0)))
    assert found.item_parameters.status[2] == "no_responses"
    assert found.abilities.status[5] == "no_responses"
    assert np.isnan(found.item_parameters.discrimination[2])
    assert np.isnan(found.abilities.estimate[5])
    assert np.isnan(found.abilities.standard_error[5])
    np.testing.assert_allclose(np.delete(found.abilities.estimate, 5), alone.abilities.estimate, atol=1e-9)


def test_stopping_early_is_a_status() -> None:
    with pytest.warns(ConvergenceWarning, match="iteration_limit"):
        found = pe.fit(responses(30, 20), "map", model="2PL", max_iterations=1)
    assert found.convergence.iterations == 1
    assert found.convergence.gradient > 1e-6


def test_published_rule_says_that_it_is_not_the_maximum() -> None:
    data = responses(12, 8, trials=100, missing=0.3)
    found, best = fit(data, stopping="published"), fit(data)
    assert found.convergence.tolerance == 1e-7
    assert found.convergence.messages
    assert any("not the maximum" in w for w in found.convergence.warnings)
    assert found.statistics["penalised_log_likelihood"] < best.statistics["penalised_log_likelihood"]
    np.testing.assert_allclose(found.abilities.estimate, best.abilities.estimate, atol=0.02)


@pytest.mark.parametrize(
    ("model", "settings", "match"),
    [
        (None, {}, "no model"),
        (ItemModel("3PL"), {}, "3PL"),
        (ItemModel("2PL"), {}, "no maximum"),
        (ItemModel("1PL", Priors(intercept=Normal(0, 3))), {}, "no maximum"),
        (pe.item_model("Rasch", "published"), {"stopping": "published"}, "for the 2PL"),
    ],
)
def test_what_cannot_be_fitted_is_refused(model, settings, match) -> None:
    with pytest.raises(ModelError, match=match):
        MAP(**settings).fit(responses(5, 5), model)


def test_without_a_slope_prior_larger_slopes_are_always_better() -> None:
    # The reason for the refusal: equal probabilities at ever less penalty.
    penalty = dataclasses.replace(PUBLISHED, slope=Normal(0.0, 1e8), location=None)
    x, trials = simulated(20, 10)
    reference = reference_objective(x, trials, penalty, slopes="free")
    point = np.random.default_rng(0).normal(size=40)
    theta, u, d = np.split(point, [20, 30])
    values = [reference(np.concatenate([theta / s, u + np.log(s), d])) for s in (1, 2, 4, 8)]
    assert (np.diff(values) < 0).all()


@pytest.mark.parametrize(
    "bad",
    [{"tolerance": 0}, {"tolerance": "x"}, {"max_iterations": 0}, {"max_iterations": True},
     {"ability_sd": True}, {"stopping": "early"}, {"ability_sd": 0},
     {"ability_sd": np.inf}, {"ability_sd": np.nan}, {"ability_sd": "wide"}],
)  # fmt: skip
def test_bad_settings_are_refused(bad) -> None:
    with pytest.raises(SettingsError, match=next(iter(bad))):
        MAP(**bad)


@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_ability_sd_is_for_rasch_only(model) -> None:
    with pytest.raises(SettingsError, match="ability_sd=2"):
        fit(responses(5, 5), model, ability_sd=2.0)


def test_data_without_an_estimable_item_are_refused() -> None:
    data = Responses.from_array([[1, 0], [1, 0]])
    with pytest.raises(DataError, match="None of the 2 items"):
        fit(data, priors=SLOPES_ONLY)
    with pytest.raises(DataError, match="None of the 2 items"):
        fit(Responses.from_array(np.full((2, 2), np.nan)))


@pytest.mark.parametrize("x", [[[1]], [[0]], [[1, 0, 1]], [[1], [0], [0]], [[1, 0], [0, 1]]])
@pytest.mark.parametrize("model", MODELS)
def test_one_person_one_item_two_by_two(x, model) -> None:
    found = fit(Responses.from_array(x), model)
    assert found.convergence.status == "converged"
    assert np.isfinite(found.abilities.estimate).all()
    assert np.isfinite(found.item_parameters.standard_errors["difficulty"]).all()


def test_describe_names_the_rule() -> None:
    assert "Newton" in MAP().describe()
    assert "maxiter 80" in MAP(stopping="published").describe(model=pe.item_model("2PL", "published"))

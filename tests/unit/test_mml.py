from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from psychoeval import item_model
from psychoeval.estimators.native.mml import MML
from psychoeval.irt.models import Normal, Priors, PriorsLike
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from tests.unit.mml_reference import dense, simulated

MODELS = ("Rasch", "1PL", "2PL")
TIGHT = 1e-8


def responses(n: int, j: int, **options: object) -> Responses:
    return Responses.from_array(*simulated(n, j, **options))


def fit(data: Responses, model: str = "2PL", priors: PriorsLike = "hierarchical", **settings: object) -> FitResult:
    """Return the fit without the warnings of `psychoeval.fit`."""
    return MML(**settings).fit(data, item_model(model, priors))


def assert_same(one: FitResult, two: FitResult, *, items=slice(None), persons=slice(None), atol: float) -> None:
    """Compare `two` with the chosen items and persons of `one`."""
    assert two.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-9)
    for name in ("discrimination", "intercept", "guessing"):
        np.testing.assert_allclose(
            getattr(two.item_parameters, name), getattr(one.item_parameters, name)[items], atol=atol
        )
    np.testing.assert_allclose(two.abilities.estimate, one.abilities.estimate[persons], atol=atol)
    np.testing.assert_allclose(two.abilities.standard_error, one.abilities.standard_error[persons], atol=atol)


@pytest.mark.parametrize("model", [*MODELS, "3PL"])
@pytest.mark.parametrize("priors", ["none", "weak", "hierarchical"])
def test_result_is_complete(model, priors) -> None:
    x, n = simulated(300, 12, trials=3, missing=0.2, slope_sd=0.2)
    found = fit(Responses.from_array(x, n), model, priors)
    items, abilities = found.item_parameters, found.abilities
    assert found.convergence.status == "converged"
    assert found.convergence.last_change <= found.convergence.tolerance == 1e-5
    assert found.log_likelihood_kind == "marginal"
    assert found.n_persons == 300
    assert found.n_parameters == {"Rasch": 13, "1PL": 13, "2PL": 24, "3PL": 36}[model]
    assert (found.aic is not None) == (priors == "none")
    # What is reported is what the reported items say.
    sd = found.latent_distribution.sd
    reference = dense(x, n, sd * items.discrimination, items.intercept, items.guessing)
    assert found.log_likelihood == pytest.approx(reference.log_marginal.sum(), rel=1e-10)
    np.testing.assert_allclose(abilities.estimate, sd * reference.mean, atol=1e-9)
    np.testing.assert_allclose(abilities.standard_error, sd * reference.sd, atol=1e-9)
    statistics = found.statistics
    error, spread = np.mean(reference.sd**2), np.var(reference.mean, ddof=1)
    assert statistics["empirical_reliability"] == pytest.approx(spread / (spread + error), rel=1e-8)
    assert statistics["marginal_reliability"] == pytest.approx(1 - error, rel=1e-8)
    assert statistics["overdispersion_ratio"] > 0
    assert ("log_prior" in statistics) == (priors != "none")
    errors = items.standard_errors
    assert np.isfinite(errors["intercept"]).all()
    assert (errors["discrimination"] == 0).all() if model == "Rasch" else (errors["discrimination"] > 0).all()
    inside = items.guessing > 1e-5  # without a prior c may stop at its bound, and then has no error
    assert (errors["guessing"][inside] > 0).all() if model == "3PL" else (errors["guessing"] == 0).all()
    assert (found.latent_distribution.sd_standard_error is not None) == (model == "Rasch")


def test_rasch_is_the_1pl_with_the_slope_as_latent_sd() -> None:
    data = responses(200, 10, missing=0.2)
    rasch, one = (fit(data, m, "none", tolerance=TIGHT) for m in ("Rasch", "1PL"))
    slope = one.item_parameters.discrimination
    assert (slope == slope[0]).all()
    assert (rasch.item_parameters.discrimination == 1).all()
    assert rasch.latent_distribution.sd == pytest.approx(slope[0], abs=1e-7)
    error = one.item_parameters.standard_errors["discrimination"][0]
    assert rasch.latent_distribution.sd_standard_error == pytest.approx(error, rel=1e-6)
    np.testing.assert_allclose(rasch.item_parameters.intercept, one.item_parameters.intercept, atol=1e-7)
    np.testing.assert_allclose(
        rasch.item_parameters.standard_errors["intercept"], one.item_parameters.standard_errors["intercept"], rtol=1e-6
    )
    np.testing.assert_allclose(rasch.abilities.estimate, slope[0] * one.abilities.estimate, atol=1e-7)
    assert rasch.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-10)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("errors", ["full", "blocks"])
def test_permuting_persons_and_items_permutes_the_answer(model, errors) -> None:
    data = responses(80, 12, trials=2, missing=0.2)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(80), rng.permutation(12)
    settings = {"tolerance": TIGHT, "standard_errors": errors}
    one, two = fit(data, model, **settings), fit(data.select(rows, columns), model, **settings)
    assert_same(one, two, items=columns, persons=rows, atol=1e-7)
    np.testing.assert_allclose(two.item_parameters.covariance, one.item_parameters.covariance[columns], atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("priors", ["none", "hierarchical"])
def test_exchanging_success_and_failure_turns_the_scale(model, priors) -> None:
    x, n = simulated(200, 10, trials=2, missing=0.2, slope_sd=0.2)
    one = fit(Responses.from_array(x, n), model, priors, tolerance=TIGHT)
    two = fit(Responses.from_array(n - x, n), model, priors, tolerance=TIGHT)
    np.testing.assert_allclose(two.item_parameters.discrimination, one.item_parameters.discrimination, atol=1e-6)
    np.testing.assert_allclose(two.item_parameters.intercept, -one.item_parameters.intercept, atol=1e-6)
    np.testing.assert_allclose(two.abilities.estimate, -one.abilities.estimate, atol=1e-6)
    assert two.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-10)


def test_trials_of_a_cell_are_equal_items() -> None:
    rng = np.random.default_rng(2)
    x = rng.binomial(3, expit(rng.normal(size=(120, 1)) - np.linspace(-1, 1, 5)))
    counts = fit(Responses.from_array(x, 3), "Rasch", "none", tolerance=TIGHT)
    columns = np.concatenate([x > k for k in range(3)], axis=1).astype(int)
    single = fit(Responses.from_array(columns), "Rasch", "none", tolerance=TIGHT)
    # The columns have other sums, so that free items are no equal ones: hold the counts' items against dense sums.
    sd, d = counts.latent_distribution.sd, counts.item_parameters.intercept
    split = dense(columns, np.ones_like(columns), np.full(15, sd), np.tile(d, 3))
    assert counts.log_likelihood == pytest.approx(split.log_marginal.sum(), rel=1e-11)
    np.testing.assert_allclose(counts.abilities.estimate, sd * split.mean, atol=1e-9)
    assert single.log_likelihood > counts.log_likelihood


def test_columns_with_the_same_sums_give_the_items_of_the_counts() -> None:
    rng = np.random.default_rng(3)
    x = rng.binomial(1, expit(rng.normal(size=(150, 1)) - np.linspace(-1, 1, 6)))
    twice = fit(Responses.from_array(2 * x, 2), "Rasch", "none", tolerance=TIGHT)
    columns = fit(Responses.from_array(np.concatenate([x, x], axis=1)), "Rasch", "none", tolerance=TIGHT)
    assert columns.log_likelihood == pytest.approx(twice.log_likelihood, rel=1e-10)
    np.testing.assert_allclose(columns.item_parameters.intercept[:6], twice.item_parameters.intercept, atol=1e-6)
    np.testing.assert_allclose(columns.abilities.estimate, twice.abilities.estimate, atol=1e-6)
    np.testing.assert_allclose(columns.abilities.standard_error, twice.abilities.standard_error, atol=1e-6)


def test_empty_persons_and_items_change_nothing() -> None:
    x, n = simulated(60, 10, missing=0.2)
    more_x, more_n = np.zeros((62, 12), np.uint8), np.zeros((62, 12), np.uint8)
    more_x[1:61, 1:11], more_n[1:61, 1:11] = x, n
    one = fit(Responses.from_array(x, n))
    two = fit(Responses.from_array(more_x, more_n))
    assert two.log_likelihood == one.log_likelihood
    np.testing.assert_array_equal(two.item_parameters.intercept[1:11], one.item_parameters.intercept)
    np.testing.assert_array_equal(two.item_parameters.covariance[1:11], one.item_parameters.covariance)
    np.testing.assert_array_equal(two.abilities.estimate[1:61], one.abilities.estimate)
    for k in (0, 11):
        assert two.item_parameters.status[k] == "no_responses"
        assert np.isnan(two.item_parameters.intercept[k])
    for i in (0, 61):
        assert two.abilities.status[i] == "no_responses"
        assert np.isnan(two.abilities.estimate[i])
    assert two.n_persons == 60


@pytest.mark.parametrize("shape", ["complete", "missing"])
def test_threads_do_not_matter(shape) -> None:
    data = responses(400, 60, missing=0.0 if shape == "complete" else 0.3)
    one, two = (fit(data, n_threads=k) for k in (1, 2))
    assert_same(one, two, atol=1e-10)
    np.testing.assert_allclose(two.item_parameters.covariance, one.item_parameters.covariance, atol=1e-10)
    assert two.provenance.details["threads"] == 2


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, float])
def test_kind_of_numbers_does_not_matter(dtype) -> None:
    x, n = simulated(50, 10, trials=3, missing=0.2)
    one, two = fit(Responses.from_array(x, n)), fit(Responses.from_array(x.astype(dtype), n.astype(dtype)))
    assert_same(one, two, atol=0)


@pytest.mark.parametrize("priors", ["none", "weak", "hierarchical"])
def test_constant_items_are_held_by_priors_or_left_out(priors) -> None:
    x, n = simulated(100, 10)
    x[:, 2], x[:, 5] = 0, 1
    found = fit(Responses.from_array(x, n), "2PL", priors)
    items = found.item_parameters
    assert items.status[2] == "constant_all_0"
    assert items.status[5] == "constant_all_1"
    assert np.isfinite(items.intercept[[2, 5]]).all() == (priors != "none")
    assert np.isfinite(items.covariance[[2, 5]]).all() == (priors != "none")
    if priors == "none":
        rest = np.delete(np.arange(10), [2, 5])
        alone = fit(Responses.from_array(x[:, rest], n[:, rest]), "2PL", priors)
        np.testing.assert_array_equal(items.intercept[rest], alone.item_parameters.intercept)
    else:
        assert items.intercept[2] < items.intercept[~np.isin(np.arange(10), [2, 5])].min()
        assert items.intercept[5] > items.intercept[~np.isin(np.arange(10), [2, 5])].max()


def test_prior_of_slopes_alone_does_not_hold_constant_items() -> None:
    x, n = simulated(100, 10)
    x[:, 2] = 1
    found = fit(Responses.from_array(x, n), "2PL", Priors(log_discrimination=Normal(0.0, 0.5)))
    assert found.item_parameters.status[2] == "constant_all_1"
    assert np.isnan(found.item_parameters.intercept[2])


def test_extreme_persons_stay_in_place_and_are_finite() -> None:
    x, n = simulated(100, 10)
    x[4], x[9] = 0, 1
    abilities = fit(Responses.from_array(x, n)).abilities
    assert (abilities.status[4], abilities.status[9]) == ("extreme_all_0", "extreme_all_1")
    assert abilities.estimate[4] == abilities.estimate.min()
    assert abilities.estimate[9] == abilities.estimate.max()
    assert np.isfinite(abilities.standard_error).all()


def test_runaway_item_is_named() -> None:
    x, _ = simulated(300, 12, seed=4)
    separated = np.column_stack([x, x.sum(axis=1) > 5])
    ids = [*(f"q{k}" for k in range(12)), "separated"]
    found = fit(Responses.from_array(separated, item_ids=ids), "2PL", "none")
    assert found.convergence.status == "failed_check"
    assert "'separated'" in " ".join(found.convergence.failures)
    assert found.item_parameters.status == (*(12 * ["estimated"]), "runaway")
    assert np.isfinite(found.item_parameters.discrimination).all()
    assert found.aic is None


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("priors", ["none", "hierarchical"])
def test_reversed_item_is_named(model, priors) -> None:
    rng = np.random.default_rng(6)
    theta = rng.normal(size=300)
    x = rng.binomial(1, expit(1.5 * theta[:, None] - rng.normal(size=12)))
    x[:, 3] = theta < 0
    ids = [f"q{k}" if k != 3 else "reversed" for k in range(12)]
    found = fit(Responses.from_array(x, item_ids=ids), model, priors)
    assert any("'reversed'" in w for w in found.convergence.warnings)
    assert (found.item_parameters.discrimination > 0).all()


def test_signed_slopes_find_it() -> None:
    rng = np.random.default_rng(6)
    theta = rng.normal(size=300)
    x = rng.binomial(1, expit(1.5 * theta[:, None] - rng.normal(size=12)))
    x[:, 3] = rng.binomial(1, expit(-1.2 * theta))
    found = fit(Responses.from_array(x), "2PL", "none", slopes="free", tolerance=TIGHT)
    a = found.item_parameters.discrimination
    assert found.convergence.status == "converged"
    assert a[3] < -0.7
    assert (np.delete(a, 3) > 0).all()
    assert np.corrcoef(found.abilities.estimate, x.mean(axis=1))[0, 1] > 0
    # Turning the key of the item turns its slope and intercept, and nothing else.
    x[:, 3] = 1 - x[:, 3]
    turned = fit(Responses.from_array(x), "2PL", "none", tolerance=TIGHT)
    assert turned.log_likelihood == pytest.approx(found.log_likelihood, rel=1e-9)
    sign = np.where(np.arange(12) == 3, -1, 1)
    np.testing.assert_allclose(turned.item_parameters.discrimination, sign * a, atol=1e-5)
    np.testing.assert_allclose(turned.item_parameters.intercept, sign * found.item_parameters.intercept, atol=1e-5)
    np.testing.assert_allclose(
        turned.item_parameters.covariance[3, :2, :2], found.item_parameters.covariance[3, :2, :2], rtol=1e-4
    )


@pytest.mark.parametrize("priors", ["weak", "hierarchical"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "shape", ["two persons", "one item", "equal persons", "equal items", "sixty thousand trials", "one person an item"]
)
def test_odd_data_end_in_finite_numbers(shape, model, priors) -> None:
    rng = np.random.default_rng(1)
    trials: object = None
    if shape == "two persons":
        x = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 0, 1]])
    elif shape == "one item":
        x = rng.integers(0, 2, (40, 1))
    elif shape == "equal persons":
        x = np.repeat(rng.integers(0, 2, (10, 8)), 5, axis=0)
    elif shape == "equal items":
        x = np.repeat(rng.binomial(1, expit(rng.normal(size=(80, 1)) + np.array([0, 1, -1]))), 3, axis=1)
    elif shape == "sixty thousand trials":
        x, trials = rng.binomial(60000, expit(rng.normal(size=(20, 1)) + rng.normal(size=6))), 60000
    else:
        x = rng.binomial(1, expit(rng.normal(size=(60, 1)) + rng.normal(size=8))).astype(float)
        x[1:, 2] = np.nan
    # Where slopes run to 0, as with two persons, EM may go on for ever.
    found = fit(Responses.from_array(x, trials), model, priors, max_iterations=50)
    items = found.item_parameters
    assert np.isfinite(found.log_likelihood)
    assert np.isfinite(items.discrimination).all()
    assert np.isfinite(items.intercept).all()
    assert np.isfinite(found.abilities.estimate).all()
    assert (found.abilities.standard_error > 0).all()
    assert found.convergence.status in ("converged", "failed_check") or found.convergence.warnings

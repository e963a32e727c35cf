"""The refitting check: worlds drawn from a fit, metrics by hand, statistics of the data, and what it must find."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kendalltau

import psychoeval as pe
from benchmarks._interval_worlds import simulate
from psychoeval.errors import ModelError, NotComparableError, SettingsError
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.simulate import simulate_counts
from psychoeval.results.fit_result import FitResult
from psychoeval.studies import RowStore
from psychoeval.trust.recovery import STATISTICS, data_statistics, recovered
from psychoeval.trust.refitting import check_by_refitting
from psychoeval.trust.worlds import Simulator, World


@pytest.fixture(scope="module")
def responses() -> pe.Responses:
    return simulate(60, 40, 1, trials=3, missing=0.2, slopes=False).responses


@pytest.fixture(scope="module")
def fitted(responses: pe.Responses) -> FitResult:
    return pe.fit(responses, "mml", model="Rasch")


def test_counts_have_their_probability() -> None:
    theta, a, d, c = np.array([-1.0, 2.0]), np.array([1.0, 2.0, 0.5]), np.array([0.0, -1.0, 1.0]), np.array([0, 0.2, 0])
    trials = np.array([[4000, 4000, 0], [4000, 1, 4000]], dtype=np.uint16)
    found = simulate_counts(theta, a, d, c, trials, np.random.default_rng(0))
    assert found.dtype == trials.dtype
    assert found[0, 2] == 0
    p = c + (1 - c) * expit(np.outer(theta, a) + d)
    big = trials == 4000
    np.testing.assert_allclose((found / np.maximum(trials, 1))[big], p[big], atol=4 * 0.5 / np.sqrt(4000))


def test_worlds_have_the_shape_of_the_data_and_its_spread(responses: pe.Responses, fitted: FitResult) -> None:
    world = Simulator(fitted, responses).draw(np.random.default_rng(0))
    np.testing.assert_array_equal(world.responses.trials, responses.trials)
    assert world.responses.item_ids == responses.item_ids
    assert (world.responses.successes != responses.successes).any()
    assert fitted.abilities is not None
    drawn = [Simulator(fitted, responses).draw(np.random.default_rng(k)).ability.std() for k in range(30)]
    # Plausible values spread as the latent distribution does, EAPs less.
    assert fitted.latent_distribution is not None
    assert np.mean(drawn) == pytest.approx(fitted.latent_distribution.sd, abs=0.03)
    assert np.std(fitted.abilities.estimate) < np.mean(drawn) - 0.005


def test_items_that_nobody_solved_stay_so() -> None:
    x = simulate(40, 12, 3, slopes=False).responses.successes.copy()
    x[:, 2], x[:, 5] = 0, 1
    data = pe.Responses.from_array(x)
    check = check_by_refitting(data, pe.fit(data, "mml", model="Rasch"), replications=3)
    assert check.notes[0].startswith("2 items that all or none")
    world = Simulator(pe.fit(data, "mml", model="Rasch"), data).draw(np.random.default_rng(0))
    assert (world.responses.successes[:, 2] == 0).all()
    assert (world.responses.successes[:, 5] == 1).all()


def test_metrics_are_those_of_their_definitions(responses: pe.Responses, fitted: FitResult) -> None:
    world = Simulator(fitted, responses).draw(np.random.default_rng(3))
    again = pe.fit(world.responses, "mml", model="Rasch")
    found = recovered(world, again)
    assert again.abilities is not None
    assert again.item_parameters is not None
    theta, d = again.abilities.estimate, again.item_parameters.intercept
    assert found["tau"] == pytest.approx(kendalltau(theta, world.ability).statistic)
    true = expit(world.ability[:, None] + world.items.intercept)
    mine = expit(theta[:, None] + d)
    assert found["score_error"] == pytest.approx(np.mean(np.abs(true.mean(axis=1) - mine.mean(axis=1))))
    assert found["item_error"] == pytest.approx(np.mean(np.abs(true.mean(axis=0) - mine.mean(axis=0))))
    assert found["r_difficulty"] == pytest.approx(np.corrcoef(-d, -world.items.intercept)[0, 1])
    assert found["r_discrimination"] is None
    low, high = again.abilities.interval()
    centered = world.ability - world.ability.mean()
    assert found["ability_coverage"] == pytest.approx(np.mean((low <= centered) & (centered <= high)))


def test_a_truth_in_its_own_unit_is_recovered_whole() -> None:
    """The truth as its own fit: errors 0, correlations 1, all intervals hold it."""
    world = simulate(50, 30, 2)
    theta = (world.theta - world.theta.mean()) / world.theta.std()
    names = world.responses.item_ids
    items = ItemParameters.from_difficulty(
        names, world.a, world.b, standard_errors={"discrimination": 0.1, "difficulty": 0.1}
    )
    fit = pe.fit(world.responses, "mml", model="2PL")
    assert fit.abilities is not None
    perfect = dataclasses.replace(
        fit, item_parameters=items, abilities=dataclasses.replace(fit.abilities, estimate=theta)
    )
    found = recovered(World(world.responses, theta, items), perfect)
    assert found["tau"] == pytest.approx(1, abs=1e-3)  # two abilities nearer than 1e-5 SD are a tie
    assert found["score_error"] == pytest.approx(0, abs=1e-12)
    assert found["item_error"] == pytest.approx(0, abs=1e-12)
    assert [found[f"r_{k}"] for k in ("difficulty", "discrimination")] == pytest.approx([1, 1])
    assert [found[f"{k}_coverage"] for k in ("ability", "difficulty", "discrimination")] == [1, 1, 1]


def test_recovery_is_that_of_the_real_truth() -> None:
    """Refitting stands in for the truth that nobody knows: where it is known, tau is the same within its interval."""
    taus, checked = [], []
    for seed in range(6):
        world = simulate(60, 60, seed, slopes=False)
        fit = pe.fit(world.responses, "mml", model="Rasch")
        assert fit.abilities is not None
        taus.append(kendalltau(fit.abilities.estimate, world.theta).statistic)
        checked.append(check_by_refitting(world.responses, fit, replications=6).recovery().loc["tau", "mean"])
    assert np.mean(checked) == pytest.approx(np.mean(taus), abs=0.03)


def test_data_that_the_model_does_not_make_are_told() -> None:
    """Two clusters of items that go against each other: item-rest correlations spread as no Rasch model's do."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(300, 2)) @ np.array([[1.0, -0.8], [0.0, 0.6]])
    b = rng.normal(size=20)
    x = np.hstack([rng.random((300, 20)) < expit(1.5 * (theta[:, [k]] - b)) for k in (0, 1)]).astype(int)
    x = x[:, :26]
    data = pe.Responses.from_array(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = pe.fit(data, "mml", model="Rasch")
        wrong = check_by_refitting(data, fit, replications=60).likeness()["p"]
    assert wrong["item_rest_sd"] < 1e-6
    own = simulate(300, 26, 0, slopes=False).responses
    right = check_by_refitting(own, pe.fit(own, "mml", model="Rasch"), replications=60).likeness()["p"]
    assert (right > 0.02).all()


@pytest.mark.parametrize(("n", "j", "mean", "sd"), [(35, 150, 0.0, 1.0), (35, 150, 2.5, 2.5)])
def test_data_of_the_model_are_like_the_model(n: int, j: int, mean: float, sd: float) -> None:
    """Without the refits' own excess 35 x 300 was unlike in 12 of 12 data sets (proportion_sd), as were dead items.

    Of 30 sets of 35 x 300 and of as many with many items never solved none is called unlike.
    """
    for seed in range(5):
        rng = np.random.default_rng(seed)
        theta, b = rng.normal(0, 2 if mean else 1, n), rng.normal(mean, sd, j)
        data = pe.Responses.from_array((rng.random((n, j)) < expit(theta[:, None] - b)).astype(int))
        found = check_by_refitting(data, pe.fit(data, "mml", model="Rasch"), replications=20)
        assert found.unlike() == ()
        assert found.likeness()["p"].notna().all()


def test_likeness_takes_out_what_fitting_adds() -> None:
    """At 35 x 300 items drawn from a fit spread more than those that it was fitted to, by more than their SD."""
    rng = np.random.default_rng(50)
    theta, b = rng.normal(size=35), rng.normal(size=300)
    data = pe.Responses.from_array((rng.random((35, 300)) < expit(theta[:, None] - b)).astype(int))
    found = check_by_refitting(data, pe.fit(data, "mml", model="Rasch"), replications=20)
    drawn, row = found.values("proportion_sd"), found.likeness().loc["proportion_sd"]
    assert (drawn > row["observed"]).all()
    assert row["low"] < row["observed"] < row["high"]


def test_likeness_is_of_the_fit_alone(responses: pe.Responses, fitted: FitResult) -> None:
    found = check_by_refitting(responses, fitted, estimator="simple-average", truth=fitted, replications=3)
    assert found.likeness()["p"].isna().all()
    assert found.unlike() == ()


def test_the_simple_average_is_judged_in_the_same_data_sets(responses: pe.Responses, fitted: FitResult) -> None:
    ours = check_by_refitting(responses, fitted, replications=3)
    own = check_by_refitting(responses, fitted, estimator="simple-average", truth=fitted, replications=3)
    np.testing.assert_allclose(ours.values("tau_simple_average"), own.values("tau"), rtol=1e-12)


def test_statistics_are_those_of_the_scores() -> None:
    data = pe.Responses.from_array([[1, 0, 1, 0], [1, 1, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0]])
    found = data_statistics(data)
    assert tuple(found) == STATISTICS
    assert found["mean_score"] == pytest.approx(8 / 16)
    assert found["score_sd"] == pytest.approx(np.std([0.5, 0.75, 0.25, 0.5]))
    assert found["constant_items"] == 1


def test_the_check_goes_on_where_it_stopped(responses: pe.Responses, fitted: FitResult, tmp_path: Path) -> None:
    store = RowStore(tmp_path / "rows.jsonl")
    first = check_by_refitting(responses, fitted, replications=3, store=store)
    lines = store.path.read_text().splitlines()
    again = check_by_refitting(responses, fitted, replications=4, store=RowStore(store.path))
    assert again.replications.rows[:3] == first.replications.rows
    assert store.path.read_text().splitlines()[:3] == lines
    other = check_by_refitting(responses, fitted, replications=3, seed=1, store=RowStore(store.path))
    assert other.replications.rows != first.replications.rows


def test_scores_without_a_model_need_a_truth(responses: pe.Responses, fitted: FitResult) -> None:
    average = pe.fit(responses, "additive")
    with pytest.raises(NotComparableError, match="no item parameters"):
        check_by_refitting(responses, average)
    found = check_by_refitting(responses, average, truth=fitted, replications=5)
    assert found.recovery().loc["tau", "mean"] > 0.7
    assert found.recovery().loc["score_error", "mean"] < 0.06
    assert found.truth == "mml Rasch"


def test_what_cannot_be_checked_is_refused(responses: pe.Responses, fitted: FitResult) -> None:
    with pytest.raises(NotComparableError, match="other responses"):
        check_by_refitting(simulate(60, 40, 9).responses, fitted)
    imported = dataclasses.replace(fitted, estimator="somewhere else")
    with pytest.raises(NotComparableError, match="another program"):
        check_by_refitting(responses, imported)
    with pytest.raises(SettingsError):
        check_by_refitting(responses, fitted, level=2)
    with pytest.raises(SettingsError):
        check_by_refitting(responses, fitted, replications=0)
    with pytest.raises(ModelError, match="does not fit the 2PL"):
        check_by_refitting(responses, pe.fit(responses, "mml", model="2PL"), estimator="cml")


def test_fits_that_do_not_converge_are_counted_and_left_out(responses: pe.Responses) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = pe.fit(responses, "mml", model="Rasch", max_iterations=1)
    found = check_by_refitting(responses, fit, replications=4)
    assert found.n_believed == 0
    assert found.failure_rate == 1
    assert found.recovery().loc["tau", "n"] == 0


def test_items_that_were_never_run_count_in_no_score() -> None:
    world = simulate(60, 20, 4, slopes=False)
    trials = world.responses.trials.copy()
    trials[:, 3:9] = 0
    data = pe.Responses.from_array(np.where(trials > 0, world.responses.successes, 0), trials=trials)
    fit = pe.fit(data, "mml", model="Rasch")
    assert fit.abilities is not None
    assert fit.item_parameters is not None
    same = recovered(World(data, fit.abilities.estimate, fit.item_parameters), fit)
    assert same["score_error"] == pytest.approx(0, abs=1e-12)
    assert same["item_error"] == pytest.approx(0, abs=1e-12)

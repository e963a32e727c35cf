"""Predictive checks: statistics by hand, calibration of true models, misfit to be found, draws, what cannot be."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import skew

from psychoeval import Draws, FitResult, ItemParameters, LatentDistribution, Responses, fit, import_fit, load_dataset
from psychoeval.diagnostics import posterior_predictive
from psychoeval.errors import DataError, NotComparableError, SettingsError
from psychoeval.irt.classical import item_rest_correlation
from psychoeval.irt.curves import probability
from psychoeval.irt.replicated import Tally, distances, log_odds_ratios, pair_counts_seen, score_groups
from psychoeval.results.predictive import with_replicated_scores
from tests.gates import needs


def drawn(seed: int, n: int = 500, j: int = 20, *, slopes: float = 0.0, guessing: float = 0.0) -> Responses:
    rng = np.random.default_rng(seed)
    a, d = np.exp(rng.normal(0, slopes, j)), rng.normal(0, 1, j)
    c = np.where(np.arange(j) % 2, guessing, 0.0)
    return Responses.from_array((rng.random((n, j)) < probability(rng.normal(size=n), a, d, c)).astype(float))


def fitted(responses: Responses, model: str) -> FitResult:
    return fit(responses, "mml", model, priors="none", standard_errors="none")


def test_a_tally_counts_above_and_half_of_what_is_equal() -> None:
    tally = Tally(np.array([0.5, 2.0, np.nan, 0.0]))
    for values in ([1, 2, 1, 0], [0, 2, 1, np.nan], [0.5, 3, 1, 1], [2, 0, 1, 1]):
        tally.add(np.array(values, dtype=float))
    check = tally.check()
    np.testing.assert_allclose(check.ppp, [2.5 / 4, 2 / 4, np.nan, 2.5 / 3])
    np.testing.assert_allclose(check.expected[:2], [0.875, 1.75])
    np.testing.assert_allclose(check.sd[:2], [np.std([1, 0, 0.5, 2], ddof=1), np.std([2, 2, 3, 0], ddof=1)])
    np.testing.assert_allclose(check.z[0], (0.5 - 0.875) / check.sd[0])
    p = 3.5 / 6
    np.testing.assert_allclose(check.error[0], np.sqrt(p * (1 - p) / 6))


def test_odds_ratios_are_those_of_the_two_way_tables() -> None:
    rng = np.random.default_rng(1)
    x = (rng.random((40, 5)) < 0.6).astype(float)
    for share in (0.0, 0.3):
        x[rng.random(x.shape) < share] = np.nan
        data = Responses.from_array(x)
        seen = pair_counts_seen(data.trials)
        found = log_odds_ratios(data.successes, data.trials, seen)
        for j, k in itertools.permutations(range(5), 2):
            one, two = x[:, j], x[:, k]
            n = [[np.sum((one == r) & (two == s)) + 0.5 for s in (0, 1)] for r in (0, 1)]
            assert found[j, k] == pytest.approx(np.log(n[1][1] * n[0][0] / (n[1][0] * n[0][1])), rel=1e-12)
            assert seen[j, k] == np.sum(np.isfinite(one) & np.isfinite(two))
        assert np.isnan(np.diag(found)).all()


def test_observed_statistics_are_those_of_the_data() -> None:
    responses = drawn(2, 120, 8)
    found = posterior_predictive(fitted(responses, "Rasch"), responses, replications=40)
    x = responses.successes.astype(float)
    mean = x.mean(axis=1)
    rest = item_rest_correlation(responses.successes, responses.trials)[0]
    np.testing.assert_allclose(found.proportion.observed, x.mean(axis=0))
    np.testing.assert_allclose(found.item_rest.observed, rest)
    expected = [mean.mean(), mean.var(), skew(mean), rest.mean(), rest.std()]
    np.testing.assert_allclose(found.overall.observed[:5], expected)
    assert found.pairs_frame().shape[0] == 28
    assert np.all(np.diff(np.abs(found.odds.z)) <= 0)


def test_scores_are_grouped_and_set_beside_the_mean_of_all() -> None:
    trials = np.full((3, 7), 10, dtype=np.uint8)
    assert score_groups(trials, 30).tolist() == list(range(0, 71, 3))
    assert score_groups(trials[:, :2], 30).tolist() == list(range(21))
    counts = np.array([[2.0, 0, 4], [4, 0, 2]])
    np.testing.assert_allclose(distances(counts), [2 / 3, 2 / 3])


@pytest.mark.parametrize(("model", "slopes"), [("Rasch", 0.0), ("2PL", 0.3)])
def test_a_true_model_gives_data_like_these(model: str, slopes: float) -> None:
    """Of 200 items: 5 % called out of the Rasch model, none of the 2PL."""
    found = [posterior_predictive(fitted(r, model), r, replications=100, seed=k)
             for k, r in enumerate(drawn(k, slopes=slopes) for k in range(10))]  # fmt: skip
    rest = np.concatenate([f.item_rest.ppp for f in found])
    odds = np.concatenate([f.odds.ppp for f in found])
    overall = np.array([f.overall.ppp for f in found])
    assert np.mean(np.abs(rest - 0.5) > 0.475) < 0.10  # 200 values: 5 % and three standard errors
    assert np.mean(np.abs(odds - 0.5) > 0.475) < 0.09  # pairs of one data set go together
    # Six statistics of ten data sets: one by chance in twenty, at most.
    assert np.sum(np.abs(overall - 0.5) > 0.475) <= 7
    assert np.abs(np.concatenate([f.proportion.ppp for f in found]) - 0.5).max() < 0.25  # they were fitted to


def test_unequal_slopes_and_guessing_are_found_under_the_rasch_model() -> None:
    for seed in (0, 2, 3):
        responses = drawn(seed, slopes=0.3, guessing=0.25)
        found = posterior_predictive(fitted(responses, "Rasch"), responses, replications=100, seed=seed)
        table = found.overall_frame()
        assert table.loc["SD of item-rest correlations", "status"] == "higher"
        assert len(found.signals()) >= 4
        assert set(found.signals()) == set(found.to_frame().query("status != 'as expected'").index)
        free = posterior_predictive(fitted(responses, "2PL"), responses, replications=100, seed=seed)
        assert len(free.signals()) <= 2


def test_a_copied_item_is_the_worst_pair() -> None:
    rng = np.random.default_rng(5)
    responses = drawn(5)
    x = responses.successes.astype(float)
    x[:, 7] = np.where(rng.random(500) < 0.4, x[:, 2], x[:, 7])
    copied = Responses.from_array(x)
    worst = posterior_predictive(fitted(copied, "2PL"), copied, replications=100).pairs_frame(1).iloc[0]
    assert (worst["first"], worst["second"], worst["status"]) == ("item-3", "item-8", "more associated")
    assert worst["ppp"] == 0
    assert 0 < worst["error"] < 0.02


def test_skewed_abilities_are_seen_in_the_scores() -> None:
    rng = np.random.default_rng(6)
    theta = rng.exponential(1.4, 800) - 1.4
    x = (rng.random((800, 30)) < probability(theta, np.ones(30), np.linspace(-1, 1, 30))).astype(float)
    responses = Responses.from_array(x)
    table = posterior_predictive(fitted(responses, "Rasch"), responses, replications=100).overall_frame()
    assert table.loc["skewness of scores", "status"] == "higher"
    assert table.loc["distribution of scores", "status"] == "higher"


def with_draws(found: FitResult, responses: Responses, n_draws: int, spread: float = 0.0) -> FitResult:
    """Give a fit draws around its estimates; items of the draws run backwards, to see that ids are followed."""
    rng = np.random.default_rng(0)
    items, abilities = found.item_parameters, found.abilities
    assert items is not None
    assert abilities is not None
    back = slice(None, None, -1)
    size = (2, n_draws // 2)
    values = {
        "ability": abilities.estimate + rng.normal(size=(*size, responses.n_persons)) * abilities.standard_error,
        "intercept": items.intercept[back] + spread * rng.normal(size=(*size, responses.n_items)),
        "discrimination": np.broadcast_to(items.discrimination[back], (*size, responses.n_items)),
    }
    draws = Draws(values=values, person_ids=responses.person_ids, item_ids=responses.item_ids[back],
                  sample_stats={}, max_treedepth=10)  # fmt: skip
    return replace(found, draws=draws)


def test_draws_are_used_where_a_fit_has_them() -> None:
    responses = drawn(7, 300, 12, slopes=0.3)
    found = with_draws(fitted(responses, "2PL"), responses, 200)
    check = posterior_predictive(found, responses, replications=200)
    assert check.kind == "posterior predictive check"
    plug_in = posterior_predictive(replace(found, draws=None), responses, replications=200)
    assert plug_in.kind == "plug-in predictive check"
    np.testing.assert_allclose(check.proportion.expected, plug_in.proportion.expected, atol=0.02)
    # The scores are those of the draws' own replications, made by other code.
    assert found.draws is not None
    assert found.model is not None
    part = responses.select(items=np.arange(12)[::-1])
    scores = with_replicated_scores(found.draws, part, found.model, 1).replicated_scores
    assert scores is not None
    variance = (scores / 12).reshape(200, -1).var(axis=1)
    near = 4 * np.hypot(variance.std(), check.overall.sd[1]) / np.sqrt(200)
    assert abs(check.overall.expected[1] - variance.mean()) < near
    wide = posterior_predictive(with_draws(found, responses, 200, spread=0.4), responses, replications=200)
    assert (wide.proportion.sd > 1.5 * check.proportion.sd).all()
    assert "60 draws" in " ".join(posterior_predictive(with_draws(found, responses, 60), responses).notes)


@needs("stanli")
@pytest.mark.filterwarnings("ignore::psychoeval.errors.ConvergenceWarning")
def test_a_sampled_fit_is_checked_by_its_draws() -> None:
    responses = drawn(8, 60, 6)
    found = fit(responses, "stan-hmc", "Rasch", chains=2, warmup=150, samples=60, replicated_scores=True)
    check = posterior_predictive(found, responses, replications=120)
    assert (check.kind, check.replications) == ("posterior predictive check", 120)
    assert found.draws is not None
    assert found.draws.replicated_scores is not None
    variance = (found.draws.replicated_scores / 6).reshape(120, -1).var(axis=1)
    assert abs(check.overall.expected[1] - variance.mean()) < 4 * variance.std() * np.sqrt(2 / 120)


def test_the_same_seed_gives_the_same() -> None:
    data = load_dataset("lsat7")
    found = fitted(data, "2PL")
    first, again, other = (posterior_predictive(found, data, replications=40, seed=k) for k in (1, 1, 2))
    np.testing.assert_array_equal(first.item_rest.expected, again.item_rest.expected)
    assert (first.item_rest.expected != other.item_rest.expected).all()


@pytest.mark.filterwarnings("ignore::psychoeval.errors.ConvergenceWarning")
def test_every_item_has_a_status_and_nan_a_reason() -> None:
    rng = np.random.default_rng(9)
    x = drawn(9, 80, 7).successes.astype(float)
    x[:, 2], x[:, 4] = 1, np.nan
    x[rng.random(x.shape) < 0.2] = np.nan
    responses = Responses.from_array(x)
    found = posterior_predictive(fitted(responses, "Rasch"), responses, replications=40)
    assert found.status[2] == "without parameters: all responses to it are right"
    assert found.status[4] == "without parameters: it has no responses"
    judged = np.array([not s.startswith("without") for s in found.status])
    for check in (found.proportion, found.item_rest):
        np.testing.assert_array_equal(np.isfinite(check.ppp), judged)
    assert len(found.first) == 10
    counts = Responses.from_array(rng.binomial(3, 0.5, (60, 4)), np.full((60, 4), 3))
    several = posterior_predictive(fit(counts, "mml", "Rasch"), counts, replications=40)
    assert several.pair_reason.startswith("Cells of several trials")
    assert several.pairs_frame().empty
    assert "as expected" in several.status


def test_what_cannot_be_checked_is_refused() -> None:
    responses = drawn(10, 60, 5)
    found = fitted(responses, "Rasch")
    with pytest.raises(SettingsError, match="replications=20 are few"):
        posterior_predictive(found, responses, replications=20)
    wrong: dict[str, Any] = {"seed": -1, "replications": "x"}
    for name, value in wrong.items():
        with pytest.raises(SettingsError, match=f"{name} is"):
            posterior_predictive(found, responses, **{name: value})
    with pytest.raises(DataError, match="fit is a"):
        posterior_predictive(responses, found)  # type: ignore[arg-type]
    with pytest.raises(NotComparableError, match="neither draws nor a distribution"):
        posterior_predictive(fit(responses, "cml", "Rasch"), responses)
    sampled = with_draws(found, responses, 60)
    with pytest.raises(NotComparableError, match="other persons or items"):
        posterior_predictive(sampled, responses.select(persons=np.arange(50)))


def test_time_and_memory_do_not_grow_with_the_draws() -> None:
    """1000 x 1000 takes .12 s a replication and 142 MiB whatever their number."""
    rng = np.random.default_rng(11)
    n = j = 300
    x = (rng.random((n, j)) < probability(rng.normal(size=n), np.ones(j), rng.normal(size=j))).astype(float)
    responses = Responses.from_array(x)
    items = ItemParameters.from_slope_intercept(responses.item_ids, 1.0, np.zeros(j))
    found = import_fit(items, model="1PL", latent_distribution=LatentDistribution())
    peaks = []
    for replications in (40, 80):
        tracemalloc.start()
        start = time.perf_counter()
        posterior_predictive(found, responses, replications=replications)
        seconds = time.perf_counter() - start
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[1] < 40 * 8 * n * j
    assert seconds < 20

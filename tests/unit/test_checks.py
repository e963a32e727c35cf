import dataclasses

import numpy as np
import pytest

from psychoeval.irt.curves import probability
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.quadrature import marginal_posterior, normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.results.checks import judge_marginal_fit
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.results.judgement import Judgement
from tests.golden import MODEL_KEYS, data, mirt_items, reference

CLEAN = Judgement()


def _judge(responses, items, sd=1.0, *, points=61, **changes):
    """Judge a fit whose reported log-likelihood is the right one unless `changes` say otherwise."""
    grid = normal_grid(points, sd=sd)
    keep = items.estimated
    parameters = (items.discrimination[keep], items.intercept[keep], items.guessing[keep])
    posterior = marginal_posterior(responses.successes[:, keep], responses.trials[:, keep], *parameters, grid)
    given = {
        "reported_log_likelihood": float(posterior.log_marginal.sum()),
        "log_likelihood_kind": "marginal",
        "grid": grid,
    }
    return judge_marginal_fit(responses, items, LatentDistribution(sd=sd), **{**given, **changes})


def _lsat7():
    return data("lsat7"), mirt_items(reference("mirt_lsat7")["two_pl"])


def _simulated(n, j, seed=0, sd=1.0, trials=1):
    """Responses from known items, whose abilities have mean 0 and SD `sd` exactly."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n)
    theta = sd * (theta - theta.mean()) / theta.std()
    d = rng.normal(0, 1.5, j)
    successes = rng.binomial(trials, probability(theta, np.ones(j), d)).astype(np.uint8)
    responses = Responses.from_array(successes, np.full((n, j), trials))
    return responses, ItemParameters.from_slope_intercept(responses.item_ids, 1.0, d)


@pytest.mark.parametrize("name", ["lsat6", "lsat7", "simulated_missing"])
@pytest.mark.parametrize("model", MODEL_KEYS)
def test_mirts_right_answers_pass(name, model):
    fit = reference(f"mirt_{name}")[MODEL_KEYS[model]]
    found = _judge(data(name), mirt_items(fit), np.sqrt(fit["variance"]), reported_log_likelihood=fit["log_likelihood"])
    assert found.failures == ()
    assert found.warnings == ()
    assert found.details["log_likelihood_own_grid"] == pytest.approx(fit["log_likelihood"], rel=1e-12)
    assert found.details["log_likelihood_fine_grid"] == pytest.approx(fit["log_likelihood"], abs=1e-4)
    assert found.details["scale_fine_grid"] == pytest.approx(1.0, abs=1e-5)
    assert found.details["persons_off"] == 0


def test_a_log_likelihood_that_the_parameters_do_not_give_fails():
    responses, items = _lsat7()
    reported = reference("mirt_lsat7")["two_pl"]["log_likelihood"]
    assert not _judge(responses, items, reported_log_likelihood=reported + 1e-6).failures
    found = _judge(responses, items, reported_log_likelihood=reported + 1e-3)
    assert len(found.failures) == 1
    assert "-2658.8041" in found.failures[0]
    assert "-2658.8051" in found.failures[0]


def test_nothing_is_demanded_of_a_simulated_log_likelihood():
    responses, items = _lsat7()
    found = _judge(responses, items, reported_log_likelihood=-2600.0, log_likelihood_kind="simulated")
    assert found.failures == found.warnings == ()
    assert found.details["log_likelihood_reported"] == -2600.0
    assert found.details["log_likelihood_own_grid"] == pytest.approx(-2658.8051, abs=1e-4)


@pytest.mark.parametrize("kind", ["marginal", "simulated"])
def test_no_likelihood_at_all_fails_without_a_cause_that_is_not_there(kind):
    responses, items = _lsat7()
    found = _judge(responses, items, reported_log_likelihood=float("nan"), log_likelihood_kind=kind)
    assert len(found.failures) == 1
    assert "no likelihood" in found.failures[0]
    assert "underflow" not in found.failures[0]


def test_underflow_is_named_with_its_persons():
    responses, items = _simulated(150, 1400)
    found = _judge(responses, items, reported_log_likelihood=float("nan"))
    # What an engine without logarithms holds: the largest product of probabilities over its nodes.
    nodes = normal_grid().nodes
    p = probability(nodes, items.discrimination, items.intercept)
    products = np.array([np.prod(np.where(row, p, 1 - p), axis=1).max() for row in responses.successes])
    zero = int((products == 0).sum())
    assert zero > 0
    assert found.details["persons_underflown"] == pytest.approx(zero, abs=5)
    assert f"underflow: for {int(found.details['persons_underflown'])} of 150 persons" in found.failures[0]
    assert not any("more iterations (" in f for f in found.failures)


def test_runaway_items_are_named_and_counted():
    responses, items = _simulated(60, 30)
    a, d = items.discrimination.copy(), items.intercept.copy()
    a[3], d[4], a[5], a[6] = 12.0, -25.0, 9.9, -11.0
    found = _judge(responses, ItemParameters.from_slope_intercept(items.item_ids, a, d))
    assert found.failures[0].startswith("3 of 30 items ran away")
    for name in ("'item-4'", "'item-5'", "'item-7'", "Rasch", "priors"):
        assert name in found.failures[0]
    assert found.details["runaway_items"] == 3
    assert any(w.startswith("1 of 30 items have slopes above 4: 'item-6'") for w in found.warnings)
    assert not any("too small by" in text for text in found.failures + found.warnings)


def test_only_a_few_items_are_named():
    responses, items = _simulated(60, 30)
    found = _judge(responses, dataclasses.replace(items, discrimination=np.full(30, 11.0)))
    assert "and 27 more" in found.failures[0]
    assert found.failures[0].count("slope 11") == 3


def test_a_flat_item_has_no_difficulty_worth_the_name():
    responses, items = _simulated(60, 30)
    a = items.discrimination.copy()
    a[0], a[1] = 0.049, 0.051
    found = _judge(responses, dataclasses.replace(items, discrimination=a))
    flat = [w for w in found.warnings if "near 0" in w]
    assert len(flat) == 1
    assert flat[0].startswith("1 of 30 items have slopes near 0: 'item-1'")


@pytest.mark.parametrize(("slope", "failing"), [(1e-8, True), (-0.049, True), (0.051, False)])
def test_slopes_that_are_all_near_0_are_no_answer(slope, failing):
    responses, items = _simulated(60, 6)
    found = _judge(responses, dataclasses.replace(items, discrimination=np.full(6, slope)), penalised=True)
    assert any(f.startswith("All 6 slopes are near 0") and "reversed items" in f for f in found.failures) is failing
    assert not any("items have slopes near 0" in w for w in found.warnings)


def test_slopes_below_0_are_named():
    responses, items = _simulated(60, 30)
    a = items.discrimination.copy()
    a[0], a[1], a[2] = -0.3, -0.9, -0.04
    found = [w for w in _judge(responses, dataclasses.replace(items, discrimination=a)).warnings if "below 0" in w]
    assert len(found) == 1
    assert found[0].startswith("2 of 30 items have slopes below 0: 'item-2' (slope -0.9")
    assert "wrong key" in found[0]
    assert not any("below 0" in w for w in _judge(responses, items).warnings)


@pytest.mark.parametrize(
    ("guessing", "variance", "weak"),
    [
        ([0.2, 0.2, 0.2, 0.2, 0.2], 0.0, 0),
        ([0.2, 0.2, 0.2, 0.2, 0.2], 0.005, 0),
        ([0.2, 0.2, 0.0005, 0.2, 0.2], 0.005, 1),
        ([0.2, 0.2, 0.2, 0.2, 0.2], 0.02, 5),
        ([0.2, 0.2, 0.2, 0.2, 0.2], np.nan, 0),
    ],
)
def test_guessing_that_the_data_do_not_determine_is_named(guessing, variance, weak):
    responses, items = _lsat7()
    covariance = np.zeros((5, 3, 3))
    covariance[:, 2, 2] = variance
    given = dataclasses.replace(items, guessing=guessing, covariance=covariance)
    found = [w for w in _judge(responses, given).warnings if "guessing" in w]
    assert len(found) == bool(weak)
    if weak:
        assert f"guessing of {weak} of 5 items" in found[0]
    assert not any("guessing" in w for w in _judge(responses, given, penalised=True).warnings)


@pytest.mark.parametrize(("kept", "failing"), [((), 0), ((2,), 1), ((0, 1, 2, 3, 4), 5)])
def test_items_still_at_their_start_values_fail(kept, failing):
    responses, items = _lsat7()
    slopes, intercepts = np.full(5, 0.851), np.full(5, 0.5)
    slopes[list(kept)], intercepts[list(kept)] = items.discrimination[list(kept)], items.intercept[list(kept)]
    found = _judge(responses, items, start_slopes=slopes, start_intercepts=intercepts)
    assert len(found.failures) == bool(failing)
    if failing:
        assert found.failures[0].startswith(f"{failing} of 5 items still have")


def test_an_item_that_moved_in_one_parameter_has_moved():
    responses, items = _lsat7()
    found = _judge(responses, items, start_slopes=items.discrimination, start_intercepts=items.intercept + 1e-9)
    assert found.failures == ()


def test_slopes_that_are_too_small_are_found_and_blamed_on_stopping_early():
    responses, items = _simulated(500, 200)
    # With true items and standardised abilities the fit is near its maximum; shrink the scale by 5 %.
    shrunk = dataclasses.replace(items, discrimination=items.discrimination / 1.05)
    right, found = _judge(responses, items), _judge(responses, shrunk)
    assert right.details["scale_fine_grid"] == pytest.approx(1.0, abs=0.01)
    assert found.details["scale_fine_grid"] == pytest.approx(1.05, abs=0.01)
    failure = [f for f in found.failures if "spread" in f]
    assert len(failure) == 1
    assert "slopes are too small" in failure[0]
    assert "stopped before it reached the maximum" in failure[0]


@pytest.mark.parametrize(("points", "both"), [(241, False), (31, True)])
def test_where_the_grid_misreads_the_likelihood_both_causes_are_named(points, both):
    responses, items = _simulated(500, 200)
    shrunk = dataclasses.replace(items, discrimination=items.discrimination / 1.05)
    found = _judge(responses, shrunk, points=points)
    gap = abs(found.details["log_likelihood_own_grid"] - found.details["log_likelihood_fine_grid"])
    assert (gap > 0.1) == both
    (sentence,) = [f for f in found.failures if "times as widely" in f]
    assert ("The engine stopped before it reached the maximum" in sentence) != both
    assert ("Either the engine stopped before it reached the maximum" in sentence) == both
    assert ("a maximum that only its own grid of abilities has" in sentence) == both
    assert ("where they stay it is the grid" in sentence) == both
    assert ("quadrature_points=241" in sentence) == both


def test_a_wrong_latent_sd_is_the_rasch_models_wrong_scale():
    responses, items = _simulated(500, 200, sd=1.5)
    found = _judge(responses, items, sd=1.4)
    assert "the SD of the abilities is too small by" in " ".join(found.failures)


def test_a_fit_with_priors_is_not_judged_by_its_scale():
    responses, items = _simulated(500, 200)
    shrunk = dataclasses.replace(items, discrimination=items.discrimination / 1.05)
    found = _judge(responses, shrunk, penalised=True)
    assert not any("spread" in text for text in found.failures + found.warnings)
    assert found.details["scale_fine_grid"] == pytest.approx(1.05, abs=0.01)


@pytest.mark.parametrize(("penalised", "words"), [(True, "Only the priors"), (False, "priors='weak'")])
def test_the_remedy_for_a_steep_slope_is_not_what_was_done_already(penalised, words):
    responses, items = _simulated(500, 200)
    slopes = items.discrimination.copy()
    slopes[0] = 6.0
    found = _judge(responses, dataclasses.replace(items, discrimination=slopes), penalised=penalised)
    assert any("slopes above 4" in w and words in w for w in found.warnings)


def test_priors_that_set_the_unit_are_said_to():
    responses, items = _simulated(500, 200)
    halved = dataclasses.replace(items, discrimination=items.discrimination / 2)
    found = _judge(responses, halved, penalised=True)
    assert found.failures == ()
    (sentence,) = [w for w in found.warnings if "times as widely" in w]
    assert "Ranks are not affected" in sentence
    # Not 2: the latent distribution draws the posteriors back.
    assert 1.5 < found.details["scale_fine_grid"] < 2.0


def test_a_stochastic_fit_is_only_warned_about_its_scale():
    responses, items = _simulated(500, 200)
    shrunk = dataclasses.replace(items, discrimination=items.discrimination / 1.05)
    found = _judge(responses, shrunk, log_likelihood_kind="simulated")
    assert found.failures == ()
    assert any("spread" in w for w in found.warnings)


@pytest.mark.parametrize("sd", [0.01, 0.25, 0.4])
@pytest.mark.parametrize("kind", ["marginal", "simulated"])
def test_an_sd_of_abilities_that_is_not_at_a_maximum_fails(sd, kind):
    """Near 0 the spread of the posteriors is the SD's own, and only the likelihood tells."""
    responses, items = _simulated(60, 12)
    found = _judge(responses, items, sd, log_likelihood_kind=kind)
    (told,) = [f for f in found.failures if "not at a maximum" in f]
    assert f"The SD of the abilities, {sd:.2g}," in told
    assert "at an SD of 1" in told
    if sd == 0.01:
        assert found.details["scale_fine_grid"] == pytest.approx(1.0, abs=0.01)


def test_an_sd_that_the_data_do_not_refuse_passes():
    responses, items = _simulated(60, 12)
    for sd in (0.8, 1.0, 1.2):  # two standard errors of the SD are .27
        found = _judge(responses, items, sd, log_likelihood_kind="simulated")
        assert not [f for f in found.failures if "not at a maximum" in f]
    few = responses.select(persons=np.arange(4))
    found = _judge(few, items, 0.01, log_likelihood_kind="simulated")
    gain = found.details["log_likelihood_other_sd"] - found.details["log_likelihood_fine_grid"]
    assert bool([f for f in found.failures if "not at a maximum" in f]) == (gain > 1.92)


def test_a_grid_too_coarse_fails_by_its_consequence():
    responses, items = _simulated(100, 1000)
    found = _judge(responses, items)
    assert any("standard errors" in f for f in found.failures)
    assert any("logits apart" in w for w in found.warnings)
    assert not any("A finer computation gives the same answer" in w for w in found.warnings)
    assert found.details["grid_step"] > 2 * found.details["smallest_posterior_sd"]


def test_a_grid_fine_enough_for_the_same_data_passes():
    responses, items = _simulated(100, 1000)
    found = _judge(responses, items, points=481)
    assert not any("standard errors" in text or "log-likelihood" in text for text in found.failures + found.warnings)
    assert found.details["persons_off"] == 0
    assert found.details["log_likelihood_own_grid"] == pytest.approx(
        found.details["log_likelihood_fine_grid"], abs=1e-4
    )


def test_spacing_without_consequence_is_a_warning_that_says_so():
    responses, items = _simulated(200, 200)
    found = _judge(responses, items)
    assert found.details["smallest_posterior_sd"] < found.details["grid_step"]
    assert not any("standard errors" in f or "log-likelihood" in f for f in found.failures)
    assert any("A finer computation gives the same answer" in w for w in found.warnings)


def test_one_person_at_the_edge_is_a_warning_and_not_a_failure():
    # 35 systems x 390 items, latent SD 2.1 on a grid that ends at +-6: the weakest system solves almost nothing.
    rng = np.random.default_rng(2)
    theta = np.concatenate([[-5.6], rng.normal(0.2, 1.7, 34)])
    d = rng.normal(0, 2.0, 390)
    successes = (rng.random((35, 390)) < probability(theta, np.ones(390), d)).astype(np.uint8)
    responses = Responses.from_array(successes, person_label="system")
    items = ItemParameters.from_slope_intercept(responses.item_ids, 1.0, d)
    found = _judge(responses, items, sd=2.1, penalised=True)
    assert found.failures == ()
    assert any(w.startswith("1 of 35 systems lie at the edge") for w in found.warnings)
    assert any("For 1 of 35 systems" in w and "quadrature_limit" in w for w in found.warnings)
    assert found.details["smallest_sd_ratio"] < 0.9


def test_counts_are_judged_like_their_trials():
    responses, items = _simulated(40, 6, trials=3)
    order = np.repeat(np.arange(6), 3)
    singles = (np.tile(np.arange(3), 6) < responses.successes[:, order]).astype(np.uint8)
    expanded = Responses.from_array(singles)
    same = ItemParameters.from_slope_intercept(expanded.item_ids, 1.0, items.intercept[order])
    counts, binary = _judge(responses, items).details, _judge(expanded, same).details
    assert counts.keys() == binary.keys()
    for key in counts:
        assert counts[key] == pytest.approx(binary[key], rel=1e-9, abs=1e-12)


def test_items_without_estimates_and_persons_without_responses_take_no_part():
    responses, items = _lsat7()
    successes = np.zeros((1001, 6))
    successes[:1000, 1:], successes[1000] = responses.successes, np.nan
    wider = Responses.from_array(successes)

    def padded(values):
        return np.concatenate([[np.nan], values])

    more = ItemParameters(
        wider.item_ids, padded(items.discrimination), padded(items.intercept), padded(items.guessing),
        status=("constant_all_0", *items.status),
    )  # fmt: skip
    reported = reference("mirt_lsat7")["two_pl"]["log_likelihood"]
    expected = _judge(responses, items, reported_log_likelihood=reported)
    found = _judge(wider, more, reported_log_likelihood=reported)
    assert found.failures == found.warnings == ()
    for key, value in expected.details.items():
        assert found.details[key] == pytest.approx(value, rel=1e-9, abs=1e-15)


def test_an_item_that_lost_its_number_fails_and_is_named():
    responses, items = _lsat7()
    a = items.discrimination.copy()
    a[2] = np.nan
    found = _judge(responses, dataclasses.replace(items, discrimination=a))
    assert found.failures[0].startswith("The engine returned no number for 1 of 5 items: 'item-3'")


def test_no_estimate_at_all_fails():
    responses, items = _lsat7()
    found = judge_marginal_fit(
        responses,
        dataclasses.replace(items, discrimination=np.full(5, np.nan)),
        LatentDistribution(),
        reported_log_likelihood=-1.0,
        log_likelihood_kind="marginal",
        grid=normal_grid(),
    )
    assert len(found.failures) == 1


def test_judgements_add_up():
    both = Judgement(("f",), ("w",), {"x": 1.0}) + Judgement(("g",), (), {"y": 2.0})
    assert both == Judgement(("f", "g"), ("w",), {"x": 1.0, "y": 2.0})
    assert CLEAN + CLEAN == CLEAN

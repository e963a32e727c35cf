"""Expected scores: coverage of the truth, errors of the items, sets and weights."""

from __future__ import annotations

import doctest
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import psychoeval.scoring.expected
from psychoeval.errors import DataError, NotComparableError, PsychoevalWarning, SettingsError
from psychoeval.estimators.native.mml import MML
from psychoeval.estimators.native.simple_average import SimpleAverage
from psychoeval.fitting import fit
from psychoeval.irt.curves import probability
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import Provenance
from psychoeval.scoring import ExpectedScores, ScoringMethod, expected_scores, score
from tests.unit.synthetic_draws import made_up

NAN = float("nan")
FloatArray = NDArray[np.float64]
IDS = ["q1", "q2", "q3", "q4"]
ITEMS = ItemParameters.from_difficulty(IDS, [1.0, 1.5, 0.8, 1.2], [-1.0, 0.0, 0.5, 1.0])


def test_examples() -> None:
    found = doctest.testmod(psychoeval.scoring.expected)
    assert found.attempted > 0
    assert not found.failed


def simulated(n: int, j: int, seed: int) -> tuple[ItemParameters, FloatArray, FloatArray, FloatArray]:
    """Items, abilities, all responses, and the persons' true expected scores."""
    rng = np.random.default_rng(seed)
    a, b, theta = rng.lognormal(0, 0.3, j), rng.normal(0, 1.3, j), rng.normal(size=n)
    items = ItemParameters.from_difficulty([f"q{k}" for k in range(j)], a, b)
    p = probability(theta, a, -a * b)
    return items, theta, (rng.random(p.shape) < p).astype(float), p.mean(axis=1)


def choosing(items: ItemParameters, x: FloatArray, theta: FloatArray, seed: int) -> FloatArray:
    """Drop two thirds of the cells: the weak leave out hard items, the strong easy ones."""
    rng = np.random.default_rng(seed)
    liking = -1.5 * np.sign(theta)[:, None] * -items.difficulty[None, :] + rng.gumbel(size=x.shape)
    rank = liking.argsort(axis=1).argsort(axis=1)
    return np.where(rank >= 2 * x.shape[1] // 3, x, NAN)


def covered(found: ExpectedScores, truth: FloatArray) -> float:
    return float(np.mean((found.low <= truth) & (truth <= found.high)))


@pytest.mark.parametrize("method", ["EAP", "MAP", "WLE"])
def test_intervals_cover_the_true_expected_score_where_averages_mislead(method: ScoringMethod) -> None:
    items, theta, x, truth = simulated(4000, 60, seed=1)
    chosen = Responses.from_array(choosing(items, x, theta, seed=2), item_ids=items.item_ids)
    whole = Responses.from_array(x, item_ids=items.item_ids)
    complete = expected_scores(items, score(whole, items, method=method), responses=whole)
    found = expected_scores(items, score(chosen, items, method=method), responses=chosen)
    # Monte Carlo error .0035; 93 to 97 % is the project's target. Wald's interval around Warm's estimate is wide where
    # the items taken say little: .972 on 20 items at one end.
    assert 0.93 < covered(complete, truth) < 0.97
    assert 0.93 < covered(found, truth) < (0.98 if method == "WLE" else 0.97)
    assert complete.uncertainty == found.uncertainty == "items fixed"
    assert found.taken is not None
    assert set(found.taken.n_items) == {20}
    # Averages of the items chosen are .21 off, and nearly lose the order of the persons.
    assert np.sqrt(np.mean((found.taken.observed - truth) ** 2)) > 2.4 * np.sqrt(np.mean((found.estimate - truth) ** 2))
    assert np.corrcoef(found.taken.observed, truth)[0, 1] < 0.3
    assert np.corrcoef(found.estimate, truth)[0, 1] > 0.88
    said = np.array(found.differs)
    # Who took easy items is said to have, nearly never the other way round; on complete data nobody.
    strong, half = theta > 0, 0.25 if method == "WLE" else 0.5
    assert np.mean(said[strong] == "harder items") > half
    assert np.mean(said[~strong] == "easier items") > half
    assert np.mean(said[strong] == "easier items") < 0.01
    assert set(complete.differs) <= {"", "responses"}
    assert np.mean(np.array(complete.differs) == "responses") < 0.01


def test_a_system_that_fails_where_it_should_not_is_seen_on_complete_data() -> None:
    """Its average is half, but it solved the items that say little and failed on those that say much."""
    a = np.repeat([0.3, 3.0], 100)
    items = ItemParameters.from_difficulty([f"q{k}" for k in range(200)], a, np.tile([-1.0, 1.0], 100))
    odd, usual = np.where(a < 1, 1.0, 0.0), np.tile([1.0, 0.0], 100)
    responses = Responses.from_array(np.stack([odd, usual]), item_ids=items.item_ids)
    found = expected_scores(items, score(responses, items), responses=responses)
    assert found.differs == ("responses", "")


def test_observed_averages_and_expected_scores_of_the_rasch_model_are_equal_on_complete_data() -> None:
    _, _, x, _ = simulated(50, 40, seed=3)
    items = ItemParameters.from_difficulty([f"q{k}" for k in range(40)], 1.0, np.linspace(-2, 2, 40))
    responses = Responses.from_array(x, item_ids=items.item_ids)
    found = expected_scores(items, score(responses, items, method="ML"), responses=responses)
    assert found.taken is not None
    assert found.estimate == pytest.approx(found.taken.observed, abs=1e-9)
    assert found.estimate == pytest.approx(found.taken.expected, abs=1e-9)
    assert not any(found.differs)


def test_delta_method_and_interval_are_the_abilitys() -> None:
    responses = Responses.from_array(np.array([[1, 0, 1, NAN], [1, 1, 0, 0]]), item_ids=IDS)
    scored = score(responses, ITEMS)
    found = expected_scores(ITEMS, scored, level=0.8)
    step = 1e-5
    by_hand = [probability(t, ITEMS.discrimination, ITEMS.intercept).mean(axis=1) for t in (
        scored.estimate, scored.estimate - step, scored.estimate + step, *scored.interval(0.8))]  # fmt: skip
    assert found.estimate == pytest.approx(by_hand[0], abs=1e-14)
    assert scored.standard_error is not None
    slope = (by_hand[2] - by_hand[1]) / (2 * step)
    assert found.standard_error == pytest.approx(slope * scored.standard_error, rel=1e-8)
    assert found.low == pytest.approx(by_hand[3])
    assert found.high == pytest.approx(by_hand[4])


def test_slopes_of_both_signs_widen_the_limits_to_what_lies_between() -> None:
    items = ItemParameters.from_difficulty(["up", "down"], [2.0, -2.0], [-1.0, 1.0])
    wide = Abilities(("s",), np.array([0.0]), np.array([2.0]), method="EAP")
    found = expected_scores(items, wide)
    ends = probability([-2 * 1.96, 2 * 1.96], items.discrimination, items.intercept).mean(axis=1)
    assert found.high[0] == pytest.approx(found.estimate[0], abs=1e-6)
    assert found.high[0] > ends.max() + 0.3
    assert found.low[0] == pytest.approx(ends.min(), abs=1e-4)


def with_covariance(items: ItemParameters, blocks: FloatArray) -> ItemParameters:
    return replace(items, covariance=blocks)


@pytest.mark.parametrize("method", ["EAP", "MAP", "ML"])
def test_what_items_errors_add_is_the_derivative_of_scoring_again(method: ScoringMethod) -> None:
    """Each parameter alone has an error; the added variance is that of scoring on items that are moved."""
    rng = np.random.default_rng(5)
    j = 6
    ids = [f"q{k}" for k in range(j)]
    a, d, c = rng.lognormal(0, 0.3, j), rng.normal(size=j), np.full(j, 0.15)
    x = (rng.random((8, j)) < 0.6).astype(float)
    x[:, 4] = NAN  # known, part of the score, and taken by nobody
    x[0, :2], x[:, 5] = [1, 0], rng.integers(0, 2, 8)
    responses = Responses.from_array(x, item_ids=ids)

    def of(a: FloatArray, d: FloatArray, c: FloatArray) -> ExpectedScores:
        items = ItemParameters.from_slope_intercept(ids, a, d, c)
        return expected_scores(items, score(responses, items, method=method))

    fixed, step, error = of(a, d, c), 1e-5, 0.1
    for term in range(3):
        for item in (0, 4):
            blocks = np.zeros((j, 3, 3))
            blocks[item, term, term] = error**2
            moved = [[v.copy() for v in (a, d, c)] for _ in range(2)]
            moved[0][term][item] -= step
            moved[1][term][item] += step
            slope = (of(*moved[1]).estimate - of(*moved[0]).estimate) / (2 * step)
            items = with_covariance(ItemParameters.from_slope_intercept(ids, a, d, c), blocks)
            scored = score(responses, items, method=method)
            found = expected_scores(items, scored, responses=responses, item_uncertainty=True)
            finite = np.isfinite(scored.estimate)
            assert finite.sum() > 4
            added = found.standard_error[finite] ** 2 - fixed.standard_error[finite] ** 2
            assert added == pytest.approx((slope[finite] * error) ** 2, rel=2e-4, abs=1e-12)


def test_an_error_of_the_origin_moves_no_expected_score() -> None:
    items, _, x, _ = simulated(30, 12, seed=6)
    x[:, 4:] = NAN
    responses = Responses.from_array(x, item_ids=items.item_ids)
    b_moves = np.zeros((12, 3, 3))
    labels = tuple((i, "d") for i in items.item_ids)
    direction = -items.discrimination * 0.5  # all difficulties half a logit up
    joint = np.outer(direction, direction)
    b_moves[:, 1, 1] = direction**2
    shaken = replace(items, covariance=b_moves, joint_covariance=joint, joint_labels=labels)
    scored = score(responses, shaken, method="WLE")
    found = expected_scores(shaken, scored, responses=responses, item_uncertainty=True)
    alone = expected_scores(with_covariance(items, b_moves), scored, responses=responses, item_uncertainty=True)
    fixed = expected_scores(items, scored)
    assert found.standard_error == pytest.approx(fixed.standard_error, rel=0.01)
    assert (alone.standard_error > 1.01 * fixed.standard_error).all()
    # The ability itself is half a logit uncertain then.
    carried = score(responses, shaken, method="WLE", item_uncertainty=True).standard_error
    assert carried is not None
    assert scored.standard_error is not None
    assert np.sqrt(carried**2 - scored.standard_error**2) == pytest.approx(np.full(30, 0.5), abs=0.05)


def test_items_errors_matter_where_abilities_are_measured_better_than_items() -> None:
    """100 trials on each of 20 items of 40 whose difficulties are known to .3; the truth is over all 40."""
    rng = np.random.default_rng(8)
    ids, n, k = [f"q{j}" for j in range(40)], 40, 100
    fixed, carried = [], []
    for _ in range(80):
        b, theta = rng.normal(0, 1.2, 40), rng.normal(size=n)
        p = probability(theta, np.ones(40), -b)
        trials = np.where(rng.random((n, 40)).argsort(axis=1) < 20, k, 0)
        took = Responses.from_array(rng.binomial(trials, p).astype(float), trials=trials, item_ids=ids)
        moved = b + rng.normal(0, 0.3, 40)
        known = ItemParameters.from_difficulty(ids, 1.0, moved, standard_errors={"difficulty": 0.3})
        scored = score(took, known)
        fixed.append(covered(expected_scores(known, scored), p.mean(axis=1)))
        found = expected_scores(known, scored, responses=took, item_uncertainty=True)
        carried.append(covered(found, p.mean(axis=1)))
    assert found.uncertainty == "items estimated"
    # Persons share items: Monte Carlo errors between the 80 sets of items, .006 and .01.
    assert np.mean(fixed) < 0.9
    assert 0.93 < np.mean(carried) < 0.97


def test_on_a_fit_the_items_errors_of_few_persons_are_carried() -> None:
    _, _, x, truth = simulated(60, 30, seed=9)
    responses = Responses.from_array(x, item_ids=[f"q{k}" for k in range(30)])
    fit = MML(item_uncertainty=False).fit(responses, ItemModel("Rasch"))
    fixed = expected_scores(fit, responses=responses)
    found = expected_scores(fit, responses=responses, item_uncertainty=True)
    assert found.estimate == pytest.approx(fixed.estimate, abs=1e-6)
    # On complete data the score is nearly the average itself, whatever the items are.
    assert (found.standard_error >= fixed.standard_error).all()
    assert found.standard_error == pytest.approx(fixed.standard_error, rel=0.02)
    assert 0.88 < covered(found, truth) <= 1
    assert ((found.low > 0) & (found.high < 1)).all()


def fit_with_draws() -> FitResult:
    draws = made_up(persons=6, items=5, chains=2, draws=50)
    a, d, c = (draws.pooled(t).mean(axis=0) for t in ("discrimination", "intercept", "guessing"))
    ids = (*draws.item_ids, "always", "never run")
    items = ItemParameters(
        ids, np.append(a, [NAN, NAN]), np.append(d, [NAN, NAN]), np.append(c, [NAN, NAN]), None,
        ("estimated",) * 5 + ("constant_all_1", "no_responses"),
    )  # fmt: skip
    theta = draws.pooled("ability")
    people = Abilities(
        ("nobody", *draws.person_ids[::-1]), np.append(NAN, theta.mean(axis=0)[::-1]),
        np.append(NAN, theta.std(axis=0)[::-1]), "EAP", uncertainty="items estimated",
    )  # fmt: skip
    return FitResult("stan-hmc", ItemModel("2PL"), Convergence("sampled"), Provenance(engine="stan"), abilities=people,
                     item_parameters=items, draws=draws)  # fmt: skip


def test_scores_of_draws_are_those_of_each_draw() -> None:
    fit = fit_with_draws()
    with pytest.warns(PsychoevalWarning, match=r"1 of 7 items have no parameters .*: 'never run'"):
        found = expected_scores(fit, level=0.9)
    draws = fit.draws
    assert draws is not None
    theta = draws.pooled("ability")
    a, d, c = (draws.pooled(t) for t in ("discrimination", "intercept", "guessing"))
    each = np.array([(probability(theta[k], a[k], d[k], c[k]).sum(axis=1) + 1) / 6 for k in range(len(theta))])
    assert found.person_ids[0] == "nobody"
    assert np.isnan(found.estimate[0])
    assert found.estimate[1:] == pytest.approx(each.mean(axis=0)[::-1], abs=1e-14)
    assert found.standard_error[1:] == pytest.approx(each.std(axis=0, ddof=1)[::-1], abs=1e-14)
    assert found.low[1:] == pytest.approx(np.quantile(each, 0.05, axis=0)[::-1])
    assert found.high[1:] == pytest.approx(np.quantile(each, 0.95, axis=0)[::-1])
    assert found.uncertainty == "items estimated"
    assert found.items == "6 items"


def test_what_was_not_sampled_is_fixed() -> None:
    """Draws of a Rasch model have no slopes, and none of guessing."""
    fit = fit_with_draws()
    assert fit.draws is not None
    assert fit.item_parameters is not None
    values = {name: v for name, v in fit.draws.values.items() if name in ("ability", "intercept")}
    one = replace(fit.item_parameters, discrimination=np.ones(7), guessing=np.zeros(7))
    items = ["i0", "i1", "always"]
    found = expected_scores(replace(fit, draws=replace(fit.draws, values=values), item_parameters=one), items=items)
    theta, d = values["ability"].reshape(100, 6), values["intercept"].reshape(100, 5)
    each = np.array([(probability(t, np.ones(2), k[:2]).sum(axis=1) + 1) / 3 for t, k in zip(theta, d, strict=True)])
    assert found.estimate[1:] == pytest.approx(each.mean(axis=0)[::-1], abs=1e-14)


@pytest.mark.parametrize("name", ["mml", "map", "vi", "random-item", "cml"])
def test_every_estimator_of_items_has_expected_scores(name: str) -> None:
    _, _, x, truth = simulated(120, 40, seed=12)
    x[:, :20][::2] = NAN
    responses = Responses.from_array(x, item_ids=[f"q{k}" for k in range(40)])
    result = fit(responses, name, model="1PL" if name == "vi" else "Rasch")
    found = expected_scores(result, responses=responses)
    assert np.corrcoef(found.estimate, truth)[0, 1] > 0.9
    assert np.abs(found.estimate - truth).mean() < 0.08
    inside = (found.low <= found.estimate) & (found.estimate <= found.high)
    assert inside[np.isfinite(found.low)].all()
    assert result.abilities is not None
    carried = result.abilities.uncertainty == "items estimated"
    assert found.uncertainty == ("items estimated" if carried else "items fixed")


def test_macro_averages_and_weights() -> None:
    took = Responses.from_array(np.array([[1, 0, 1, NAN], [NAN, NAN, 0, 1]]), item_ids=IDS)
    scored = score(took, ITEMS)
    p = probability(scored.estimate, ITEMS.discrimination, ITEMS.intercept)
    of = {"q1": "A", "q2": "A", "q3": "A", "q4": "B"}
    macro = expected_scores(ITEMS, scored, responses=took, benchmarks=of)
    assert macro.estimate == pytest.approx((p[:, :3].mean(axis=1) + p[:, 3]) / 2)
    assert macro.taken is not None
    assert macro.taken.observed == pytest.approx([2 / 3, 0.5])  # of the benchmarks that were seen
    assert macro.items == "2 benchmarks, each counting the same (4 items)"
    weighted = expected_scores(ITEMS, scored, responses=took, benchmarks=of, weights={"A": 3, "B": 1})
    assert weighted.estimate == pytest.approx((3 * p[:, :3].mean(axis=1) + p[:, 3]) / 4)
    assert weighted.taken is not None
    assert weighted.taken.observed == pytest.approx([2 / 3, 1 / 4])
    by_item = expected_scores(ITEMS, scored, responses=took, items=["q4", "q1"], weights={"q1": 1, "q4": 3})
    assert by_item.estimate == pytest.approx((p[:, 0] + 3 * p[:, 3]) / 4)
    assert by_item.taken is not None
    assert by_item.taken.observed == pytest.approx([1, 1])
    assert by_item.item_ids == ("q4", "q1")
    table = macro.to_frame()
    assert ",".join(map(str, table)) == (
        "person,expected_score,std_error,conf_low,conf_high,observed,expected_on_taken,n_items,differs,status,uncertainty"
    )
    assert table["n_items"].tolist() == [3, 2]
    assert "differs" not in expected_scores(ITEMS, scored).to_frame()


def test_persons_without_responses_and_infinite_abilities_are_in_place() -> None:
    took = Responses.from_array(np.array([[NAN] * 4, [1, 1, 1, 1], [0, 1, 0, 0]]), item_ids=IDS)
    found = expected_scores(ITEMS, score(took, ITEMS, method="ML"), responses=took)
    assert np.isnan(found.estimate).tolist() == [True, False, False]
    assert found.estimate[1] == 1.0
    assert np.isnan(found.standard_error).tolist() == [True, True, False]
    assert np.isnan(found.low).tolist() == [True, True, False]
    assert found.status == ("no_responses", "ml_infinite", "estimated")
    assert found.notes
    assert found.differs[:2] == ("", "")


def test_abilities_with_items_errors_are_labeled() -> None:
    scored = replace(score(Responses.from_array([[1, 0, 1, 0]], item_ids=IDS), ITEMS), uncertainty="items estimated")
    found = expected_scores(ITEMS, scored)
    assert found.uncertainty == "items estimated"
    assert "errors of the curves are left out" in found.notes[0]


def test_what_cannot_be_an_expected_score_is_refused_by_name() -> None:
    took = Responses.from_array([[1, 0, 1, 0], [1, 1, 0, 0]], item_ids=IDS)
    scored = score(took, ITEMS)
    average = SimpleAverage().fit(took)
    with pytest.raises(NotComparableError, match="simple-average has no item parameters in logits"):
        expected_scores(average)
    with pytest.raises(NotComparableError, match="proportions already"):
        expected_scores(ITEMS, average.abilities)
    with pytest.raises(NotComparableError, match="came without abilities"):
        expected_scores(ITEMS)
    with pytest.raises(DataError, match=r"1 of 2 items have no known parameters: 'x'"):
        expected_scores(ITEMS, scored, items=["q1", "x"])
    with pytest.raises(SettingsError, match="names an item twice"):
        expected_scores(ITEMS, scored, items=["q1", "q1"])
    with pytest.raises(SettingsError, match="benchmarks does not say of which 'q3', 'q4' are"):
        expected_scores(ITEMS, scored, benchmarks={"q1": "A", "q2": "A"})
    with pytest.raises(SettingsError, match="weights and items do not match: 'q2', 'q3', 'q4'"):
        expected_scores(ITEMS, scored, weights={"q1": 1.0})
    with pytest.raises(SettingsError, match="The weight of 'q1' is -1"):
        expected_scores(ITEMS, scored, weights=dict.fromkeys(IDS, -1))
    with pytest.raises(SettingsError, match="needs the responses"):
        expected_scores(ITEMS, scored, item_uncertainty=True)
    with pytest.raises(DataError, match="The items have no covariance"):
        expected_scores(ITEMS, scored, responses=took, item_uncertainty=True)
    other = with_covariance(ITEMS, np.tile(0.01 * np.eye(3), (4, 1, 1)))
    with pytest.raises(DataError, match="not those of these responses on these items"):
        expected_scores(other, replace(scored, estimate=scored.estimate + 1), responses=took, item_uncertainty=True)
    strange = Responses.from_array([[1, 0, 1, 0]], item_ids=IDS, person_ids=["someone"])
    with pytest.raises(DataError, match="persons of the responses are not those"):
        expected_scores(ITEMS, scored, responses=strange)
    with pytest.raises(SettingsError, match="level"):
        expected_scores(ITEMS, scored, level=95)

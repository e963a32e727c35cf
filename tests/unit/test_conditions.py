"""Conditions of belief: by hand, on bundled data, and what does not apply."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

import psychoeval as pe
from psychoeval import plots
from psychoeval.agreement.ranks import ranks
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.responses.screening.families import relatedness
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance
from psychoeval.trust import ability_figures, describe_conditions, thresholds
from psychoeval.trust.ability_figures import empirical_reliability, marginal_reliability, skewness, skewness_interval
from psychoeval.trust.item_coverage import item_coverage, latent_sd

NAN = float("nan")
THETA = np.array([0.0, 1.0, -1.0])
# Near theta 0 (window .4): seven; near 1: b = 1.1 and .7; near -1: none.
DIFFICULTY = np.array([-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.7, 1.1, 40.0])


def made(theta=THETA, *, difficulty=DIFFICULTY, error=0.5, method="EAP", sd=2.0, status="converged", persons=None):
    """Return a fit with given numbers."""
    persons = persons or tuple(f"s{i}" for i in range(len(theta)))
    items = ItemParameters.from_difficulty([f"i{j}" for j in range(len(difficulty))], 1.0, difficulty)
    errors = None if error is None else np.full(len(theta), error)
    return FitResult(
        "map",
        ItemModel("Rasch"),
        Convergence(status),
        Provenance(),
        abilities=Abilities(persons, np.asarray(theta), errors, method),
        item_parameters=items,
        latent_distribution=None if sd is None else LatentDistribution(sd=sd),
    )


def responses(cells=None, n=3, j=10) -> pe.Responses:
    """Return responses with the ids of `made`."""
    values = np.arange(n * j).reshape(n, j) % 2 if cells is None else np.asarray(cells, float)
    n, j = values.shape
    return pe.Responses.from_array(
        values, person_ids=[f"s{i}" for i in range(n)], item_ids=[f"i{k}" for k in range(j)], person_label="system"
    )


def rasch(n=30, j=200, seed=0, copies=1) -> np.ndarray:
    """Return simulated responses, each person `copies` times."""
    random = np.random.default_rng(seed)
    theta, b = random.normal(size=(n // copies, 1)), random.normal(size=j)
    return np.repeat((random.random((n // copies, j)) < 1 / (1 + np.exp(b - theta))).astype(float), copies, axis=0)


def test_items_near_a_system_are_counted_in_latent_sds() -> None:
    found = item_coverage(responses(), made())
    assert found.window == pytest.approx(0.4)
    assert found.near.tolist() == [7, 2, 0]
    assert found.insufficient.tolist() == [False, True, True]
    assert found.share == pytest.approx(2 / 3)
    # Half the latent SD: within .2 of 0 lie five, which is not more than five.
    narrow = item_coverage(responses(), made(sd=1.001))
    assert narrow.near.tolist() == [5, 1, 0]
    assert narrow.insufficient.all()


def test_items_that_a_system_was_not_given_are_not_near_it() -> None:
    cells = np.arange(30).reshape(3, 10) % 2.0
    cells[0, :3] = NAN
    assert item_coverage(responses(cells), made()).near.tolist() == [4, 2, 0]


def test_abilities_and_difficulties_without_a_value_are_no_zeros() -> None:
    found = item_coverage(responses(), made([NAN, np.inf, 0.0], difficulty=np.where(DIFFICULTY == 0, NAN, DIFFICULTY)))
    assert found.near.tolist() == [0, 0, 6]
    assert found.insufficient.tolist() == [False, True, False]
    assert found.share == 0.5


def test_coverage_goes_by_id_and_not_by_position() -> None:
    turned = made(THETA[::-1], persons=("s2", "s1", "s0"))
    assert item_coverage(responses(), turned).near.tolist() == [7, 2, 0]


@pytest.mark.parametrize(("method", "variance"), [("EAP", 2 / 3 + 0.25), ("ML", 2 / 3 - 0.25)])
def test_without_a_latent_distribution_the_sd_is_that_of_the_estimates_corrected(method: str, variance: float) -> None:
    fit = made(method=method, sd=None)
    assert fit.abilities is not None
    assert latent_sd(fit, fit.abilities)[0] == pytest.approx(np.sqrt(variance))


def test_without_any_spread_beyond_errors_no_item_is_called_near_or_far() -> None:
    found = describe_conditions(responses(), made(method="ML", sd=None, error=1.0))
    assert found["item_coverage"].met is None
    assert "vary no more than their errors" in found["item_coverage"].not_applicable
    assert found["empirical_reliability"].value == pytest.approx(0)


def test_reliabilities_are_two_numbers_by_hand() -> None:
    estimate, error = np.array([-1.0, 0.0, 2.0, 0.5]), np.array([0.5, 0.4, 0.6, 0.3])
    # mirt 1.48: empirical_rxx(cbind(F1 = estimate, SE_F1 = error)), and with T_as_X = TRUE.
    assert empirical_reliability(estimate, error, "EAP") == pytest.approx(0.8790436006, abs=1e-10)
    assert empirical_reliability(estimate, error, "WLE") == pytest.approx(0.8624, abs=1e-10)
    # Mean squared error .86 / 4 = .215; latent variance 2.
    assert marginal_reliability(error, "EAP", 2**0.5) == pytest.approx(1 - 0.215 / 2)
    assert marginal_reliability(error, "ML", 2**0.5) == pytest.approx(2 / 2.215)


def test_conditions_hold_both_reliabilities_and_name_their_definitions() -> None:
    # V = 1, E = .25, s = 2: empirical 1 / 1.25 = .8, met by a hair; marginal 1 - .25 / 4.
    found = describe_conditions(responses(), made())
    assert found["empirical_reliability"].value == pytest.approx(0.8)
    assert found["empirical_reliability"].met is True
    assert found["marginal_reliability"].value == pytest.approx(0.9375)
    assert "V / (V + E)" in found["empirical_reliability"].words
    assert "1 - E / s^2" in found["marginal_reliability"].words
    other = describe_conditions(responses(), made(method="ML", sd=1.0))
    assert other["empirical_reliability"].value == pytest.approx(0.75)
    assert other["empirical_reliability"].met is False
    assert "1 - E / V" in other["empirical_reliability"].words
    assert other["marginal_reliability"].value == pytest.approx(0.8)
    unknown = describe_conditions(responses(), made(error=None))
    assert unknown["empirical_reliability"].met is None
    assert "no standard errors" in unknown["empirical_reliability"].not_applicable
    imported = describe_conditions(responses(), made(method="imported", status="imported"))
    assert [imported[name].met for name in ("marginal_reliability", "skewness", "convergence")] == [None, None, None]


def test_skewness_by_hand_and_its_interval_by_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    assert float(skewness(np.array([0.0, 0.0, 1.0]))) == pytest.approx(0.5**0.5)
    assert np.isnan(skewness(np.full(3, 0.1)))
    values = np.random.default_rng(1).exponential(size=40)
    indices = np.random.default_rng(5).integers(40, size=(300, 40))
    expected = np.quantile([stats.skew(values[row]) for row in indices], [0.05, 0.95])
    assert skewness_interval(values, 0.9, 300, np.random.default_rng(5)) == pytest.approx(expected)
    monkeypatch.setattr(ability_figures, "_BLOCK_CELLS", 40 * 7)
    assert skewness_interval(values, 0.9, 300, np.random.default_rng(5)) == pytest.approx(expected)


def test_skewness_is_held_by_its_size_and_only_where_estimates_are_reliable() -> None:
    # Two clusters of 8 and 2: skewness +-1.5 = (1 - 2 q) / root of q (1 - q), q = .2.
    theta = np.array([0.0] * 8 + [4.0] * 2)
    for sign in (1, -1):
        found = describe_conditions(responses(n=10), made(sign * theta))["skewness"]
        assert found.value == pytest.approx(sign * 1.5)
        assert found.met is False
        assert found.low < found.value < found.high
    blurred = describe_conditions(responses(n=10), made(theta, error=2.0))["skewness"]
    assert blurred.met is None
    assert "reliability of 0.42" in blurred.not_applicable  # 2.56 * 10 / 9 / (2.56 * 10 / 9 + 4)
    assert describe_conditions(responses(), made())["skewness"].met is True
    assert describe_conditions(responses(), made([1.0, 1.0, 1.0]))["skewness"].met is None


@pytest.mark.parametrize(("n", "ranking", "items"), [(29, False, False), (30, True, False), (100, True, True)])
def test_numbers_of_systems_count_those_with_responses(n: int, ranking: bool, items: bool) -> None:
    cells = np.vstack([np.arange(n * 10).reshape(n, 10) % 2, np.full((1, 10), NAN)])
    found = describe_conditions(responses(cells), made(np.linspace(-1, 1, n + 1)))
    assert found["systems"].value == n
    assert (found["systems"].met, found["systems_for_items"].met) == (ranking, items)


def test_copies_of_systems_do_not_count_twice() -> None:
    fit = made(np.linspace(-1, 1, 30), difficulty=np.linspace(-2, 2, 200))
    alone = describe_conditions(responses(rasch()), fit)["effective_systems"]
    twice = describe_conditions(responses(rasch(copies=2)), fit)["effective_systems"]
    assert (alone.threshold, alone.met) == (22.5, True)
    assert twice.met is False
    assert twice.value == relatedness(responses(rasch(copies=2))).effective <= 15
    few = describe_conditions(responses(), made())["effective_systems"]
    assert few.met is None
    assert "30 items" in few.not_applicable


def test_components_and_missing_cells() -> None:
    apart = np.full((6, 10), NAN)
    apart[:3, :5] = apart[3:, 5:] = np.arange(15).reshape(3, 5) % 2
    found = describe_conditions(responses(apart), made(np.linspace(-1, 1, 6)))
    assert (found["connectivity"].value, found["connectivity"].met) == (2, False)
    assert (found["sparsity"].value, found["sparsity"].met) == (0.5, True)
    whole = describe_conditions(responses(), made())
    assert (whole["connectivity"].value, whole["sparsity"].value) == (1, 0)
    assert whole["difficulty_gap"].met is None
    assert "No cell is missing" in whole["missing_at_random"].not_applicable


@pytest.mark.parametrize("targeted", [True, False])
def test_strong_systems_on_hard_items_are_not_missing_at_random(targeted: bool) -> None:
    random = np.random.default_rng(3)
    theta, b = np.linspace(-2, 2, 40)[:, None], np.linspace(-2, 2, 60)
    cells = (random.random((40, 60)) < 1 / (1 + np.exp(b - theta))).astype(float)
    cells[np.abs(theta - b) > 1.2 if targeted else random.random((40, 60)) < 0.5] = NAN
    found = describe_conditions(responses(cells), made(theta[:, 0], difficulty=b))
    assert found["missing_at_random"].met is not targeted
    assert found["difficulty_gap"].met is not None


@pytest.mark.parametrize(("right", "share", "met"), [([5, 4, 3, 0], 0.5, False), ([5, 3, 3, 0], 0.25, True)])
def test_a_benchmark_is_saturated_where_half_of_its_items_are_easy(right: list[int], share: float, met: bool) -> None:
    cells = (np.arange(5)[:, None] < np.array(right)).astype(float)
    found = describe_conditions(responses(cells), made(np.linspace(-1, 1, 5), difficulty=np.arange(4.0)))["saturation"]
    assert (found.value, found.met) == (share, met)
    assert "1 never right and 1 always" in found.words


def test_what_did_not_converge_is_told() -> None:
    found = describe_conditions(responses(), made(status="iteration_limit"))
    assert found["convergence"].met is False
    assert found["convergence"].words == "Iteration limit."
    assert "convergence" in found.not_met


def test_proportions_have_no_items_near_them() -> None:
    data = pe.load_dataset("lsat7")
    found = describe_conditions(data, pe.fit(data, "simple-average"))
    assert found.item_coverage is None
    assert [found[name].met for name in ("item_coverage", "marginal_reliability")] == [None, None]
    assert "one scale" in found["item_coverage"].not_applicable
    assert found["empirical_reliability"].met is False


def test_lsat_has_persons_enough_and_items_too_few() -> None:
    data = pe.load_dataset("lsat7")
    fit = pe.fit(data, "mml", "Rasch")
    found = describe_conditions(data, fit)
    assert found.not_met == ("marginal_reliability", "empirical_reliability", "item_coverage")
    # What mml reports itself, from its own posterior.
    assert fit.statistics is not None
    for name in ("marginal_reliability", "empirical_reliability"):
        assert found[name].value == pytest.approx(fit.statistics[name], abs=1e-7)
    assert found["item_coverage"].value == 1  # of five items no more than five are near
    assert found["saturation"].value == 0.4  # .828, .658, .772, .606, .843 right
    assert {c.name for c in found.conditions if c.met is None} == {
        "effective_systems", "difficulty_gap", "missing_at_random", "skewness",
    }  # fmt: skip


def test_swebench_has_items_enough_and_few_skewed_systems() -> None:
    data = pe.load_dataset("swebench-verified")
    fit = pe.fit(data, "mml", "Rasch")
    found = describe_conditions(data, fit)
    assert found.not_met == ("systems_for_items", "skewness", "item_coverage")
    assert fit.abilities is not None
    assert fit.item_parameters is not None
    assert fit.latent_distribution is not None
    assert found["skewness"].value == pytest.approx(stats.skew(fit.abilities.estimate))
    assert found["skewness"].low < -0.5 < found["skewness"].high < 0
    distance = np.abs(fit.item_parameters.difficulty - fit.abilities.estimate[:, None]) / fit.latent_distribution.sd
    near = np.array([sum(d <= 0.2 for d in row) for row in distance])
    assert found["item_coverage"].value == np.mean(near <= 5) == 4 / 35
    assert "28 of 500 items with p >= 0.8; 110 never right" in found["saturation"].words
    again = describe_conditions(data, fit, seed=1)["skewness"]
    assert (again.low, again.value) != (found["skewness"].low, again.value)
    assert again.low == pytest.approx(found["skewness"].low, abs=0.2)


def test_the_table_says_value_threshold_whether_met_and_source() -> None:
    found = describe_conditions(responses(), made())
    frame = found.to_frame()
    assert list(frame.index) == [c.name for c in found.conditions]
    assert frame["met"].dtype == "boolean"
    assert tuple(frame.index[~frame["met"].fillna(True)]) == found.not_met
    assert frame["met"].isna()["difficulty_gap"]
    known = {v.reason for v in vars(thresholds).values() if hasattr(v, "reason")}
    assert set(frame["source"]) <= known
    assert (frame["not_applicable"] == "").equals(frame["met"].notna())
    with pytest.raises(KeyError):
        found["none"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.level = 0.5  # type: ignore[misc]


def test_fits_of_other_data_and_bad_settings_are_refused() -> None:
    data = pe.load_dataset("lsat7")
    fit = pe.fit(data.select(persons=np.arange(100)), "map", "Rasch")
    with pytest.raises(NotComparableError, match="other responses"):
        describe_conditions(data, fit)
    with pytest.raises(NotComparableError, match="other responses"):
        describe_conditions(responses(n=4), made())
    for wrong in ({"level": 1.0}, {"replications": 99}, {"seed": -1}):
        with pytest.raises(SettingsError):
            describe_conditions(responses(), made(), **wrong)  # type: ignore[arg-type]


def test_the_picture_counts_every_system_and_item_once() -> None:
    found = item_coverage(responses(), made([0.0, 1.0, np.inf], difficulty=np.append(DIFFICULTY[:-2], [NAN, 40.0])))
    figure = plots.item_coverage(found, noun="system")
    figure.canvas.draw()
    above, below = figure.axes
    assert sum(bar.get_height() for bar in above.patches) == 2
    assert sum(bar.get_height() for bar in below.patches) == 8
    assert [t.get_text() for t in above.get_legend().get_texts()] == ["more than 5 items near", "at most 5 items near"]
    caption = " ".join(figure._supxlabel.get_text().split())
    assert "2 of 3 systems have at most 5" in caption
    assert "1 system with an infinite ability, 1 item without a difficulty" in caption
    assert "1 item beyond the axis" in caption


def test_systems_that_differ_by_rounding_alone_are_tied_and_have_no_skewness() -> None:
    """Six systems with two of four items right each: EM's posterior means lie 1e-21 apart."""
    cells = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0]])
    data = pe.Responses.from_array(cells)
    fit = pe.fit(data, "mml", "Rasch")
    assert fit.abilities is not None
    assert np.ptp(fit.abilities.estimate) < 1e-12
    assert np.isnan(skewness(fit.abilities.estimate))
    assert ranks(fit.abilities.estimate).tolist() == [3.5] * 6
    assert describe_conditions(data, fit)["skewness"].met is None
    # Rounding of equal abilities, and not small ones that differ.
    assert ranks(np.array([0.0, 1e-16, 2e-16])).tolist() == [2.0] * 3
    assert ranks(np.array([0.0, 1e-9, 2e-9])).tolist() == [3.0, 2.0, 1.0]

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.estimators.native.simple_average import SimpleAverage
from psychoeval.irt.parameters import Abilities
from psychoeval.responses.matrix import Responses

NAN = float("nan")


def abilities(responses: Responses) -> Abilities:
    found = SimpleAverage().fit(responses).abilities
    assert found is not None
    assert found.standard_error is not None
    return found


def test_trials_of_an_item_are_one_observation() -> None:
    # Three systems x five items x ten epochs; errors over all 50 rows would be .069, .071, .063.
    successes = np.array([[10, 9, 6, 4, 2], [8, 8, 5, 3, 2], [5, 3, 3, 1, 1]])
    found = abilities(Responses.from_array(successes, trials=10))
    assert found.estimate == pytest.approx([0.62, 0.52, 0.26])
    assert found.standard_error == pytest.approx(
        [0.14966629547095764, 0.12409673645990858, 0.07483314773547882], rel=1e-12
    )
    assert found.uncertainty == "items sampled"
    assert found.scale == "proportion"


def test_mean_is_over_items_not_over_trials() -> None:
    found = abilities(Responses.from_array([[9, 0]], trials=[[9, 1]]))
    assert found.estimate[0] == pytest.approx(0.5)


def test_interval_follows_the_level() -> None:
    fit = SimpleAverage().fit(Responses.from_array([[1] * 7 + [0] * 13]))
    table = fit.ability_table(level=0.9)
    # R 4.2.2: prop.test(7, 20, correct = FALSE, conf.level = .9).
    assert table["conf_low"][0] == pytest.approx(0.202260040057, abs=1e-9)
    assert table["conf_high"][0] == pytest.approx(0.533487311152, abs=1e-9)
    wider = fit.ability_table(level=0.99)
    assert wider["conf_low"][0] < table["conf_low"][0]


def test_persons_without_responses_stay_in_place() -> None:
    found = abilities(Responses.from_array([[1, 0], [NAN, NAN], [1, 1]]))
    assert found.status == ("estimated", "no_responses", "extreme_all_1")
    assert np.isnan(found.estimate[1])
    assert np.isnan(found.standard_error[1])  # type: ignore[index]
    low, high = found.interval()
    assert np.isnan([low[1], high[1]]).all()


def test_same_items_for_all_give_no_warning() -> None:
    fit = SimpleAverage().fit(Responses.from_array([[1, 0, NAN], [0, 1, NAN], [NAN, NAN, NAN]]))
    assert fit.convergence.warnings == ()
    assert fit.convergence.believed


def test_warning_names_who_saw_easy_and_who_saw_hard_items() -> None:
    table = [[1, 1, NAN, NAN], [1, 1, 0, 0], [NAN, NAN, 0, 0], [NAN, NAN, NAN, NAN]]
    data = Responses.from_array(table, person_ids=["easy", "all", "hard", "nobody"], person_label="system")
    fit = SimpleAverage().fit(data)
    (warning,) = fit.convergence.warnings
    assert "The systems did not see the same items (50.0% of the cells, 2 to 4 of 4 items a system)" in warning
    assert "'hard' saw have a mean proportion correct of 0.000, those of 'easy' 1.000" in warning
    assert fit.statistics is not None
    assert fit.statistics["easiness_seen_max"] == 1.0


def test_intervals_cover_the_mean_over_all_items_like_these() -> None:
    # 60 items drawn from a distribution with mean 1/2, three trials each; 95 % to within the Monte Carlo error of 1,500
    # (.006).
    rng = np.random.default_rng(7)
    p = rng.beta(1, 1, (1500, 60))
    found = abilities(Responses.from_array(rng.binomial(3, p), trials=3))
    low, high = found.interval()
    assert np.mean((low <= 0.5) & (high >= 0.5)) == pytest.approx(0.95, abs=0.018)

"""DIF by likelihood ratio: what is found, anchors and free items, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval import Responses
from psychoeval.agreement.concurrent import calibrate_together
from psychoeval.diagnostics import dif
from psychoeval.errors import DataError, ModelError, SettingsError
from psychoeval.fitting.one import item_model
from psychoeval.irt.models import ItemModel
from tests.unit.test_dif import assert_reasons, simulated


@pytest.mark.parametrize("model", ["Rasch", "2PL"])
def test_an_item_that_is_harder_for_a_group_is_found_and_measured(model: str) -> None:
    responses, groups = simulated(1, 400, 12, dif_items=1, impact=0.7)
    found = dif(responses, groups, "likelihood-ratio", reference="old", model=model)
    row = found.to_frame().iloc[0]
    assert found.flagged_ids == ("item-1",)
    assert 0 < row.signed_low < 1 < row.signed_high
    assert row.df == {"Rasch": 1, "2PL": 2}[model]
    assert (row.status, row.area_status) == ("tested", "tested")
    assert_reasons(found)


def test_a_group_that_is_better_on_the_whole_is_no_dif() -> None:
    p = np.array([
        dif(*simulated(seed, 120, 6, impact=1.0), "likelihood-ratio", model="Rasch", purify=False).to_frame().p
        for seed in range(10)
    ])  # fmt: skip
    assert (p < 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


def test_the_ratio_is_that_of_two_calibrations() -> None:
    responses, groups = simulated(3, 200, 6)
    table = dif(responses, groups, "likelihood-ratio", reference="old", model="2PL", purify=False).to_frame()
    x = responses.proportions
    new = np.array(groups) == "new"
    split = np.column_stack([np.where(new, np.nan, x[:, 2]), np.where(new, x[:, 2], np.nan), np.delete(x, 2, axis=1)])
    apart, equal = (calibrate_together(Responses.from_array(y), groups, "2PL", errors=False) for y in (split, x))
    expected = 2 * (apart.log_likelihood - equal.log_likelihood)
    assert table.statistic.iloc[2] == pytest.approx(expected, rel=0, abs=1e-6)


def test_items_that_are_no_anchors_are_free_throughout() -> None:
    responses, groups = simulated(4, 300, 10, dif_items=4, size=1.5)
    anchors = [f"item-{k}" for k in range(5, 9)]
    found = dif(responses, groups, "likelihood-ratio", anchors=anchors, purify=False, model="Rasch")
    table = found.to_frame()
    assert set(table.status[anchors]) == {"anchor, not tested"}
    assert found.flagged_ids == ("item-1", "item-2", "item-3", "item-4")
    mixed = dif(responses, groups, "likelihood-ratio", purify=False, model="Rasch").to_frame()
    assert abs(table.signed_area["item-9"]) < abs(mixed.signed_area["item-9"])


def test_counts_and_missing_cells_are_taken() -> None:
    responses, groups = simulated(5, 60, 8, dif_items=1, trials=4)
    trials = responses.trials.copy()
    trials[:10, 3] = 0
    some = Responses.from_array(np.minimum(responses.successes, trials), trials)
    found = dif(some, groups, "likelihood-ratio")
    assert "difficulty equal or free" in found.how
    assert found.flagged_ids == ("item-1",)
    assert_reasons(found)


def test_guessing_of_a_3pl_is_free_without_a_prior_or_a_number() -> None:
    responses, groups = simulated(1, 200, 6)
    free = dif(responses, groups, "likelihood-ratio", model="3PL", purify=False)
    assert "lower asymptote together equal or free in two groups, one calibration (3PL, c free)" in free.how
    assert set(free.to_frame().df.dropna()) == {3.0}
    fixed = dif(responses, groups, "likelihood-ratio", model="3PL", guessing=0.2, purify=False)
    assert "(3PL, c = 0.2)" in fixed.how
    assert set(fixed.to_frame().df) == {2.0}


def test_a_calibration_that_finds_no_maximum_says_why() -> None:
    responses, groups = simulated(0, 20, 10)
    with pytest.raises(DataError, match=r"cannot be tested are no anchors \(no maximum: abilities of old hardly vary"):
        dif(responses, groups, "likelihood-ratio")
    with pytest.raises(DataError, match=r"None of 6 items can be tested: no maximum: .* items ran away"):
        dif(*simulated(2, 8, 6), "likelihood-ratio", model="2PL", purify=False)


def test_what_cannot_be_done_is_refused() -> None:
    responses, groups = simulated(0, 50, 8)
    with pytest.raises(ModelError, match="likelihood ratios are of maxima"):
        dif(responses, groups, "likelihood-ratio", model=item_model("2PL", "weak", None))
    with pytest.raises(ModelError, match=r"has priors, .* \(of a 3PL guessing='free' or a number\)"):
        dif(responses, groups, "likelihood-ratio", model=ItemModel("3PL"))
    with pytest.raises(SettingsError, match="beside an ItemModel"):
        dif(responses, groups, "likelihood-ratio", model=ItemModel("3PL"), guessing=0.2)
    with pytest.raises(SettingsError, match=r"3 groups .* likelihood-ratio compares two"):
        dif(responses, groups[:70] + ["newest"] * 30, "likelihood-ratio")
    with pytest.raises(SettingsError, match="linking is a setting of wald"):
        dif(responses, groups, "likelihood-ratio", linking="haebara")

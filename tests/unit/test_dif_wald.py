"""DIF by Lord's chi-square: what is found, areas between curves, linking, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval import fit
from psychoeval.agreement.linking import link
from psychoeval.diagnostics import dif
from psychoeval.errors import DataError, SettingsError
from psychoeval.irt.curves import probability
from psychoeval.irt.dif_area import areas
from psychoeval.irt.linking import Constants
from tests.unit.test_dif import assert_reasons, simulated

KNOWN = Constants(1.0, 0.0, np.zeros((2, 2, 3, 3)))


@pytest.mark.parametrize("model", ["Rasch", "2PL"])
def test_an_item_that_is_harder_for_a_group_is_found_and_measured(model: str) -> None:
    responses, groups = simulated(1, 500, dif_items=1, impact=0.7)
    found = dif(responses, groups, "wald", reference="old", model=model)
    row = found.to_frame().iloc[0]
    assert found.flagged_ids == ("item-1",)
    assert row.signed_low < 1 < row.signed_high
    assert row.signed_low > 0
    assert row.df == {"Rasch": 1, "2PL": 2}[model]
    assert_reasons(found)


def test_a_group_that_is_better_on_the_whole_is_no_dif() -> None:
    tables = [dif(*simulated(seed, impact=1.0), "wald", model="Rasch", purify=False).to_frame() for seed in range(12)]
    share = np.mean([(t.p < 0.05).mean() for t in tables])
    assert share < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 240)
    covered = np.mean([((t.signed_low < 0) & (t.signed_high > 0)).mean() for t in tables])
    assert covered == pytest.approx(0.95, abs=3 * np.sqrt(0.05 * 0.95 / 240))


def test_purification_takes_the_items_with_dif_from_the_anchors() -> None:
    responses, groups = simulated(3, 400, dif_items=4, size=0.9)
    purified = dif(responses, groups, "wald", model="Rasch")
    assert not set(purified.anchor_ids) & {"item-1", "item-2", "item-3", "item-4"}
    mixed = dif(responses, groups, "wald", model="Rasch", purify=False)
    assert (mixed.to_frame().p[4:] < 0.05).sum() > (purified.to_frame().p[4:] < 0.05).sum()


def test_tests_are_those_of_link_on_the_same_anchors() -> None:
    responses, groups = simulated(4, 300, 12, dif_items=1)
    found = dif(responses, groups, "wald", reference="old", model="2PL")
    focal, reference = (
        fit(responses.select(persons=np.array(groups) == name), "mml", "2PL", priors="none", item_uncertainty=False)
        for name in ("new", "old")
    )
    linked = link(focal, reference, exclude=[i for i in responses.item_ids if i not in found.anchor_ids]).to_frame()
    table = found.to_frame()
    np.testing.assert_allclose(table.statistic, linked.wald, rtol=1e-9)
    np.testing.assert_allclose(table.difficulty_focal, linked.difficulty_linked, rtol=1e-9)


def test_of_one_parameter_the_area_and_its_error_are_the_test() -> None:
    table = dif(*simulated(5, impact=0.5), "wald", model="Rasch").to_frame()
    error = (table.signed_high - table.signed_low) / (2 * 1.959963984540054)
    np.testing.assert_allclose((table.signed_area / error) ** 2, table.statistic, rtol=1e-6)
    np.testing.assert_allclose(table.unsigned_area, table.signed_area.abs(), rtol=1e-9)


def test_areas_are_integrals_between_the_curves() -> None:
    first = np.array([[1.0, 0.5, 0.2], [0.7, -0.3, 0.0], [1.5, 0.2, 0.1]])
    second = np.array([[1.6, -0.4, 0.2], [0.7, 0.6, 0.0], [1.2, 0.3, 0.1]])
    found = areas(first, second, KNOWN, None)
    theta = np.linspace(-60, 60, 240_001)
    gap = probability(theta, *second.T) - probability(theta, *first.T)
    step = theta[1] - theta[0]
    np.testing.assert_allclose(found.signed, gap.sum(axis=0) * step, atol=1e-6)
    np.testing.assert_allclose(found.unsigned, np.abs(gap).sum(axis=0) * step, atol=1e-6)


def test_errors_of_areas_are_the_spread_of_areas_of_drawn_items() -> None:
    rng = np.random.default_rng(0)
    first = np.array([[1.0, 0.5, 0.0], [0.7, -0.3, 0.0], [1.5, 0.2, 0.0]])
    second = np.array([[1.6, -0.4, 0.0], [0.9, 0.6, 0.0], [1.2, 0.9, 0.0]])
    root = rng.normal(0, 0.02, (2, 3, 3, 3)) * np.array([1, 1, 0])[:, None]
    covariance = root @ root.transpose(0, 1, 3, 2)
    found = areas(first, second, KNOWN, (covariance[0], covariance[1]))
    both = np.stack([first, second])
    drawn = []
    for _ in range(4000):
        one, two = both + np.einsum("kmpq,kmq->kmp", root, rng.normal(size=(2, 3, 3)))
        drawn.append(areas(one, two, KNOWN, None))
    # The standard error of a SD from 4,000 draws is 1.1 % of it.
    np.testing.assert_allclose(found.signed_error, np.std([d.signed for d in drawn], axis=0), rtol=0.05)
    np.testing.assert_allclose(found.unsigned_error, np.std([d.unsigned for d in drawn], axis=0), rtol=0.05)


def test_an_area_that_does_not_exist_is_nan() -> None:
    first = np.array([[1.0, 0.0, 0.2], [0.01, 0.0, 0.0], [1.0, 0.0, 0.0]])
    second = np.array([[1.0, 0.0, 0.1], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    assert np.isnan(areas(first, second, KNOWN, None).signed).all()


def test_small_groups_are_compared_in_difficulty_alone() -> None:
    responses, groups = simulated(6, 60)
    assert "Wald test of difficulty between" in dif(responses, groups, "wald").how
    assert "slope and difficulty together" in dif(responses, groups, "wald", model="2PL").how


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"groups": ["a"] * 200 + ["b"] * 100 + ["c"] * 100}, SettingsError, "3 groups .* wald compares two"),
        ({"kind": "uniform"}, SettingsError, "kind is a setting of logistic"),
        ({"linking": "x"}, SettingsError, "linking is 'x'"),
        ({"anchors": ["item-1", "item-2"]}, DataError, "2 anchors are left"),
    ],
)
def test_what_cannot_be_done_is_refused(change: dict[str, object], error: type[Exception], words: str) -> None:
    responses, groups = simulated(0)
    with pytest.raises(error, match=words):
        dif(responses, **({"groups": groups, "method": "wald"} | change))  # type: ignore[arg-type]

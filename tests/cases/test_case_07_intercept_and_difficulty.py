"""An intercept is no difficulty, D is 1, and the error of a difficulty needs the covariance."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.irt.curves import probability
from psychoeval.irt.parameters import ItemParameters

DATA = Path(__file__).parent / "data" / "07"
ITEMS = json.loads((DATA / "slope_intercept.json").read_text())
EXPECTED = json.loads((DATA / "expected.json").read_text())


@pytest.fixture
def items() -> ItemParameters:
    columns = ([item[key] for item in ITEMS] for key in ("a", "d", "g"))
    return ItemParameters.from_slope_intercept([item["name"] for item in ITEMS], *columns)


def test_difficulties(items: ItemParameters) -> None:
    assert items.difficulty == pytest.approx([point["b"] for point in EXPECTED["points"]], rel=1e-12)


def test_probability_at_the_difficulty(items: ItemParameters) -> None:
    p = np.diag(probability(items.difficulty, items.discrimination, items.intercept, items.guessing))
    assert p == pytest.approx([point["P_at_b"] for point in EXPECTED["points"]], abs=1e-12)


def test_the_steep_part_of_the_reported_item_is_at_its_difficulty_and_not_at_its_intercept(
    items: ItemParameters,
) -> None:
    theta = np.linspace(-4, 4, 8001)
    curve = probability(theta, items.discrimination[:1], items.intercept[:1], items.guessing[:1])[:, 0]
    assert theta[np.gradient(curve, theta).argmax()] == pytest.approx(items.difficulty[0], abs=1e-3)


def test_there_is_no_hidden_1_7(items: ItemParameters) -> None:
    again = ItemParameters.from_difficulty(items.item_ids, items.discrimination, items.difficulty, items.guessing)
    assert again.discrimination == pytest.approx(items.discrimination, rel=1e-15)
    # Logit of the 2PL one logit above the difficulty is a, not 1.7 a.
    p = probability([items.difficulty[1] + 1], items.discrimination[1:2], items.intercept[1:2])[0, 0]
    assert np.log(p / (1 - p)) == pytest.approx(ITEMS[1]["a"], rel=1e-12)
    assert ITEMS[1]["a"] / 1.7 == pytest.approx(EXPECTED["points"][1]["a_over_1p7"])


def test_a_difficulty_over_a_slope_near_0_is_flagged(items: ItemParameters) -> None:
    assert dict(zip(items.item_ids, items.difficulty_is_stable.tolist(), strict=True)) == {
        "report_item": True,
        "easy": True,
        "negative_slope": True,
        "near_zero_slope": False,
    }


def test_error_of_a_difficulty_with_and_without_the_covariance() -> None:
    expected = EXPECTED["se_b"]
    # Sampling covariance of slope and intercept of LSAT7's first item.
    block = np.array([[0.03139801, 0.01601985, 0.0], [0.01601985, 0.01727914, 0.0], [0.0, 0.0, 0.0]])
    both = np.stack([block, np.diag(np.diag(block))])
    items = ItemParameters(("x", "y"), [expected["a"]] * 2, [expected["d"]] * 2, [0, 0], both)
    assert items.standard_errors["difficulty"] == pytest.approx([expected["se"], expected["se_indep"]], rel=1e-6)


def test_without_a_covariance_there_is_no_error_but_a_reason() -> None:
    items = ItemParameters(("x",), [1.0], [0.5], [0.0], no_errors_because="They were not asked for.")
    assert items.standard_errors is None
    assert items.no_errors_because

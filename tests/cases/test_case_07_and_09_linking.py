"""Linking of the tables of cases 07 and 09: a constant shift, slopes of either sign, a slope near 0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.agreement.linking import link
from psychoeval.errors import NotComparableError
from psychoeval.irt.linking import LinkingMethod
from psychoeval.irt.parameters import ItemParameters

DATA = Path(__file__).parent / "data"
METHODS: tuple[LinkingMethod, ...] = ("mean-mean", "mean-sigma", "haebara", "stocking-lord")


def content(path: str) -> Any:
    return json.loads((DATA / path).read_text())


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_shift_is_linked_away(method: LinkingMethod) -> None:
    tables, expected = content("09/tables.json"), content("09/expected.json")
    ids = [f"item-{k}" for k in range(1, 6)]
    a = ItemParameters.from_difficulty(ids, 1.0, tables["fit_A"]["b"])
    b = ItemParameters.from_difficulty(ids, 1.0, tables["fit_B"]["b"])
    c = ItemParameters.from_difficulty(ids, 1.0, [-e for e in tables["fit_C"]["easiness"]])
    # The case states what is to be added to B, and to C, to be on A.
    for given, shift in ((b, expected["shift_AB"][0]), (c, expected["shift_AC"][0])):
        found = link(given, a, method=method)
        assert (found.scale, found.shift) == pytest.approx((1.0, shift), abs=1e-9)
        assert found.items is not None
        assert found.items.difficulty == pytest.approx(a.difficulty, abs=1e-9)


def test_slopes_of_either_sign_link_and_one_near_0_is_named() -> None:
    given = content("07/slope_intercept.json")
    columns = ([item[key] for item in given] for key in ("a", "d", "g"))
    items = ItemParameters.from_slope_intercept([item["name"] for item in given], *columns)
    a, d = items.discrimination, items.intercept
    other = ItemParameters.from_slope_intercept(items.item_ids, a / 1.5, d + 0.4 / 1.5 * a, items.guessing)
    for method in METHODS[2:]:
        found = link(items, other, method=method)
        assert (found.scale, found.shift) == pytest.approx((1.5, -0.4), abs=1e-8)
    for method in METHODS[:2]:
        with pytest.raises(NotComparableError, match="'near_zero_slope' has a slope below"):
            link(items, other, method=method)
        found = link(items, other, method=method, exclude=["near_zero_slope"])
        assert (found.scale, found.shift) == pytest.approx((1.5, -0.4), abs=1e-10)

"""The law of linking: probabilities stay, derivatives are those of the law, one missing number stays one."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from psychoeval.irt import linking_law
from psychoeval.irt.curves import probability
from psychoeval.irt.linking_law import by_constants, by_items, linked, linked_difficulty

ITEMS = np.array([[1.3, -0.4, 0.2], [0.7, 1.1, 0.0], [-0.9, 0.3, 0.1]])
LAWS = [(1.4, -0.6), (-0.5, 2.0), (1.0, 0.0)]


@pytest.mark.parametrize("law", LAWS)
def test_every_probability_stays(law: tuple[float, float]) -> None:
    theta = np.linspace(-3, 3, 7)
    before = probability(theta, *ITEMS.T)
    after = probability(linked_difficulty(theta, *law), *linked(ITEMS, *law).T)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-14)
    moved = linked(ITEMS, *law)
    np.testing.assert_allclose(-moved[:, 1] / moved[:, 0], linked_difficulty(-ITEMS[:, 1] / ITEMS[:, 0], *law))


@pytest.mark.parametrize("law", LAWS)
def test_derivatives_are_differences(law: tuple[float, float]) -> None:
    step = 1e-6
    for k in range(3):
        e = step * np.eye(3)[k]
        moved = (linked(ITEMS + e, *law) - linked(ITEMS - e, *law)) / (2 * step)
        np.testing.assert_allclose(moved, np.tile(by_items(*law)[:, k], (3, 1)), atol=1e-8)
    for k in range(2):
        e = step * np.eye(2)[k]
        moved = (linked(ITEMS, *(np.array(law) + e)) - linked(ITEMS, *(np.array(law) - e))) / (2 * step)
        np.testing.assert_allclose(moved[:, :2], by_constants(ITEMS, *law)[:, :, k], atol=1e-7)


def test_an_intercept_that_is_not_known_leaves_the_slope_known() -> None:
    found = linked(np.array([[1.0, np.nan, 0.0]]), 2.0, 1.0)
    assert found[0, 0] == 0.5
    assert np.isnan(found[0, 1])


def test_the_example_in_the_docstring() -> None:
    result = doctest.testmod(linking_law)
    assert result.attempted > 0
    assert result.failed == 0

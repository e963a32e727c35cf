from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from psychoeval.estimators.mirt.contract import Answer
from psychoeval.estimators.mirt.design import Design, make_design
from psychoeval.estimators.mirt.scores import make_abilities, orient, place_infinite
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.quadrature import normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import LatentDistribution

INF = float("inf")
NAN = float("nan")
MODEL = ItemModel("2PL")
X = [[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]]


def design(x: object = X) -> Design:
    return make_design(Responses.from_array(x), MODEL)  # type: ignore[arg-type]


def items(a: list[float], d: list[float], c: list[float] | None = None) -> ItemParameters:
    covariance = np.tile(np.arange(9.0).reshape(3, 3) + np.arange(9.0).reshape(3, 3).T, (len(a), 1, 1))
    labels = tuple((f"item-{j + 1}", kind) for j in range(len(a)) for kind in "ad")
    joint = np.outer(np.arange(1.0, 7.0), np.arange(1.0, 7.0))
    ids = tuple(f"item-{j + 1}" for j in range(len(a)))
    zero = [0.0] * len(a)
    return ItemParameters(
        ids, np.array(a), np.array(d), np.array(c or zero), covariance, joint_covariance=joint, joint_labels=labels
    )


def answer(ability: list[float], found: ItemParameters) -> Answer:
    values = np.array(ability)
    return Answer(
        found, LatentDistribution(), normal_grid(), np.array([0.851] * 3), np.zeros(3), values, np.full(5, 0.5)
    )


def test_a_reflected_answer_is_turned_with_everything_that_belongs_to_it() -> None:
    given = answer([-2.0, 2.0, -0.5, 0.5, -1.0], items([-1.0, -1.2, -0.8], [0.0, 0.5, 0.1]))
    turned, flipped = orient(given, design())
    assert flipped
    assert turned.items.discrimination.tolist() == [1.0, 1.2, 0.8]
    assert turned.items.intercept.tolist() == [0.0, 0.5, 0.1]
    assert turned.ability.tolist() == [2.0, -2.0, 0.5, -0.5, 1.0]
    assert turned.start_slopes is not None
    assert turned.start_slopes.tolist() == [-0.851] * 3
    old, new = given.items.covariance, turned.items.covariance
    assert old is not None
    assert new is not None
    np.testing.assert_array_equal(new[:, 0, 1:], -old[:, 0, 1:])
    np.testing.assert_array_equal(new[:, 1:, 0], -old[:, 1:, 0])
    np.testing.assert_array_equal(np.diagonal(new, axis1=1, axis2=2), np.diagonal(old, axis1=1, axis2=2))
    joint = turned.items.joint_covariance
    assert joint is not None
    assert joint[0, 1] == -2.0
    assert joint[0, 2] == 3.0


def test_a_right_way_up_answer_stays() -> None:
    given = answer([2.0, -2.0, 0.5, -0.5, 1.0], items([1.0, 1.2, -0.1], [0.0, 0.5, 0.1]))
    same, flipped = orient(given, design())
    assert not flipped
    assert same is given


def test_infinite_abilities_do_not_decide_the_direction() -> None:
    given = answer([INF, -INF, 0.5, -0.5, 1.0], items([1.0, 1.0, 1.0], [0.0, 0.0, 0.0]))
    assert not orient(given, design())[1]


def test_without_abilities_the_mean_slope_decides() -> None:
    assert orient(answer([NAN] * 5, items([-1.0, -1.0, 0.5], [0.0] * 3)), design())[1]


def infinite(estimate: list[float], found: ItemParameters) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    return place_infinite(np.array(estimate), np.full(len(estimate), 0.5), found, design())


def test_all_right_and_all_wrong_are_infinite_exactly() -> None:
    # mirt may also answer with the end of its search.
    for top in (INF, 20.0):
        estimate, error, wrong = infinite([top, -top, 0.4, -0.4, 0.3], items([1.0, 1.2, 0.8], [0.0, 0.5, 0.1]))
        assert estimate.tolist() == [INF, -INF, 0.4, -0.4, 0.3]
        assert error.tolist() == [INF, INF, 0.5, 0.5, 0.5]
        assert wrong == 0


def test_slopes_of_both_signs_make_other_patterns_infinite() -> None:
    # With the third slope negative, (1, 1, 0) is the top and (0, 0, 1) the bottom; (1, 1, 1) has a finite maximum.
    estimate, error, wrong = infinite([INF, -INF, 20.0, -20.0, 0.3], items([1.0, 1.2, -0.8], [0.0, 0.5, 0.1]))
    assert estimate[2:].tolist() == [INF, -INF, 0.3]
    assert np.isnan(estimate[:2]).all()
    assert np.isnan(error[:2]).all()
    assert wrong == 2


def test_guessing_can_put_a_mixed_pattern_at_minus_infinity() -> None:
    # (0, 0, 1): the limit is .75 .75 .25, log -1.962; at the interior value given it is lower.
    found = items([1.5, 1.5, 1.5], [2.0, 2.0, -2.0], [0.25, 0.25, 0.25])
    estimate, _, _ = infinite([INF, -INF, 0.5, -1.0, 0.5], found)
    assert estimate[3] == -INF
    assert estimate[2] == 0.5


def test_persons_come_back_in_place_with_remarks() -> None:
    x = [[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 0], [1, NAN, NAN, NAN], [NAN] * 4, [1, 0, 1, 1]]
    placed = design(x)
    assert placed.items.tolist() == [1, 2, 3]
    found = ItemParameters(
        ("c", "p", "q", "r"), np.array([NAN, 1.0, 1.0, 1.0]), np.array([NAN, 0.0, 0.0, 0.0]),
        np.array([NAN, 0.0, 0.0, 0.0]),
    )  # fmt: skip
    given = Answer(
        found, LatentDistribution(), normal_grid(), None, None, np.array([INF, -INF, 0.5, NAN]), np.full(4, 0.5)
    )
    abilities, remarks = make_abilities(given, placed, "ML")
    np.testing.assert_array_equal(abilities.estimate, [INF, -INF, 0.5, NAN, NAN, NAN])
    assert abilities.status == (
        "ml_infinite", "ml_infinite", "estimated", "no_responses", "no_responses", "estimated",
    )  # fmt: skip
    assert any("no ML ability for 1 of 4" in r for r in remarks)
    assert any(r.startswith("1 persons have responses only on constant items") for r in remarks)


def test_extremes_keep_their_estimate_under_eap() -> None:
    given = answer([2.0, -2.0, 0.5, -0.5, 1.0], items([1.0, 1.2, 0.8], [0.0, 0.5, 0.1]))
    abilities, remarks = make_abilities(given, design(), "EAP")
    assert abilities.status[:2] == ("extreme_all_1", "extreme_all_0")
    assert abilities.estimate[0] == pytest.approx(2.0)
    assert remarks == ()

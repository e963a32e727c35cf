"""link(): the law, units, errors, drift."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace

import numpy as np
import pytest

import psychoeval
from psychoeval.agreement.linking import link
from psychoeval.errors import SettingsError
from psychoeval.irt.curves import probability
from psychoeval.irt.linking import LinkingMethod
from psychoeval.irt.parameters import ItemParameters
from tests.unit.linking_items import METHODS, drifted, given, moved, names, people
from tests.unit.test_linking_constants import noisy


@pytest.mark.parametrize("method", METHODS)
def test_linked_items_give_the_probabilities_they_gave(method: LinkingMethod) -> None:
    one = given()
    found = link(one, moved(one, noise=0.1), method=method)
    theta = np.linspace(-3, 3, 7)
    before = probability(theta, one.discrimination, one.intercept)
    assert found.items is not None
    star = found.scale * theta + found.shift
    after = probability(star, found.items.discrimination, found.items.intercept)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-14)
    # What one published tool does to intercepts, d* = d - B a, does not.
    wrong = probability(star, found.items.discrimination, one.intercept - found.shift * one.discrimination)
    assert np.abs(wrong - before).max() > 0.01


@pytest.mark.parametrize("method", METHODS)
def test_a_link_to_itself_is_none(method: LinkingMethod) -> None:
    found = link(given(), given(), method=method)
    assert (found.scale, found.shift) == pytest.approx((1.0, 0.0), abs=1e-9)
    assert found.anchors.drifted == ()


@pytest.mark.parametrize("method", ["mean-mean", "mean-sigma"])
def test_links_of_moments_compose(method: LinkingMethod) -> None:
    one = given()
    two = moved(one, noise=0.1)
    three = moved(two, 0.7, 0.9, noise=0.05)
    chain = link(one, two, method=method).transformation.then(link(two, three, method=method).transformation)
    direct = link(one, three, method=method)
    assert (chain.scale, chain.shift) == pytest.approx((direct.scale, direct.shift), abs=1e-12)


def test_items_are_matched_by_id_in_any_order_and_all_are_moved() -> None:
    one = given()
    two = moved(one).select(np.array([7, 3, 5, 1]))
    found = link(one, two)
    assert (found.scale, found.shift) == pytest.approx((1.3, -0.4), abs=1e-8)
    assert found.anchors.ids == ("q1", "q3", "q5", "q7")
    assert found.items is not None
    assert found.items.item_ids == one.item_ids
    assert "30 Gauss-Hermite nodes" in found.how
    assert "scale of onto" in found.how


def test_errors_are_those_of_the_formula() -> None:
    """Mean-mean with errors of slopes alone: var A = (var mean a1 + A^2 var mean a2) / mean a2^2."""
    items = given(5)
    assert items.covariance is not None
    slopes_only = items.covariance * np.diag([1.0, 0.0, 0.0])
    one = replace(items, covariance=slopes_only)
    found = link(one, moved(one), method="mean-mean")
    expected = np.sqrt(0.05**2 / 5 * (1 + 1.3**2)) / (one.discrimination.mean() / 1.3)
    assert found.scale_error == pytest.approx(expected, rel=1e-10)


def test_the_joint_covariance_is_taken_where_there_is_one() -> None:
    one = given(3)
    free = [(i, t) for i in one.item_ids for t in ("a", "d")]
    apart = replace(one, joint_covariance=0.05**2 * np.eye(6), joint_labels=tuple(free))
    together = replace(apart, joint_covariance=0.05**2 * (np.eye(6) + 0.5))
    two = replace(moved(one), covariance=np.zeros((3, 3, 3)))
    errors = [link(x, two, method="mean-mean").scale_error for x in (one, apart, together)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-12)
    # Mean of three slopes with variance 1.5 and covariances .5, against 1 and 0.
    assert errors[2] == pytest.approx(errors[1] * np.sqrt(1.5 + 2 * 0.5), rel=1e-12)
    assert any("taken as independent" in note for note in link(one, two).notes)
    assert not any(note.startswith("given") for note in link(apart, two).notes)
    lacking = replace(apart, joint_covariance=np.eye(5), joint_labels=tuple(free[:5]))
    assert link(lacking, two, method="mean-mean").scale_error == pytest.approx(errors[0], rel=1e-12)


def test_rasch_keeps_its_unit_unless_asked() -> None:
    one = replace(given(), discrimination=np.ones(10))
    assert one.covariance is not None
    one = replace(one, covariance=one.covariance * np.diag([0.0, 1.0, 0.0]))
    two = replace(moved(one, 1.0, -0.4, noise=0.1), discrimination=np.ones(10))
    for method in METHODS:
        found = link(one, two, method=method)
        assert (found.scale, found.scale_error) == (1.0, 0.0)
        assert found.shift == pytest.approx(-0.4, abs=0.1)
        assert "A fixed at 1" in found.how
        assert set(found.anchors.columns["df"]) == {1.0}
    assert link(one, two, method="mean-sigma", scale="free").scale != 1.0
    assert link(one, two, scale=0.9).scale == 0.9


def test_the_slope_of_a_1pl_is_its_unit_and_its_error_is_shared() -> None:
    """Two 1PLs in the frames of their own persons: A = a1 / a2, with the error of two numbers, not of twenty."""
    one = replace(given(error=0.1), discrimination=np.full(10, 1.5))
    two = moved(one, 1.3, -0.4)
    found = link(one, two)
    assert found.scale == pytest.approx(1.3, abs=1e-12)
    a2 = 1.5 / 1.3
    assert found.scale_error == pytest.approx(np.sqrt(0.1**2 / a2**2 * (1 + 1.3**2)), rel=1e-10)
    labels = (("", "a"), *((i, "d") for i in one.item_ids))
    joint = replace(one, joint_covariance=0.1**2 * np.eye(11), joint_labels=labels)
    assert link(joint, replace(two, joint_covariance=joint.joint_covariance, joint_labels=labels)).scale_error == (
        pytest.approx(found.scale_error, rel=1e-10)
    )


def test_scales_that_run_against_each_other_are_turned() -> None:
    one = given()
    for method in METHODS:
        found = link(one, moved(one, -1.3, 0.2), method=method)
        assert (found.scale, found.shift) == pytest.approx((-1.3, 0.2), abs=1e-8)
        assert any("opposite directions" in note for note in found.notes)


def test_an_anchor_whose_key_was_turned_is_named() -> None:
    one = given()
    two = moved(one)
    a, d = two.discrimination.copy(), two.intercept.copy()
    a[3], d[3] = -a[3], -d[3]
    found = link(one, replace(two, discrimination=a, intercept=d))
    assert any("'q3'" in note and "keys" in note for note in found.notes)
    assert "q3" in found.anchors.drifted


@pytest.mark.parametrize("method", METHODS)
def test_a_drifted_anchor_is_found(method: LinkingMethod) -> None:
    found = link(*drifted(0.8), method=method)
    assert found.anchors.drifted == ("q4",)
    assert found.anchors.drift[4] == "Wald, robust z"
    again = link(*drifted(0.8), method=method, exclude=["q4"])
    assert again.anchors.drifted == ("q4",)
    assert not again.anchors.used[4]
    assert abs(again.shift + 0.4) < abs(found.shift + 0.4)
    # Excluded is excluded: the same as without it.
    one, two = drifted(0.8)
    without = link(one.select(np.arange(12) != 4), two, method=method)
    assert (again.scale, again.shift) == pytest.approx((without.scale, without.shift), abs=1e-10)
    assert again.scale_error == pytest.approx(without.scale_error, rel=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_the_wald_test_holds_its_level_where_nothing_drifted(method: LinkingMethod) -> None:
    """150 draws of 10 anchors: 1,500 tests, hardly dependent; .05 within about three errors of .0056."""
    rng, truth = np.random.default_rng(11), given()
    other = moved(truth)
    p = []
    for _ in range(150):
        noisy = [
            replace(x, discrimination=x.discrimination + e[0], intercept=x.intercept + e[1])
            for x, e in zip((truth, other), rng.normal(0, 0.05, (2, 2, 10)), strict=True)
        ]
        p.append(link(*noisy, method=method).anchors.columns["p"])
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.018)
    assert np.mean(np.array(p) < 0.5) == pytest.approx(0.5, abs=0.05)


def test_one_anchor_cannot_be_tested() -> None:
    one = given()
    found = link(one, moved(one).select(np.array([2])), method="mean-mean")
    assert (found.scale, found.shift) == pytest.approx((1.3, -0.4), abs=1e-10)
    assert found.scale_error is not None
    assert found.scale_error > 0
    row = found.to_frame().iloc[0]
    assert (row["df"], row["drift"]) == (0, "")
    assert np.isnan(row["p"])
    assert np.isnan(row["robust_z_difficulty"])


def test_linked_abilities_carry_the_errors_of_the_link() -> None:
    found = link(given(), moved(given(), noise=0.05))
    theta = people(np.array([-2.0, 0.0, np.inf, 2.0]))
    linked = found.abilities(theta)
    assert found.covariance is not None
    assert linked.standard_error is not None
    gradient = np.array([[-2.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    expected = (found.scale * 0.3) ** 2 + np.einsum("iu,uv,iv->i", gradient, found.covariance, gradient)
    np.testing.assert_allclose(linked.standard_error[[0, 1, 3]] ** 2, expected, rtol=1e-12)
    np.testing.assert_allclose(linked.estimate[[0, 1, 3]], found.scale * gradient[:, 0] + found.shift)
    bare = link(replace(given(), covariance=None), moved(given())).abilities(theta)
    np.testing.assert_allclose(bare.standard_error[[0]], 1.3 * 0.3, rtol=1e-7)  # type: ignore[index]


def test_the_result_is_frozen_and_plain() -> None:
    found = psychoeval.link(given(), moved(given(), noise=0.05))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.method = "haebara"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        found.anchors.columns["p"][0] = 0.0
    assert found.covariance is not None
    assert not found.covariance.flags.writeable
    content = json.loads(json.dumps(found.to_dict()))
    assert (content["scale"], content["on"]) == (found.scale, "items")
    assert len(content["anchors"]) == 10
    assert list(found.to_frame()["item"]) == list(names(10))


def test_a_second_minimum_that_is_nearly_as_low_is_named() -> None:
    ids = [f"q{k}" for k in range(5)]
    sides = [ItemParameters(ids, *side.T) for side in noisy(218, 5)]
    found = link(*sides, method="haebara", direction="both")
    assert any("A = 0.807, B = 0.276 has a criterion 2% above that of A = 4.49, B = -1.09" in n for n in found.notes)
    assert not any("nearly as well" in n for n in link(*drifted(0.8), method="haebara").notes)


def test_a_link_is_shown_in_a_line() -> None:
    found = link(*drifted(0.8), names=("old", "new"))
    assert repr(found).startswith(f"<Link of old onto new by stocking-lord: A = {found.scale:.4g} (SE ")
    assert repr(found).endswith("12 common items, 1 drifted; see to_frame(), notes>")
    assert len(repr(found)) < 200


@pytest.mark.parametrize("names", ["ab", ("a",), ("a", 1), ("a", "")])
def test_names_are_two_texts(names: object) -> None:
    with pytest.raises(SettingsError, match="names is"):
        link(*drifted(0.8), names=names)  # type: ignore[arg-type]

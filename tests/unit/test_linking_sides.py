"""link(): what cannot take part, common persons, notes and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psychoeval.agreement.linking import link
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.results.convergence import Convergence
from tests.unit.linking_items import METHODS, a_fit, drifted, given, moved, names, people


def test_without_errors_there_is_a_reason_and_robust_z() -> None:
    one, two = drifted(0.8)
    bare = replace(one, covariance=None, no_errors_because="They were not asked for.")
    found = link(bare, two)
    assert (found.covariance, found.scale_error, found.shift_error) == (None, None, None)
    assert "A and B have no standard errors: given: They were not asked for." in found.notes
    assert np.isnan(found.anchors.columns["wald"]).all()
    assert "q4" in found.anchors.drifted
    assert found.scale == pytest.approx(link(one, two).scale, abs=1e-12)
    assert two.covariance is not None
    holes = two.covariance.copy()
    holes[6] = np.nan
    notes = link(one, replace(two, covariance=holes)).notes
    assert any("onto: 'q6' have no errors" in note for note in notes)


def test_items_that_cannot_be_anchors_are_named() -> None:
    one = given()
    a = one.discrimination.copy()
    a[2] = np.nan
    status = ["estimated"] * 10
    status[7] = "runaway"
    odd = replace(one, discrimination=a, status=tuple(status))  # type: ignore[arg-type]
    found = link(odd, moved(one))
    assert found.anchors.ids == tuple(i for i in names(10) if i not in ("q2", "q7"))
    assert any("have no parameters" in note and "'q2'" in note for note in found.notes)
    assert any("runaway" in note and "'q7'" in note for note in found.notes)
    assert (found.scale, found.shift) == pytest.approx((1.3, -0.4), abs=1e-8)
    with pytest.raises(NotComparableError, match="None of 10 common items"):
        link(odd, moved(one), exclude=[i for i in names(10) if i not in ("q2", "q7")])


def test_a_flat_anchor_has_no_difficulty_to_link_by() -> None:
    one = given()
    a = one.discrimination.copy()
    a[5] = 0.02
    flat = replace(one, discrimination=a)
    for method in METHODS[:2]:
        with pytest.raises(NotComparableError, match="'q5' has a slope below"):
            link(flat, moved(flat), method=method)
        assert link(flat, moved(flat), method=method, exclude=["q5"]).scale == pytest.approx(1.3)
    assert link(flat, moved(flat), method="haebara").scale == pytest.approx(1.3, abs=1e-8)
    assert np.isnan(link(flat, moved(flat)).anchors.columns["robust_z_difficulty"][5])


def test_nothing_common_is_refused_with_names() -> None:
    other = replace(given(), item_ids=names(10, "z"))
    with pytest.raises(NotComparableError, match=r"given has 'q0'.*onto has 'z0'"):
        link(given(), other)
    one, two = (a_fit(i, people(np.zeros(3), prefix=p)) for i, p in ((given(), "s"), (other, "t")))
    with pytest.raises(NotComparableError, match="No item is common"):
        link(one, two)
    with pytest.raises(NotComparableError, match=r"'s0'.*'t0'"):
        link(one, two, on="persons")
    with pytest.raises(NotComparableError, match="no item parameters"):
        link(a_fit(None), given())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"method": "haebera"}, "method='haebera' is unknown"),
        ({"on": "raters"}, "on='raters'"),
        ({"direction": "up"}, "direction='up'"),
        ({"scale": 0.0}, "scale=0.0"),
        ({"scale": 1e308}, "scale=1e"),
        ({"scale": True}, "scale=True"),
        ({"scale": "fixed"}, "scale='fixed'"),
        ({"level": 95}, "level is 95"),
        ({"level": "x"}, "level is 'x'"),
        ({"level": None}, "level is None"),
        ({"direction": None}, "direction=None"),
        ({"method": ["haebara"]}, "method="),
        ({"quadrature": 30.0}, "quadrature is 30.0"),
        ({"quadrature": "x"}, "quadrature is 'x'"),
        ({"quadrature": None}, "quadrature is None"),
        ({"quadrature": True}, "quadrature is True"),
        ({"quadrature": ([0.0, 1.0, 2.0],)}, "quadrature is"),
        ({"quadrature": ([0.0, 1e308], [1.0, 1.0])}, "unusable"),
        ({"quadrature": ([0.0, np.nan], [1.0, 1.0])}, "unusable"),
        ({"exclude": None}, "exclude is None"),
        ({"exclude": 5}, "exclude is 5"),
        ({"exclude": "q1"}, "exclude is 'q1'"),
        ({"exclude": [["q1"]]}, "exclude is"),
        ({"quadrature": 1}, "1 nodes"),
        ({"quadrature": ([0.0, 1.0], [1.0])}, "shape"),
        ({"quadrature": ([0.0, 1.0], [1.0, -1.0])}, "unusable"),
        ({"exclude": ["q99"]}, "'q99' cannot be excluded"),
    ],
)
def test_options_that_do_not_exist_are_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        link(given(), moved(given()), **options)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="of type dict"):
        link({}, given())  # type: ignore[arg-type]


def test_the_sum_of_weights_and_the_type_of_a_count_do_not_matter() -> None:
    one, two = given(), moved(given(), noise=0.1)
    nodes, weights = np.linspace(-3, 3, 13), np.linspace(1, 2, 13)
    expected = link(one, two, quadrature=(nodes, weights))
    for size in (1e-300, 1e307):
        found = link(one, two, quadrature=(nodes, size * weights))
        assert (found.scale, found.shift) == pytest.approx((expected.scale, expected.shift), abs=1e-12)
    assert link(one, two, quadrature=np.int64(30)).shift == link(one, two).shift  # type: ignore[arg-type]


def test_what_is_no_slope_is_refused_by_name() -> None:
    steep = replace(given(), discrimination=np.r_[np.full(9, 1.0), 1e200])
    with pytest.raises(NotComparableError, match=r"'q9' has a slope above 1e\+06"):
        link(steep, moved(given()))
    assert link(steep, moved(given()), exclude=["q9"]).anchors.used.count(True) == 9


def test_what_a_reader_must_know_is_noted() -> None:
    items, theta = given(), np.linspace(-1, 1, 5)
    ended_early = Convergence("iteration_limit")
    one = a_fit(items, people(theta), convergence=ended_early)
    guessed = replace(moved(items), guessing=np.full(10, 0.2))
    notes = link(one, a_fit(guessed, people(theta))).notes
    assert any("given (mml 2PL) did not end as it should" in note for note in notes)
    assert any("5 persons are in both calibrations" in note for note in notes)
    assert any("Only one side has lower asymptotes" in note for note in notes)


def test_common_persons_link_where_no_item_is_common() -> None:
    rng = np.random.default_rng(8)
    theta = rng.normal(0, 1, 400)
    one = a_fit(given(), people(theta + rng.normal(0, 0.3, 400)))
    other = replace(given(), item_ids=names(10, "z"))
    shrunken = people(1.5 * theta / (1 + 0.3**2) + 0.5, error=1.5 * 0.3 / np.sqrt(1.09), method="EAP")
    found = link(one, a_fit(other, shrunken))
    assert (found.on, found.method) == ("persons", "mean-sigma")
    assert found.scale == pytest.approx(1.5, abs=0.1)
    assert found.shift == pytest.approx(0.5, abs=0.1)
    assert found.shift_error is not None
    assert 0 < found.shift_error < 0.05
    assert list(found.to_frame().columns) == [
        "person", "used", "given", "linked", "onto", "difference", "robust_z", "drift",
    ]  # fmt: skip
    assert found.items is not None
    with pytest.raises(SettingsError, match="stocking-lord needs common items"):
        link(one, a_fit(other, shrunken), method="stocking-lord")


def test_persons_who_cannot_link_are_named_or_refused() -> None:
    theta = np.array([0.0, 1.0, np.inf, -1.0, 0.5])
    one, two = a_fit(None, people(theta)), a_fit(None, people(2 * theta + 1, error=None))
    found = link(one, two, exclude=["s4"])
    assert found.anchors.ids == ("s0", "s1", "s3", "s4")
    assert found.anchors.used == (True, True, True, False)
    assert any("'s2'" in note for note in found.notes)
    assert any("have no standard errors" in note for note in found.notes)
    share = replace(people(np.linspace(0.1, 0.9, 5)), scale="proportion")
    with pytest.raises(NotComparableError, match="proportions"):
        link(one, a_fit(None, share), on="persons")
    with pytest.raises(SettingsError, match="'s9' cannot be excluded"):
        link(one, two, exclude=["s9"])


def test_rasch_persons_keep_the_unit() -> None:
    theta = np.linspace(-2, 2, 50)
    one = replace(given(), discrimination=np.ones(10))
    fits = [
        a_fit(x, people(t), "Rasch") for x, t in ((one, theta), (replace(one, item_ids=names(10, "z")), 1.2 * theta))
    ]
    found = link(fits[0], fits[1])
    assert (found.scale, found.scale_error) == (1.0, 0.0)
    assert link(fits[0], fits[1], scale="free").scale == pytest.approx(1.2, abs=0.05)

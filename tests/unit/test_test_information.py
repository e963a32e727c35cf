"""Test information: closed forms, brute force, ranges, reliability."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import psychoeval.scoring.information
from psychoeval import plots, scoring
from psychoeval.errors import DataError, NotComparableError, PsychoevalWarning, SettingsError
from psychoeval.estimators.native.simple_average import SimpleAverage
from psychoeval.irt.curves import information, probability
from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import LatentDistribution
from tests.gates import needs

NAN = float("nan")


def some_items(j: int = 20, c: float = 0.2) -> ItemParameters:
    rng = np.random.default_rng(4)
    return ItemParameters.from_difficulty(
        [f"q{k}" for k in range(j)], rng.lognormal(0, 0.4, j), rng.normal(0, 1.5, j), c
    )


def test_examples() -> None:
    found = doctest.testmod(psychoeval.scoring.information)
    assert found.attempted > 0
    assert not found.failed


def test_equal_items_have_closed_forms() -> None:
    items = ItemParameters.from_difficulty(["q1", "q2", "q3", "q4"], 2.0, 0.7)
    found = scoring.test_information(items, [0.7, 0.7 + np.log(3) / 2], threshold=1 / np.sqrt(3))
    assert found.information == pytest.approx([4.0, 3.0])  # J a^2 P Q with P = 1/2, 3/4
    assert found.standard_error == pytest.approx([0.5, 1 / np.sqrt(3)])
    assert (found.peak, found.peak_information) == pytest.approx((0.7, 4.0))
    assert np.array(found.below) == pytest.approx(np.array([[0.7 - np.log(3) / 2, 0.7 + np.log(3) / 2]]))


@pytest.mark.parametrize("c", [0.0, 0.2])
def test_it_is_the_sum_of_the_items_and_the_curvature_expected(c: float) -> None:
    items, theta = some_items(c=c), np.linspace(-3, 3, 7)
    found = scoring.test_information(items, theta, per_item=True)
    each = information(theta, items.discrimination, items.intercept, items.guessing)
    assert found.item_information == pytest.approx(each, rel=1e-12)
    assert found.information == pytest.approx(each.sum(axis=1), rel=1e-12)
    step = 1e-5  # of the log-likelihood in theta, over both responses: no formula shared
    p, low, high = (probability(theta + s, items.discrimination, items.intercept, items.guessing)
                    for s in (0.0, -step, step))  # fmt: skip
    scored = [(np.log(up) - np.log(down)) / (2 * step) for up, down in ((high, low), (1 - high, 1 - low))]
    assert found.information == pytest.approx((p * scored[0] ** 2 + (1 - p) * scored[1] ** 2).sum(axis=1), rel=1e-7)
    frame = found.to_frame()
    assert list(frame.columns[:4]) == ["ability", "information", "std_error", "q0"]
    assert scoring.test_information(items).ability[[0, -1]] == pytest.approx([-4, 4])


def test_peak_and_ranges_are_those_of_a_fine_grid() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        items = ItemParameters.from_difficulty(
            [f"q{k}" for k in range(6)], rng.lognormal(0.7, 0.5, 6), rng.normal(0, 2.5, 6), rng.uniform(0, 0.3, 6)
        )
        grid = np.arange(-12, 12, 1e-4)
        info = information(grid, items.discrimination, items.intercept, items.guessing).sum(axis=1)
        found = scoring.test_information(items, threshold=1.2)
        assert found.peak == pytest.approx(grid[info.argmax()], abs=1e-4)
        assert found.peak_information >= info.max()
        above = np.concatenate([[False], info >= 1.2**-2, [False]])
        ends = grid[np.flatnonzero(above[1:] != above[:-1]).clip(max=grid.size - 1)].reshape(-1, 2)
        assert np.array(found.below).reshape(-1, 2) == pytest.approx(ends, abs=2e-4)
        if seed == 0:
            assert len(found.below) > 1  # two islands, and what lies between is not measured


def test_negative_slopes_measure_as_well() -> None:
    up = ItemParameters.from_difficulty(["q1", "q2"], [1.5, 0.7], [0.3, -1.0])
    down = ItemParameters.from_difficulty(["q1", "q2"], [-1.5, -0.7], [0.3, -1.0])
    assert scoring.test_information(down).information == pytest.approx(scoring.test_information(up).information)
    assert scoring.test_information(down).peak == pytest.approx(scoring.test_information(up).peak)


@pytest.mark.parametrize("sd", [1.0, 2.5])
def test_reliability_is_the_variance_that_posterior_means_keep(sd: float) -> None:
    """Posterior means of simulated persons on many items have SD s sqrt(reliability)."""
    items = some_items(80, 0.0)
    rng = np.random.default_rng(1)
    theta = rng.normal(0.5, sd, 20_000)
    p = probability(theta, items.discrimination, items.intercept)
    responses = Responses.from_array((rng.random(p.shape) < p).astype(float), item_ids=items.item_ids)
    law = LatentDistribution(0.5, sd)
    kept = scoring.score(responses, items, latent=law).estimate.var() / sd**2
    found = scoring.test_information(items, latent=law)
    assert found.reliability == pytest.approx(kept, abs=0.015)  # Monte Carlo .01; the normal approximation .005
    nodes = np.linspace(-5 * sd, 5 * sd, 401) + 0.5
    shape = np.exp(-0.5 * ((nodes - 0.5) / sd) ** 2)
    histogram = LatentDistribution(0.5, sd, nodes, shape / shape.sum())
    assert scoring.test_information(items, latent=histogram).reliability == pytest.approx(found.reliability, abs=1e-4)


def test_items_that_do_not_measure() -> None:
    items = ItemParameters(
        ("all", "flat", "lost", "q"), np.array([NAN, 0.0, NAN, 1.0]), np.array([NAN, 0.3, NAN, 0.0]),
        np.array([NAN, 0, NAN, 0.0]), status=("constant_all_1", "estimated", "no_responses", "estimated"),
    )  # fmt: skip
    with pytest.warns(PsychoevalWarning, match=r"1 of 4 items have no parameters .*: 'lost'"):
        found = scoring.test_information(items, [0.0], per_item=True)
    assert found.item_ids == ("all", "flat", "q")
    assert found.item_information is not None
    assert found.item_information.tolist() == [[0, 0, 0.25]]
    none = scoring.test_information(items, [0.0], items=["all", "flat"])
    assert (none.information[0], none.standard_error[0], none.reliability, none.below) == (0, np.inf, 0, ())
    assert np.isnan(none.peak)


def test_what_is_refused() -> None:
    with pytest.raises(NotComparableError, match="simple-average has no item parameters"):
        scoring.test_information(SimpleAverage().fit(Responses.from_array([[1, 0], [0, 1]])))
    with pytest.raises(DataError, match="'x'"):
        scoring.test_information(some_items(), items=["x"])
    with pytest.raises(SettingsError, match="threshold"):
        scoring.test_information(some_items(), threshold=-1.0)
    with pytest.raises(SettingsError, match="not finite"):
        scoring.test_information(some_items(), [0.0, np.inf])


@needs("report")
def test_the_picture_says_what_it_shows() -> None:
    found = scoring.test_information(some_items(), threshold=0.7)
    figure = plots.test_information(found, abilities=np.array([-1.0, 0.0, np.inf, NAN]))
    above, below = figure.axes
    assert above.lines[0].get_ydata() == pytest.approx(found.information)
    words = " ".join(figure.get_supxlabel().split())
    assert f"Most information, {found.peak_information:.3g}, at {found.peak:.2f}" in words
    low, high = found.below[0]
    assert f"from {low:.2f} to {high:.2f} (shaded)" in words
    assert "2 persons; 2 are off the axis or have no ability" in words
    assert np.asarray(below.lines[1].get_ydata()).tolist() == [0.7, 0.7]
    weak = scoring.test_information(some_items(2))
    assert "(dashed) nowhere" in " ".join(plots.test_information(weak).get_supxlabel().split())

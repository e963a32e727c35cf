"""Posteriors that are too narrow, or too far apart, to share their nodes, against quadrature around each one's peak."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from psychoeval.irt.own_nodes import MOST_NODES, Density, own_nodes
from psychoeval.irt.quadrature import Grid
from psychoeval.irt.score_equations import KnownItems
from psychoeval.irt.score_posteriors import draw
from psychoeval.irt.scoring import eap

FloatArray = NDArray[np.float64]
B = np.array([-1.0, 0.0, 1.0])


def reference(x: FloatArray, n: FloatArray, c: float, mean: float, sd: float) -> tuple[float, float]:
    """Posterior mean and SD by a dense sum around the root of the score, slopes 1 and difficulties `B`."""

    def log_posterior(theta: FloatArray) -> FloatArray:
        logit = np.subtract.outer(theta, B)
        success = log_expit(logit) if c == 0 else np.log(c + (1 - c) * np.exp(log_expit(logit)))
        prior = -0.5 * ((theta - mean) / sd) ** 2
        return np.asarray(success @ x + (log_expit(-logit) + np.log1p(-c)) @ (n - x) + prior)

    def slope(theta: float) -> float:
        right = expit(theta - B)
        known = right / (c + (1 - c) * right) if c else np.ones(3)
        return float(np.sum(x * known - n * right) - (theta - mean) / sd**2)

    peak = brentq(slope, mean - 1e5 * sd, mean + 1e5 * sd, xtol=1e-14, rtol=1e-14) if c == 0 else scan(slope)
    top = log_posterior(np.array([peak]))[0]
    ends = []
    for sign in (-1.0, 1.0):
        far = 1e-9
        while log_posterior(np.array([peak + sign * far]))[0] > top - 50:
            far *= 1.5
        ends.append(peak + sign * far)
    theta = np.linspace(ends[0], ends[1], 20001)
    weights = np.exp(log_posterior(theta) - top)
    weights /= weights.sum()
    center = peak + float(weights @ (theta - peak))
    return center, float(np.sqrt(weights @ (theta - center) ** 2))


def scan(slope: Callable[[float], float]) -> float:
    """The root of a slope that may have only one, from a first sign change on a wide grid."""
    nodes = np.linspace(-40, 40, 4001)
    signs = np.array([slope(t) > 0 for t in nodes])
    i = int(np.flatnonzero(signs[:-1] & ~signs[1:])[0])
    return float(brentq(slope, nodes[i], nodes[i + 1], xtol=1e-14, rtol=1e-14))


@pytest.mark.parametrize("c", [0.0, 0.2])
@pytest.mark.parametrize("trials", [10**7, 10**9])
def test_eap_of_many_trials(trials: int, c: float) -> None:
    half, third = trials // 2, trials // 3
    x = np.array([[half, half, third], [0, 0, 0], [trials] * 3, [trials, half, third], [half // 2, third, third]])
    n = np.full(x.shape, trials)
    estimate, error = eap(x, n, 1.0, -B, c)
    for i in range(len(x)):
        mean, sd = reference(x[i].astype(float), n[i].astype(float), c, 0.0, 1.0)
        assert abs(estimate[i] - mean) < 1e-3 * sd
        assert error[i] == pytest.approx(sd, rel=1e-4)


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1e4), (0.0, 1e6), (-3e5, 1e5)])
def test_eap_under_a_wide_distribution(mean: float, sd: float) -> None:
    x = np.array([[1, 1, 0], [1, 0, 0]])
    estimate, error = eap(x, np.ones_like(x), 1.0, -B, 0.0, mean=mean, sd=sd)
    for i in range(len(x)):
        expected = reference(x[i].astype(float), np.ones(3), 0.0, mean, sd)
        assert (estimate[i], error[i]) == pytest.approx(expected, rel=1e-5)


def test_persons_that_nothing_holds_have_half_the_distribution() -> None:
    estimate, error = eap(np.array([[0, 0, 0]]), np.ones((1, 3), int), 1.0, -B, 0.0, sd=1e5)
    assert estimate[0] == pytest.approx(-1e5 * np.sqrt(2 / np.pi), rel=1e-3)
    assert error[0] == pytest.approx(1e5 * np.sqrt(1 - 2 / np.pi), rel=1e-3)


def test_a_histogram_over_many_trials_is_flat_under_each_posterior() -> None:
    nodes = np.linspace(-3, 3, 13)
    weights = np.exp(-0.5 * nodes**2)
    law = Grid(nodes, np.log(weights / weights.sum()))
    x, n = np.array([[5 * 10**8] * 3, [4 * 10**8] * 3]), np.full((2, 3), 10**9)
    estimate, error = eap(x, n, 1.0, -B, 0.0, law=law)
    for i in range(2):
        mean, sd = reference(x[i].astype(float), n[i].astype(float), 0.0, 0.0, 1e6)
        assert abs(estimate[i] - mean) < 1e-3 * sd
        assert error[i] == pytest.approx(sd, rel=1e-4)


def test_draws_of_many_trials_have_the_posterior_s_moments() -> None:
    x, n = np.array([[5 * 10**8] * 3, [0, 0, 10**9]]), np.full((2, 3), 10**9)
    found = draw(x, n, KnownItems(np.ones(3), -B, np.zeros(3)), 4000, np.random.default_rng(1))
    for i in range(2):
        mean, sd = reference(x[i].astype(float), n[i].astype(float), 0.0, 0.0, 1.0)
        assert abs(found[:, i].mean() - mean) < 4 * sd / np.sqrt(4000)
        assert found[:, i].std() == pytest.approx(sd, rel=4 / np.sqrt(2 * 4000))


def test_groups_hold_everybody_with_trials_once_and_few_nodes() -> None:
    n = np.full((30, 3), 10**8)
    n[4] = 0
    x = np.random.default_rng(2).binomial(n, np.linspace(0.01, 0.99, 30)[:, None])
    pieces = list(own_nodes(x, n, KnownItems(np.ones(3), -B, np.zeros(3)), Density.normal(0.0, 1.0), 2))
    assert sorted(np.concatenate([who for who, _ in pieces]).tolist()) == [i for i in range(30) if i != 4]
    assert max(grid.nodes.size for _, grid in pieces) <= MOST_NODES

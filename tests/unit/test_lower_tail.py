"""Saddlepoint probabilities against all outcomes of a few counts, and against SciPy's binomial distribution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from psychoeval.irt.lower_tail import p_as_low


def exact(weights: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the standardized sums of all patterns of 0/1 terms in order, their mass, and P(Z <= z)."""
    patterns = np.array(list(itertools.product((0, 1), repeat=p.size)))
    z = (patterns - p) @ weights / np.sqrt((p * (1 - p)) @ weights**2)
    mass = np.exp(patterns @ np.log(p) + (1 - patterns) @ np.log1p(-p))
    order = np.argsort(z)
    return z[order], mass[order], np.cumsum(mass[order])


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_are_right_far_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, weights = rng.uniform(0.05, 0.95, 12), rng.normal(size=12)
    z, mass, below = exact(weights, p)
    found = p_as_low(z, np.tile(weights, (z.size, 1)), np.tile(p, (z.size, 1)), np.ones((z.size, 12)))
    low = below < 0.3
    middle = (below - mass / 2)[low]
    assert np.abs(found[low] / middle - 1).mean() < 0.09
    far = below[low] < 0.01
    assert np.abs(np.log(found[low][far] / middle[far])).mean() < 0.35
    assert 0.6 * below[0] < found[0] <= below[0] * (1 + 1e-4)  # the least sum of all: Chernoff's bound is exact
    assert (np.diff(found) > -2e-5).all()


def test_equal_weights_are_one_binomial_count() -> None:
    x = np.arange(41)
    p, n = 0.3, 40
    z = (x - n * p) / np.sqrt(n * p * (1 - p))
    one = p_as_low(z, np.ones((41, 1)), np.full((41, 1), p), np.full((41, 1), n))
    inside = x < 20
    assert (one[inside] > binom.cdf(x - 1, n, p)[inside]).all()
    assert (one[inside] <= binom.cdf(x, n, p)[inside] * (1 + 1e-9)).all()
    each = p_as_low(z, np.ones((41, n)), np.full((41, n), p), np.ones((41, n)))
    np.testing.assert_allclose(each, one, rtol=1e-9)


def test_cells_without_trials_and_unknown_values_are_left_out() -> None:
    rng = np.random.default_rng(3)
    p, weights = rng.uniform(0.1, 0.9, (3, 6)), rng.normal(size=(3, 6))
    trials = np.ones((3, 6))
    trials[1, :2] = 0
    weights[1, 0] = np.nan
    z = np.array([-1.0, -2.0, np.nan])
    found = p_as_low(z, weights, p, trials)
    assert np.isnan(found[2])
    assert found[1] == p_as_low(z[1:2], weights[1:2, 2:], p[1:2, 2:], trials[1:2, 2:])[0]


def test_at_the_mean_it_is_continuous() -> None:
    rng = np.random.default_rng(4)
    p, weights = rng.uniform(0.1, 0.9, 10), rng.normal(size=10)
    z = np.linspace(-0.01, 0.01, 201)
    found = p_as_low(z, np.tile(weights, (201, 1)), np.tile(p, (201, 1)), np.ones((201, 10)))
    # rounding of 1 / w - 1 / u, 2e-5 or so, is far below any use of p
    np.testing.assert_allclose(found, np.linspace(found[0], found[-1], 201), atol=5e-5)
    assert found[-1] - found[0] == pytest.approx(0.02 / np.sqrt(2 * np.pi), rel=0.1)

"""Limited-information fit: matrices by enumeration of patterns, derivatives by differences, known special cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.linalg import LinAlgError, null_space
from scipy.stats import chi2, ncx2

from psychoeval.irt import limited_information as li
from psychoeval.irt.curves import probability

A = np.array([0.6, 1.0, 1.7, 2.4])
D = np.array([0.8, -0.4, 0.1, -1.2])
C = np.array([0.0, 0.2, 0.1, 0.25])
PATTERNS = np.array(list(product((0, 1), repeat=4)), dtype=float)
SUBSETS = [*((j,) for j in range(4)), *((j, k) for j in range(4) for k in range(j + 1, 4))]
#: Which patterns have all items of a subset right.
RIGHT = np.array([PATTERNS[:, list(s)].all(axis=1) for s in SUBSETS], dtype=float)


def pattern_probabilities(a: np.ndarray, d: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the probabilities of all patterns, by Gauss-Hermite and not by the grid under test."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)
    p = probability(nodes, a, d, c)
    each = [np.prod(np.where(row, p, 1 - p), axis=1) @ weights for row in PATTERNS]
    return np.array(each) / np.sqrt(2 * np.pi)


def curves(a: np.ndarray = A, d: np.ndarray = D, c: np.ndarray = C) -> li.Curves:
    return li.item_curves(a, d, c, li.moment_grid(a))


def test_moments_and_their_covariance_by_enumeration() -> None:
    probabilities = pattern_probabilities(A, D, C)
    assert probabilities.sum() == pytest.approx(1, abs=1e-10)
    expected = RIGHT @ probabilities
    assert li.moments(curves()) == pytest.approx(expected, abs=1e-10)
    covariance = RIGHT @ np.diag(probabilities) @ RIGHT.T - np.outer(expected, expected)
    assert li.moment_covariance(curves()) == pytest.approx(covariance, abs=1e-10)


@pytest.mark.parametrize("term", ["slope", "intercept"])
def test_derivatives_by_differences(term: str) -> None:
    found = li.moment_derivatives(curves(), getattr(curves(), term))
    for item in range(4):
        step = 1e-5 * np.eye(4)[item]
        high, low = (
            RIGHT @ pattern_probabilities(A + s * (term == "slope"), D + s * (term == "intercept"), C)
            for s in (step, -step)
        )
        assert found[:, item] == pytest.approx((high - low) / 2e-5, abs=1e-9)


def test_observed_moments_are_shares_of_persons() -> None:
    x = np.random.default_rng(1).integers(0, 2, (37, 4)).astype(float)
    assert li.observed_moments(x) == pytest.approx([x[:, list(s)].all(axis=1).mean() for s in SUBSETS])


def test_m2_is_the_form_in_the_orthogonal_complement() -> None:
    shape = curves()
    derivatives = np.hstack((li.moment_derivatives(shape, shape.slope).sum(axis=1, keepdims=True),
                             li.moment_derivatives(shape, shape.intercept)))  # fmt: skip
    covariance = li.moment_covariance(shape)
    residual = np.random.default_rng(2).normal(0, 0.02, 10)
    complement = null_space(derivatives.T)
    left = complement.T @ residual
    expected = 300 * left @ np.linalg.solve(complement.T @ covariance @ complement, left)
    statistic, df = li.m2(residual, covariance.copy(), derivatives, 300)
    assert (statistic, df) == (pytest.approx(expected, rel=1e-9), 5)
    # What the parameters explain to first order costs nothing.
    moved = residual + derivatives @ np.array([0.3, -0.2, 0.1, 0.0, 0.4])
    assert li.m2(moved, covariance.copy(), derivatives, 300)[0] == pytest.approx(expected, rel=1e-9)


def test_independence_is_the_same_statistic_in_closed_form() -> None:
    x = np.random.default_rng(3).integers(0, 2, (50, 4)).astype(float)
    observed = li.observed_moments(x)
    mean = observed[:4]
    flat = li.Curves(np.ones(1), mean[None], np.zeros((1, 4)), (mean * (1 - mean))[None])
    residual = observed - li.moments(flat)
    expected = li.m2(residual, li.moment_covariance(flat), li.moment_derivatives(flat, flat.intercept), 50)
    found = li.independence_m2(observed, 4, 50)
    assert (found[0], found[1]) == (pytest.approx(expected[0], rel=1e-10), expected[1])
    assert li.correlations(observed, 4) == pytest.approx(np.corrcoef(x.T)[np.triu_indices(4, 1)])


def test_what_the_moments_do_not_determine_is_refused() -> None:
    shape = curves()
    columns = li.moment_derivatives(shape, shape.intercept)
    with pytest.raises(LinAlgError, match="do not determine"):
        li.m2(np.zeros(10), li.moment_covariance(shape), np.hstack((columns, columns[:, :1] * 3)), 100)
    with pytest.raises(LinAlgError, match="nothing of some parameter"):
        li.m2(np.zeros(10), li.moment_covariance(shape), columns * [1, 1, 1, 0], 100)
    same = li.Curves(np.ones(1), np.ones((1, 4)), np.zeros((1, 4)), np.zeros((1, 4)))
    with pytest.raises(LinAlgError, match="singular"):
        li.m2(np.zeros(10), li.moment_covariance(same), columns, 100)


def test_the_limits_of_the_rmsea_put_the_statistic_at_its_points() -> None:
    low, high = li.rmsea_interval(40.0, 20, 500, 0.90)
    assert ncx2.cdf(40.0, 20, low**2 * 500 * 20) == pytest.approx(0.95, abs=1e-9)
    assert ncx2.cdf(40.0, 20, high**2 * 500 * 20) == pytest.approx(0.05, abs=1e-9)
    assert li.rmsea(40.0, 20, 500) == pytest.approx(np.sqrt(20 / (500 * 20)))
    assert low < li.rmsea(40.0, 20, 500) < high
    assert li.rmsea_interval(float(chi2.ppf(0.9, 20)), 20, 500)[0] == 0
    assert li.rmsea_interval(float(chi2.ppf(0.01, 20)), 20, 500) == (0, 0)
    assert li.rmsea(12.0, 20, 500) == 0


def test_cfi_and_tli() -> None:
    assert li.incremental_fit(30.0, 20, 120.0, 30) == pytest.approx((1 - 10 / 90, (4 - 1.5) / 3))
    assert li.incremental_fit(10.0, 20, 120.0, 30)[0] == 1
    assert np.isnan(li.incremental_fit(10.0, 20, 29.0, 30)).all()


def test_steep_curves_get_finer_nodes() -> None:
    steep = np.array([9.0, 0.5, 1.0])
    rule = li.moment_grid(steep)
    finer = li.normal_grid(8 * len(rule.nodes), 9.0)
    d, c = np.array([1.0, 0.0, -1.0]), np.zeros(3)
    first, second = (li.moment_covariance(li.item_curves(steep, d, c, grid)) for grid in (rule, finer))
    assert first == pytest.approx(second, abs=1e-12)

import math

import numpy as np
import pytest

from psychoeval.irt import curves

A = np.array([0.4, 1.0, 2.5, -0.8])
D = np.array([-1.0, 0.0, 1.5, 0.3])
C = np.array([0.0, 0.2, 0.1, 0.0])
THETA = np.linspace(-4.0, 4.0, 17)

LOGIT = np.multiply.outer(THETA, A) + D
#: Success and failure by the formula, each without cancellation.
P, Q = C + (1 - C) / (1 + np.exp(-LOGIT)), (1 - C) / (1 + np.exp(LOGIT))


def test_probability_is_the_formula():
    got = curves.probability(THETA, A, D, C)
    for i, theta in enumerate(THETA):
        for j in range(4):
            expected = C[j] + (1 - C[j]) / (1 + math.exp(-(A[j] * theta + D[j])))
            assert got[i, j] == pytest.approx(expected, abs=1e-15)


def test_at_the_difficulty_success_lies_halfway_above_guessing():
    b = -D / A
    assert np.diag(curves.probability(b, A, D, C)) == pytest.approx(C + (1 - C) / 2, abs=1e-15)


@pytest.mark.parametrize("c", [0.0, 0.25])
def test_log_probabilities_are_finite_where_probabilities_are_zero(c):
    log_p, log_q = curves.log_probabilities([-2000.0, 2000.0], [1.0], [0.0], [c])
    assert np.isfinite(log_p).all()
    assert np.isfinite(log_q).all()
    assert log_p[0, 0] == pytest.approx(-2000.0 if c == 0 else math.log(c))
    assert log_q[1, 0] == pytest.approx(-2000.0 + math.log1p(-c))


def test_log_probabilities_are_the_logs_of_the_probabilities():
    log_p, log_q = curves.log_probabilities(THETA, A, D, C)
    assert log_p == pytest.approx(np.log(P), rel=1e-13, abs=1e-15)
    assert log_q == pytest.approx(np.log(Q), rel=1e-13, abs=1e-15)


def test_log_probabilities_with_no_guessing_on_some_items_only():
    mixed, _ = curves.log_probabilities(THETA, A, D, C)
    alone, _ = curves.log_probabilities(THETA, A[:1], D[:1])
    assert mixed[:, :1] == pytest.approx(alone, abs=1e-14)


def test_information_is_squared_slope_of_the_curve_over_its_variance():
    # The derivative by a complex step: no difference, hence no cancellation.
    h = 1e-30
    shifted = C + (1 - C) / (1 + np.exp(-(np.multiply.outer(THETA + 1j * h, A) + D)))
    slope = shifted.imag / h
    assert curves.information(THETA, A, D, C) == pytest.approx(slope**2 / (P * Q), rel=1e-11)


def test_node_log_likelihood_against_the_product_of_binomial_terms():
    rng = np.random.default_rng(1)
    trials = rng.integers(0, 5, (6, 4)).astype(np.uint8)
    trials[2] = 0
    successes = rng.binomial(trials, 0.6).astype(np.uint8)
    got = curves.node_log_likelihood(successes, trials, THETA, A, D, C)
    for i in range(6):
        for q in range(len(THETA)):
            x, n = successes[i].astype(int), trials[i].astype(int)
            assert got[i, q] == pytest.approx(math.log(math.prod(P[q] ** x * Q[q] ** (n - x))), rel=1e-13)
    assert (got[2] == 0).all()

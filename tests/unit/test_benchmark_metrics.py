"""The benchmark's metrics against closed forms and brute force written here."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

from benchmarks.native import metrics
from benchmarks.native.data import MISSING, Simulated, Size, Truth, simulate
from benchmarks.native.known_abilities import known_slope_ratio


def curve(theta: float, a: float, b: float) -> float:
    return 1 / (1 + math.exp(-a * (theta - b)))


def test_standardising_keeps_the_curves() -> None:
    rng = np.random.default_rng(1)
    truth = Truth(rng.normal(0.7, 1.6, 20), rng.lognormal(0, 0.3, 5), rng.normal(size=5))
    standard = truth.standardised()
    assert standard.theta.mean() == pytest.approx(0, abs=1e-12)
    assert standard.theta.std() == pytest.approx(1, abs=1e-12)
    for i in range(20):
        for j in range(5):
            before = truth.a[j] * (truth.theta[i] - truth.b[j])
            assert standard.a[j] * (standard.theta[i] - standard.b[j]) == pytest.approx(before, abs=1e-12)


def test_blocks_draw_what_one_call_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    size = Size(40, 30)
    whole = simulate(size, 3)
    rng = np.random.default_rng(3)
    theta, b, a = rng.normal(0, 1, 40), rng.normal(0, 1.5, 30), rng.lognormal(0, 0.3, 30)
    y = rng.random((40, 30)) < 1 / (1 + np.exp(-a * (theta[:, None] - b)))
    varied = y.any(axis=0) & ~y.all(axis=0)
    np.testing.assert_array_equal(whole.cells, y[:, varied])
    np.testing.assert_array_equal(whole.truth.b, b[varied])
    monkeypatch.setattr("benchmarks.native.data._BLOCK_CELLS", 90)
    np.testing.assert_array_equal(simulate(size, 3).cells, whole.cells)


def test_missing_cells_follow_ability_and_difficulty() -> None:
    data = simulate(Size(300, 400, missing=0.6), 0)
    run = data.cells != MISSING
    # 120,000 draws of probability .4: their standard error is .0014
    assert run.mean() == pytest.approx(0.4, abs=0.006)
    hardness = (run * data.truth.b).sum(axis=1) / run.sum(axis=1)
    strong = data.truth.theta > 1
    weak = data.truth.theta < -1
    assert hardness[strong].mean() > hardness[weak].mean() + 1


def test_loss_is_the_mean_divergence_by_brute_force() -> None:
    rng = np.random.default_rng(2)
    truth = Truth(rng.normal(size=6), rng.lognormal(0, 0.3, 4), rng.normal(size=4))
    found = metrics.Estimates(truth.theta + 0.2, truth.a * 1.1, -truth.a * 1.1 * (truth.b - 0.1))
    observed = rng.random((6, 4)) < 0.5
    total, some = [], []
    for i in range(6):
        for j in range(4):
            p = curve(truth.theta[i], truth.a[j], truth.b[j])
            q = curve(truth.theta[i] + 0.2, truth.a[j] * 1.1, truth.b[j] - 0.1)
            value = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
            total.append(value)
            if observed[i, j]:
                some.append(value)
    assert metrics.held_out_loss(found, truth) == pytest.approx(1000 * sum(total) / 24, rel=1e-10)
    assert metrics.held_out_loss(found, truth, observed) == pytest.approx(1000 * sum(some) / len(some), rel=1e-10)


def test_loss_of_the_truth_is_zero_in_any_frame_and_block(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = simulate(Size(50, 40), 0).truth
    standard = truth.standardised()
    found = metrics.Estimates(standard.theta, standard.a, -standard.a * standard.b)
    assert metrics.held_out_loss(found, truth) == pytest.approx(0, abs=1e-10)  # of rounding in 1,000 nats
    wrong = metrics.Estimates(standard.theta * 1.3, standard.a, -standard.a * standard.b)
    whole = metrics.held_out_loss(wrong, truth)
    monkeypatch.setattr(metrics, "_BLOCK_CELLS", 130)
    assert metrics.held_out_loss(wrong, truth) == pytest.approx(whole, rel=1e-12)


def test_loss_stays_finite_at_huge_logits_and_is_nan_without_an_estimate() -> None:
    truth = Truth(np.array([0.0]), np.array([1.0]), np.array([0.0]))
    far = metrics.Estimates(np.array([1.0]), np.array([1000.0]), np.array([0.0]))
    # P = 1/2: log(1/2) - (log 1 + (-1000)) / 2
    assert metrics.held_out_loss(far, truth) == pytest.approx(1000 * (math.log(0.5) + 500), rel=1e-12)
    none = metrics.Estimates(np.array([np.nan]), np.array([1.0]), np.array([0.0]))
    assert math.isnan(metrics.held_out_loss(none, truth))


def test_expected_loss() -> None:
    # 2 * 1000 + 100 - 2 parameters, half a unit each, over 100,000 responses
    assert metrics.expected_loss(100, 1000, 100_000) == pytest.approx(10.49)


def test_expected_loss_is_what_maximum_likelihood_loses() -> None:
    """N systems with one proportion each: the loss of the mean over K trials is 1/(2K) a response, to order 1/K^2."""
    k, p = 400, 0.3
    successes = np.arange(k + 1)
    choose = np.array([math.lgamma(k + 1) - math.lgamma(s + 1) - math.lgamma(k - s + 1) for s in successes])
    weight = np.exp(choose + successes * math.log(p) + (k - successes) * math.log(1 - p))
    q = np.clip(successes / k, 1e-12, 1 - 1e-12)
    loss = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    assert 1000 * float(weight @ loss) == pytest.approx(1000 / (2 * k), rel=0.02)


def test_coverage_counts_what_lies_inside_and_leaves_out_what_is_unknown() -> None:
    estimate = np.array([0.0, 0.0, 0.0, np.nan, 0.0])
    error = np.array([1.0, 1.0, 1.0, 1.0, np.nan])
    truth = np.array([1.95, -1.97, 0.0, 0.0, 0.0])
    assert metrics.coverage(estimate, error, truth) == pytest.approx(2 / 3)
    assert math.isnan(metrics.coverage(estimate, None, truth))


def test_clustered_interval() -> None:
    found = metrics.clustered([0.94, 0.95, 0.96])
    # SD .01, standard error .01 / sqrt 3, t(2) quantile 4.302653
    assert found.mean == pytest.approx(0.95)
    assert found.high - found.mean == pytest.approx(4.302653 * 0.01 / math.sqrt(3), rel=1e-6)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)
    alone = metrics.clustered([0.9])
    assert alone.mean == 0.9
    assert math.isnan(alone.low)


def test_correlation_leaves_out_what_is_not_finite() -> None:
    x, y = np.array([1.0, 2.0, 4.0, np.nan, np.inf]), np.array([2.0, 1.0, 5.0, 3.0, 1.0])
    assert metrics.correlation(x, y) == pytest.approx(16 / math.sqrt(14 * 26), rel=1e-12)  # of (1, 2, 4), (2, 1, 5)


def test_marginal_log_likelihood_against_adaptive_integration() -> None:
    cells = np.array([[0, 1, 1], [1, MISSING, 0], [MISSING, MISSING, MISSING]], dtype=np.uint8)
    a, d = np.array([0.7, 1.3, 2.1]), np.array([0.2, -0.4, 0.9])
    total = 0.0
    for row in cells:

        def integrand(theta: float, row: np.ndarray = row) -> float:
            value = math.exp(-theta * theta / 2) / math.sqrt(2 * math.pi)
            for x, slope, intercept in zip(row, a, d, strict=True):
                if x != MISSING:
                    p = curve(theta, slope, -intercept / slope)
                    value *= p if x else 1 - p
            return value

        total += math.log(quad(integrand, -12, 12, epsabs=1e-14, epsrel=1e-12, limit=200)[0])
    assert metrics.marginal_log_likelihood(cells, a, d) == pytest.approx(total, abs=1e-8)


def test_recovery_of_the_truth_itself() -> None:
    data = simulate(Size(60, 50), 5)
    s = data.truth.standardised()
    ones = np.ones(s.a.size)
    found = metrics.Estimates(s.theta, s.a, -s.a * s.b, np.ones(60), ones, None)
    values = metrics.recovery(found, data)
    for name in ("tau", "r_b", "r_log_a", "slope_ratio", "cover_theta", "cover_a"):
        assert values[name] == pytest.approx(1), name
    assert math.isnan(values["cover_b"])
    assert values["loss"] == pytest.approx(0, abs=1e-9)


def test_a_stretched_scale_shows_in_the_slopes() -> None:
    data = simulate(Size(60, 50), 5)
    s = data.truth.standardised()
    stretched = metrics.recovery(metrics.Estimates(2 * s.theta, s.a / 2, -s.a * s.b), data)
    assert stretched["slope_ratio"] == pytest.approx(0.5)
    assert stretched["loss"] == pytest.approx(0, abs=1e-9)  # the same curves


def test_slopes_below_zero_have_no_logarithm() -> None:
    truth = Truth(np.array([-1.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.0, 1.0]))
    cells = np.array([[0, 1, 0], [1, 0, 1], [1, 1, 0]], dtype=np.uint8)
    found = metrics.Estimates(truth.theta, np.array([1.0, 2.0, -3.0]), np.array([1.0, 0.5, 2.0]))
    assert metrics.recovery(found, Simulated(cells, truth))["r_log_a"] == pytest.approx(1)


def test_slopes_of_known_abilities_are_those_of_a_regression_by_brute_force() -> None:
    data = simulate(Size(80, 3), 1)
    cells = data.cells.copy()
    cells[:7, 1] = MISSING
    truth = data.truth.standardised()

    def slope(j: int) -> float:
        run = cells[:, j] != MISSING
        theta, y = truth.theta[run], cells[run, j]

        def loss(x: np.ndarray) -> float:
            z = x[0] * theta + x[1]
            return float(np.sum(np.logaddexp(0, z) - y * z))

        return float(minimize(loss, [1.0, 0.0], tol=1e-10).x[0])

    expected = np.median([slope(j) / truth.a[j] for j in range(3)])
    assert known_slope_ratio(Simulated(cells, data.truth)) == pytest.approx(expected, abs=1e-5)

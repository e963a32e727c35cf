from __future__ import annotations

import numpy as np
import pytest

from psychoeval.errors import DataError, DisconnectedDataError
from psychoeval.estimators.native.additive import Additive
from psychoeval.estimators.native.simple_average import SimpleAverage
from psychoeval.irt import additive
from psychoeval.irt.additive import AdditiveFit, fit_additive
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

NAN = float("nan")
TRIALS = np.array(
    [
        [3, 2, 2, 2, 3, 2, 2, 1, 1],
        [1, 1, 2, 1, 2, 3, 2, 2, 2],
        [1, 0, 2, 1, 2, 2, 2, 1, 2],
        [2, 3, 3, 1, 0, 3, 2, 2, 2],
        [3, 2, 2, 3, 3, 3, 1, 1, 1],
        [1, 2, 1, 2, 0, 2, 2, 3, 0],
    ],
    dtype=np.uint8,
)
SUCCESSES = np.array(
    [
        [0, 1, 0, 1, 1, 0, 1, 1, 1],
        [1, 1, 0, 1, 1, 2, 1, 1, 0],
        [1, 0, 2, 0, 1, 2, 1, 0, 1],
        [2, 1, 0, 1, 0, 2, 1, 2, 1],
        [2, 0, 0, 0, 0, 3, 1, 0, 0],
        [1, 0, 0, 2, 0, 0, 2, 2, 0],
    ],
    dtype=np.uint8,
)


def by_definition(s: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Scores, item scores, covariance and residual variance from the whole design matrix and a pseudo-inverse."""
    n, m = t.shape
    i, j = np.nonzero(t)
    w = t[i, j].astype(float)
    x = np.zeros((i.size, n + m))
    x[np.arange(i.size), i] = x[np.arange(i.size), n + j] = 1
    g = np.linalg.pinv(x.T @ (x * w[:, None]))
    beta = g @ x.T @ (s[i, j].astype(float))
    e = s[i, j] / w - x @ beta
    left = 1 - w * np.einsum("ij,jk,ik->i", x, g, x)
    s2 = float(w @ e**2) / (i.size - n - m + 1)
    omega = np.where(left > 1e-8, e**2 / np.where(left > 1e-8, left, 1), s2 / w)
    to_score = np.hstack([np.eye(n), np.full((n, m), 1 / m)])
    to_item = np.hstack([np.full((m, n), 1 / n), np.eye(m)])
    a = to_score @ g @ x.T * w
    return to_score @ beta, to_item @ beta, (a * omega) @ a.T, s2


@pytest.mark.parametrize("transpose", [False, True], ids=["more items", "more persons"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("block", [20, 2**22])
@pytest.mark.parametrize(("fill", "trials"), [(1.0, 1), (1.0, 4), (0.6, 1), (0.7, 5)])
def test_against_the_whole_design(
    monkeypatch: pytest.MonkeyPatch, transpose: bool, sparse: bool, block: int, fill: float, trials: int
) -> None:
    monkeypatch.setattr(additive, "SPARSE_DENSITY", 2.0 if sparse else 0.0)
    monkeypatch.setattr(additive, "BLOCK_CELLS", block)
    rng = np.random.default_rng(3)
    t = rng.integers(1, trials + 1, (7, 12)) * (rng.random((7, 12)) < fill)
    t[:, 0] = [1, 0, 0, 0, 0, 0, 0]  # an item seen once: its cell has no residual
    t[:, 1] = t[0] = 1
    t = (t.T if transpose else t).astype(np.uint8)
    s = rng.binomial(t, 0.6).astype(np.uint8)
    got: AdditiveFit = fit_additive(s, t)
    score, item_score, covariance, residual_variance = by_definition(s, t)
    assert got.score == pytest.approx(score, abs=1e-10)
    assert got.item_score == pytest.approx(item_score, abs=1e-10)
    assert got.covariance is not None
    assert got.covariance == pytest.approx(covariance, abs=1e-10)
    assert got.variance == pytest.approx(np.diag(covariance), abs=1e-10)
    assert got.residual_variance == pytest.approx(residual_variance, abs=1e-10)


def test_against_r() -> None:
    # R 4.2.2: lm(y ~ person + item, weights = trials), person means over all items, HC2 from hatvalues().
    fit = Additive().fit(Responses.from_array(SUCCESSES, trials=TRIALS))
    assert fit.abilities is not None
    assert fit.abilities.covariance is not None
    assert fit.statistics is not None
    wanted = [
        0.32720682164187, 0.50084420142229, 0.62458372396316, 0.56463028003276, 0.30699194509618, 0.48510586892193,
    ]  # fmt: skip
    errors = [
        0.149384856022621, 0.096981647538365, 0.170781978517717, 0.089056181817875, 0.146842534956195,
        0.177041881639606,
    ]  # fmt: skip
    assert fit.abilities.estimate == pytest.approx(wanted, abs=1e-12)
    assert fit.abilities.standard_error == pytest.approx(errors, abs=1e-12)
    assert fit.abilities.covariance[0, 1] == pytest.approx(0.00069209071635345, abs=1e-12)
    assert fit.statistics["residual_variance"] == pytest.approx(0.29352912660976, abs=1e-12)
    assert fit.statistics["degrees_of_freedom"] == 36


def test_complete_data_give_row_means() -> None:
    rng = np.random.default_rng(0)
    s = rng.binomial(3, 0.4, (5, 8)).astype(np.uint8)
    closed = fit_additive(s, np.full((5, 8), 3, dtype=np.uint8))
    assert closed.score == pytest.approx(s.mean(axis=1) / 3)
    _, item_score, covariance, residual_variance = by_definition(s, np.full((5, 8), 3))
    assert closed.item_score == pytest.approx(item_score)
    assert closed.covariance == pytest.approx(covariance, abs=1e-12)
    assert closed.residual_variance == pytest.approx(residual_variance)


def additive_world(seed: int, trials: int) -> tuple[np.ndarray, Responses]:
    """A world where score = person + item holds, half of the cells seen."""
    rng = np.random.default_rng(seed)
    p = 0.5 + np.linspace(-0.2, 0.2, 15)[:, None] + np.linspace(-0.25, 0.25, 40)
    t = trials * (rng.random(p.shape) < 0.5)
    return p.mean(axis=1), Responses.from_array(rng.binomial(t, p), trials=t)


@pytest.mark.parametrize("trials", [1, 10])
def test_errors_and_overdispersion_where_the_form_holds(trials: int) -> None:
    z, differences, ratios = [], [], []
    for seed in range(120):
        truth, responses = additive_world(seed, trials)
        fit = Additive().fit(responses)
        assert fit.abilities is not None
        assert fit.abilities.standard_error is not None
        assert fit.abilities.covariance is not None
        assert fit.statistics is not None
        off, v = fit.abilities.estimate - truth, fit.abilities.covariance
        z.append(off / fit.abilities.standard_error)
        differences.append((off[0] - off[-1]) / np.sqrt(v[0, 0] + v[-1, -1] - 2 * v[0, -1]))
        ratios.append(fit.statistics["overdispersion"])
    # 1,800 and 120 intervals: Monte Carlo errors .005 and .02; HC2 with 20 cells a person costs about .015.
    assert np.mean(np.abs(z) < 1.96) == pytest.approx(0.95, abs=0.03)
    assert np.mean(np.abs(differences) < 1.96) == pytest.approx(0.95, abs=0.06)
    if trials == 1:
        assert set(ratios) == {None}
    else:
        assert np.mean(ratios) == pytest.approx(1, abs=0.03)


def test_interactions_show_as_overdispersion() -> None:
    rng = np.random.default_rng(1)
    p = rng.random((10, 20))
    fit = Additive().fit(Responses.from_array(rng.binomial(50, p), trials=50))
    assert fit.statistics is not None
    assert fit.statistics["overdispersion"] > 10
    assert any("times as much as trials alone explain" in w for w in fit.convergence.warnings)


def hard_for_the_strong(seed: int) -> tuple[np.ndarray, Responses]:
    """10 x 10, 100 trials, difficulty gap 5; a system sees five items near its level, neighbors share four."""
    rng = np.random.default_rng(seed)
    theta, b, a = np.linspace(-2, 2, 10), np.linspace(-2.5, 2.5, 10), np.linspace(1, 3, 10)
    first = np.clip(np.arange(10) - 2, 0, 5)
    seen = np.array([(np.arange(10) >= f) & (np.arange(10) < f + 5) for f in first])
    k = rng.binomial(100, 1 / (1 + np.exp(-a * (theta[:, None] - b))))
    return theta, Responses.from_array(np.where(seen, k, 0), trials=100 * seen)


def test_ranks_hold_where_the_strong_saw_the_hard_items() -> None:
    from scipy.stats import spearmanr

    def rho(fit: FitResult, theta: np.ndarray) -> float:
        assert fit.abilities is not None
        return float(spearmanr(fit.abilities.estimate, theta).statistic)

    runs = [hard_for_the_strong(seed) for seed in range(10)]
    average = np.mean([rho(SimpleAverage().fit(r), theta) for theta, r in runs])
    adjusted = np.mean([rho(Additive().fit(r), theta) for theta, r in runs])
    assert average < 0.8
    assert adjusted > 0.98


def test_no_responses_are_refused() -> None:
    with pytest.raises(DataError, match="No cell was administered"):
        Additive().fit(Responses.from_array([[NAN, NAN]]))


def test_disconnected_data_are_refused() -> None:
    with pytest.raises(DisconnectedDataError):
        Additive().fit(Responses.from_array([[1, 0, NAN, NAN], [NAN, NAN, 1, 0]]))


def test_empty_rows_and_columns_stay_in_place_and_constant_items_count() -> None:
    x = [[1, 0, NAN, 1, 0], [NAN] * 5, [0, 1, NAN, 1, 0], [1, NAN, NAN, 1, 0]]
    fit = Additive().fit(Responses.from_array(x))
    assert fit.abilities is not None
    assert fit.item_statistics is not None
    assert fit.abilities.status[1] == "no_responses"
    assert np.isnan(fit.abilities.estimate[1])
    assert np.isfinite(fit.abilities.estimate[[0, 2, 3]]).all()
    assert fit.abilities.estimate[0] == pytest.approx(0.5)
    assert fit.item_statistics.status == (
        "estimated", "estimated", "no_responses", "constant_all_1", "constant_all_0",
    )  # fmt: skip
    assert np.isnan(fit.item_statistics.proportion_correct[2])


@pytest.mark.parametrize("x", [[[1, 0, 1]], [[1], [0], [1]], [[1, 0, NAN], [NAN, 1, 1]], [[1, 1], [1, 1], [1, NAN]]])
def test_no_residuals_no_errors(x: list[list[float]]) -> None:
    fit = Additive().fit(Responses.from_array(x))
    assert fit.abilities is not None
    assert np.isfinite(fit.abilities.estimate).all()
    assert np.isnan(fit.abilities.standard_error).all()  # type: ignore[arg-type]
    assert "standard errors are unknown, because the fit leaves no residuals" in fit.convergence.warnings[0]


def test_scores_beyond_the_scale_are_said() -> None:
    fit = Additive().fit(Responses.from_array([[1, 1, NAN, NAN], [0, 0, 1, 1], [NAN, NAN, 1, 1], [0, 0, 0, 1]]))
    assert fit.abilities is not None
    assert fit.abilities.estimate.max() > 1
    assert any("outside 0 to 1" in w for w in fit.convergence.warnings)

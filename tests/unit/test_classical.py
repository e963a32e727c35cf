from __future__ import annotations

import numpy as np
import pytest

from psychoeval.irt import classical
from psychoeval.irt.classical import (
    Moments,
    item_rest_correlation,
    mean_error,
    mean_of_seen,
    row_moments,
)
from psychoeval.irt.intervals import correlation_interval, wald_interval, wilson_interval
from psychoeval.irt.reliability import alpha_complete, alpha_pairwise, feldt_interval, kr20


def draw(seed: int, n: int, j: int, trials: int, fill: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    t = (rng.integers(1, trials + 1, (n, j)) * (rng.random((n, j)) < fill)).astype(np.uint8)
    ability = rng.normal(size=(n, 1))
    p = 1 / (1 + np.exp(-(ability - rng.normal(size=j))))
    return rng.binomial(t, p).astype(np.uint8), t


def scores(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return s / np.where(t > 0, t, np.nan)


def test_wilson_interval_against_r() -> None:
    # R 4.2.2: prop.test(7, 20, correct = FALSE, conf.level = .9).
    low, high = wilson_interval(np.array([0.35]), np.array([20.0]), 0.9)
    assert (low[0], high[0]) == pytest.approx((0.202260040057, 0.533487311152), abs=1e-9)


def test_wilson_interval_solves_its_equation_at_fractional_n() -> None:
    p, n, z = 0.3, 12.7, 1.959963984540054
    for limit in wilson_interval(np.array([p]), np.array([n])):
        assert abs(limit[0] - p) == pytest.approx(z * np.sqrt(limit[0] * (1 - limit[0]) / n), rel=1e-9)


def test_intervals_without_data_are_nan() -> None:
    assert np.isnan(wilson_interval(np.array([np.nan]), np.array([0.0]))).all()
    assert np.isnan(wald_interval(np.array([0.5]), np.array([np.nan]))).all()


def test_correlation_interval_stays_inside_and_is_local_to_first_order() -> None:
    low, high = correlation_interval(np.array([0.95, 0.3]), np.array([0.05, 1e-4]))
    assert -1 < low[0] < 0.95 < high[0] < 1
    assert high[1] - low[1] == pytest.approx(2 * 1.96e-4, rel=1e-3)


@pytest.mark.parametrize("block", [7, 2**22])
def test_row_moments(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(classical, "BLOCK_CELLS", block)
    s, t = draw(0, 9, 6, 3, 0.8)
    t[4] = s[4] = 0
    t[5], s[5] = [0, 0, 2, 0, 0, 0], [0, 0, 1, 0, 0, 0]
    got, x = row_moments(s, t), scores(s, t)
    for i in range(9):
        seen = x[i][~np.isnan(x[i])]
        assert got.n[i] == seen.size
        assert got.mean[i] == pytest.approx(seen.mean() if seen.size else np.nan, nan_ok=True)
        assert got.variance[i] == pytest.approx(seen.var(ddof=1) if seen.size > 1 else np.nan, nan_ok=True)
        assert got.trials[i] == t[i].sum()


def test_mean_error_of_binary_scores_is_worth_their_number() -> None:
    s = np.array([[1, 1, 1, 0, 0]], dtype=np.uint8)
    error, n = mean_error(row_moments(s, np.ones_like(s)))
    assert n[0] == pytest.approx(5)
    assert error[0] == pytest.approx(np.sqrt(0.6 * 0.4 / 4))


def test_mean_error_without_spread() -> None:
    none = np.zeros(4)
    moments = Moments(np.array([1.0, 0.0, 0.5, 1.0]), none, np.array([20.0, 20.0, 10.0, 1.0]), np.array([20.0] * 4))
    error, n = mean_error(moments)
    assert n.tolist() == [20, 20, 20, 1]
    assert error[0] == pytest.approx((1 - 0.838874841947) / 2 / 1.959963984540054)
    assert error[0] == pytest.approx(error[1])
    assert error[3] > error[2] > error[0]


def test_effective_n_lies_between_items_and_trials() -> None:
    s, t = draw(3, 50, 8, 6, 0.9)
    moments = row_moments(s, t)
    _, n = mean_error(moments)
    assert np.all((n >= moments.n) & (n <= moments.trials))
    assert np.any(n > moments.n)


def test_item_rest_correlation_of_complete_data_is_that_with_the_sum() -> None:
    s, t = draw(1, 40, 7, 1, 1.0)
    r, _, n = item_rest_correlation(s, t)
    x = s.astype(float)
    wanted = [np.corrcoef(x[:, j], x.sum(axis=1) - x[:, j])[0, 1] for j in range(7)]
    assert r == pytest.approx(wanted, abs=1e-12)
    assert n.tolist() == [40] * 7


@pytest.mark.parametrize("block", [11, 2**22])
def test_item_rest_correlation_with_missing_cells(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(classical, "BLOCK_CELLS", block)
    s, t = draw(2, 40, 6, 3, 0.6)
    s[:, 2] = t[:, 2]  # a constant item counts in the rest and has no correlation
    r, error, n = item_rest_correlation(s, t)
    x = scores(s, t)
    centered = x - np.nanmean(x, axis=0)
    for j in range(6):
        others = np.delete(centered, j, axis=1)
        used = ~np.isnan(x[:, j]) & ~np.isnan(others).all(axis=1)
        assert n[j] == used.sum()
        if j == 2:
            assert np.isnan(r[j])
            assert np.isnan(error[j])
        else:
            rest = np.nanmean(others[used], axis=1)
            assert r[j] == pytest.approx(np.corrcoef(x[used, j], rest)[0, 1], abs=1e-12)


def test_error_of_the_item_rest_correlation_is_its_spread_over_samples() -> None:
    found = [item_rest_correlation(*draw_like(seed)) for seed in range(300)]
    r = np.array([f[0] for f in found])
    error = np.array([f[1] for f in found])
    # 300 samples know a standard deviation to 4 %.
    assert error.mean(axis=0) / r.std(axis=0) == pytest.approx(np.ones(5), abs=0.12)


def draw_like(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1000 + seed)
    p = 1 / (1 + np.exp(-(rng.normal(size=(150, 1)) - np.array([-1.5, -0.5, 0, 0.5, 1.5]))))
    s = (rng.random(p.shape) < p).astype(np.uint8)
    return s, np.ones_like(s)


def test_alpha_against_covariances_and_kr20() -> None:
    s, t = draw(4, 60, 8, 1, 1.0)
    c = np.cov(s.T.astype(float))
    wanted = 8 / 7 * (1 - np.trace(c) / c.sum())
    got = alpha_complete(s, t)
    assert got.alpha == pytest.approx(wanted, abs=1e-12)
    assert kr20(s) == pytest.approx(wanted, abs=1e-12)
    assert got.error_variance == pytest.approx(c.trace() / 8 - (c.sum() - c.trace()) / 56, abs=1e-12)
    assert alpha_pairwise(s, t).alpha == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("block", [13, 2**22])
def test_alpha_pairwise_against_pandas(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    import pandas as pd

    monkeypatch.setattr(classical, "BLOCK_CELLS", block)
    s, t = draw(5, 50, 6, 4, 0.7)
    c = pd.DataFrame(scores(s, t)).cov().to_numpy()
    assert alpha_pairwise(s, t).alpha == pytest.approx(6 / 5 * (1 - np.trace(c) / c.sum()), abs=1e-12)


def test_pairs_never_taken_together_count_with_the_mean_covariance_of_the_others() -> None:
    s, t = draw(6, 60, 5, 1, 1.0)
    t[:30, 0] = s[:30, 0] = 0
    t[30:, 1] = s[30:, 1] = 0
    import pandas as pd

    c = pd.DataFrame(scores(s, t)).cov().to_numpy()
    pairs = c[np.triu_indices(5, 1)]
    v, between = np.trace(c) / 5, np.nanmean(pairs)
    assert np.isnan(pairs).sum() == 1
    got = alpha_pairwise(s, t)
    assert got.pairs_left_out == 1
    assert got.alpha == pytest.approx(5 * between / (v + 4 * between))


def test_alpha_where_it_is_not_defined() -> None:
    one = np.ones((5, 3), dtype=np.uint8)
    assert np.isnan(alpha_complete(one, one).alpha)
    assert np.isnan(kr20(one))
    assert np.isnan(alpha_complete(one[:, :1], one[:, :1]).alpha)
    apart = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.uint8)
    assert np.isnan(alpha_pairwise(apart, apart).alpha)


def test_equal_totals_leave_an_error_variance_but_no_alpha() -> None:
    s = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.uint8)
    got = alpha_complete(s, np.ones_like(s))
    assert np.isnan(got.alpha)
    assert got.error_variance == pytest.approx(2 / 3)


def test_feldt_interval_against_psych() -> None:
    # R psych 2.2.9: alpha.ci(0.478620922765, n.obs = 58, n.var = 6).
    assert feldt_interval(0.478620922765, 58, 6) == pytest.approx((0.239287566727, 0.661851148444), abs=1e-9)
    assert np.isnan(feldt_interval(float("nan"), 58, 6)).all()


def test_mean_of_seen() -> None:
    t = np.array([[1, 0, 2], [0, 0, 0], [1, 1, 0]], dtype=np.uint8)
    got = mean_of_seen(np.array([0.2, np.nan, 0.6]), t)
    assert got == pytest.approx([0.4, np.nan, 0.2], nan_ok=True)

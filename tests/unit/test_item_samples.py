"""Few items: tests of pairs by enumeration and against exact ones, posteriors by hand and in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import psychoeval as pe
from benchmarks.rank_coverage import calibration_slope
from psychoeval.irt.item_samples import items_sampled_posterior, proportions_posterior
from psychoeval.irt.paired import mcnemar
from psychoeval.irt.ranking import few_units_p, normal_draws, pair_p, rank_counts, rank_limits, share_above, shrink
from psychoeval.trust import rank, rank_over_items


def p_of(z: float, m: int, *, items: bool = True) -> float:
    return float(few_units_p(np.array([[0, z], [-z, 0]]), np.array([m, m + 3.0]), items=items)[0, 1])


def paired(b: int, c: int, m: int) -> float:
    """Return p of m items of which b favor the first and c the second, by the z of their differences."""
    d = np.repeat([1.0, -1.0, 0.0], [b, c, m - b - c])
    error = d.std(ddof=1) / np.sqrt(m)
    return p_of(0.0 if b == c else d.mean() / error if error > 0 else np.inf, m)


def test_items_that_all_favor_one_cannot_say_more_than_an_exact_test() -> None:
    for m in (2, 5, 8, 20):
        assert paired(m, 0, m) >= stats.binomtest(m, m).pvalue * (1 - 1e-12)
    assert paired(5, 0, 5) == pytest.approx(0.0625)
    assert p_of(0.0, 5) == 1
    assert p_of(np.inf, 5, items=False) == pytest.approx(0.0625)
    assert p_of(3.0, 1) == 1
    assert few_units_p(np.zeros((1, 1)), np.ones(1)).item() == 1


def test_clusters_are_tested_by_student_s_t() -> None:
    first, second = np.random.default_rng(0).normal([0.2, 0.0], 1, size=(7, 2)).T
    z = (first - second).mean() / ((first - second).std(ddof=1) / np.sqrt(7))
    assert p_of(z, 7, items=False) == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert p_of(z, 7) >= p_of(z, 7, items=False)


def test_p_is_near_the_exact_one_of_paired_items() -> None:
    """A third of it at worst (half for mid-p, which is not conservative): the normal tail of the test by signs."""
    for m in (6, 12, 40):
        cells = [(b, c) for b in range(m + 1) for c in range(b) if b + c <= m]
        exact = mcnemar(*np.array(cells, dtype=float).T)
        found = np.array([paired(b, c, m) for b, c in cells])
        assert (found > 0.3 * exact[0]).all()
        assert (found > 0.5 * exact[1]).all()


@pytest.mark.parametrize("m", [5, 6, 8, 12, 20, 40])
@pytest.mark.parametrize("differ", [0.1, 0.3, 0.5, 0.8])
def test_equal_systems_are_told_apart_as_rarely_as_said(m: int, differ: float) -> None:
    """By enumeration: m items, each favors either with probability differ / 2. At .05, and far out, as Holm asks."""
    cells = np.array([(b, c, m - b - c) for b in range(m + 1) for c in range(m + 1 - b)])
    chance = stats.multinomial(m, [differ / 2, differ / 2, 1 - differ]).pmf(cells)
    p = np.array([paired(b, c, m) for b, c, _ in cells])
    for alpha in (0.05, 0.003, 1e-4):
        assert chance[p < alpha].sum() < 1.3 * alpha  # .064 at six items of which 4 of 5 differ


@pytest.mark.parametrize("estimator", ["simple-average", "additive", "ctt"])
def test_five_items_tell_nobody_apart(estimator: str) -> None:
    x = np.array([[1, 1, 1, 1, 1]] * 3 + [[1, 1, 1, 0, 1], [1, 0, 0, 1, 0], [0, 1, 0, 0, 0]] + [[0] * 5] * 3)
    responses = pe.Responses.from_array(x)
    found = rank(pe.fit(responses, estimator), correction="none", draws=100)
    assert found.p_adjusted.min() >= 0.0625 * (1 - 1e-12)
    assert not found.told_apart.any()
    fits = {"one": pe.fit(responses, estimator), "other": pe.fit(responses, "ctt")}
    claims = pe.compare_inference(fits, responses=responses, correction="none")
    assert set(claims.told_apart) == {0}


def test_a_selected_component_keeps_its_units() -> None:
    x = np.full((6, 10), np.nan)
    x[:3, :5], x[3:, 5:] = [[1] * 5, [0, 1, 0, 1, 1], [0] * 5], [[1] * 5, [0, 1, 0, 1, 1], [0] * 5]
    found = rank(pe.fit(pe.Responses.from_array(x), "simple-average"), component=1, correction="none", draws=100)
    assert found.p_adjusted.min() >= 0.0625 * (1 - 1e-12)


def brute_force(estimate: np.ndarray, s: np.ndarray, n_items: np.ndarray, df: float) -> np.ndarray:
    """Return the errors' covariance between contrasts, from the formulas of the docstring, cell by cell."""
    n = len(s)
    center = np.eye(n) - 1 / n
    s = center @ s @ center
    mean = np.trace(s) / (n - 1)
    own = [max((s[i, i] - mean / n) / (1 - 2 / n), 0.05 * mean) for i in range(n)]
    t = center @ np.diag(own) @ center
    cells = [(i, j) for i in range(n) for j in range(n) if i != j]
    chance = sum((s[i, j] ** 2 + s[i, i] * s[j, j]) / df for i, j in cells)
    weight = min(1.0, chance / sum((s[i, j] - t[i, j]) ** 2 for i, j in cells))
    middle = shrink(estimate, (1 - weight) * s + weight * t).mean
    kappa = sum(own) / sum(p * (1 - p) / k for p, k in zip(estimate, n_items, strict=True))
    smooth = [kappa * p * (1 - p) / k for p, k in zip(middle, n_items, strict=True)]
    return (1 - weight) * s + weight * center @ np.diag(smooth) @ center


@pytest.mark.parametrize("df", [8.0, 400.0])
def test_errors_are_drawn_toward_independent_ones_by_what_chance_explains(df: float) -> None:
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 9)) * 0.03
    s, estimate, n_items = root @ root.T + 0.001, rng.uniform(0.2, 0.9, 6), np.array([40.0, 40, 40, 30, 20, 40])
    found = items_sampled_posterior(estimate, s, n_items, df)
    expected = shrink(estimate, brute_force(estimate, s, n_items, df))
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-9)
    np.testing.assert_allclose(found.covariance, expected.covariance, atol=1e-9)


def test_scores_without_any_spread_between_items_stay() -> None:
    found = items_sampled_posterior(np.array([0.2, 0.5, 0.5]), np.full((3, 3), 0.01), np.full(3, 10.0), 9.0)
    np.testing.assert_allclose(found.mean, [0.2, 0.5, 0.5], atol=1e-6)


def test_a_perfect_score_has_the_error_of_scores_near_it() -> None:
    estimate, n = np.array([1.0, 0.9, 0.6, 0.4, 0.3]), np.full(5, 10.0)
    variance = np.array([0.002, 0.009, 0.024, 0.024, 0.021])
    found = proportions_posterior(estimate, np.diag(variance), n)
    middle = np.clip(shrink(estimate, np.diag(variance)).mean, 0.05, 0.95)
    seen = np.clip(estimate, 0.05, 0.95)
    smooth = middle * (1 - middle) / n * variance.sum() / (seen * (1 - seen) / n).sum()
    np.testing.assert_allclose(found.mean, shrink(estimate, np.diag(smooth)).mean)
    assert smooth[0] > 1.5 * variance[0]


def test_more_systems_than_items_are_not_known_too_well() -> None:
    """40 items leave 39 directions of errors among 60 systems: inverted as it is, the covariance knows the others."""
    figures: dict[str, list[tuple[float, np.ndarray]]] = {"regular": [], "raw": []}
    truth = []
    i, j = np.triu_indices(60, 1)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        theta, b = rng.normal(size=60), rng.normal(size=40)
        x = (rng.random((60, 40)) < 1 / (1 + np.exp(b - theta[:, None]))).astype(float)
        place = np.argsort(np.argsort(-theta)) + 1
        truth.append(theta[i] > theta[j])
        estimate, s = x.mean(axis=1), np.cov(x) / 40
        raw = shrink(estimate, s)
        for name, found, df in (
            ("regular", items_sampled_posterior(estimate, s, np.full(60, 40.0), 39.0), 39.0), ("raw", raw, np.inf),
        ):  # fmt: skip
            sample = normal_draws(found.mean, found.covariance, 1000, rng, df)
            low, high = rank_limits(rank_counts(sample, rng), 0.95)
            above = share_above(sample)[i, j].astype(float)
            figures[name].append((float(np.mean((low <= place) & (place <= high))), above))
    slope = {k: calibration_slope(np.concatenate([p for _, p in v]), np.concatenate(truth)) for k, v in figures.items()}
    assert np.mean([c for c, _ in figures["regular"]]) > 0.93
    assert 0.9 < slope["regular"] < 1.15  # 250 worlds: 1.00; 20 give it to .03 (SE)
    assert slope["raw"] < 0.9  # 250 worlds: .80


def test_few_items_leave_ranks_open_over_items_too() -> None:
    x = np.array([[1] * 5, [1, 1, 0, 1, 1], [0, 1, 0, 0, 1], [0] * 5])
    found = rank_over_items(pe.Responses.from_array(x), correction="none", replications=200)
    assert not found.told_apart.any()
    assert found.probability_above("person-1", "person-4") < 1
    assert (pair_p(np.array([1.0, 0.0]), np.zeros((2, 2)), np.array([5.0, 5.0]))[0, 1]) == pytest.approx(0.0625)

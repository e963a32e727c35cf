"""Rank intervals, P(A > B), tests of pairs and letters: by hand, by brute force, and in simulation."""

from __future__ import annotations

import dataclasses
import itertools
import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

import psychoeval as pe
from benchmarks._interval_worlds import simulate
from benchmarks.rank_coverage import calibration_slope
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.irt.parameters import Abilities
from psychoeval.irt.ranking import (
    difference_z,
    display_letters,
    normal_draws,
    rank_counts,
    rank_limits,
    share_above,
    shrink,
)
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult
from psychoeval.trust.ranking import Ranking, adjusted, rank, ranking_of


def fitted(**changes: object) -> FitResult:
    """Return a fit whose abilities are replaced."""
    fit = pe.fit(pe.Responses.from_array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 0]]), "map", model="Rasch")
    given = {"person_ids": ("a", "b", "c"), "estimate": np.array([1.0, 0.0, 0.5]),
             "standard_error": np.array([0.3, 0.4, 0.5]), "method": "EAP"}  # fmt: skip
    return dataclasses.replace(fit, abilities=Abilities(**{**given, **changes}))  # type: ignore[arg-type]


def test_ranks_are_counted_in_each_draw() -> None:
    sample = np.array([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [1.0, 3.0, 2.0], [3.0, 2.0, 1.0]])
    counts = rank_counts(sample, np.random.default_rng(0))
    assert counts.tolist() == [[3, 0, 1], [1, 1, 2], [0, 3, 1]]
    # Shares (.75, 0, .25), (.25, .25, .5), (0, .75, .25): limits leave at most a quarter on each side.
    low, high = rank_limits(counts, 0.5)
    assert (low.tolist(), high.tolist()) == ([1, 2, 2], [1, 3, 2])
    low, high = rank_limits(counts, 0.95)
    assert (low.tolist(), high.tolist()) == ([1, 1, 2], [3, 3, 3])


def test_counts_are_those_of_sorting_each_draw() -> None:
    ability = np.random.default_rng(0).normal(size=(600, 7))
    expected = np.zeros((7, 7), dtype=int)
    for draw in ability:
        for person, place in enumerate(stats.rankdata(-draw).astype(int)):
            expected[person, place - 1] += 1
    np.testing.assert_array_equal(rank_counts(ability, np.random.default_rng(0)), expected)
    with pytest.raises(NotComparableError, match="not finite"):
        rank_counts(np.array([[1.0, np.nan]]), np.random.default_rng(0))


def test_ranks_of_a_thousand_persons_need_no_cube() -> None:
    ability = np.random.default_rng(0).normal(size=(1000, 1000))
    tracemalloc.start()
    counts = rank_counts(ability, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (counts.sum(axis=0) == 1000).all()
    assert peak < 5 * ability.nbytes  # a cube would be 1000 times


def test_persons_tied_in_all_draws_have_either_rank() -> None:
    sample = np.repeat(np.random.default_rng(1).normal(size=(4000, 1)), 2, axis=1)
    counts = rank_counts(sample, np.random.default_rng(0))
    assert counts[0, 0] == pytest.approx(2000, abs=4 * np.sqrt(1000))
    assert share_above(sample)[0, 1] == 0.5


def test_share_above_counts_ties_by_half() -> None:
    sample = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 2.0], [0.0, 1.0, 2.0], [5.0, 1.0, 1.0]])
    above = share_above(sample)
    assert above[0, 1] == 0.625  # above, tied, below, above
    assert above[1, 2] == 0.25  # tied, below, below, tied
    np.testing.assert_allclose(above + above.T, 1)


def test_share_above_is_that_of_comparing_all_draws_in_any_block() -> None:
    ability = np.round(np.random.default_rng(2).normal(size=(300, 37)), 1)  # many ties; blocks of draws and persons end
    expected = (ability[:, :, None] > ability[:, None, :]).mean(axis=0)
    expected += (ability[:, :, None] == ability[:, None, :]).mean(axis=0) / 2
    np.testing.assert_allclose(share_above(ability), expected, atol=1e-6)
    tracemalloc.start()
    share_above(np.random.default_rng(0).normal(size=(500, 600)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6  # the cube of truth values has 180 MB


def test_probability_above_is_that_of_the_normal_difference() -> None:
    ranking = rank(fitted(), draws=40_000, correction="none")
    z = (1.0 - 0.5) / np.sqrt(0.3**2 + 0.5**2)
    assert ranking.probability_above("a", "c") == pytest.approx(ndtr(z), abs=4 * 0.5 / 200)
    assert ranking.p_adjusted[0, 2] == pytest.approx(2 * ndtr(-z))
    assert ranking.top(1) == pytest.approx(ranking.counts[:, 0] / 40_000)
    assert ranking.top(3) == pytest.approx(1)


def test_covariance_tells_apart_what_variances_do_not() -> None:
    shared = np.full((3, 3), 0.15) + np.diag([0.001, 0.002, 0.003])
    alone = rank(fitted(standard_error=np.sqrt(np.diag(shared))))
    together = rank(fitted(standard_error=np.sqrt(np.diag(shared)), covariance=shared))
    assert not alone.told_apart.any()
    assert together.told_apart[np.triu_indices(3, 1)].all()
    assert together.letters == ("a", "c", "b")
    assert alone.letters == ("a", "a", "a")


def test_shrinking_is_the_posterior_under_the_best_normal_prior() -> None:
    rng = np.random.default_rng(3)
    root = rng.normal(size=(12, 12)) * 0.3
    covariance, estimate = root @ root.T + 0.1 * np.eye(12), rng.normal(1.0, 1.5, 12)

    def restricted(variance: float) -> tuple[float, float]:
        v = covariance + variance * np.eye(12)
        inverse = np.linalg.inv(v)
        information = inverse.sum()
        center = inverse.sum(axis=0) @ estimate / information
        rest = estimate - center
        return float(np.linalg.slogdet(v)[1] + np.log(information) + rest @ inverse @ rest), float(center)

    variances = np.exp(np.linspace(-6, 4, 4001))
    best = variances[np.argmin([restricted(v)[0] for v in variances])]
    found = shrink(estimate, covariance)
    assert found.spread**2 == pytest.approx(best, rel=0.003)
    center = restricted(found.spread**2)[1]
    assert found.center == pytest.approx(center, abs=1e-10)
    precision = np.linalg.inv(covariance) + np.eye(12) / found.spread**2
    expected = np.linalg.solve(precision, np.linalg.solve(covariance, estimate) + center / found.spread**2)
    np.testing.assert_allclose(found.mean, expected, atol=1e-9)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(precision), atol=1e-9)


def test_equal_estimates_without_error_are_one_tie() -> None:
    found = shrink(np.zeros(4), np.zeros((4, 4)))
    assert found.spread == 0
    assert (difference_z(np.zeros(4), np.zeros((4, 4))) == 0).all()


def test_draws_have_the_covariance_even_where_it_is_singular() -> None:
    loading = np.array([[1.0, 2.0, -1.0]])
    sample = normal_draws(np.array([1.0, 2.0, 3.0]), loading.T @ loading, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.cov(sample, rowvar=False), loading.T @ loading, atol=0.1)


def assert_letters_tell(different: np.ndarray, groups: tuple[tuple[int, ...], ...]) -> list[set[int]]:
    """Persons share a group exactly where they are not told apart, and no group lies within another."""
    n = len(different)
    for i, j in itertools.combinations(range(n), 2):
        assert bool(set(groups[i]) & set(groups[j])) is not bool(different[i, j])
    members = [{i for i in range(n) if k in groups[i]} for k in range(max(map(max, groups)) + 1)]
    assert all(not a <= b for a, b in itertools.permutations(members, 2))
    assert all(groups)
    return members


@pytest.mark.parametrize("seed", range(60))
def test_persons_share_a_letter_exactly_where_they_are_not_told_apart(seed: int) -> None:
    """Each group is one of all maximal ones, found by trying every set of persons, and none of them is needless."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    different = np.triu(rng.random((n, n)) < rng.random(), 1)
    different |= different.T
    order = rng.permutation(n)
    groups = display_letters(different, order)
    members = assert_letters_tell(different, groups)
    assert 0 in groups[order[0]]  # the best has the first letter
    sets = [set(s) for k in range(1, n + 1) for s in itertools.combinations(range(n), k)]
    alike = [s for s in sets if not any(different[i, j] for i in s for j in s)]
    largest = [s for s in alike if not any(s < other for other in alike)]
    assert all(group in largest for group in members)
    for group in members:
        pairs = [set(p) for p in itertools.combinations(sorted(group), 2)] or [group]
        assert not all(any(p <= other for other in members if other is not group) for p in pairs)


def test_runs_of_the_order_have_one_group_each() -> None:
    """With equal errors the groups are the longest runs whose ends are not told apart."""
    estimate = np.sort(np.random.default_rng(1).normal(size=200))[::-1]
    different = np.abs(estimate[:, None] - estimate) > 0.5
    runs = {(i, int(np.flatnonzero(~different[i]).max())) for i in range(200)}
    longest = sorted(r for r in runs if not any(o[0] <= r[0] and r[1] <= o[1] and o != r for o in runs))
    assert len(longest) > 52
    assert display_letters(different, np.arange(200)) == ()
    some = display_letters(different[:60, :60], np.arange(60))
    assert len(assert_letters_tell(different[:60, :60], some)) == len({min(r[1], 59) for r in longest if r[0] < 60})


def test_letters_of_graphs_with_exponentially_many_groups_are_found_at_once() -> None:
    """Pairs of 200 persons, each told apart from its partner alone, have 2^100 maximal groups; 6 persons 2^3."""
    partner = np.arange(200) ^ 1
    different = np.zeros((200, 200), dtype=bool)
    different[np.arange(200), partner] = True
    assert_letters_tell(different[:12, :12], display_letters(different[:12, :12], np.arange(12)))
    assert display_letters(different, np.arange(200)) == ()  # more groups than letters


def test_adjustment_is_over_pairs() -> None:
    p = np.ones((3, 3))
    for (i, j), value in {(0, 1): 0.01, (0, 2): 0.02, (1, 2): 0.9}.items():
        p[i, j] = p[j, i] = value
    assert adjusted(p, "none") == pytest.approx(p)
    family = adjusted(p, "holm")
    assert [family[0, 1], family[2, 0], family[1, 2]] == pytest.approx([0.03, 0.04, 0.9])
    discovery = adjusted(p, "benjamini-hochberg")
    assert [discovery[0, 1], discovery[0, 2], discovery[2, 1]] == pytest.approx([0.03, 0.03, 0.9])


def test_tested_limits_count_those_told_apart() -> None:
    ranking = rank(fitted(estimate=np.array([3.0, 0.0, 2.6]), standard_error=np.full(3, 0.3)), correction="holm")
    assert (ranking.tested_low.tolist(), ranking.tested_high.tolist()) == ([1, 3, 1], [2, 3, 2])
    assert ranking.letters == ("a", "b", "a")
    table = ranking.to_frame()
    assert table.index.tolist() == ["a", "c", "b"]
    assert table["rank"].tolist() == [1, 2, 3]


def test_a_sampler_s_draws_are_used_as_they_are() -> None:
    values = np.random.default_rng(0).normal([1.0, 0.0, 0.5], 0.2, size=(2, 500, 3))
    of_chains = {key: np.zeros((2, 500)) for key in ("diverging", "tree_depth", "energy", "acceptance_rate")}
    draws = Draws(values={"ability": values}, person_ids=("a", "b", "c"), item_ids=(), sample_stats=of_chains,
                  max_treedepth=10)  # fmt: skip
    ranking = rank(dataclasses.replace(fitted(), draws=draws))
    assert ranking.probability_above("a", "c") == pytest.approx(np.mean(values[..., 0] > values[..., 2]))
    assert "1,000 draws of the sampler" in ranking.source


def test_a_perfect_score_is_not_known_for_certain() -> None:
    answers = np.array([[1] * 20, [1] * 19 + [0], [0] * 20])
    ranking = rank(pe.fit(pe.Responses.from_array(answers), "simple-average"))
    assert ranking.standard_error[0] > 0
    assert not ranking.told_apart[0, 1]
    assert ranking.told_apart[0, 2]


def test_persons_without_an_estimate_are_named_and_left_out() -> None:
    ranking = rank(fitted(estimate=np.array([1.0, np.nan, 0.5]), standard_error=np.array([0.3, np.nan, 0.5])))
    assert ranking.person_ids == ("a", "c")
    assert "Not ranked, without an estimate: 'b'" in ranking.notes[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"estimate": np.array([np.inf, 0.0, 1.0])}, "gives 'a' an infinite ability"),
        ({"standard_error": None}, "no standard error for 'a', 'b', 'c'"),
        ({"estimate": np.array([np.nan, 0.0, np.nan])}, "fewer than two"),
    ],
)
def test_what_cannot_be_ranked_is_refused_by_name(changes: dict[str, object], words: str) -> None:
    with pytest.raises(NotComparableError, match=words):
        rank(fitted(**changes))


@pytest.mark.parametrize("settings", [{"level": 1.0}, {"correction": "bonferroni"}, {"draws": 10}, {"seed": -1}])
def test_settings_out_of_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        rank(fitted(), **settings)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="1 to 3"):
        rank(fitted()).top(4)
    with pytest.raises(NotComparableError, match="'z'"):
        rank(fitted()).probability_above("a", "z")


class Judged(NamedTuple):
    """Coverage; slope of P and its SE; Brier score less what P itself expects, and its SE; the world as the unit."""

    coverage: float
    slope: float
    slope_error: float
    brier: float
    brier_error: float


def judged(rankings: list[Ranking], thetas: list[np.ndarray]) -> Judged:
    covered, brier, of_world = [], [], []
    for found, theta in zip(rankings, thetas, strict=True):
        place = np.argsort(np.argsort(-theta)) + 1
        covered.append(np.mean((found.low <= place) & (place <= found.high)))
        i, j = np.triu_indices(theta.size, 1)
        p, y = found.above[i, j].astype(float), theta[i] > theta[j]
        brier.append(np.mean((p - y) ** 2) - np.mean(p * (1 - p)))
        of_world.append((p, y))

    def slope(chosen: list[tuple[np.ndarray, np.ndarray]]) -> float:
        return calibration_slope(np.concatenate([p for p, _ in chosen]), np.concatenate([y for _, y in chosen]))

    r = len(of_world)
    without = np.array([slope(of_world[:k] + of_world[k + 1 :]) for k in range(r)])
    error = np.sqrt((r - 1) / r * ((without - without.mean()) ** 2).sum())  # jackknife
    return Judged(float(np.mean(covered)), slope(of_world), float(error), float(np.mean(brier)),
                  float(stats.sem(brier)))  # fmt: skip


@pytest.mark.parametrize(("n", "worlds", "skewed"), [(30, 16, False), (30, 16, True), (100, 7, False)])
def test_intervals_of_ranks_cover_and_probabilities_are_calibrated(n: int, worlds: int, skewed: bool) -> None:
    """A small version of ``benchmarks/rank_coverage.py``; errors of half the size must be seen.

    Slope 1 and the Brier score that P itself expects, each within Student's 99 % limits.
    """
    right, sure, thetas = [], [], []
    for seed in range(worlds):
        world, rng = simulate(n, 300, seed, slopes=False, skewed=skewed), np.random.default_rng(seed)
        found = rank(pe.fit(world.responses, "mml", model="Rasch"), seed=seed)
        half = np.diag((found.standard_error / 2) ** 2)
        thetas.append(world.theta)
        right.append(found)
        sure.append(ranking_of(found.person_ids, found.estimate, half, found.p_adjusted,
                               normal_draws(found.estimate, half, 4000, rng), level=0.95, correction="none",
                               uncertainty="items fixed", source="", notes=(), random=rng))  # fmt: skip
    reach = stats.t.ppf(0.995, worlds - 1)
    good, bad = judged(right, thetas), judged(sure, thetas)
    assert good.coverage > 0.93
    assert abs(good.slope - 1) < reach * good.slope_error
    assert abs(good.brier) < reach * good.brier_error
    assert bad.coverage < 0.93
    assert 1 - bad.slope > reach * bad.slope_error
    assert bad.brier > reach * bad.brier_error


def test_holm_declares_least_and_no_correction_most() -> None:
    # z = 2.06, 1.03, 1.03 of pairs with one error: p .039, .30, .30.
    fit = fitted(estimate=np.array([1.0, 0.0, 0.5]), standard_error=np.full(3, 0.343))
    assert [int(rank(fit, correction=c).told_apart.sum()) for c in ("holm", "benjamini-hochberg", "none")] == [0, 0, 2]
    fit = fitted(estimate=np.array([1.8, 0.0, 0.75]), standard_error=np.full(3, 0.343))  # p .0002, .030, .12
    assert [int(rank(fit, correction=c).told_apart.sum()) for c in ("holm", "benjamini-hochberg", "none")] == [2, 4, 4]


@pytest.mark.needs("report")
@pytest.mark.parametrize("limit", [60, 2])
def test_the_picture_shows_intervals_and_letters_best_first(limit: int) -> None:
    from psychoeval.plots import rank_intervals

    figure = rank_intervals(rank(fitted(), correction="none"), noun="system", limit=limit)
    labels = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert labels == ["a  a", "c  a b", "b  b"][:: 2 if limit == 2 else 1]
    assert len(figure.axes[0].collections[1].get_segments()) == len(labels)
    assert "share a letter" in " ".join(t.get_text() for t in figure.texts).replace("\n", " ")


def test_draws_beyond_memory_are_refused_by_the_number_of_persons() -> None:
    with pytest.raises(SettingsError, match="draws of 3 persons are too many"):
        rank(fitted(), draws=100_000_000)

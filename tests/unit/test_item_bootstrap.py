"""The bootstrap over items: scores by brute force, clusters, and coverage in simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import psychoeval as pe
from benchmarks._interval_worlds import simulate
from psychoeval.errors import DataError, NotComparableError, SettingsError
from psychoeval.irt.additive import fit_additive
from psychoeval.irt.item_weights import weighted_additive, weighted_averages
from psychoeval.trust import rank, rank_over_items


def counts(n: int, j: int, missing: float, seed: int, k: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    trials = np.where(rng.random((n, j)) < missing, 0, k)
    trials[0], trials[:, 0] = k, k
    return rng.binomial(trials, rng.random(j)), trials


@pytest.mark.parametrize(("missing", "k"), [(0.0, 1), (0.0, 4), (0.4, 1), (0.4, 7)])
def test_weighted_scores_are_those_of_repeated_items(missing: float, k: int) -> None:
    successes, trials = counts(7, 30, missing, 3, k)
    trials[1:3, 1:20] = 0  # unequal sizes as well
    successes[1:3, 1:20] = 0
    weights = np.random.default_rng(0).integers(0, 4, size=(12, 30)).astype(float)
    weights[:, 0] = 1
    additive, average = weighted_additive(successes, trials, weights), weighted_averages(successes, trials, weights)
    for w, one, other in zip(weights.astype(int), additive, average, strict=True):
        s, t = np.repeat(successes, w, axis=1), np.repeat(trials, w, axis=1)
        np.testing.assert_allclose(one, fit_additive(s, t).score, atol=1e-10)
        expected = [float(np.mean(a[b > 0] / b[b > 0])) for a, b in zip(s, t, strict=True)]
        np.testing.assert_allclose(other, expected, atol=1e-12)


def test_samples_that_fall_apart_have_no_additive_scores() -> None:
    trials = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    successes = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    found = weighted_additive(successes, trials, np.array([[1.0, 1, 1, 1], [2, 1, 0, 1]]))
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()
    alone = weighted_averages(successes, trials, np.array([[1.0, 1, 0, 0]]))[0]
    assert np.isnan(alone).tolist() == [False, False, True, True]


def test_the_error_of_a_difference_is_that_of_the_paired_test() -> None:
    world = simulate(4, 400, 2)
    ranking = rank_over_items(world.responses, replications=4000, correction="none")
    x = world.responses.successes.astype(float)
    d = x[0] - x[1]
    z = d.mean() / (d.std(ddof=1) / np.sqrt(400))
    # 4,000 samples give the error to 1.1 % (SE).
    low, high = sorted(2 * ndtr(-abs(z) * np.array([0.95, 1.05])))
    assert low < ranking.p_adjusted[0, 1] < high
    assert ranking.uncertainty == "items sampled"


def test_items_of_a_cluster_are_drawn_together() -> None:
    x = simulate(5, 200, 4).responses.successes
    doubled = np.repeat(x, 2, axis=1)
    names = [f"q{k}" for k in range(400)]
    items = pd.DataFrame({"passage": [f"p{k // 2}" for k in range(400)]}, index=names)
    twice = pe.Responses.from_array(doubled, item_ids=names, items=items)
    once = rank_over_items(pe.Responses.from_array(x), replications=3000)
    whole = rank_over_items(twice, cluster="passage", replications=3000)
    apart = rank_over_items(twice, replications=3000)
    np.testing.assert_allclose(whole.standard_error, once.standard_error, rtol=0.08)
    np.testing.assert_allclose(apart.standard_error, once.standard_error / np.sqrt(2), rtol=0.08)
    assert "200 clusters of items by 'passage'" in whole.source


def test_what_cannot_be_drawn_is_refused() -> None:
    one = pe.Responses.from_array([[1], [0]])
    with pytest.raises(NotComparableError, match="1 items"):
        rank_over_items(one)
    with pytest.raises(DataError, match="no covariate 'passage'"):
        rank_over_items(simulate(3, 5, 0).responses, cluster="passage")
    with pytest.raises(SettingsError, match="replications"):
        rank_over_items(simulate(3, 5, 0).responses, replications=10)
    with pytest.raises(SettingsError, match="score"):
        rank_over_items(simulate(3, 5, 0).responses, score="mml")  # type: ignore[arg-type]
    trials = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    with pytest.raises(DataError, match="2 components"):
        rank_over_items(pe.Responses.from_array(np.zeros((2, 6), int), trials=trials))
    chain = np.eye(6, 5, dtype=int) + np.eye(6, 5, k=-1, dtype=int)  # each item joins two persons: all are needed
    with pytest.raises(NotComparableError, match="samples of items leave"):
        rank_over_items(pe.Responses.from_array(np.zeros((6, 5), int), trials=chain))


def test_scores_without_spread_and_samples_beyond_memory_are_told() -> None:
    found = rank_over_items(pe.Responses.from_array([[1] * 12, [0] * 12, [1, 0] * 6]))
    assert "'person-1', 'person-2': the score is the same on all items" in found.notes[0]
    with pytest.raises(SettingsError, match="too many"):
        rank_over_items(simulate(3, 5, 0).responses, replications=10**9)
    with pytest.raises(SettingsError, match="too many"):
        rank_over_items(simulate(3, 5, 0).responses, draws=10**9)


def test_intervals_hold_for_items_like_these() -> None:
    """A small version of ``benchmarks/rank_coverage.py``."""
    covered = []
    for seed in range(20):
        world = simulate(30, 300, seed)
        found = rank_over_items(world.responses, seed=seed)
        place = np.argsort(np.argsort(-world.theta)) + 1
        covered.append(np.mean((found.low <= place) & (place <= found.high)))
    assert np.mean(covered) > 0.93


def worlds_of_clusters(n_clusters: int, seed: int, first: float = 0.0) -> pe.Responses:
    """Return 6 systems that differ by cluster of 60 items, system x cluster SD .1, the first better by `first`."""
    rng = np.random.default_rng((n_clusters, seed))
    p = np.repeat(0.5 + 0.1 * rng.normal(size=(6, n_clusters)), 60, axis=1)
    p[0] += first
    p = np.clip(p, 0.02, 0.98)
    names = [f"q{k}" for k in range(60 * n_clusters)]
    items = pd.DataFrame({"bench": np.repeat([f"b{k}" for k in range(n_clusters)], 60)}, index=names)
    return pe.Responses.from_array((rng.random(p.shape) < p).astype(int), item_ids=names, items=items)


@pytest.mark.parametrize("n_clusters", [5, 8, 20])
def test_few_clusters_tell_equal_systems_apart_as_rarely_as_said(n_clusters: int) -> None:
    """With normal z any false claim under Holm came in .45, .55 and .11 of such worlds; 120 give .05 to .02 (SE)."""
    false = []
    for seed in range(120):
        found = rank_over_items(worlds_of_clusters(n_clusters, seed), cluster="bench", replications=200, draws=100)
        false.append(found.told_apart.any())
        assert any(f"{n_clusters} clusters are few" in note for note in found.notes) is (n_clusters < 20)
    assert np.mean(false) < 0.05 + 2.3 * np.sqrt(0.05 * 0.95 / 120)


def test_clear_differences_between_few_clusters_are_told() -> None:
    found = rank_over_items(worlds_of_clusters(8, 0, first=0.4), cluster="bench", replications=400)
    assert found.told_apart[0, 1:].all()
    assert found.tested_high[0] == 1


@pytest.mark.parametrize("n_clusters", [2, 4])
def test_too_few_clusters_are_refused_with_the_way_out(n_clusters: int) -> None:
    with pytest.raises(NotComparableError, match=f"There are {n_clusters} clusters") as caught:
        rank_over_items(worlds_of_clusters(n_clusters, 0), cluster="bench")
    assert "drop `cluster`" in caught.value.remedy
    with pytest.raises(NotComparableError, match="There are 4 items"):
        rank_over_items(simulate(8, 4, 0).responses)


def test_the_same_seed_gives_the_same_ranking() -> None:
    responses = simulate(6, 40, 1, missing=0.3).responses
    first, second = (rank_over_items(responses, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.counts, second.counts)
    assert (rank(pe.fit(responses, "additive"), seed=5).rank == first.rank).all()

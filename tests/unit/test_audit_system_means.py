from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychoeval.audit.system_means import average_systems
from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.matrix import Responses

NAN = float("nan")


def epochs(seed: int = 0, n: int = 4, j: int = 30, k: int = 5) -> Responses:
    rng = np.random.default_rng(seed)
    trials = k * (rng.random((n, j)) < 0.8)
    successes = rng.binomial(trials, rng.random((n, j)))
    items = pd.DataFrame({"passage": [f"p{c % 7}" for c in range(j)]})
    return Responses.from_array(successes, trials, items=items)


def test_the_item_is_the_unit_and_not_the_trial() -> None:
    data = epochs()
    found = average_systems(data)
    for i in range(4):
        x = data.proportions[i][data.observed[i]]
        assert found.mean[i] == pytest.approx(x.mean())
        assert found.standard_error[i] == pytest.approx(stats.sem(x))
        assert (found.n_items[i], found.n_trials[i]) == (x.size, 5 * x.size)
    assert any("no independent items" in note for note in found.notes)


def test_long_csv_of_the_case_of_epochs() -> None:
    # Case 18: three systems, five items, ten epochs; per-item rates with these means.
    rates = [[1, 0.9, 0.6, 0.4, 0.2], [0.2, 0.4, 0.6, 0.8, 1.0]]
    found = average_systems(Responses.from_array(np.round(10 * np.array(rates)).astype(int), 10))
    assert found.standard_error == pytest.approx([np.std(r, ddof=1) / np.sqrt(5) for r in rates])


def test_error_of_trials_is_the_spread_of_means_over_new_trials() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(40)
    drawn = rng.binomial(6, p, size=(4000, 40))
    found = average_systems(Responses.from_array(drawn, 6))
    spread = (drawn / 6).mean(axis=1).std(ddof=1)
    assert np.mean(found.error_of_trials**2) == pytest.approx(spread**2, rel=0.1)  # both known to 2 or 3 %
    assert np.mean(found.error_of_trials**2) == pytest.approx(np.mean(p * (1 - p)) / 6 / 40, rel=0.01)


def test_single_trials_show_no_error_of_trials() -> None:
    found = average_systems(Responses.from_array([[1, 0, 1]]))
    assert np.isnan(found.error_of_trials).all()


def test_clusters_against_the_formula_with_missing_cells() -> None:
    data = epochs(2)
    found = average_systems(data, cluster="passage", small_sample=False)
    assert data.items is not None
    for i in range(4):
        frame = pd.DataFrame({"x": data.proportions[i], "c": data.items["passage"]}).dropna()
        sums = (frame["x"] - frame["x"].mean()).groupby(frame["c"]).sum()
        assert found.standard_error[i] == pytest.approx(np.sqrt((sums**2).sum()) / len(frame))
        assert found.n_clusters[i] == frame["c"].nunique()


def test_an_item_a_cluster_changes_nothing_but_the_quantile() -> None:
    x = np.random.default_rng(3).integers(0, 2, (2, 25))
    data = Responses.from_array(x, items=pd.DataFrame({"own": range(25)}))
    plain, own = average_systems(data), average_systems(data, cluster="own")
    assert own.standard_error == pytest.approx(plain.standard_error)
    assert own.design_effect == pytest.approx([1, 1])
    # Wilson's interval with the quantile of t: the roots of (p - x)^2 = t^2 x (1 - x) / n.
    p, t2, n = own.mean, stats.t.ppf(0.975, 24) ** 2, own.mean * (1 - own.mean) / plain.standard_error**2 * 25 / 24
    assert n == pytest.approx([25, 25])
    for limit in (own.low, own.high):
        assert (p - limit) ** 2 == pytest.approx(t2 * limit * (1 - limit) / 25)


def test_clustered_intervals_cover() -> None:
    rng = np.random.default_rng(4)
    clusters, size, systems = 20, 5, 2000
    logit = 0.5 + 1.2 * rng.normal(size=(systems, clusters, 1))
    x = rng.random((systems, clusters, size)) < 1 / (1 + np.exp(-logit))
    truth = np.mean(1 / (1 + np.exp(-(0.5 + 1.2 * np.random.default_rng(5).normal(size=10**6)))))
    data = Responses.from_array(
        x.reshape(systems, -1).astype(int), items=pd.DataFrame({"passage": np.repeat(np.arange(clusters), size)})
    )
    right, naive = average_systems(data, cluster="passage"), average_systems(data)
    covered = [np.mean((f.low <= truth) & (truth <= f.high)) for f in (right, naive)]
    assert 0.935 < covered[0] < 0.965
    assert covered[1] < 0.92


def test_perfect_scores_empty_rows_and_single_clusters() -> None:
    items = pd.DataFrame({"passage": ["a", "a", "b", "b"]})
    data = Responses.from_array([[1, 1, 1, 1], [NAN] * 4, [1, 0, NAN, NAN]], items=items)
    found = average_systems(data, cluster="passage")
    assert found.status == ("extreme_all_1", "no_responses", "estimated")
    assert found.standard_error[0] > 0
    assert found.low[0] < average_systems(data).low[0]
    assert np.isnan(found.mean[1])
    assert np.isnan(found.standard_error[1:]).all()
    assert found.n_clusters.tolist() == [2, 0, 1]
    assert any("a single cluster" in note for note in found.notes)


def test_refusals_name_what_is_there() -> None:
    data = Responses.from_array([[1, 0]], items=pd.DataFrame({"passage": ["a", None]}))
    with pytest.raises(DataError, match=r"'topic'.*They have 'passage'"):
        average_systems(data, cluster="topic")
    with pytest.raises(DataError, match="1 items have no 'passage': 'item-2'"):
        average_systems(data, cluster="passage")
    with pytest.raises(DataError, match=r"items=\['passage'\]"):
        average_systems(Responses.from_array([[1, 0]]), cluster="passage")
    with pytest.raises(SettingsError, match="level"):
        average_systems(data, level=95)


def test_frame_has_a_row_a_system() -> None:
    frame = average_systems(epochs(), cluster="passage").to_frame()
    assert frame.shape == (4, 11)
    assert frame.index[0] == "person-1"

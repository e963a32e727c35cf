from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from psychoeval.audit.difficulty_bins import bin_difficulty, compare_difficulty_bins
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.report.audit_items import bins
from psychoeval.report.audit_parts import AuditSettings
from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses

NAN = float("nan")


def sample(seed: int, n: int, j: int, slope: float = 1.3, name: str = "one") -> Responses:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(slope * rng.normal(size=(n, 1)) - 1.5 * rng.normal(size=j))))
    return Responses.from_array((rng.random((n, j)) < p).astype(int), name=name)


def test_bins_against_a_plain_loop() -> None:
    data = sample(0, 40, 200)
    x, found = data.proportions, bin_difficulty(data)
    p, total = x.mean(axis=0), x.sum(axis=1)
    inner = (p > 0) & (p < 1)
    bounds = [(0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1)]
    for b, (a, c) in enumerate(bounds):
        items = np.flatnonzero(inner & (p >= a) & (p < c))
        r = np.array([np.corrcoef(x[:, j], total - x[:, j])[0, 1] for j in items])
        assert found.n_items[b] == items.size
        assert found.mean[b] == pytest.approx(r.mean())
        assert found.standard_error[b] == pytest.approx(stats.sem(r))
        assert found.not_positive[b] == np.mean(r <= 0)
    assert found.n_never == np.sum(p == 0)
    assert found.n_always == np.sum(p == 1)
    assert found.saturation == np.mean(p >= 0.8)
    assert found.headroom == pytest.approx(1 - total.max() / 200)


def test_edges_belong_to_the_bin_above_and_0_and_1_to_none() -> None:
    x = np.zeros((5, 12))
    for j in range(12):
        x[np.roll(np.arange(5), j)[: j % 6], j] = 1
    found = bin_difficulty(Responses.from_array(x))
    assert found.bin.tolist() == [-1, 1, 2, 3, 4, -1] * 2
    assert (found.n_never, found.n_always) == (2, 2)
    assert found.saturation == 4 / 12
    frame = found.to_frame()
    assert frame.index.tolist() == ["0", "(0, 0.2)", "[0.2, 0.4)", "[0.4, 0.6)", "[0.6, 0.8)", "[0.8, 1)", "1"]
    assert frame["n_items"].sum() == 12
    assert np.isnan(frame["mean"]["0"])


def test_means_of_fractions_reach_their_edges() -> None:
    # Ten trials: .1 + .2 + .3 is .6000000000000001, and .3 + .3 + 0 may lie below .2 after the mean.
    successes = np.array([[1, 3, 7], [2, 3, 9], [3, 0, 8]])
    found = bin_difficulty(Responses.from_array(successes, 10))
    assert found.bin.tolist() == [1, 1, 4]
    assert found.saturation == pytest.approx(1 / 3)


def test_items_never_run_and_items_without_a_correlation_are_told() -> None:
    x = np.column_stack([np.full((6, 1), 5), np.random.default_rng(1).integers(0, 11, (6, 4))])
    t = np.full((6, 5), 10)
    t[:, 4], x[:, 4] = 0, 0
    found = bin_difficulty(Responses.from_array(x, t))
    assert found.n_unseen == 1
    assert found.bin[0] == 2
    assert found.n_items.sum() == 4
    assert found.n_correlated.sum() == 3
    assert any("1 items in bins have no rest correlation" in note for note in found.notes)
    assert found.items_frame().shape == (5, 3)


def test_comparison_is_mann_whitneys() -> None:
    one, two = bin_difficulty(sample(2, 60, 150)), bin_difficulty(sample(3, 60, 180, slope=0.6, name="two"))
    found = compare_difficulty_bins(one, two)
    assert found.names == ("one", "two")
    for b in range(5):
        x, y = one.correlations(b), two.correlations(b)
        u = np.sum(x[:, None] > y) + 0.5 * np.sum(x[:, None] == y)
        assert found.u[b] == u
        assert found.superiority[b] == pytest.approx(u / (x.size * y.size))
        assert found.p_value[b] == stats.mannwhitneyu(x, y).pvalue
    assert (found.superiority[1:4] > 0.7).all()
    assert (found.p_value[1:4] < 0.001).all()
    # Holm: the smallest p times 5, the next times 4, never falling.
    order = np.argsort(found.p_value)
    stepped = np.maximum.accumulate(found.p_value[order] * np.arange(5, 0, -1))
    assert found.p_adjusted[order] == pytest.approx(np.minimum(stepped, 1))
    assert found.to_frame().shape == (5, 8)


def test_empty_bins_have_no_test() -> None:
    hard = Responses.from_array(np.eye(10, dtype=int), name="hard")
    found = compare_difficulty_bins(bin_difficulty(hard), bin_difficulty(sample(4, 60, 100)))
    assert found.n[0].tolist() == [10, 0, 0, 0, 0]
    assert np.isnan(found.p_value[1:]).all()
    assert np.isnan(found.mean[0, 1:]).all()


def test_other_edges() -> None:
    data = sample(5, 30, 60)
    halves = bin_difficulty(data, edges=(0, 0.5, 1))
    assert halves.labels == ("(0, 0.5)", "[0.5, 1)")
    with pytest.raises(NotComparableError, match="bins differ"):
        compare_difficulty_bins(halves, bin_difficulty(data))
    for edges in ((0.2, 1), (0, 0.5, 0.5, 1), (0,)):
        with pytest.raises(SettingsError, match="edges"):
            bin_difficulty(data, edges=edges)


def test_data_nobody_answered() -> None:
    found = bin_difficulty(Responses.from_array([[NAN, NAN]]))
    assert np.isnan(found.saturation)
    assert found.n_unseen == 2


def test_the_report_says_where_the_published_means_are_highest() -> None:
    words = " ".join(bins(load_dataset("swebench-verified"), AuditSettings()).sentences)
    assert "They rise up to [0.6, 0.8); the highest is in the same bin here." in words
    assert "0.062, 0.293, 0.471, 0.588, 0.497 in MMLU-Pro" in words.replace("0.061", "0.062")  # .0615 as a float

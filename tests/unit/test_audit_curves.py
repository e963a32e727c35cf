from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from psychoeval.audit.curves import bin_curves
from psychoeval.errors import SettingsError
from psychoeval.irt.intervals import wilson_interval
from psychoeval.responses.matrix import Responses

NAN = float("nan")


def sample(seed: int, n: int, j: int, fill: float = 1.0, trials: int = 1, slope: float = 1.3) -> Responses:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(slope * rng.normal(size=(n, 1)) - rng.normal(size=j))))
    t = trials * (rng.random((n, j)) < fill)
    return Responses.from_array(rng.binomial(t, p), t)


def rest_scores(x: np.ndarray, item: int) -> np.ndarray:
    centered = x - np.nanmean(x, axis=0)
    return np.nanmean(np.delete(centered, item, axis=1), axis=1)


@pytest.mark.parametrize(("fill", "trials"), [(1.0, 1), (0.8, 1), (0.8, 7)])
def test_groups_are_the_sorted_rest_scores_in_equal_parts(fill: float, trials: int) -> None:
    # 72 x 50 fractions with missing cells: hardly any ties.
    data = sample(0, 72, 50, fill, trials)
    x, found = data.proportions, bin_curves(data)
    checked = 0
    for j in range(50):
        rest = rest_scores(x, j)[np.isfinite(x[:, j])]
        y = x[np.isfinite(x[:, j]), j]
        if len(set(np.round(rest, 9))) < rest.size:
            continue
        checked += 1
        rank = np.argsort(np.argsort(rest))
        group = (6 * (rank + 0.5) / rest.size).astype(int)
        for b in range(6):
            assert found.n_persons[j, b] == np.sum(group == b)
            assert found.rest[j, b] == pytest.approx(rest[group == b].mean())
            assert found.proportion[j, b] == pytest.approx(y[group == b].mean())
        assert np.ptp(found.n_persons[j]) <= 1
        assert found.trend[j] == pytest.approx(np.corrcoef(group, y)[0, 1])
    assert checked >= (40 if fill < 1 else 0)


def test_ties_stay_together_whatever_the_order_of_the_rows() -> None:
    data = sample(1, 400, 5)
    shuffled = data.select(persons=np.random.default_rng(0).permutation(400))
    one, two = bin_curves(data), bin_curves(shuffled)
    assert (one.n_persons == two.n_persons).all()
    assert two.proportion == pytest.approx(one.proportion, nan_ok=True)
    x = data.proportions
    for b in range(6):
        # Five rest scores of four items cannot fill six groups, and a group holds whole scores.
        members = one.n_persons[0, b]
        totals = np.bincount(x[:, 1:].sum(axis=1).astype(int))
        assert members in {totals[a:c].sum() for a in range(6) for c in range(a, 6)}
    assert (one.n_persons.sum(axis=1) == 400).all()


def test_single_trials_have_wilsons_interval_on_their_number() -> None:
    found = bin_curves(sample(2, 60, 40), level=0.9)
    low, high = wilson_interval(found.proportion, found.n_persons.astype(float), 0.9)
    assert found.low == pytest.approx(low, abs=1e-12)
    assert found.high == pytest.approx(high, abs=1e-12)


def test_many_trials_narrow_the_interval_no_further_than_persons_allow() -> None:
    rng = np.random.default_rng(3)
    ability = np.repeat(np.linspace(-2, 2, 12), 10)[:, None]
    flip = rng.normal(size=(120, 30)) * 2  # reactions of single persons to single items
    data = Responses.from_array(rng.binomial(200, 1 / (1 + np.exp(-(ability + flip)))), 200)
    found = bin_curves(data)
    width, single = found.high - found.low, 2 * 1.96 * np.sqrt(0.25 / 20)
    assert 0.5 * single < np.median(width) < single  # 200 trials as independent would give a fourteenth


def test_trend_test_is_the_permutation_test() -> None:
    data = sample(4, 40, 12, slope=0.3)
    found, rng = bin_curves(data), np.random.default_rng(5)
    x, j = data.proportions, int(np.argmin(np.abs(bin_curves(data).z)))
    group = np.repeat(np.arange(6.0), found.n_persons[j])
    # All that the test needs is who scored what in which group.
    y = np.concatenate([np.repeat([1.0, 0.0], [round(p * n), n - round(p * n)])
                        for p, n in zip(found.proportion[j], found.n_persons[j], strict=True) if n])  # fmt: skip
    assert y.sum() == x[:, j].sum()
    drawn = np.array([np.corrcoef(group, rng.permutation(y))[0, 1] for _ in range(4000)])
    share = np.mean(drawn < found.trend[j] - 1e-9) + 0.5 * np.mean(np.abs(drawn - found.trend[j]) < 1e-9)
    assert found.p_value[j] == pytest.approx(share, abs=0.04)
    assert drawn.std() * np.sqrt(39) == pytest.approx(1, abs=0.04)


def test_reversed_items_are_called_clearly_decreasing_and_no_others() -> None:
    x = sample(6, 300, 30).proportions
    x[:, [4, 9]] = 1 - x[:, [4, 9]]
    found = bin_curves(Responses.from_array(x))
    assert np.flatnonzero(found.clearly_decreasing).tolist() == [4, 9]
    assert found.decreasing[[4, 9]].all()
    assert found.p_adjusted == pytest.approx(stats.false_discovery_control(found.p_value))
    assert any("2 of 30 curves fall" in note for note in found.notes)


def test_chance_alone_hardly_ever_makes_a_clear_fall() -> None:
    rng = np.random.default_rng(7)
    called = [
        bin_curves(Responses.from_array(rng.integers(0, 2, (60, 20)))).clearly_decreasing.any() for _ in range(300)
    ]
    assert np.mean(called) < 0.09  # .05 expected at most, and three Monte Carlo errors


def test_constant_and_unseen_items_have_no_trend() -> None:
    x = sample(8, 30, 6).proportions
    x[:, 1], x[:, 2] = 0, NAN
    found = bin_curves(Responses.from_array(x))
    assert found.status[1:3] == ("constant_all_0", "no_responses")
    assert np.isnan(found.trend[1:3]).all()
    assert found.proportion[1][found.n_persons[1] > 0].tolist() == [0.0] * int((found.n_persons[1] > 0).sum())
    assert (found.n_persons[2] == 0).all()
    assert np.isnan(found.proportion[2]).all()
    assert not found.decreasing[1:3].any()


def test_the_number_of_groups_is_an_argument() -> None:
    found = bin_curves(sample(9, 90, 40), groups=3)
    assert found.proportion.shape == (40, 3)
    assert found.to_frame().shape == (120, 12)
    assert found.to_frame()["group"].max() == 3
    with pytest.raises(SettingsError, match="groups"):
        bin_curves(sample(9, 9, 4), groups=1)

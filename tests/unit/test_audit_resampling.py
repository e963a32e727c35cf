from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from psychoeval.audit import resampling
from psychoeval.audit.resampling import leave_groups_out, resample_systems
from psychoeval.errors import DataError, SettingsError
from psychoeval.irt import weighted
from psychoeval.irt.classical import item_rest_correlation, row_moments
from psychoeval.irt.weighted import weighted_item_statistics
from psychoeval.responses.matrix import Responses


def sample(seed: int, n: int, j: int, fill: float = 1.0, trials: int = 1) -> Responses:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(1.3 * rng.normal(size=(n, 1)) - 1.5 * rng.normal(size=j))))
    t = trials * (rng.random((n, j)) < fill)
    families = pd.DataFrame({"family": [f"f{i % 5}" for i in range(n)]})
    return Responses.from_array(rng.binomial(t, p), t, persons=families)


def plain(data: Responses, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s, t = data.successes[rows], data.trials[rows]
    return row_moments(s.T, t.T).mean, item_rest_correlation(s, t)[0]


@pytest.mark.parametrize(("fill", "trials"), [(1.0, 1), (1.0, 6), (0.6, 1), (0.6, 6), (0.15, 1)])
@pytest.mark.parametrize("block", [2**22, 300])
def test_weighted_statistics_are_those_of_the_repeated_rows(
    monkeypatch: pytest.MonkeyPatch, fill: float, trials: int, block: int
) -> None:
    monkeypatch.setattr(weighted, "BLOCK_CELLS", block)
    data = sample(0, 17, 23, fill, trials)
    rows = np.random.default_rng(1).integers(0, 17, (40, 17))
    weights = np.stack([np.bincount(r, minlength=17) for r in rows]).astype(float)
    p, r = np.full((40, 23), np.nan), np.full((40, 23), np.nan)
    for part, proportion, correlation in weighted_item_statistics(data.successes, data.trials, weights):
        p[:, part], r[:, part] = proportion, correlation
    for k in range(40):
        wanted_p, wanted_r = plain(data, rows[k])
        assert p[k] == pytest.approx(wanted_p, abs=1e-12, nan_ok=True)
        # Two persons, however often drawn, always lie on a line: no correlation here.
        usable = (data.trials[rows[k]] > 0) & (np.count_nonzero(data.trials[rows[k]], axis=1) > 1)[:, None]
        persons = np.array([np.unique(rows[k][usable[:, j]]).size for j in range(23)])
        assert r[k] == pytest.approx(np.where(persons > 2, wanted_r, np.nan), abs=1e-9, nan_ok=True)


def test_bootstrap_collects_what_numpy_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighted, "BLOCK_CELLS", 20_000)  # several blocks of items
    data = sample(2, 20, 30, 0.8)
    found = resample_systems(data, replications=60, seed=3, level=0.8)
    weights = np.random.default_rng(3).multinomial(20, np.full(20, 1 / 20), size=60)
    values = [plain(data, np.repeat(np.arange(20), w)) for w in weights]
    full = plain(data, np.arange(20))
    for k, term in enumerate((found.proportion_correct, found.item_rest_correlation)):
        y = np.stack([v[k] for v in values])
        assert term.full == pytest.approx(full[k], nan_ok=True)
        known = np.isfinite(y).sum(axis=0)
        assert (term.n_samples == np.where(np.isfinite(full[k]), known, 0)).all()
        several = term.n_samples > 1
        assert several.sum() > 25
        assert term.standard_error[several] == pytest.approx(np.nanstd(y[:, several], axis=0, ddof=1))
        low, high = np.nanquantile(y[:, several], [0.1, 0.9], axis=0)
        assert term.low[several] == pytest.approx(low)
        assert term.high[several] == pytest.approx(high)
        for i in range(60):
            both = np.isfinite(y[i]) & np.isfinite(full[k])
            assert term.correlation[i] == pytest.approx(np.corrcoef(y[i][both], full[k][both])[0, 1])
            assert term.shift[i] == pytest.approx(np.abs(y[i] - full[k])[both].max())


def test_bootstrap_error_of_a_proportion_is_the_textbook_one() -> None:
    data = sample(4, 50, 40)
    found = resample_systems(data, replications=4000).proportion_correct
    assert np.mean(found.standard_error / np.sqrt(found.full * (1 - found.full) / 50)) == pytest.approx(1, abs=0.01)


def test_same_seed_same_answer() -> None:
    data = sample(5, 15, 20)
    one, two, other = (resample_systems(data, replications=50, seed=s).summary() for s in (1, 1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert not one.equals(other)


def test_groups_left_out_one_after_another() -> None:
    data = sample(6, 23, 30, 0.9)
    found = leave_groups_out(data, group="family")
    assert found.samples == ("f0", "f1", "f2", "f3", "f4")
    assert found.n_left.tolist() == [18, 18, 18, 19, 19]
    groups = np.arange(23) % 5
    values = [plain(data, np.flatnonzero(groups != g)) for g in range(5)]
    for k, term in enumerate((found.proportion_correct, found.item_rest_correlation)):
        y = np.stack([v[k] for v in values])
        whole = np.isfinite(y).all(axis=0)
        jackknife = np.sqrt(4 / 5 * ((y - y.mean(axis=0)) ** 2).sum(axis=0))
        assert term.standard_error[whole] == pytest.approx(jackknife[whole])
    frame = found.samples_frame()
    assert frame.shape == (5, 5)
    assert frame["proportion_correct_correlation"].min() > 0.9


def test_jackknife_of_persons_is_the_standard_error() -> None:
    data = sample(7, 20, 15)
    persons = pd.DataFrame({"own": range(20)})
    data = Responses(data.successes, data.trials, data.person_ids, data.item_ids, persons=persons)
    found = leave_groups_out(data, group="own").proportion_correct
    assert found.standard_error == pytest.approx(np.sqrt(found.full * (1 - found.full) / 19))


def test_summary_has_the_published_columns() -> None:
    found = resample_systems(sample(8, 30, 40), replications=200)
    summary, term = found.summary(), found.item_rest_correlation
    row = summary.loc["item_rest_correlation"]
    assert row["correlation_mean"] == pytest.approx(np.nanmean(term.correlation))
    assert row["mean_standard_error"] == pytest.approx(np.nanmean(term.standard_error))
    assert row["mean_interval_width"] == pytest.approx(np.nanmean(term.high - term.low))
    assert found.to_frame().shape == (40, 11)


def test_constant_and_unseen_items_keep_their_place() -> None:
    data = sample(9, 30, 6)
    s, t = data.successes.copy(), data.trials.copy()
    s[:, 1], s[:, 2], t[:, 2] = 1, 0, 0
    s[:, 3] = np.arange(30) == 4
    found = resample_systems(Responses(s, t, data.person_ids, data.item_ids), replications=100)
    assert found.status[1:3] == ("constant_all_1", "no_responses")
    assert found.proportion_correct.standard_error[1] == pytest.approx(0, abs=1e-12)
    assert np.isnan(found.item_rest_correlation.standard_error[1:3]).all()
    assert 0 < found.item_rest_correlation.n_samples[3] < 100
    assert any("2 items have no rest correlation" in note for note in found.notes)
    assert any("constant in some samples" in note for note in found.notes)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_quantiles_are_numpys(n: int) -> None:
    values = np.full((9, 3), np.nan)
    values[:n] = np.random.default_rng(n).normal(size=(n, 3))
    known = np.full(3, n)
    for share, got in zip((0.05, 0.5), resampling._quantiles(values, known, (0.05, 0.5)), strict=True):
        wanted = np.quantile(values[:n], share, axis=0) if n else np.full(3, np.nan)
        assert got == pytest.approx(wanted, nan_ok=True)


def test_refusals() -> None:
    data = sample(10, 6, 5)
    with pytest.raises(SettingsError, match="replications"):
        resample_systems(data, replications=1)
    with pytest.raises(DataError, match="'developer'"):
        leave_groups_out(data, group="developer")
    alone = Responses(
        data.successes, data.trials, data.person_ids, data.item_ids, persons=pd.DataFrame({"family": ["x"] * 6})
    )
    with pytest.raises(DataError, match="the same 'family'"):
        leave_groups_out(alone, group="family")

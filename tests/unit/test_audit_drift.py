from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychoeval.audit.drift import Drift, measure_drift
from psychoeval.audit.parts import join_parts, public_and_held_out
from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.openeval_blocks import deal_blocks, difficulty_bands


def world(rng: np.random.Generator, n: int, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of a 2PL, (N, J), and difficulties."""
    a, b, theta = np.exp(rng.normal(0, 0.3, j)), rng.normal(size=j), rng.normal(size=(n, 1))
    return 1 / (1 + np.exp(-a * (theta - b))), b


def sample(seed: int = 0, n: int = 12, j: int = 80, trials: int = 1, fill: float = 1.0, **labels: Any) -> Responses:
    rng = np.random.default_rng(seed)
    p, _ = world(rng, n, j)
    seen = trials * (rng.random((n, j)) < fill)
    return Responses.from_array(rng.binomial(seen, p), seen, **labels)


def every_third(data: Responses) -> tuple[list[str], np.ndarray]:
    """Return ids of held-out items, and which are public."""
    public = np.arange(data.n_items) % 3 > 0
    return [i for i, z in zip(data.item_ids, public, strict=True) if not z], public


@pytest.mark.parametrize("trials", [1, 4])
def test_without_bands_it_is_welchs_test_of_scores_less_the_others_mean(trials: int) -> None:
    data = sample(trials=trials)
    held, public = every_third(data)
    x, found = data.proportions, measure_drift(data, held, bands=1, level=0.9)
    assert found.status == ("tested",) * 12
    for i in range(12):
        y = x[i] - np.delete(x, i, axis=0).mean(axis=0)
        wanted = stats.ttest_ind(y[public], y[~public], equal_var=False)
        own, others = x[i], np.delete(x, i, axis=0)
        plain = own[public].mean() - own[~public].mean() - (others[:, public].mean() - others[:, ~public].mean())
        assert found.drift[i] == pytest.approx(plain)
        assert (found.t[i], found.p_two_sided[i], found.df[i]) == pytest.approx(
            (wanted.statistic, wanted.pvalue, wanted.df)
        )
        assert (found.low[i], found.high[i]) == pytest.approx(tuple(wanted.confidence_interval(0.9)))
        one_sided = stats.ttest_ind(y[public], y[~public], equal_var=False, alternative="greater")
        assert found.p_better_on_public[i] == pytest.approx(one_sided.pvalue)
    assert found.drift.sum() == pytest.approx(0, abs=1e-12)


def dense(y: np.ndarray, bands: np.ndarray, public: np.ndarray) -> tuple[float, float]:
    """Return coefficient and HC2 error of "public" in a regression with an intercept for each band."""
    design = np.column_stack([public.astype(float), *(bands == k for k in np.unique(bands))])
    bread = np.linalg.inv(design.T @ design)
    coefficients = bread @ design.T @ y
    inside = 1 - np.einsum("ij,jk,ik->i", design, bread, design)
    residual = y - design @ coefficients
    meat = (design * (residual**2 / inside)[:, None]).T @ design
    return float(coefficients[0]), float(np.sqrt((bread @ meat @ bread)[0, 0]))


def test_bands_are_a_regression_with_an_intercept_for_each() -> None:
    data = sample(1, n=20, j=200)
    held, public = every_third(data)
    x, found = data.proportions, measure_drift(data, held, bands=4)
    difficulty = x.mean(axis=0).round(9)
    cuts = np.quantile(difficulty, [0.25, 0.5, 0.75], method="lower")
    bands = np.searchsorted(cuts, difficulty)
    for i in range(20):
        y = x[i] - np.delete(x, i, axis=0).mean(axis=0)
        assert (found.drift[i], found.standard_error[i]) == pytest.approx(dense(y, bands, public))
    assert found.n_compared.tolist() == [200] * 20


def test_clusters_of_items_are_the_units() -> None:
    items = pd.DataFrame({"passage": [f"p{k // 2}" for k in range(80)]})
    once = sample(2, items=items)
    # Every item twice: the error between clusters must not shrink.
    twice = Responses.from_array(
        np.repeat(once.successes, 2, axis=1), items=pd.DataFrame({"twin": np.arange(160) // 2})
    )
    held = [i for k, i in enumerate(once.item_ids) if k % 4 < 2]
    held_twice = [i for k, i in enumerate(twice.item_ids) if (k // 2) % 4 < 2]
    one, two = measure_drift(once, held, bands=1), measure_drift(twice, held_twice, bands=1, cluster="twin")
    assert two.drift == pytest.approx(one.drift)
    assert two.standard_error == pytest.approx(one.standard_error, rel=0.02)
    assert two.df.tolist() == [39] * 12
    naive = measure_drift(twice, held_twice, bands=1)
    assert (naive.standard_error < 0.75 * two.standard_error).all()
    clustered = measure_drift(once, held, cluster="passage")
    assert "clusters of items (passage)" in clustered.notes[0]
    with pytest.raises(DataError, match="no covariate"):
        measure_drift(once, held, cluster="author")


def test_the_two_parts_and_the_ids_give_the_same() -> None:
    data = sample(3, fill=0.8)
    held, public = every_third(data)
    order = np.random.default_rng(0).permutation(12)  # persons are matched by id
    parts = data.select(items=public), data.select(persons=order, items=~public)
    one, other = measure_drift(data, held), measure_drift(*parts)
    assert other.person_ids == one.person_ids
    for name in ("drift", "standard_error", "p_adjusted", "public_mean", "n_held_out"):
        assert getattr(other, name) == pytest.approx(getattr(one, name))


def test_parts_that_are_none() -> None:
    data = sample()
    held, public = every_third(data)
    one, two = data.select(items=public), data.select(items=~public)
    with pytest.raises(DataError, match="80 items are in both parts"):
        measure_drift(data, data)
    with pytest.raises(DataError, match="There is no item 'x'"):
        measure_drift(data, [*held, "x"])
    with pytest.raises(DataError, match="No item is public"):
        measure_drift(data, data.item_ids)
    with pytest.raises(DataError, match="No item is held-out"):
        measure_drift(data, [])
    with pytest.raises(DataError, match="There is one person"):
        measure_drift(data.select(persons=slice(1)), held)
    others = Responses.from_array(two.successes, item_ids=two.item_ids, person_ids=[f"x{k}" for k in range(12)])
    with pytest.raises(DataError, match="No person is in both parts"):
        join_parts(one, others)


def test_missing_cells_do_not_make_drift() -> None:
    # No noise, and additive: score = ability + ease. The strong half sees mostly public items.
    rng = np.random.default_rng(4)
    ability, ease = rng.integers(1, 300, 20), rng.integers(1, 300, 100)
    public = np.arange(100) < 50
    trials = np.full((20, 100), 1000)
    trials[:10, ~public] *= rng.random((10, 50)) < 0.3
    trials[10:, public] *= rng.random((10, 50)) < 0.3
    responses = Responses.from_array((ability[:, None] + ease) * (trials > 0), trials)
    found = measure_drift(responses, [i for i, z in zip(responses.item_ids, public, strict=True) if not z], bands=1)
    raw = found.public_mean - found.held_out_mean
    assert np.abs(found.drift).max() < 0.02  # abilities and eases run over .3
    assert np.abs(raw - raw.mean()).max() > 2 * np.abs(found.drift).max()
    assert "cells are missing" in " ".join(found.notes)


def test_who_cannot_be_tested_and_why() -> None:
    x = np.random.default_rng(5).integers(0, 2, (6, 40)).astype(float)
    x[0, 20:] = np.nan  # public items only
    x[1, :20] = np.nan
    x[1, 21:] = np.nan
    x[2, 1:20] = np.nan  # one public item
    x[3] = np.nan
    data = Responses.from_array(x)
    found = measure_drift(data, data.item_ids[20:], bands=1)
    assert found.status == ("one_part", "one_part", "too_few_items", "one_part", "tested", "tested")
    assert np.isnan(found.p_adjusted).tolist() == [True] * 4 + [False] * 2
    assert found.n_public.tolist() == [20, 0, 1, 0, 20, 20]
    assert any("3 persons saw items of one part only" in note for note in found.notes)
    same = Responses.from_array(np.tile(x[4], (3, 1)))
    flat = measure_drift(same, same.item_ids[20:])
    assert flat.status == ("no_spread",) * 3
    assert flat.drift == pytest.approx(np.zeros(3), abs=1e-12)
    assert np.isnan(flat.low).all()
    assert flat.signals() == ()
    alone = np.full((3, 40), np.nan)
    alone[:2, ::2], alone[2, 1::2] = x[4:, ::2], x[4, 1::2]
    found = measure_drift(Responses.from_array(alone), data.item_ids[20:], bands=1)
    assert found.status[2] == "no_pool"
    assert any("1 persons share no item with the pool" in note for note in found.notes)


def test_only_the_reference_systems_are_the_pool() -> None:
    data = sample(6)
    held, public = every_third(data)
    x = data.proportions
    found = measure_drift(data, held, reference=data.person_ids[:4], bands=1)
    y = x[7] - x[:4].mean(axis=0)
    assert found.drift[7] == pytest.approx(y[public].mean() - y[~public].mean())
    y = x[2] - x[[0, 1, 3]].mean(axis=0)
    assert found.drift[2] == pytest.approx(y[public].mean() - y[~public].mean())
    assert found.n_pool == 4
    with pytest.raises(DataError, match="There is no person 'x'"):
        measure_drift(data, held, reference=["x"])
    for bad in ("person-1", []):
        with pytest.raises(SettingsError, match="reference is"):
            measure_drift(data, held, reference=bad)


def test_settings() -> None:
    data = sample()
    held, _ = every_third(data)
    bad: dict[str, Any] = {"level": 1.0, "bands": 0, "alternative": "less", "correction": "bonferroni"}
    for name, value in bad.items():
        with pytest.raises(SettingsError, match=name):
            measure_drift(data, held, **{name: value})
    with pytest.raises(SettingsError, match="bands is 21"):
        measure_drift(data, held, bands=21)
    each, together = (measure_drift(data, held, simultaneous=s) for s in (False, True))
    width = stats.t.ppf(1 - 0.025 / 12, each.df) / stats.t.ppf(0.975, each.df)
    assert (together.high - together.low) / (each.high - each.low) == pytest.approx(width)
    two_sided = measure_drift(data, held, alternative="two-sided", correction="benjamini-hochberg")
    assert two_sided.p_adjusted == pytest.approx(stats.false_discovery_control(two_sided.p_two_sided))


def split(data: Responses, seed: int) -> list[str]:
    """Return the held-out quarter of a stratified split."""
    strata = [(s,) for s in difficulty_bands(data.proportions.mean(axis=0), [""] * data.n_items, 5)]
    blocks = deal_blocks(data.item_ids, strata, 4, seed)
    return [i for i, b in zip(data.item_ids, blocks, strict=True) if b == 0]


def rates(found: list[np.ndarray]) -> tuple[float, float]:
    """Return a rate over systems, and its Monte Carlo error between replications."""
    each = [float(f.mean()) for f in found]
    return float(np.mean(each)), float(np.std(each, ddof=1) / np.sqrt(len(each)))


def contaminated(seed: int, guilty: int, share: float, unlike: bool = False) -> tuple[Responses, list[str]]:
    rng = np.random.default_rng(seed)
    p, b = world(rng, 30, 300)
    clean = Responses.from_array(rng.binomial(1, p))
    held = split(clean, seed)
    if unlike:  # the public items are the easier ones
        held = [i for i, hard in zip(clean.item_ids, rng.random(300) < 1 / (1 + np.exp(-b)), strict=True) if hard]
    public = ~np.isin(clean.item_ids, held)
    known = (np.arange(30) < guilty)[:, None] & public & (rng.random((30, 300)) < share)
    return Responses.from_array(np.where(known, 1, clean.successes)), held


@pytest.mark.parametrize("unlike", [False, True])
def test_without_contamination_signals_are_as_rare_as_said(unlike: bool) -> None:
    results = [measure_drift(*contaminated(seed, 0, 0.0, unlike)) for seed in range(150)]
    for name in ("p_better_on_public", "p_two_sided"):
        rate, error = rates([getattr(f, name) < 0.05 for f in results])
        assert error < 0.006
        assert abs(rate - 0.05) < 3 * error
    any_signal, error = rates([np.array([bool(f.signals())]) for f in results])
    assert any_signal < 0.05 + 3 * error


def test_unlike_parts_need_the_bands() -> None:
    # A ceiling is no contamination: without bands systems at either end differ from the pool on easy items.
    results = [measure_drift(*contaminated(seed, 0, 0.0, True), bands=1) for seed in range(100)]
    rate, error = rates([f.p_two_sided < 0.05 for f in results])
    assert rate > 0.05 + 3 * error


def test_a_contaminated_system_is_found_and_the_pool_hides_its_own() -> None:
    one = [measure_drift(*contaminated(seed, 1, 0.4)) for seed in range(60)]
    assert np.mean(["person-1" in f.signals() for f in one]) > 0.4
    assert np.mean([f.drift[0] for f in one]) > 0.1
    half = [contaminated(seed, 15, 0.4) for seed in range(40)]
    blind = [measure_drift(*data) for data in half]
    told = [measure_drift(*data, reference=data[0].person_ids[15:]) for data in half]
    assert np.mean([f.drift[:15].mean() for f in blind]) < 0.6 * np.mean([f.drift[:15].mean() for f in told])


def test_columns_of_parts() -> None:
    parts = ["public", "held-out", None, "public"]
    data = Responses.from_array(np.eye(4), items=pd.DataFrame({"part": parts, "bad": ["a", "public", "b", ""]}))
    kept, held = public_and_held_out(data, "part")
    assert kept.item_ids == ("item-1", "item-2", "item-4")
    assert held == ("item-2",)
    assert kept.notes[-1] == "1 items have no part and are left out."
    with pytest.raises(DataError, match="says 'a', 'b'"):
        public_and_held_out(data, "bad")
    with pytest.raises(DataError, match="no covariate 'where'"):
        public_and_held_out(data, "where")


def test_the_table_and_the_picture() -> None:
    pytest.importorskip("matplotlib")
    from psychoeval.plots.drift import drift

    data, held = contaminated(0, 2, 0.9)
    found = measure_drift(data, held)
    table = found.to_frame()
    assert table.index.name == "id"
    assert list(table.columns[:3]) == ["status", "public_mean", "held_out_mean"]
    assert found.signals()[:2] in (("person-1", "person-2"), ("person-2", "person-1"))
    figure = drift(found, limit=10)
    figure.savefig(io.BytesIO(), format="png")
    (ax,) = figure.axes
    assert len(ax.get_yticklabels()) == 10
    filled = [line for line in ax.lines if line.get_markerfacecolor() == line.get_color() and line.get_marker() == "o"]
    assert sorted(filled[0].get_xdata()) == pytest.approx(sorted(found.drift[:2]))
    none: Drift = measure_drift(Responses.from_array(np.ones((2, 6))), ["item-1", "item-2"])
    drift(none).savefig(io.BytesIO(), format="png")

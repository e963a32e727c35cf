"""Q3 and LD-X2: pair by pair, missing cells, type I error, power, order and reasons."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from psychoeval import FitResult, ItemParameters, LatentDistribution, Responses, fit, import_fit
from psychoeval.diagnostics.local_dependence import MOST_ITEMS, RULE_OF_THUMB, LocalDependence, local_dependence
from psychoeval.diagnostics.pair_residuals import MIN_SHARED
from psychoeval.errors import DataError, NotComparableError, SettingsError
from psychoeval.irt.curves import probability

J = 10
D = np.linspace(-1.2, 1.2, J)


def drawn(seed: int, n: int = 400, missing: float = 0.0, copied: float = 0.0) -> Responses:
    """Return Rasch data; a share `copied` of the persons answer the ninth item as they do the third."""
    rng = np.random.default_rng(seed)
    p = probability(rng.normal(size=n), np.ones(J), D)
    x = (rng.random(p.shape) < p).astype(float)
    copy = rng.random(n) < copied
    x[copy, 8] = x[copy, 2]
    x[rng.random(x.shape) < missing] = np.nan
    return Responses.from_array(x)


def looked(responses: Responses, **how: int) -> LocalDependence:
    return local_dependence(fit(responses, "mml", "Rasch", priors="none"), responses, **how)


def one_pair(found: FitResult, responses: Responses, j: int, k: int) -> tuple[int, float, float, float]:
    """Return n, Q3, LD-X2 and the signed V of a pair from the persons who saw both, by np.corrcoef and a table."""
    items, law, abilities = found.item_parameters, found.latent_distribution, found.abilities
    assert items is not None
    assert law is not None
    assert abilities is not None
    both = (responses.trials[:, [j, k]] > 0).all(axis=1)
    x = responses.successes[both][:, [j, k]].astype(int)
    a, d = items.discrimination[[j, k]], items.intercept[[j, k]]
    q3 = np.corrcoef((x - probability(abilities.estimate[both], a, d)).T)[0, 1]
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    p, w = probability(law.sd * nodes, a, d), weights / weights.sum()
    tables = [np.zeros((2, 2)), np.zeros((2, 2))]
    for u, v in itertools.product((0, 1), repeat=2):
        tables[0][u, v] = np.sum((x[:, 0] == u) & (x[:, 1] == v))
        tables[1][u, v] = len(x) * np.sum(w * np.where(u, p[:, 0], 1 - p[:, 0]) * np.where(v, p[:, 1], 1 - p[:, 1]))
    observed, expected = tables
    x2 = ((observed - expected) ** 2 / expected).sum()
    odds = [np.log(t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0])) for t in tables]
    return len(x), float(q3), float(x2), float(np.sign(odds[0] - odds[1]) * np.sqrt(x2 / len(x)))


def test_every_pair_of_incomplete_data_by_itself() -> None:
    responses = drawn(1, missing=0.3)
    found = fit(responses, "mml", "Rasch", priors="none")
    result = local_dependence(found, responses)
    assert result.status == ("tested",) * 45
    expected = [one_pair(found, responses, j, k) for j, k in zip(result.first, result.second, strict=True)]
    n, q3, x2, signed = (np.array(v) for v in zip(*expected, strict=True))
    assert result.n.tolist() == n.tolist()
    assert result.q3 == pytest.approx(q3, abs=1e-10)
    assert result.x2 == pytest.approx(x2, rel=1e-8)
    assert result.signed_v == pytest.approx(signed, rel=1e-8)
    assert result.p == pytest.approx(chi2.sf(x2, 1), rel=1e-8)
    assert result.q3_mean == pytest.approx(q3.mean())
    assert result.q3_adjusted == pytest.approx(q3 - q3.mean(), abs=1e-10)
    assert sorted(zip(result.first, result.second, strict=True)) == list(itertools.combinations(range(J), 2))
    assert (np.diff(np.abs(result.q3_z)) <= 0).all()
    assert "Residuals at EAP abilities" in result.notes[0]


def test_independent_items_are_seldom_told_dependent() -> None:
    found = [looked(drawn(seed)) for seed in range(40)]
    p = np.concatenate([f.p for f in found])
    # 1,800 pairs, dependent ones among them. The parameters were fitted to them, which makes X2 smaller.
    assert 0.02 < np.mean(p < 0.05) < 0.065
    assert np.mean([(f.p_adjusted < 0.05).any() for f in found]) < 0.15
    z = np.concatenate([f.q3_z for f in found])
    assert np.std(z) == pytest.approx(1, abs=0.1)
    # Abilities were estimated from the same responses: -.077 measured at EAPs.
    assert -1 / (J - 1) < np.mean([f.q3_mean for f in found]) < -0.05


def test_free_slopes_make_x2_too_small_and_not_too_large() -> None:
    p = []
    for seed in range(15):
        responses = drawn(seed)
        p.append(local_dependence(fit(responses, "mml", "2PL", priors="none"), responses).p)
    # 1.1 % of 4,500 pairs measured.
    assert np.mean(np.concatenate(p) < 0.05) < 0.03


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_dependent_pair_comes_first(missing: float) -> None:
    found = [looked(drawn(seed, n=500, missing=missing, copied=0.5)) for seed in range(10)]
    worst = [(int(f.first[0]), int(f.second[0])) for f in found]
    assert worst == [(2, 8)] * 10
    assert all(f.p_adjusted[0] < 0.001 and f.signed_v[0] > 0.1 for f in found)
    assert all(("item-3", "item-9") in f.signals() for f in found)


def test_items_that_exclude_each_other_are_negative() -> None:
    x = drawn(3).successes.astype(int)
    copied = np.random.default_rng(3).random(len(x)) < 0.5
    x[copied, 8] = 1 - x[copied, 2]
    result = looked(Responses.from_array(x))
    assert (result.first[0], result.second[0]) == (2, 8)
    assert result.q3_adjusted[0] < -0.2
    assert result.signed_v[0] < -0.1
    assert ("item-3", "item-9") not in result.signals()


def test_the_critical_value_is_simulated_from_the_fit() -> None:
    independent = looked(drawn(4), replications=100, seed=1)
    assert independent.q3_simulated.shape == (100,)
    assert independent.q3_critical == np.quantile(independent.q3_simulated, 0.95)
    assert independent.p_largest > 0.05
    assert independent.signals() == ()
    # Of 400 persons: about the largest of 45 normal numbers with SD 1 / sqrt(400).
    assert 0.1 < independent.q3_critical < RULE_OF_THUMB
    again = looked(drawn(4), replications=5, seed=1)
    assert (again.q3_simulated == looked(drawn(4), replications=5, seed=1).q3_simulated).all()
    assert (again.q3_simulated != looked(drawn(4), replications=5, seed=2).q3_simulated).all()
    dependent = looked(drawn(4, copied=0.3), replications=20, seed=2)
    assert dependent.p_largest == pytest.approx(1 / 21)
    assert dependent.signals()[0] == ("item-3", "item-9")
    assert "20 replications are few" in dependent.notes[-1]


def test_the_largest_q3_has_its_level() -> None:
    p = np.array([looked(drawn(seed, n=200), replications=19, seed=seed).p_largest for seed in range(100, 124)])
    # p is uniform on 1/20, ..., 1: 1.2 of 24 at .05 are expected, and a mean of .525 with error .059.
    assert np.sum(p <= 0.05) <= 5
    assert np.mean(p) == pytest.approx(0.525, abs=0.2)


def test_of_few_persons_no_rule_of_thumb_tells() -> None:
    few = drawn(4, n=150, copied=0.5)
    plain = looked(few)
    assert plain.q3_adjusted[0] > RULE_OF_THUMB
    assert plain.signals() == ()
    assert "45 tested pairs rest on fewer than 200 persons" in plain.notes[-1]
    assert looked(few, replications=20).signals()[0] == ("item-3", "item-9")


def test_pairs_that_few_saw_or_nobody_varied_on_are_named_and_last() -> None:
    x = drawn(5).successes.astype(float)
    x[MIN_SHARED - 1 :, 0], x[: MIN_SHARED - 1, 1] = np.nan, np.nan
    x[:, 2] = np.where(np.isnan(x[:, 0]), x[:, 2], 1.0)
    result = looked(Responses.from_array(x))
    table = result.to_frame()
    assert list(table["status"][:36]) == ["tested"] * 36
    last = table[table["status"] != "tested"]
    assert set(last["first"]) == {"item-1"}
    assert set(last["status"]) == {"few_shared"}
    assert table["n"].min() == 0
    assert last[["q3", "q3_adjusted", "x2", "signed_v", "p", "p_adjusted"]].isna().all(axis=None)
    assert any("9 of 45 pairs are not tested" in note for note in result.notes)
    assert len(result.to_frame(worst=3)) == 3


def test_a_constant_item_among_those_who_saw_both_is_no_pair() -> None:
    x = drawn(6).successes.astype(float)
    x[:100, 0] = 1
    x[100:, 1] = np.nan
    result = looked(Responses.from_array(x))
    assert [s for s, j, k in zip(result.status, result.first, result.second, strict=True) if (j, k) == (0, 1)] == [
        "constant"
    ]


def test_items_without_parameters_are_left_out() -> None:
    x = drawn(7).successes.astype(int)
    x[:, 4] = 1
    result = looked(Responses.from_array(x))
    assert result.left_out == ("item-5",)
    assert len(result.item_ids) == 9
    assert len(result.first) == 36
    assert "item-5" in result.notes[1]


def test_counts_have_q3_and_no_x2() -> None:
    counts = Responses.from_array(drawn(8).successes + drawn(9).successes, trials=2)
    result = looked(counts)
    assert np.isfinite(result.q3).all()
    assert np.isnan(result.x2).all()
    assert "several trials" in result.notes[-1]


def test_a_fit_without_latent_distribution_has_q3_only() -> None:
    responses = drawn(10)
    found = fit(responses, "cml", "Rasch")
    result = local_dependence(found, responses)
    assert np.isfinite(result.q3).all()
    assert np.isnan(result.p).all()
    assert "no LD-X2" in result.notes[-1]
    with pytest.raises(NotComparableError, match="no distribution"):
        local_dependence(found, responses, replications=2)


def test_a_histogram_of_abilities_is_integrated_over() -> None:
    responses = drawn(11)
    found = fit(responses, "mml", "2PL", priors="none")
    nodes = np.linspace(-6, 6, 121)
    law = LatentDistribution(0.0, 1.0, nodes, np.exp(-(nodes**2) / 2))
    expected = local_dependence(found, responses)
    # The nodes leave out what lies beyond 6 SDs.
    result = local_dependence(replace(found, latent_distribution=law), responses)
    assert result.signed_v == pytest.approx(expected.signed_v, abs=1e-7)


def test_persons_with_infinite_abilities_are_no_part_of_q3() -> None:
    responses = drawn(12)
    extreme = np.isin(responses.successes.sum(axis=1), (0, J))
    found = fit(responses, "mml", "Rasch", priors="none", ability_method="ML")
    result = local_dependence(found, responses)
    assert f"{extreme.sum()} persons without a finite ability" in " ".join(result.notes)
    assert np.isfinite(result.q3).all()
    assert set(result.n) == {400}


def test_what_is_none_is_refused() -> None:
    responses = drawn(13)
    found = fit(responses, "mml", "Rasch", priors="none")
    with pytest.raises(NotComparableError, match="other responses"):
        local_dependence(found, drawn(14))
    with pytest.raises(NotComparableError, match="no abilities in logits"):
        local_dependence(replace(found, abilities=None), responses)
    with pytest.raises(SettingsError, match="replications"):
        local_dependence(found, responses, replications=-1)
    with pytest.raises(SettingsError, match="level"):
        local_dependence(found, responses, level=95)
    one = ItemParameters.from_slope_intercept(["item-1"], 1.0, 0.0)
    with pytest.raises(DataError, match="two items"):
        local_dependence(import_fit(one, model="1PL"), responses.select(items=np.array([0])))
    items = ItemParameters.from_slope_intercept(responses.item_ids, 1.0, -D)
    abilities = dict(zip(responses.person_ids, np.zeros(400).tolist(), strict=True))
    other = import_fit(items, abilities, model="1PL", latent_distribution=LatentDistribution())
    assert np.isfinite(local_dependence(other, responses).x2).all()
    with pytest.raises(NotComparableError, match="another program"):
        local_dependence(other, responses, replications=2)


def test_a_million_cells_in_seconds_and_little_memory() -> None:
    rng = np.random.default_rng(15)
    n = j = 1000
    theta, d = rng.normal(size=n), rng.normal(size=j)
    x = (rng.random((n, j)) < probability(theta, np.ones(j), d)).astype(float)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:, 700] = np.where(rng.random(n) < 0.4, x[:, 300], x[:, 700])
    responses = Responses.from_array(x)
    items = ItemParameters.from_slope_intercept(responses.item_ids, 1.0, d)
    abilities = dict(zip(responses.person_ids, theta.tolist(), strict=True))
    found = import_fit(items, abilities, model="1PL", latent_distribution=LatentDistribution())
    tracemalloc.start()
    start = time.perf_counter()
    result = local_dependence(found, responses)
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 20
    assert peak < 1e9
    assert (result.first[0], result.second[0]) == (300, 700)


def test_too_many_items_are_refused_before_anything_is_done() -> None:
    j = MOST_ITEMS + 1
    responses = Responses.from_array(np.zeros((2, j), dtype=int))
    items = ItemParameters.from_slope_intercept(responses.item_ids, 1.0, np.zeros(j))
    with pytest.raises(DataError, match="pairs"):
        local_dependence(import_fit(items, model="1PL"), responses)

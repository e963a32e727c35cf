from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychoeval.audit.paired import compare_pairs
from psychoeval.errors import DataError, SettingsError
from psychoeval.irt import paired as mathematics
from psychoeval.irt.paired import holm, mcnemar
from psychoeval.responses.matrix import Responses

NAN = float("nan")


def sample(seed: int, n: int, j: int, fill: float = 1.0, trials: int = 1) -> Responses:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(0.5 * rng.normal(size=(n, 1)) - rng.normal(size=j))))
    t = trials * (rng.random((n, j)) < fill)
    passages = pd.DataFrame({"passage": [f"p{c // 4}" for c in range(j)]})
    return Responses.from_array(rng.binomial(t, p), t, items=passages)


@pytest.mark.parametrize(("fill", "trials"), [(1.0, 1), (0.7, 1), (0.7, 5)])
def test_every_pair_against_scipy(fill: float, trials: int) -> None:
    data = sample(0, 6, 60, fill, trials)
    x, found = data.proportions, compare_pairs(data, level=0.9)
    assert len(found.first) == 15
    for k, (one, two) in enumerate(zip(found.first, found.second, strict=True)):
        a, b = (x[data.person_ids.index(i)] for i in (one, two))
        both = np.isfinite(a) & np.isfinite(b)
        wanted = stats.ttest_rel(a[both], b[both])
        assert found.n_items[k] == both.sum()
        assert found.difference[k] == pytest.approx((a - b)[both].mean())
        assert found.t[k] == pytest.approx(wanted.statistic)
        assert found.p_t[k] == pytest.approx(wanted.pvalue)
        assert (found.low[k], found.high[k]) == pytest.approx(tuple(wanted.confidence_interval(0.9)))
        if trials == 1:
            ahead, behind = int((a > b)[both].sum()), int((a < b)[both].sum())
            assert (found.first_only[k], found.second_only[k]) == (ahead, behind)
            assert found.p_mcnemar_exact[k] == pytest.approx(stats.binomtest(ahead, ahead + behind).pvalue)
        else:
            assert np.isnan(found.p_mcnemar_exact[k])


def test_mcnemar_over_all_small_tables() -> None:
    b, c = (v.ravel().astype(float) for v in np.meshgrid(np.arange(12), np.arange(12)))
    exact, mid = mcnemar(b, c)
    for k in range(b.size):
        n, least = int(b[k] + c[k]), int(min(b[k], c[k]))
        wanted = stats.binomtest(least, n).pvalue if n else 1.0
        assert exact[k] == pytest.approx(wanted, abs=1e-12)
        point = stats.binom.pmf(least, n, 0.5)
        assert mid[k] == pytest.approx(1.0 if b[k] == c[k] else wanted - point, abs=1e-12)


def test_mid_p_of_the_published_example() -> None:
    # Fagerland, Lydersen & Laake (2013): airway hyper-responsiveness, 1 and 7 discordant pairs: exact .0703, mid .0391.
    exact, mid = mcnemar(np.array([1.0]), np.array([7.0]))
    assert (exact[0], mid[0]) == pytest.approx((0.0703125, 0.0390625))


def test_clusters_against_the_formula() -> None:
    data = sample(1, 3, 40, 0.8)
    assert data.items is not None
    found = compare_pairs(data, [("person-1", "person-3")], cluster="passage")
    frame = pd.DataFrame({"d": data.proportions[0] - data.proportions[2], "c": data.items["passage"]}).dropna()
    sums = (frame["d"] - frame["d"].mean()).groupby(frame["c"]).sum()
    g = len(sums)
    error = np.sqrt(g / (g - 1) * (sums**2).sum()) / len(frame)
    assert found.standard_error[0] == pytest.approx(error)
    assert found.p_t[0] == pytest.approx(2 * stats.t.sf(abs(frame["d"].mean() / error), g - 1))
    assert found.n_clusters[0] == g


def test_clustered_differences_reject_at_their_level_and_naive_ones_too_often() -> None:
    rng = np.random.default_rng(2)
    reject = []
    for _ in range(400):
        # Two systems of equal strength that each know some passages and not others.
        knows = rng.random((2, 15, 1)) < 0.5
        x = rng.random((2, 15, 4)) < np.where(knows, 0.9, 0.2)
        items = pd.DataFrame({"passage": np.repeat(np.arange(15), 4)})
        data = Responses.from_array(x.reshape(2, -1).astype(int), items=items)
        reject.append([compare_pairs(data, cluster=c).p_t[0] < 0.05 for c in ("passage", None)])
    clustered, naive = np.mean(reject, axis=0)
    assert clustered < 0.085  # .05 and three Monte Carlo errors
    assert naive > 0.15


@pytest.mark.parametrize("cluster", [None, "passage"])
@pytest.mark.parametrize("fill", [1.0, 0.6])
def test_bootstrap_against_drawing_the_clusters_themselves(cluster: str | None, fill: float) -> None:
    data = sample(3, 2, 80, fill)
    assert data.items is not None
    found = compare_pairs(data, cluster=cluster, replications=4000, seed=4, test="bootstrap")
    d = data.proportions[0] - data.proportions[1]
    codes = pd.factorize(data.items["passage"])[0] if cluster else np.arange(80)
    members = [np.flatnonzero(codes == g) for g in range(codes.max() + 1)]
    rng = np.random.default_rng(5)
    means = [
        np.nanmean(d[np.concatenate([members[g] for g in rng.integers(0, len(members), len(members))])])
        for _ in range(4000)
    ]
    low, high = np.quantile(means, [0.025, 0.975])
    spread = np.std(means)  # quantiles are known to .06 of it, and lie on a lattice of steps of 1/80
    assert (found.bootstrap_low[0], found.bootstrap_high[0]) == pytest.approx((low, high), abs=0.12 * spread + 1 / 80)
    beyond = 2 * min(np.mean(np.array(means) >= 0), np.mean(np.array(means) <= 0))
    assert found.p_bootstrap[0] == pytest.approx(min(beyond, 1), abs=0.05)
    assert found.p_adjusted[0] == found.p_bootstrap[0]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = sample(6, 7, 50, 0.8)
    whole = compare_pairs(data, replications=30).to_frame()
    from psychoeval.audit import paired

    monkeypatch.setattr(paired, "BLOCK_CELLS", 300)
    monkeypatch.setattr(mathematics, "BLOCK_CELLS", 300)
    pd.testing.assert_frame_equal(compare_pairs(data, replications=30).to_frame(), whole)


def test_corrections() -> None:
    data = sample(7, 6, 60)
    p = compare_pairs(data, correction="none", test="mcnemar-mid").p_adjusted
    assert (p == compare_pairs(data).p_mcnemar_mid).all()
    by_rate = compare_pairs(data, correction="benjamini-hochberg", test="mcnemar-mid").p_adjusted
    assert by_rate == pytest.approx(stats.false_discovery_control(p))
    by_chance = compare_pairs(data, test="mcnemar-mid").p_adjusted
    order, running = np.argsort(p), 0.0
    for step, k in enumerate(order):
        running = max(running, min(1.0, (p.size - step) * p[k]))
        assert by_chance[k] == pytest.approx(running)


def test_holm_against_r_and_over_gaps() -> None:
    # R 4.2.2: p.adjust(c(.01, .02, .03, .04, .05), "holm").
    assert holm(np.array([0.01, 0.02, 0.03, 0.04, 0.05])) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm(np.array([0.01, NAN, 0.03])) == pytest.approx([0.02, NAN, 0.03], nan_ok=True)


def test_equal_systems_and_strangers_have_a_status_and_no_false_certainty() -> None:
    x = np.array([[1, 0, 1, 1, NAN], [1, 0, 1, 1, NAN], [NAN, NAN, NAN, NAN, 1]])
    found = compare_pairs(Responses.from_array(x))
    assert found.status == ("no_spread", "too_few_items", "too_few_items")
    assert found.difference[0] == 0
    assert (found.low[0], found.high[0]) == pytest.approx((-0.489890, 0.489890), abs=1e-6)  # 3.8415 / (4 + 3.8415)
    assert found.p_mcnemar_exact[0] == 1
    assert np.isnan(found.p_t).all()
    assert np.isnan(found.low[1:]).all()
    assert any("1 pairs differ by the same" in note for note in found.notes)
    assert any("2 pairs share fewer" in note for note in found.notes)


def test_against_a_reference_and_by_name() -> None:
    data = sample(8, 4, 30)
    found = compare_pairs(data, reference="person-2")
    assert found.first == ("person-1", "person-3", "person-4")
    assert set(found.second) == {"person-2"}
    turned = compare_pairs(data, [("person-2", "person-1")])
    assert turned.difference[0] == pytest.approx(-found.difference[0])
    assert turned.to_frame().shape == (1, 19)


@pytest.mark.parametrize(
    ("error", "settings", "words"),
    [
        (DataError, {"pairs": [("person-1", "x")]}, "no person 'x'"),
        (DataError, {"pairs": [("person-1", "person-1")]}, "two different"),
        (DataError, {"pairs": []}, "no pair"),
        (SettingsError, {"pairs": [("person-1", "person-2")], "reference": "person-1"}, "Both"),
        (SettingsError, {"test": "wilcoxon"}, "test is 'wilcoxon'"),
        (SettingsError, {"correction": "bonferroni"}, "correction"),
        (SettingsError, {"test": "bootstrap"}, "replications=1000"),
        (SettingsError, {"test": "mcnemar-mid", "cluster": "passage"}, "independent"),
        (DataError, {"cluster": "topic"}, "no covariate 'topic'"),
    ],
)
def test_refusals(error: type[Exception], settings: dict[str, object], words: str) -> None:
    with pytest.raises(error, match=words):
        compare_pairs(sample(9, 3, 10), **settings)


def test_too_many_pairs_are_refused() -> None:
    with pytest.raises(DataError, match="320 persons make 51040 pairs"):
        compare_pairs(sample(10, 320, 3))


def test_too_few_replications_for_the_pairs_are_told() -> None:
    found = compare_pairs(sample(11, 8, 20), test="bootstrap", replications=100)
    assert any("too few" in note for note in found.notes)

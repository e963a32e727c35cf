"""DIF: what is found, what is refused, how purification ends, and that nothing is missing without a reason."""

from __future__ import annotations

import doctest
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from psychoeval import Responses
from psychoeval.diagnostics import DIF, dif
from psychoeval.diagnostics.dif_purification import purify
from psychoeval.errors import DataError, SettingsError
from psychoeval.irt.dif_logistic import logistic_tests


def simulated(
    seed: int, n: int = 200, j: int = 20, *, impact: float = 0.0, dif_items: int = 0, size: float = 1.0, trials: int = 1
) -> tuple[Responses, list[str]]:
    """Rasch data of two groups of n; the first items are harder by `size` for the focal group."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["old", "new"], n)
    theta = rng.normal(size=2 * n) - impact * (group == "new")
    logit = theta[:, None] - np.linspace(-1.2, 1.2, j)[rng.permutation(j)]
    logit[np.ix_(group == "new", np.arange(dif_items))] -= size
    return Responses.from_array(rng.binomial(trials, 1 / (1 + np.exp(-logit))), trials), group.tolist()


def assert_reasons(found: DIF) -> None:
    table = found.to_frame()
    assert ((table.status == "tested") == table.p.notna()).all()
    assert (table.status != "").all()
    assert table.p_adjusted.notna().equals(table.p.notna())


@pytest.mark.parametrize("matching", ["proportion", "ability"])
def test_an_item_that_is_harder_for_a_group_is_found_and_measured(matching: str) -> None:
    responses, groups = simulated(1, 400, dif_items=1, impact=0.5)
    found = dif(responses, groups, reference="old", matching=matching)  # type: ignore[arg-type]
    row = found.to_frame().iloc[0]
    assert found.flagged_ids == ("item-1",)
    assert row.low < -1 < row.high < 0
    assert row.ets_delta == pytest.approx(2.35 * row.log_odds_ratio)
    assert (row.ets_class, row.anchor, found.groups) == ("C", False, ("old", "new"))
    assert_reasons(found)


def test_a_group_that_is_better_on_the_whole_is_no_dif() -> None:
    rejected = [dif(*simulated(seed, impact=1.0), purify=False).to_frame().p < 0.05 for seed in range(12)]
    share = np.mean([r.mean() for r in rejected])
    assert share < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 240)  # and not the share of impact itself:
    responses, _ = simulated(0, impact=1.0)
    means = responses.proportions.mean(axis=1)
    assert means[:200].mean() - means[200:].mean() > 0.15


def test_purification_finds_more_and_flags_fewer_in_error() -> None:
    hits, errors = {True: [], False: []}, {True: [], False: []}  # type: ignore[var-annotated]
    for seed in range(8):
        responses, groups = simulated(seed, 300, dif_items=4, size=0.9)
        for purified in (True, False):
            p = dif(responses, groups, purify=purified).to_frame().p < 0.05
            hits[purified].append(p[:4].mean())
            errors[purified].append(p[4:].mean())
    assert np.mean(errors[True]) < np.mean(errors[False])
    assert np.mean(hits[True]) > np.mean(hits[False])


def test_slopes_that_differ_are_non_uniform_dif() -> None:
    rng = np.random.default_rng(5)
    group = np.repeat([0, 1], 500)
    theta = rng.normal(size=1000)
    logit = np.repeat(theta[:, None], 20, axis=1) + rng.normal(0, 0.5, 20)
    logit[:, 3] = theta * np.where(group == 1, 0.2, 1.8)
    found = dif(Responses.from_array((rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(int)), group.tolist())
    row = found.to_frame().iloc[3]
    assert found.flagged_ids == ("item-4",)
    assert row.p_nonuniform < 1e-6 < row.p_uniform
    assert row.slope_difference < -3 * row.slope_difference_error


def test_reference_and_focal_turn_round() -> None:
    responses, groups = simulated(2, dif_items=1)
    one = dif(responses, groups, reference="old").to_frame()
    two = dif(responses, groups, reference="new").to_frame()
    np.testing.assert_allclose(one.statistic, two.statistic, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.log_odds_ratio, -two.log_odds_ratio, atol=1e-8)


def test_three_groups_are_a_factor() -> None:
    responses, _ = simulated(3, 210, dif_items=1, size=1.4)
    third = ["old"] * 210 + ["new"] * 110 + ["newest"] * 100
    found = dif(responses, third)
    row = found.to_frame().iloc[0]
    assert (row.df, row.flagged, found.groups[0]) == (4, True, "old")
    assert "log_odds_ratio" not in found.to_frame()


def test_trials_that_depend_on_each_other_are_no_evidence() -> None:
    rng = np.random.default_rng(8)
    group = np.repeat(["a", "b"], 60)
    logit = rng.normal(size=120)[:, None] + rng.normal(0, 1.0, (120, 40))  # interaction of system and item
    responses = Responses.from_array(rng.binomial(10, 1 / (1 + np.exp(-logit))), 10)
    table = dif(responses, group.tolist(), purify=False).to_frame()
    assert (table.overdispersion > 1.5).all()
    assert (table.p < 0.05).mean() < 0.15  # of single trials' binomial variance more than half are


def test_every_item_without_a_test_has_a_reason() -> None:
    responses, groups = simulated(4, 40, 12)
    x = responses.proportions.copy()
    x[:, 0] = 1
    x[:40, 1] = 0
    x[40:, 2] = np.nan
    x[3:40, 3] = np.nan
    x[:40, 4] = x[:40].sum(axis=1) > np.median(x[:40, 5:].sum(axis=1))
    found = dif(Responses.from_array(x), groups, reference="old")
    status = found.to_frame().status.tolist()
    assert status[:4] == [
        "constant in old: all right", "constant in old: all wrong", "never run by new",
        "too few systems: fewer than 5 of old ran it",
    ]  # fmt: skip
    assert_reasons(found)


def test_responses_in_the_order_of_the_matching_variable_are_separation() -> None:
    responses, groups = simulated(6, 30, 12)
    x = responses.proportions.copy()
    rest = x[:, 1:].mean(axis=1)
    x[:30, 0] = rest[:30] > np.median(rest[:30])
    found = dif(Responses.from_array(x), groups, purify=False, reference="old")
    assert found.to_frame().status.iloc[0] == "separation: old ordered by the matching variable"
    assert any("kind='uniform'" in note for note in found.notes)
    assert dif(Responses.from_array(x), groups, purify=False, kind="uniform").to_frame().status.iloc[0] == "tested"
    assert_reasons(found)


def separated(seed: int, n: int = 30, j: int = 12, items: int = 1) -> tuple[Responses, list[str]]:
    """The first items are answered by the first group in the order of the numbers right of the last ones."""
    responses, groups = simulated(seed, n, j)
    x = responses.proportions.copy()
    rest = x[:n, items:].sum(axis=1) + np.arange(n) / n
    for k in range(items):
        x[:n, k] = rest > np.quantile(rest, 0.3 + 0.4 * k / items)
    return Responses.from_array(x), groups


def test_what_cannot_be_tested_is_no_anchor_and_is_named() -> None:
    found = dif(*separated(6), reference="old")
    table = found.to_frame()
    assert table.status.iloc[0].startswith("separation")
    assert not (table.anchor & table.p.isna()).any()
    assert any("could not be tested with these anchors" in note and "'item-1'" in note for note in found.notes)
    kept = dif(*separated(6), reference="old", purify=False)
    assert kept.to_frame().anchor.iloc[0]
    assert any("of the anchors could not be tested, and may have DIF: 'item-1'" in note for note in kept.notes)


def test_where_no_item_can_be_tested_it_is_said() -> None:
    responses, groups = simulated(2, 6, 10)
    with pytest.raises(DataError, match=r"anchors are left.* items that cannot be tested are no anchors \(separation"):
        dif(responses, groups)
    with pytest.raises(DataError, match="None of 10 items can be tested: separation"):
        dif(responses, groups, purify=False)
    responses, groups = simulated(2)
    with pytest.raises(DataError, match="None of 20 items can be tested: anchor, not tested"):
        dif(responses, groups, anchors=responses.item_ids, purify=False)


def test_effects_of_items_that_are_not_flagged_are_negligible() -> None:
    """Jodoin and Gierl's B and C ask for a test that rejects; of 12 persons a group R2 moves by more than .07."""
    tables = [dif(*simulated(seed, 25, 12), correction=c).to_frame() for seed in range(4) for c in ("holm", "none")]
    for t in tables:
        assert set(t.r2_class[~t.flagged & t.p.notna()]) <= {"A"}
        assert set(t.r2_class[t.p.isna()]) <= {""}
        large = t.flagged & (t.r2_difference >= 0.07)
        assert set(t.r2_class[large]) <= {"C"}
    assert any((t.r2_difference[~t.flagged] > 0.07).any() for t in tables)
    assert any((t.r2_class == "C").any() for t in tables)


def test_an_item_that_takes_long_holds_no_other_back() -> None:
    m = np.tile(np.arange(40.0), 2)
    rng = np.random.default_rng(1)
    x = (rng.random((80, 3)) < 1 / (1 + np.exp(-(m - 20) / 8)[:, None])).astype(float)
    m[19] = m[20] - 1e-9
    x[:40, 0] = m[:40] > 20  # separated but for two systems a billionth apart
    x[19, 0] = 1
    groups = np.repeat([0, 1], 40)
    together = logistic_tests(x, np.ones_like(x), np.repeat(m[:, None], 3, axis=1), groups)
    assert all(model.converged.all() for model in together.models)
    alone = logistic_tests(x[:, 1:2], np.ones((80, 1)), m[:, None], groups)
    np.testing.assert_allclose(alone.models[2].coefficients[0], together.models[2].coefficients[1], atol=1e-12)


def test_small_groups_are_told_what_they_cannot_show() -> None:
    responses, groups = simulated(9, 20)
    assert any("DIF below 1.8 logits is missed" in note for note in dif(responses, groups, purify=False).notes)
    assert not any("logits is missed" in note for note in dif(*simulated(9, 30), purify=False).notes)


def test_given_anchors_are_taken_for_granted_without_purification() -> None:
    responses, groups = simulated(10, dif_items=1)
    chosen = [f"item-{k}" for k in range(5, 12)]
    found = dif(responses, groups, anchors=chosen, purify=False)
    assert found.anchor_ids == tuple(chosen)
    assert set(found.to_frame().status[chosen]) == {"anchor, not tested"}
    assert found.to_frame().p.notna().sum() == 13
    assert_reasons(found)


def test_groups_by_column_or_label_are_the_same() -> None:
    responses, groups = simulated(11)
    other = Responses(
        responses.successes, responses.trials, responses.person_ids, responses.item_ids,
        persons=pd.DataFrame({"kind": groups}),
    )  # fmt: skip
    pd.testing.assert_frame_equal(dif(responses, groups).to_frame(), dif(other, "kind").to_frame())
    by_id = dict(zip(responses.person_ids, groups, strict=True))
    pd.testing.assert_frame_equal(dif(responses, groups).to_frame(), dif(responses, by_id).to_frame())


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"groups": ["x"] * 400}, DataError, "All persons are of one group"),
        ({"groups": ["x"] * 3}, DataError, "3 group labels for 400 persons"),
        ({"groups": [None] * 400}, DataError, "have no 'group'"),
        ({"groups": "kind"}, DataError, "no covariate 'kind'"),
        ({"reference": "x"}, SettingsError, "is no group"),
        ({"anchors": ["x"]}, SettingsError, "'x' cannot be anchors"),
        ({"anchors": "item-1"}, SettingsError, "anchors is 'item-1'"),
        ({"anchors": 5}, SettingsError, "anchors is 5"),
        ({"anchors": [["item-1"]]}, SettingsError, "cannot be anchors"),
        ({"anchors": {"item-1": 1}}, SettingsError, "anchors is {"),
        ({"model": "Rasch"}, SettingsError, "model is a setting of wald, likelihood-ratio, and logistic with abilit"),
        ({"guessing": 0.2}, SettingsError, "guessing is a setting of wald"),
        ({"model": 3, "matching": "ability"}, SettingsError, "model is 3"),
        ({"anchors": ["item-1", "item-2", "item-3"]}, DataError, "3 anchors are left, fewer than 4"),
        ({"method": "x"}, SettingsError, "method is 'x'"),
        ({"kind": "x"}, SettingsError, "kind is 'x'"),
        ({"correction": "x"}, SettingsError, "correction is 'x'"),
        ({"level": 1.0}, SettingsError, "level is 1.0"),
        ({"max_rounds": 0}, SettingsError, "max_rounds is 0"),
    ],
)
def test_what_cannot_be_done_is_refused(change: dict[str, object], error: type[Exception], words: str) -> None:
    responses, groups = simulated(0)
    with pytest.raises(error, match=words):
        dif(responses, **({"groups": groups} | change))  # type: ignore[arg-type]


def test_what_is_no_table_of_responses_is_refused() -> None:
    with pytest.raises(DataError, match="responses is a list"):
        dif([[1, 0]], ["a", "b"])  # type: ignore[arg-type]


def test_the_example_in_the_docstring() -> None:
    result = doctest.testmod(import_module("psychoeval.diagnostics.dif"))
    assert result.attempted > 0
    assert result.failed == 0


ALL = np.ones(8, dtype=bool)


def flags(*items: int) -> np.ndarray:
    return np.isin(np.arange(8), items)


def test_purification_ends_where_the_flagged_set_repeats() -> None:
    found = purify(lambda anchors: flags(1) | (flags(2) if not anchors[1] else flags()), ALL, 20)
    assert (found.ended, found.rounds, found.n_left_out) == ("repeated", 3, (1, 2, 2))
    assert found.anchors.tolist() == (~flags(1, 2)).tolist()


def test_a_cycle_is_named_and_all_of_it_left_out() -> None:
    found = purify(lambda anchors: flags(1, 3) if anchors[1] else flags(2, 3) if anchors[2] else flags(), ALL, 20)
    assert found.ended == "cycle"
    assert found.anchors.tolist() == (~flags(1, 2, 3)).tolist()
    assert "cycle" in found.in_words()


def test_purification_ends_at_its_limit_and_says_so() -> None:
    found = purify(lambda anchors: flags(*range(9 - int(anchors.sum()))), ALL, 3)
    assert (found.ended, found.rounds, found.n_left_out) == ("limit", 3, (1, 2, 3))
    assert "had not ended" in found.in_words()


def test_too_few_anchors_are_refused() -> None:
    with pytest.raises(DataError, match="3 anchors are left"):
        purify(lambda _: flags(0, 1, 2, 3, 4), ALL, 20)

"""Whether estimators conclude the same: by hand, and against the ranking of each fit alone."""

from __future__ import annotations

import dataclasses
import doctest
import json
import tracemalloc
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import psychoeval as pe
from psychoeval.agreement import inference, ranks
from psychoeval.agreement.inference import compare_inference
from psychoeval.agreement.inference_result import InferencePair
from psychoeval.audit.paired import Correction
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.convergence import Convergence
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance
from tests.unit.agreement_fits import made, proportions, with_items, with_theta


def scored(estimate: Any, error: Any = 0.5, estimator: str = "map", **changes: Any) -> FitResult:
    """Return a fit in latent SDs, with one item."""
    estimate = np.asarray(estimate, dtype=float)
    given = {"method": "EAP"} | {k: changes.pop(k) for k in tuple(changes) if k in Abilities.__slots__}
    ids = tuple(f"s{k}" for k in range(estimate.size))
    abilities = Abilities(ids, estimate, np.broadcast_to(error, estimate.shape).astype(float), **given)
    items = ItemParameters(("i",), np.ones(1), np.zeros(1), np.zeros(1))  # says which way the scale runs
    fit = FitResult(estimator, None, Convergence("converged"), Provenance(data_sha256="data"), abilities, items)
    return dataclasses.replace(fit, **{"latent_distribution": LatentDistribution(), **changes})


def pair_of(first: FitResult, second: FitResult, **settings: Any) -> InferencePair:
    return compare_inference({"one": first, "two": second}, **settings).pairs[0]


@pytest.fixture(scope="module")
def responses() -> pe.Responses:
    rng = np.random.default_rng(3)
    p = 1 / (1 + np.exp(-(rng.normal(0, 1.2, 12)[:, None] - rng.normal(0, 1, 40))))
    return pe.Responses.from_array((rng.random(p.shape) < p).astype(int))


@pytest.mark.parametrize("module", [inference, ranks])
def test_examples_in_docstrings(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.failed == 0
    assert found.attempted


def test_decisions_are_counted_as_by_hand() -> None:
    # SE of a difference .5 sqrt 2 = .707: alone, a difference above 1.386 is claimed.
    one, two = scored([3.0, 1.0, 0.0, -3.0]), scored([1.0, 3.0, 0.0, 2.0])
    found = pair_of(one, two, correction="none").decisions
    # By one: 01, 02, 03, 13, 23 (12 is a tie). By two: 10, 12, 32 (01 reversed), 30 and 02, 13 ties.
    assert found.n == 6
    assert (found.same, found.both_tied, found.opposite) == (0, 0, 2)
    assert (found.only_first, found.only_second, found.lost) == (3, 1, 4)
    assert found.flipped == (("s0", "s1"), ("s2", "s3"))


@pytest.mark.parametrize("estimator", ["mml", "map", "simple-average", "additive"])
@pytest.mark.parametrize("correction", ["holm", "benjamini-hochberg", "none"])
def test_each_fit_claims_what_its_ranking_claims(
    responses: pe.Responses, estimator: str, correction: Correction
) -> None:
    fit = pe.fit(responses, estimator, None if estimator in ("simple-average", "additive") else "Rasch")
    alone = pe.rank(fit, correction=correction, level=0.9)
    apart = int(np.count_nonzero(np.triu(alone.told_apart)))
    found = compare_inference([fit, fit], correction=correction, level=0.9)
    assert found.told_apart == (apart, apart)
    place = [found.person_ids.index(name) for name in alone.person_ids]
    np.testing.assert_array_equal(found.low[place, 0], alone.tested_low)
    np.testing.assert_array_equal(found.high[place, 0], alone.tested_high)
    assert 0 < apart < 66


def test_claims_from_draws_are_those_of_the_ranking() -> None:
    sample = np.random.default_rng(0).normal([0.0, 0.4, 1.5, 3.0], 0.6, (2, 500, 4))
    ids = tuple(f"s{k}" for k in range(4))
    draws = Draws(values={"ability": sample}, person_ids=ids, item_ids=("i",), sample_stats={}, max_treedepth=10)
    fit = scored(sample.mean(axis=(0, 1)), sample.std(axis=(0, 1)), draws=draws)
    apart = int(np.count_nonzero(np.triu(pe.rank(fit).told_apart)))
    assert compare_inference([fit, scored(np.zeros(4))]).told_apart == (apart, 0)


def test_a_pair_that_is_lost_and_one_that_is_flipped_are_said_in_words() -> None:
    found = compare_inference({"one": scored([4.0, 0.0, -4.0]), "two": scored([0.0, 4.0, -4.0])})
    assert any("one puts 's0' above 's1'" in s and "opposite claims about 1 of 3 pairs" in s for s in found.sentences)
    assert found.contested[0].decisions == ("above", "below")
    assert found.contested[0].opposite
    wide = compare_inference({"one": scored([4.0, 0.0, -4.0]), "two": scored([4.0, 0.0, -4.0], 3.0)})
    assert any(
        "one and two never make opposite claims about two persons; 3 of 3 pairs are told apart by one only (3 by one)"
        in s for s in wide.sentences
    )  # fmt: skip
    assert "No two estimators make opposite claims about any two persons." in wide.sentences


def test_a_scale_that_runs_backwards_is_turned_before_anything_is_claimed() -> None:
    flipped = with_items(with_theta(made("mirt-em"), lambda t: -t), a=lambda a: -a)
    found = pair_of(made(), flipped)
    assert found.decisions.opposite == 0
    assert found.decisions.same > 0
    assert found.moves is not None
    assert found.moves.largest == 0


def test_error_ratios_are_those_of_one_scale() -> None:
    found = pair_of(made(), made("mirt-em", ability_error=0.6, slope_error=0.2, intercept_error=0.05))
    for term, ratio in (("ability", 2.0), ("discrimination", 2.0), ("intercept", 0.5)):
        compared = found.ratio(term)
        assert compared is not None
        assert (compared.median, compared.low, compared.high) == pytest.approx((ratio,) * 3)
    # Abilities in units of which the latent SD is 2: half as large, and their errors with them.
    latent = LatentDistribution(0.0, 2.0)
    compared = pair_of(scored([0.0, 1.0], 0.4), scored([0.0, 2.0], [0.4, 1.6], latent_distribution=latent)).ratio(
        "ability"
    )
    assert compared is not None
    assert (compared.low, compared.median, compared.high) == pytest.approx((0.5, 1.25, 2.0))


def test_overlap_of_intervals_by_hand() -> None:
    z = 1.959963984540054
    # The same; shifted by half a width z; without a common point.
    found = pair_of(scored([0.0, 0.0, 0.0], 1.0), scored([0.0, z, 5.0], 1.0)).overlap
    assert found is not None
    assert found.share == pytest.approx(2 / 3)
    assert found.jaccard == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert found.apart == ("s2",)


def test_only_like_errors_are_set_side_by_side() -> None:
    found = pair_of(scored([0.0, 1.0]), scored([0.0, 1.0], uncertainty="items sampled"))
    assert found.unlike == "items fixed against items sampled"
    found = pair_of(scored([0.0, 1.0], uncertainty="items estimated"), scored([0.0, 1.0], uncertainty="items sampled"))
    assert found.unlike == "items estimated against items sampled"
    assert found.overlap is None
    assert found.ratio("ability") is None
    found = pair_of(scored([0.0, 1.0]), scored([0.0, 1.0], method="WLE"))
    assert (found.unlike, found.unlike_kind) == ("", "posterior SD against standard error")
    assert found.overlap is not None
    assert found.overlap.share == 1.0
    found = pair_of(made(), proportions())
    assert found.unlike == "logits against proportions, items fixed against items sampled"
    assert found.overlap is None
    assert found.decisions.n == 40 * 39 / 2


def test_everybody_tied_with_the_kth_is_among_the_best_k() -> None:
    found = compare_inference({"one": scored([3.0, 2.0, 2.0, 0.0]), "two": scored([3.0, 2.0, 0.0, 2.5])}, top=(1, 2, 4))
    assert [t.k for t in found.tops] == [1, 2]  # 4 of 4 leave nobody out
    assert found.tops[0].agreed == ("s0",)
    assert set(found.tops[1].of(0)) == {"s0", "s1", "s2"}
    assert set(found.tops[1].of(1)) == {"s0", "s3"}
    assert set(found.tops[1].contested) == {"s1", "s2", "s3"}
    moves = found.pairs[0].moves
    assert moves is not None
    assert (moves.mean, moves.largest) == pytest.approx(((0 + 0.5 + 1.5 + 2) / 4, 2.0))
    assert moves.furthest[0] == ("s3", 4.0, 2.0)


def test_best_groups_that_ties_make_one_are_named_once() -> None:
    found = compare_inference([scored([3.0, 3.0, 3.0, 0.0]), scored([3.0, 3.0, 3.0, 0.0])])
    assert [t.ids for t in found.tops] == [("s0", "s1", "s2")] * 2
    said = [s for s in found.findings if s.startswith("All estimators name")]
    assert said == ["All estimators name the same best person: 's0', 's1', 's2', ties included."]


def test_an_infinite_estimate_is_ranked_and_nothing_is_claimed_of_it() -> None:
    found = compare_inference([scored([np.inf, 3.0, -3.0], [np.inf, 0.5, 0.5]), scored([3.0, 0.0, -3.0])])
    assert found.told_apart == (1, 3)
    assert found.pairs[0].decisions.n == 1
    assert found.tops[0].agreed == ("s0",)


def test_what_is_not_believed_is_left_out_and_named() -> None:
    bad = scored([9.0, 0.0])
    bad = dataclasses.replace(bad, convergence=Convergence("failed_check", failures=("It ran away.",)))
    found = compare_inference({"one": scored([0.0, 1.0]), "two": scored([0.0, 1.0]), "bad": bad})
    assert found.names == ("one", "two")
    assert found.left_out == ("bad is not believed (failed_check): It ran away.",)
    assert any("Left out: bad" in s for s in found.sentences)
    with pytest.raises(NotComparableError, match="fewer than two believed fits"):
        compare_inference([scored([0.0, 1.0]), bad])


def test_the_simple_average_stands_beside(responses: pe.Responses) -> None:
    fits = pe.fit_many(responses, ["mml", "map"], model="Rasch")
    found = compare_inference(fits)
    assert found.names[-1] == "simple-average"
    assert len(found.pairs) == 3
    assert compare_inference(pe.compare(fits)).to_dict() == found.to_dict()
    json.dumps(found.to_dict(), allow_nan=False)
    assert len(found.table()) == 3
    assert set(found.top_table()["k"]) == {1, 3, 5}


def test_nothing_is_claimed_across_components() -> None:
    component = np.array([1, 1, 2, 2, -1])
    one = scored([5.0, 0.0, -5.0, 0.0, np.nan], components=component)
    found = compare_inference({"one": one, "two": scored([5.0, 0.0, 5.0, 0.0, np.nan], components=component)})
    assert found.told_apart == (2, 2)
    assert found.pairs[0].decisions.n == 2
    assert found.pairs[0].decisions.flipped == (("s3", "s2"),)
    assert found.tops == ()
    np.testing.assert_array_equal(found.low[:, 1], [1, 2, 1, 2, np.nan])
    np.testing.assert_array_equal(found.high[:, 1], [1, 2, 1, 2, np.nan])
    assert not found.is_connected
    np.testing.assert_array_equal(found.ranks[:, 0], [1, 2, 2, 1, np.nan])
    assert any("nothing is said of the best over all" in s for s in found.sentences)


def test_other_data_and_settings_are_refused() -> None:
    other = scored([0.0, 1.0, 2.0])
    other = dataclasses.replace(other, provenance=Provenance(data_sha256="other"))
    with pytest.raises(NotComparableError, match="different data"):
        compare_inference([scored([0.0, 1.0]), other])
    for settings in ({"level": 1.0}, {"correction": "some"}, {"top": (0,)}):
        with pytest.raises(SettingsError):
            compare_inference([scored([0.0, 1.0]), scored([0.0, 1.0])], **settings)
    with pytest.raises(NotComparableError, match="at most 2,000"):
        compare_inference([scored(np.zeros(2001)), scored(np.zeros(2001))])


def test_a_thousand_persons_by_six_fits_need_no_table_of_all_fits_and_pairs() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=1000)
    fits = [scored(truth + rng.normal(0, 0.1, 1000), 0.2, f"fit {k}") for k in range(6)]
    tracemalloc.start()
    found = compare_inference(fits)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.pairs[0].decisions.n == 499_500
    assert peak < 20 * 8 * 1000**2  # a few tables of all pairs at a time, not one for each of 15 pairs of fits

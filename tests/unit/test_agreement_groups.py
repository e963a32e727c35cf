"""Verdicts in few words."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from psychoeval.agreement.comparison import Comparison, compare
from psychoeval.agreement.groups import group_verdicts
from psychoeval.agreement.ranks import rank_words, ranks
from psychoeval.cli.output import print_comparison
from psychoeval.responses.matrix import Responses
from tests.unit.agreement_fits import J, N, ids, made, proportions, with_items


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    near = with_items(made("mirt-em"), d=lambda d: d + np.where(np.arange(J) == 3, 0.002, 0.0))
    far = with_items(made("other"), d=lambda d: d[::-1])
    fits = {
        "one": made(),
        "two": near,
        "three": made("map"),
        "scores": proportions(),
        "more": proportions(),
        "far": far,
    }
    return compare(fits, responses=Responses.from_array(np.ones((N, J)), item_ids=ids("i", J), person_ids=ids("p", N)))


def test_every_pair_is_in_one_group_with_its_verdict(comparison: Comparison) -> None:
    groups = group_verdicts(comparison.names, comparison.pairs)
    seen = [(p.first, p.second) for g in groups for p in g.pairs]
    assert sorted(seen) == sorted((p.first, p.second) for p in comparison.pairs)
    assert all(p.verdict == g.verdict for g in groups for p in g.pairs)


def test_fits_that_agree_each_with_each_come_first(comparison: Comparison) -> None:
    first, second, *rest = group_verdicts(comparison.names, comparison.pairs)
    assert (first.name, first.fits, first.verdict) == ("group A", ("one", "two", "three"), "agree")
    assert first.differences.startswith("Largest differences: slopes none; intercepts 0.002 (0.02 SE), one with two; ")
    assert (second.name, second.fits) == ("group B", ("scores", "more"))
    assert all(not g.fits for g in rest)


def test_pairs_that_differ_are_named(comparison: Comparison) -> None:
    differ = next(g for g in group_verdicts(comparison.names, comparison.pairs) if g.verdict == "disagree")
    assert differ.between == (("group A", "far"),)
    assert {p.first for p in differ.pairs} == {"one", "two", "three"}
    assert "intercepts" in differ.differences
    ranks_only = next(g for g in group_verdicts(comparison.names, comparison.pairs) if "ranks" in g.verdict)
    assert ranks_only.who == "group A with group B; group B with far"
    assert ranks_only.differences == "Lowest tau-b 1.000."


def test_a_chain_of_agreements_is_no_group(comparison: Comparison) -> None:
    # a ~ b and b ~ c, but not a ~ c: b goes with a, and c stands alone with both verdicts.
    known = comparison.pair("one", "two")
    pairs = [
        replace(known, first=a, second=b, verdict="disagree" if (a, b) == ("a", "c") else "agree")
        for a, b in combinations("abc", 2)
    ]
    groups = group_verdicts(("a", "b", "c"), pairs)
    assert [(g.verdict, g.fits, g.between) for g in groups] == [
        ("agree", ("a", "b"), ()), ("disagree", (), (("a", "c"),)), ("agree", (), (("b", "c"),)),
    ]  # fmt: skip


def test_the_command_line_names_groups_and_what_differs(
    comparison: Comparison, capsys: pytest.CaptureFixture[str]
) -> None:
    assert comparison.responses is not None
    print_comparison(comparison, comparison.responses, "verdicts", "table")
    out = capsys.readouterr().out
    assert "Verdicts on 15 pairs" in out
    assert "- agree (3 pairs, group A): one, two, three. Largest differences: " in out
    assert "- disagree (3 pairs): group A with far." in out
    assert "one / far: disagree. " in out


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([3.0, 2.0, 1.0], ["1", "2", "3"]),
        ([0.0, 1.0, 1.0, np.nan, -1.0], ["3", "1-2", "1-2", "", "4"]),
        ([5.0] * 4, ["1-4"] * 4),
        ([2.0, 2.0, 2.0, 7.0], ["2-4", "2-4", "2-4", "1"]),
        ([np.inf, np.inf, 0.0], ["1-2", "1-2", "3"]),
        ([], []),
    ],
)
def test_ties_are_written_as_the_ranks_they_share(values: list[float], words: list[str]) -> None:
    assert rank_words(ranks(np.array(values, float))) == words


def test_persons_alike_in_every_fit_share_a_row_where_there_are_many(capsys: pytest.CaptureFixture[str]) -> None:
    x = (np.arange(6)[None, :] < (np.arange(240) % 6)[:, None]).astype(float)
    responses = Responses.from_array(x)
    from psychoeval.fitting import fit_many

    print_comparison(compare(fit_many(responses, ["simple-average", "ctt"])), responses, "verdicts", "table")
    lines = capsys.readouterr().out.splitlines()
    best = next(line for line in lines if line.startswith("person-6 "))
    assert best.split()[:6] == ["person-6", "and", "39", "more", "1-40", "(0.83)"]
    assert sum("and 39 more" in line for line in lines) == 6

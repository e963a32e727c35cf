"""Six systems on algebra, six on chemistry: every table of ranks stays within a component, and says what would join."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import psychoeval as pe
from psychoeval.agreement.comparison import Comparison
from psychoeval.agreement.inference import compare_inference
from psychoeval.cli import main
from psychoeval.errors import DisconnectedDataError, NotComparableError, SettingsError
from psychoeval.plots import rank_bump, rank_claims
from psychoeval.report import pictures
from psychoeval.report.systems import systems_section
from psychoeval.responses.connections import connections
from psychoeval.responses.screening import screen

DATA = Path(__file__).parent / "data" / "14"
EXPECTED = json.loads((DATA / "expected.json").read_text())
TEAMS = {team: [f"team{team}_{k}" for k in range(1, 7)] for team in "AB"}


@pytest.fixture(scope="module")
def responses() -> pe.Responses:
    return pe.read_table(DATA / "responses.csv")


@pytest.fixture(scope="module")
def comparison(responses: pe.Responses) -> Comparison:
    return pe.compare(pe.fit_many(responses, ["simple-average", "map", "random-item", "mml"], model="Rasch"))


def run(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr("sys.argv", ["psychoeval", *args])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_abilities_carry_their_component(comparison: Comparison) -> None:
    for fit in comparison.fits:
        assert fit.components is not None
        assert fit.components.tolist() == [1] * 6 + [2] * 6
        assert fit.ability_table()["component"].tolist() == [1] * 6 + [2] * 6
    (failed,) = comparison.failures
    assert failed.label == "mml Rasch"
    assert "--component 1" in failed.remedy
    assert "'algebra_4'" in failed.remedy


def test_no_rank_column_goes_across(comparison: Comparison) -> None:
    table = comparison.rank_table()
    assert set(table["component"]) == {1, 2}
    for _, part in table.groupby("component"):
        for column in (c for c in part.columns if c.endswith(" rank")):
            assert part[column].sum() == 21  # 1 to 6, ties at their mean
            assert part[column].between(1, 6).all()
    a, b = (table[table["person"].isin(TEAMS[t])] for t in "AB")
    assert (a["component"].tolist(), b["component"].tolist()) == ([1] * 6, [2] * 6)
    for pair in comparison.pairs:
        assert pair.ranks is not None
        assert pair.ranks.top == {}
        assert pair.ranks.kendall == pytest.approx(1.0)


def test_no_top_and_no_claim_goes_across(comparison: Comparison) -> None:
    found = compare_inference(comparison)
    assert found.tops == ()
    assert all(p.decisions.n == 2 * 15 for p in found.pairs)
    assert all({c.first[4], c.second[4]} != {"A", "B"} for c in found.contested)


def test_what_would_join_them_is_named_in_every_output(
    responses: pe.Responses, comparison: Comparison, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    proposed = ["algebra_10", "algebra_4", "chem_6", "chem_9", "teamA_1", "teamB_3"]
    parts = connections(responses).parts
    constant = set(EXPECTED["constant"])
    assert not constant & {i for p in parts for i in p.linking_items}  # all right or all wrong tells nothing
    texts = {
        "summary": comparison.summary(),
        "screening": " ".join(f.sentence for f in screen(responses).warnings),
        "json": json.dumps(comparison.to_dict()["connections"]),
    }
    path, page = str(DATA / "responses.csv"), tmp_path / "report.html"
    with monkeypatch.context() as patched:
        patched.setattr(pictures, "pictures", lambda *_: [])
        run(patched, "compare", path, "--estimators", "simple-average,map", "--report", str(page))
    texts |= {"terminal": capsys.readouterr().out, "report": page.read_text(encoding="utf-8")}
    for name, text in texts.items():
        assert not [p for p in proposed if p not in text], name
        assert "2 components" in text, name
        assert "not comparable" in text, name
    assert "can be called the best over all" in texts["report"]
    assert "All believed results put" not in texts["report"]


def test_the_terminal_ranks_each_component_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(DATA / "responses.csv")
    run(monkeypatch, "compare", path, "--estimators", "simple-average,map")
    one, two = capsys.readouterr().out.partition("Component 2, not comparable")[::2]
    first, second = one.partition("Component 1, not comparable")[2], two.partition("\n\n")[0]
    assert all(name in first and name not in second for name in TEAMS["A"])
    assert all(name in second and name not in first for name in TEAMS["B"])
    assert "teamB_3  1 (0.60)" in second
    run(monkeypatch, "compare", path, "--estimators", "simple-average,map", "--format", "csv", "--table", "ranks")
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert table.groupby("component").size().tolist() == [6, 6]
    run(monkeypatch, "compare", path, "--estimators", "simple-average,map", "--format", "json")
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert len(content["connections"]["parts"]) == EXPECTED["components"]
    assert content["inference"]["top"] == []


def test_one_component_is_fitted_by_every_estimator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(DATA / "responses.csv")
    names = "simple-average,mml,additive"
    assert run(monkeypatch, "compare", path, "--estimators", names, "--component", "2", "--strict") == 0
    out = capsys.readouterr().out
    assert "teamA" not in out
    assert "teamB_3  1 (0.60)" in out
    assert run(monkeypatch, "compare", path, "--estimators", names, "--component", "3") == 2
    assert "There are 2 components" in capsys.readouterr().err


def test_a_ranking_is_of_one_component(comparison: Comparison) -> None:
    for fit in comparison.fits:
        with pytest.raises(DisconnectedDataError, match=r"2 components.*6, 6"):
            pe.rank(fit)
        for number, team in ((1, "A"), (2, "B")):
            found = pe.rank(fit, component=number)
            assert set(found.person_ids) == set(TEAMS[team])
            table = comparison.rank_table().set_index("person")
            expected = table.loc[list(found.person_ids), f"{fit.label} rank"].to_numpy()
            np.testing.assert_array_equal(found.rank, expected)
        with pytest.raises(SettingsError, match="component is 3"):
            pe.rank(fit, component=3)


def test_the_report_ranks_within_a_component_and_says_which(comparison: Comparison) -> None:
    section = systems_section(comparison.names, comparison.fits, "system")
    assert section is not None
    assert "numbered in brackets" in section.rule
    ranked = {who: [cell.rank for cell in cells] for who, _, cells in section.rows}
    assert [who[4] for who in ranked] == ["A"] * 6 + ["B"] * 6
    assert ranked["teamA_2 [1]"] == ["1-3"] * 3  # three of equal scores in their team, whatever stands in the other
    assert ranked["teamB_3 [2]"] == ["1"] * 3
    assert ranked["teamB_6 [2]"] == ["2"] * 3


def test_no_picture_sets_ranks_of_two_components_on_one_axis(comparison: Comparison) -> None:
    with pytest.raises(NotComparableError, match="fall into components"):
        rank_bump(comparison.fits)
    with pytest.raises(NotComparableError, match="fall into components"):
        rank_claims(compare_inference(comparison))


def test_three_components_an_isolated_system_and_one_without_responses() -> None:
    nan = float("nan")
    scores = np.full((9, 10), nan)
    scores[:4, :4] = [[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0]]
    scores[4:7, 4:7] = [[1, 1, 0], [1, 0, 0], [0, 0, 1]]
    scores[7, 7:9] = [1, 0]  # alone on its items; item 10 nobody ran, system 9 ran nothing
    responses = pe.Responses.from_array(scores, person_label="system")
    comparison = pe.compare(pe.fit_many(responses, ["simple-average", "map"], model="Rasch"))
    table = comparison.rank_table()
    assert table["component"].tolist() == [1] * 4 + [2] * 3 + [3] + [-1]
    alone, nothing = table.iloc[7], table.iloc[8]
    assert (alone["person"], alone["simple-average rank"]) == ("person-8", 1)
    assert nothing["person"] == "person-9"
    assert np.isnan(nothing["mean_rank"])
    assert comparison.connections is not None
    assert comparison.connections.without_responses == ("person-9",)
    assert len(comparison.connections.remedies) == 2
    assert "item-10" not in comparison.summary()
    assert pe.rank(comparison.fits[0], component=2).person_ids == ("person-5", "person-6", "person-7")
    with pytest.raises(NotComparableError, match="fewer than two"):
        pe.rank(comparison.fits[0], component=3)


def test_a_bridge_of_one_item_connects_and_is_a_weak_link(responses: pe.Responses) -> None:
    scores = np.where(responses.trials > 0, responses.successes, np.nan).astype(float)
    item = responses.item_ids.index("algebra_4")
    scores[6:, item] = [1, 0, 1, 0, 0, 1]
    bridged = pe.Responses.from_array(
        scores, person_ids=responses.person_ids, item_ids=responses.item_ids, person_label="system"
    )
    comparison = pe.compare(pe.fit_many(bridged, ["simple-average", "map"], model="Rasch"))
    assert "component" not in comparison.rank_table().columns
    assert "Item 'algebra_4' alone links 6 systems" in comparison.summary()
    assert "weak link" in comparison.summary()
    assert pe.rank(comparison.fits[0]).person_ids == responses.person_ids

"""The report of an audit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from psychoeval.audit import analyze_items, average_systems, bin_difficulty, compare_difficulty_bins
from psychoeval.cli.commands import app
from psychoeval.errors import DataError, PsychoevalError
from psychoeval.irt.paired import mcnemar
from psychoeval.report.audit import AuditContent, AuditSettings, audit_content
from psychoeval.report.audit_parts import Table
from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses

pytestmark = pytest.mark.needs("report")

QUICK = AuditSettings(replications=20)


def two_benchmarks(seed: int = 0) -> Responses:
    """Return 24 systems of three makers on 40 algebra and 40 law items, each with a trait of its own; law is noisy."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(24, 2))
    part = np.repeat([0, 1], 40)
    eta = np.where(part == 0, 3.0, 1.0) * (theta[:, part] - rng.normal(0, 0.7, 80))
    cells = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(int)
    items = pd.DataFrame(
        {"benchmark": np.where(part == 0, "algebra", "law"), "passage": [f"p{k // 4}" for k in range(80)],
         "key": rng.choice(list("ABCD"), 80), "text": [f"What is <{k}>?" for k in range(80)]}
    )  # fmt: skip
    persons = pd.DataFrame({"developer": [f"lab {i % 3}" for i in range(24)]})
    return Responses.from_array(cells, items=items, persons=persons, person_label="system", name="two")


def tables(content: AuditContent) -> dict[str, Table]:
    return {t.key: t for t in content.tables}


@pytest.fixture(scope="module")
def content() -> AuditContent:
    return audit_content(two_benchmarks(), AuditSettings(replications=30, cluster="passage", n_factors=2))


def test_every_section_is_there_and_says_what_the_data_say() -> None:
    responses = load_dataset("swebench-verified")
    found = audit_content(responses, AuditSettings(replications=50))
    titles = [s.title for s in found.sections]
    assert titles == [
        "What stands out", "Mean scores of systems", "Systems in pairs", "Items", "Difficulty and discrimination",
        "Curves of items", "Other systems", "Without each family by agreement", "Factors",
    ]  # fmt: skip
    assert any("110 items that no system got right" in s for s in found.sections[0].sentences)
    means = found.sections[1].tables[0]
    assert means.rows[0][1][0] == pytest.approx(responses.proportions.mean(axis=1).max())
    rows = tables(found)["items"].rows
    assert len(rows) == 500
    assert [values[-1] for _, values in rows].count("constant all 0") == 110
    assert len(tables(found)["pairs"].frame) == 34


def test_sections_that_covariates_make(content: AuditContent) -> None:
    titles = [s.title for s in content.sections]
    assert titles == [
        "What stands out", "Mean scores of systems", "Systems in pairs", "Items", "Difficulty and discrimination",
        "Benchmarks", "Curves of items", "Other systems", "Without each developer", "Factors", "Clusters of items",
    ]  # fmt: skip
    assert tables(content)["groups_samples"].frame.index.tolist() == ["lab 0", "lab 1", "lab 2"]
    assert all(p.uri for s in content.sections for p in s.pictures)


def test_numbers_in_tables_are_those_of_the_audit(content: AuditContent) -> None:
    r, found = two_benchmarks(), tables(content)
    clustered = average_systems(r, cluster="passage")
    assert found["systems"].frame["standard_error"].to_numpy() == pytest.approx(clustered.standard_error)
    assert "design_effect" in found["systems"].columns
    assert found["pairs"].frame["n_clusters"].eq(20).all()
    items = analyze_items(r)
    assert found["reliability"].frame.loc["alpha", "value"] == items.test.alpha
    parts = [bin_difficulty(r.select(items=slice(a, a + 40))) for a in (0, 40)]
    test = compare_difficulty_bins(*parts)
    assert found["benchmarks_test"].frame["u"].to_numpy() == pytest.approx(test.u, nan_ok=True)
    assert found["benchmarks_test"].frame["p_adjusted"].min() < 0.05
    assert "discriminate unequally at" in content.sections[5].sentences[1]
    assert "(better in algebra)" in content.sections[5].sentences[1]


def test_clusters_go_with_the_benchmark_and_not_with_the_key(content: AuditContent) -> None:
    found = tables(content)["covariates"].frame
    assert found.index.tolist() == ["benchmark", "passage", "key"]  # 80 questions are no categories
    assert found.loc["benchmark", "p_adjusted"] < 0.05
    assert found.loc["key", "p_adjusted"] > 0.05
    assert "benchmark (V" in content.sections[-1].sentences[1]
    texts = tables(content)["top_items"].frame["text"]
    assert texts.str.startswith("What is <").all()


def test_a_pair_and_outside_scores_that_are_asked_for() -> None:
    r = two_benchmarks()
    outside = {"algebra exam": r.proportions[:, :40].mean(axis=1), "unknown": np.full(24, np.nan)}
    outside["unknown"][:5] = np.arange(5)
    settings = AuditSettings(replications=20, n_factors=2, external=outside, pair=("person-3", "person-9"))
    found = audit_content(r, settings)
    section = found.sections[2]
    assert section.title == "person-3 against person-9"
    x = r.successes[[2, 8]].astype(float)
    only = [float((x[0] > x[1]).sum()), float((x[1] > x[0]).sum())]
    exact, mid = mcnemar(*(np.array([v]) for v in only))
    p = tables(found)["pair"].frame["p_value"]
    assert p["McNemar, exact"] == exact[0]
    assert p["McNemar, mid-p"] == mid[0]
    assert f"{only[0]:.0f} items only person-3 got right, {only[1]:.0f} only person-9." in section.sentences
    scores = tables(found)["outside_scores"].frame
    of_exam = scores.loc["algebra exam"].set_index("factor")
    assert of_exam["correlation"].max() > 0.95 > 0.6 > of_exam["correlation"].min()
    assert scores.loc["unknown", "n_persons"].eq(5).all()


def test_another_benchmark_with_systems_of_its_own() -> None:
    r = two_benchmarks()
    other = two_benchmarks(5).select(persons=slice(0, 15), items=slice(40, 80))
    found = audit_content(r, AuditSettings(replications=20, against=other))
    assert {"bins", "bins_against", "bins_test"} <= tables(found).keys()


def test_what_was_asked_for_by_name_and_is_not_there_is_refused() -> None:
    r = two_benchmarks()
    for settings, words in (
        (AuditSettings(cluster="chapter"), "no covariate 'chapter'"),
        (AuditSettings(group="lab"), "They have 'developer'"),
        (AuditSettings(benchmark="suite"), "no covariate 'suite'"),
        (AuditSettings(pair=("person-1", "person-99")), "no system 'person-99'"),
    ):
        with pytest.raises(DataError) as refused:
            audit_content(r, settings)
        assert words in f"{refused.value.problem} {refused.value.remedy}"


def test_groups_with_gaps_are_filled_with_persons_on_their_own() -> None:
    r = two_benchmarks()
    persons = r.persons.assign(developer=[None, " ", *r.persons["developer"].tolist()[2:]])
    r = Responses(r.successes, r.trials, r.person_ids, r.item_ids, persons, person_label="system")
    found = audit_content(r, QUICK)
    assert "(person-1)" in tables(found)["groups_samples"].frame.index
    section = next(s for s in found.sections if s.title == "Without each developer")
    assert section.rules[0] == "2 systems have no 'developer' and are each on their own."


def test_what_cannot_be_computed_says_why_and_costs_nothing_else() -> None:
    found = audit_content(Responses.from_array([[1, 1], [1, 1]]), QUICK)
    assert found.sections[0].title == "What stands out"
    assert found.sections[-1].title == "Factors"
    assert "Not computed: Fewer than 2 items vary" in found.sections[-1].sentences[0]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["audit", *arguments, "--replications", "20"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write `two_benchmarks` as a wide table, with tables of items, systems and outside scores."""
    r = two_benchmarks()
    wide = pd.DataFrame(r.successes, columns=list(r.item_ids))
    wide.insert(0, "system", [f"<i>s{i}</i>" for i in range(24)])
    wide.to_csv(tmp_path / "x.csv", index=False)
    r.items.rename(columns={"text": "question"}).assign(item=r.item_ids).to_csv(tmp_path / "items.csv", index=False)
    r.persons.assign(system=wide["system"], exam=np.arange(24.0)).to_csv(tmp_path / "systems.csv", index=False)
    return tmp_path


def test_the_command_writes_report_and_tables_and_names_in_data_are_no_markup(files: Path) -> None:
    out = files / "new" / "audit.html"
    printed = run(
        str(files / "x.csv"), "--report", str(out), "--out", str(files / "tables"), "--items", str(files / "items.csv"),
        "--persons", str(files / "systems.csv"), "--external", str(files / "systems.csv"), "--cluster", "passage",
        "--factors", "2", "--rotation", "oblimin", "--pair", "<i>s1</i>", "<i>s2</i>",
    )  # fmt: skip
    assert printed.splitlines()[-2:] == [str((files / "tables").resolve()), str(out.resolve())]
    text = out.read_text()
    assert "<i>s1" not in text
    assert "&lt;i&gt;s1&lt;/i&gt;" in text
    assert "What is &lt;" in text
    written = {p.stem for p in (files / "tables").glob("*.csv")}
    assert written >= {
        "systems", "pairs", "pair", "items", "reliability", "bins", "benchmarks_test", "curves", "groups", "bootstrap",
        "scree", "loadings", "top_items", "covariates", "outside_scores",
    }  # fmt: skip
    saved = json.loads((files / "tables" / "audit.json").read_text())
    assert [s["title"] for s in saved["sections"]][2] == "<i>s1</i> against <i>s2</i>"
    assert len(saved["sections"][4]["tables"]["items"]) == 80
    assert pd.read_csv(files / "tables" / "systems.csv")["n_clusters"].eq(20).all()


def test_the_command_prints_json_or_one_table(files: Path) -> None:
    found = json.loads(run(str(files / "x.csv"), "--format", "json"))
    assert found["data"] == "24 systems x 80 items, 1920 of 1920 cells observed."
    lines = run(str(files / "x.csv"), "--format", "csv", "--table", "bins").splitlines()
    assert lines[0].startswith("p,n_items,n_correlated,mean")
    with pytest.raises(PsychoevalError, match="--table nothing is unknown"):
        run(str(files / "x.csv"), "--format", "csv", "--table", "nothing")


def test_columns_of_a_long_table_are_read_where_an_option_names_them(tmp_path: Path) -> None:
    r = two_benchmarks()
    rows = [
        {"system": s, "item": i, "passage": p, "developer": d, "score": int(r.successes[a, b])}
        for a, (s, d) in enumerate(zip(r.person_ids, r.persons["developer"], strict=True))
        for b, (i, p) in enumerate(zip(r.item_ids, r.items["passage"], strict=True))
    ]
    long = pd.DataFrame(rows)
    long.to_csv(tmp_path / "long.csv", index=False)
    found = json.loads(
        run(str(tmp_path / "long.csv"), "--cluster", "passage", "--group", "developer", "--format", "json")
    )
    titles = [s["title"] for s in found["sections"]]
    assert "Without each developer" in titles
    assert found["sections"][1]["tables"]["systems"][0]["n_clusters"] == 20

"""What the commands show of the cases that need no model: 10, 11, 13, 14, 16, 19, 21."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from psychoeval.audit import analyze_items
from psychoeval.cli.commands import app
from psychoeval.errors import DataError
from psychoeval.responses.tables import read_table

DATA = Path(__file__).parent / "data"


def printed(*arguments: str) -> Any:
    result = CliRunner().invoke(app, [*arguments, "--format", "json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def findings(*arguments: str) -> dict[str, str]:
    return {f["kind"]: f["severity"] for f in printed("screen", *arguments)}


def audited(*arguments: str) -> dict[str, dict[str, Any]]:
    return {s["title"]: s for s in printed("audit", *arguments, "--replications", "20")["sections"]}


def expected(case: str) -> Any:
    return json.loads((DATA / case / "expected.json").read_text())


def test_case_10_not_run_is_not_wrong_unless_asked_for() -> None:
    file = str(DATA / "10" / "responses.csv")
    assert findings(file, "--missing", "wrong")["trailing_failures"] == "warning"
    kept, wrong = (
        {row["id"]: row for row in audited(file, *more)["Mean scores of systems"]["tables"]["systems"]}
        for more in ((), ("--missing", "wrong"))
    )
    for name, want in expected("10").items():
        assert kept[name]["mean"] == pytest.approx(want["mean_na"], abs=1e-12)
        assert kept[name]["n_items"] == want["n"]
        assert wrong[name]["mean"] == pytest.approx(want["mean_zero"], abs=1e-12)
    assert any("count as wrong" in rule for rule in audited(file, "--missing", "wrong")["What stands out"]["rules"])


@pytest.mark.parametrize("command", ["audit", "screen"])
def test_case_11_the_sentinel_is_refused_with_its_cells(command: str) -> None:
    with pytest.raises(DataError, match="looks like an R integer NA") as refused:
        CliRunner().invoke(app, [command, str(DATA / "11" / "responses.csv")], catch_exceptions=False)
    assert "2 cells are not 0, 1 or missing" in refused.value.problem


def test_case_13_the_audit_warns_that_averages_mislead() -> None:
    found = audited(str(DATA / "13" / "responses.csv"))["What stands out"]["sentences"]
    assert any(s.startswith("Warning: ") and "strong systems were given harder items" in s for s in found)


def test_case_14_components_are_named() -> None:
    file = str(DATA / "14" / "responses.csv")
    assert findings(file)["disconnected"] == "warning"
    found = audited(file)
    assert any("2 groups" in s or "2 components" in s for s in found["What stands out"]["sentences"])
    items = found["Items"]["tables"]["items"]
    constant = [row["item"] for row in items if row["status"].startswith("constant")]
    assert constant == expected("14")["constant"]
    # Two systems of two components share no item: no test, and the reason.
    pairs = found["Systems in pairs"]["tables"]["pairs"]
    assert {row["status"] for row in pairs if row["n_items"] == 0} <= {"too_few_items"}


def test_case_16_a_filter_is_asked_for() -> None:
    log = str(DATA / "16" / "samples_arith.jsonl")
    with pytest.raises(DataError, match=r"2 filters: 'strict' \(4 rows\), 'flexible' \(4 rows\)"):
        CliRunner().invoke(app, ["audit", log, "--read", "person=A"], catch_exceptions=False)
    for name in ("strict", "flexible"):
        row = audited(log, "--read", "person=A", "--read", f"filter={name}")["Mean scores of systems"]["tables"][
            "systems"
        ][0]
        assert (row["mean"], row["n_items"]) == (expected("16")[name], 4)


def test_case_19_clusters_by_an_option(tmp_path: Path) -> None:
    lines = (DATA / "19" / "one_system.csv").read_text().splitlines()
    file = tmp_path / "one.csv"
    file.write_text("\n".join([f"system,{lines[0]}", *(f"the one,{line}" for line in lines[1:])]) + "\n")
    want = expected("19")
    naive = audited(str(file))["Mean scores of systems"]
    assert naive["tables"]["systems"][0]["standard_error"] == pytest.approx(want["se_naive"], abs=1e-14)
    assert any("takes to be independent" in rule for rule in naive["rules"])
    clustered = audited(str(file), "--cluster", "cluster")["Mean scores of systems"]
    row = clustered["tables"]["systems"][0]
    assert row["standard_error"] == pytest.approx(want["se_cluster_cr1"], abs=1e-14)
    assert row["n_clusters"] == want["clusters"]
    assert any("between 12 clusters of items (cluster)" in rule for rule in clustered["rules"])


def test_case_19_clusters_from_a_file(tmp_path: Path) -> None:
    lines = [line.split(",") for line in (DATA / "19" / "one_system.csv").read_text().splitlines()[1:]]
    (tmp_path / "one.csv").write_text(
        f"system,{','.join(i for _, i, _ in lines)}\nthe one,{','.join(s for *_, s in lines)}\n"
    )
    (tmp_path / "items.csv").write_text("item,passage\n" + "".join(f"{i},{c}\n" for c, i, _ in lines))
    found = audited(str(tmp_path / "one.csv"), "--items", str(tmp_path / "items.csv"), "--cluster", "passage")
    row = found["Mean scores of systems"]["tables"]["systems"][0]
    assert row["standard_error"] == pytest.approx(expected("19")["se_cluster_cr1"], abs=1e-14)


@pytest.mark.parametrize("name", ["negative_alpha", "one_reversed"])
def test_case_21_negative_alpha_and_its_reason(name: str) -> None:
    want = expected("21")[name]
    found = audited(str(DATA / "21" / f"{name}.csv"))["Items"]
    test = {row["statistic"]: row["value"] for row in found["tables"]["reliability"]}
    assert test["alpha"] == pytest.approx(want["alpha"], abs=1e-12)
    assert test["kr20"] == pytest.approx(test["alpha"], abs=1e-12)
    rest = [row["item_rest_correlation"] for row in found["tables"]["items"]]
    assert rest == pytest.approx(want["item_rest"], abs=5e-7)
    assert any("average covariance" in rule and "check keys" in rule for rule in found["rules"])


def test_case_21_without_the_reversed_item() -> None:
    rows = audited(str(DATA / "21" / "one_reversed.csv"))["Items"]["tables"]["items"]
    without = {row["item"]: row["alpha_without"] for row in rows}
    assert without["q005"] == pytest.approx(expected("21")["one_reversed"]["alpha_without_q005"], abs=1e-12)


def test_case_21_constant_item_and_missing_cells() -> None:
    want = expected("21")["constant_and_missing"]
    responses = read_table(DATA / "21" / "constant_and_missing.csv")
    found = analyze_items(responses)
    assert (found.test.rule, found.test.n_persons) == ("listwise", want["n_listwise"])
    assert found.test.alpha == pytest.approx(want["alpha_listwise"], abs=1e-12)
    # Without the constant item: the item stays in the list, and has no correlation.
    assert found.alpha_without[2] == pytest.approx(want["alpha_listwise_without_constant"], abs=1e-12)
    assert found.status[2] == "constant_all_1"
    nan = float("nan")
    rest = [nan if r is None else r for r in want["item_rest"]]
    # The case's correlations are of the 58 complete persons; the audit's of everybody who saw the item, and it says so.
    complete = responses.select(persons=responses.observed.all(axis=1))
    assert analyze_items(complete).item_rest_correlation == pytest.approx(rest, abs=5e-7, nan_ok=True)
    assert found.n_correlation.max() == 60
    assert any("from everybody who saw the item" in note for note in found.notes)
    pairwise = analyze_items(responses, missing="available").test
    assert pairwise.alpha == pytest.approx(want["alpha_pairwise"], abs=1e-12)

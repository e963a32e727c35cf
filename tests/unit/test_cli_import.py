"""`psychoeval import`, and commands that take logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from psychoeval.cli.commands import app
from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.tables import read_table


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return a folder with logs of three systems on four items."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for k, answers in enumerate(("CCCI", "CCII", "CIII")):
        samples = [
            {"id": f"q{j}", "epoch": 1, "input": str(j), "scores": {"match": {"value": v}}}
            for j, v in enumerate(answers)
        ]
        head = {"status": "success", "eval": {"model": f"m{k}", "task": "quiz"}, "plan": {}}
        (folder / f"{k}.json").write_text(json.dumps(head | {"samples": samples}))
    return folder


def test_logs_to_a_table_that_compare_takes(logs: Path, tmp_path: Path) -> None:
    out, rows = tmp_path / "data.csv", tmp_path / "rows.csv"
    result = CliRunner().invoke(app, ["import", str(logs), "--out", str(out), "--rows", str(rows)])
    assert result.exit_code == 0, result.output
    assert "12 rows read; the 12 chosen ended: 6 right, 6 wrong." in " ".join(result.stderr.split())
    assert result.stdout.strip() == str(out)
    assert read_table(out).successes.sum(axis=1).tolist() == [3, 2, 1]
    assert len(rows.read_text().splitlines()) == 13
    for data in (out, logs):
        compared = CliRunner().invoke(app, ["compare", str(data), "--estimators", "simple-average,ctt"])
        assert compared.exit_code == 0, compared.output
        assert "simple-average" in compared.stdout


def test_choices_are_given_with_read(logs: Path, tmp_path: Path) -> None:
    command = ["import", str(logs), "--out", str(tmp_path / "x.csv"), "--read"]
    with pytest.raises(DataError, match="no metric 'f1'"):
        CliRunner().invoke(app, [*command, "metric=f1"], catch_exceptions=False)
    for wrong in ("colour=red", "bounds=1", "threshold=high"):
        with pytest.raises(SettingsError):
            CliRunner().invoke(app, [*command, wrong], catch_exceptions=False)
    result = CliRunner().invoke(app, [*command, "metric=match", "--read", "bounds=0:1", "--read", "threshold=0.5"])
    assert result.exit_code == 0, result.output


def test_targets_never_replace_what_is_read_or_each_other(logs: Path, tmp_path: Path) -> None:
    same = tmp_path / "x.csv"
    for command in (
        [str(logs), "--out", str(same), "--rows", str(same)],
        [str(logs), "--out", str(tmp_path / "x.xls")],
    ):
        with pytest.raises(SettingsError):
            CliRunner().invoke(app, ["import", *command], catch_exceptions=False)
    table = tmp_path / "irw.csv"
    table.write_text("id,item,resp\nA,q1,1\n")
    with pytest.raises(SettingsError, match="is read, and would be replaced"):
        CliRunner().invoke(app, ["import", str(table), "--out", str(table)], catch_exceptions=False)
    assert table.read_text().startswith("id,item,resp")
    assert not same.exists()

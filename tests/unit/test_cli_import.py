"""`psychoeval import`, and commands that take logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from psychoeval.cli.commands import app
from psychoeval.cli.inputs import load_responses, on_command_line
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


def test_items_of_a_list_of_results(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps({"resolved": ["a"], "no_generation": ["b"]}))
    (tmp_path / "items.txt").write_text("a\nb\nc\n")
    out = tmp_path / "x.csv"
    command = ["import", str(tmp_path / "m.json"), "--out", str(out), "--read", f"items={tmp_path / 'items.txt'}"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "1 right, 1 wrong, 1 not attempted" in " ".join(result.stderr.split())
    assert read_table(out).trials.tolist() == [[1, 0, 1]]


def test_texts_stand_for_results(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("system,a,b,c\nm1,C,-1,I\nm2,C,I,error\n")
    found = load_responses(str(table), ["coding=C:1,I:0,error:,-1:"], None)
    assert (found.successes.tolist(), found.trials.tolist()) == ([[1, 0, 0], [1, 0, 0]], [[1, 0, 1], [1, 1, 0]])
    for wrong in ("coding=C", "coding=C:x", "coding="):
        with pytest.raises(SettingsError, match="is no list of value:count"):
            load_responses(str(table), [wrong], None)
    for wrong in ("coding=C:1,C:0", "coding=1:1,1.0:0", "coding=C:1,C:"):
        with pytest.raises(SettingsError, match="two counts"):
            load_responses(str(table), [wrong], None)


@pytest.mark.parametrize(
    ("remedy", "command", "spelled"),
    [
        ('Say which: coding={"C": 1}.', "fit", "On the command line: --read coding=C:1,I:0,error:"),
        ("Choose one: metric=.", "import", "On the command line: --read metric=..."),
        (
            'Give layout="long", or missing="wrong".',
            "screen",
            "On the command line: --read layout=long, --missing wrong",
        ),
        (
            'Name it: format="leaderboard" or format="long scores".',
            "import",
            "On the command line: --read format=leaderboard, --read 'format=long scores'",
        ),
        ("Name it: benchmark=, or the system: person=.", "openeval", "On the command line: --benchmark, --person"),
        (
            'Name it: format="leaderboard" or format="long scores".',
            "openeval",
            "On the command line: --format leaderboard, --format 'long scores'",
        ),
        ("Choose one: metric=.", "openeval", "On the command line: --read metric=..."),
        ('coding={"C": 1}', "import", ""),  # import takes no tables
        ("For logs say --read errors=wrong.", "fit", ""),
        ("Set seed=3.", "fit", ""),
    ],
)
def test_what_a_remedy_names_is_told_as_the_command_takes_it(remedy: str, command: str, spelled: str) -> None:
    assert on_command_line(remedy, command) == spelled

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from psychoeval import cli
from psychoeval.registry import REGISTRY
from tests.unit.fakes import row


@pytest.fixture(autouse=True)
def fake_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "fake", row())


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text("system,q1,q2,q3\nA,1,0,1\nB,0,0,1\nC,1,1,\nD,0,1,0\n", encoding="utf-8")
    return path


def run(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr("sys.argv", ["psychoeval", *args])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


def test_fit_prints_json_that_names_everything(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scores: Path
) -> None:
    assert run(monkeypatch, "fit", str(scores), "--estimator", "simple-average", "--format", "json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["convergence"]["status"] == "not_iterative"
    assert [a["person"] for a in content["abilities"]] == ["A", "B", "C", "D"]
    assert content["abilities"][2]["estimate"] == 1.0
    assert content["provenance"]["data_sha256"]


def test_fit_prints_csv(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scores: Path) -> None:
    options = ("--estimator", "simple-average", "--format", "csv", "--table", "abilities")
    assert run(monkeypatch, "fit", str(scores), *options) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [r["person"] for r in rows] == ["A", "B", "C", "D"]
    assert float(rows[1]["estimate"]) == pytest.approx(1 / 3)


def test_an_unbelieved_fit_is_printed_and_exits_with_4(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scores: Path
) -> None:
    options = ("--estimator", "fake", "--model", "Rasch", "--set", "behaviour=limit", "--format", "json")
    assert run(monkeypatch, "fit", str(scores), "--missing", "wrong", *options) == 4
    assert json.loads(capsys.readouterr().out)["convergence"]["status"] == "iteration_limit"


def test_an_engine_that_fails_exits_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scores: Path
) -> None:
    options = ("--estimator", "fake", "--model", "Rasch", "--set", "behaviour=crash")
    assert run(monkeypatch, "fit", str(scores), *options) == 3
    captured = capsys.readouterr()
    assert "The engine died." in captured.err
    assert "Try again." in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("fit", "nonesuch.csv", "--estimator", "ctt"), ("neither a file nor", "lsat6")),
        (("fit", "lsat7", "--estimator", "nonesuch"), ("nonesuch", "simple-average")),
        (("fit", "lsat7", "--estimator", "ctt", "--set", "colour"), ("name=value",)),
        (("fit", "lsat7", "--estimator", "map", "--model", "2PL", "--priors", "strong"), ("strong", "weak")),
        (("fit", "lsat7", "--estimator", "map", "--model", "2PL", "--guessing", "some"), ("--guessing some",)),
        (("fit", "lsat7", "--estimator", "map"), ("needs a model", "2PL")),
    ],
)
def test_mistakes_exit_with_2_and_say_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert run(monkeypatch, *args) == 2
    captured = capsys.readouterr()
    message = " ".join(captured.err.split())
    for word in words:
        assert word in message
    assert captured.out == ""


def test_markup_in_data_is_printed_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "markup.csv"
    path.write_text("system,[bold]q1[/bold],q2\n[red]A[/red],1,0\n[/],0,1\n", encoding="utf-8")
    assert run(monkeypatch, "fit", str(path), "--estimator", "simple-average") == 0
    out = capsys.readouterr().out
    assert "[red]A[/red]" in out
    assert "[/]" in out


def test_compare_prints_verdicts_and_writes_the_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scores: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    target = tmp_path / "out" / "report.html"
    options = ("--estimators", "simple-average,additive,map", "--model", "Rasch", "--report", str(target))
    assert run(monkeypatch, "compare", str(scores), *options) == 0
    out = capsys.readouterr().out
    assert "Verdicts" in out
    assert out.rstrip().splitlines()[-1] == str(target.resolve())
    assert target.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")


def test_compare_goes_on_without_a_fit_that_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scores: Path
) -> None:
    options = ("--estimators", "simple-average,ctt,map", "--model", "3PL", "--format", "json")
    assert run(monkeypatch, "compare", str(scores), *options) == 0
    captured = capsys.readouterr()
    assert "map does not fit the 3PL" in " ".join(captured.err.split())
    json.loads(captured.out)
    assert run(monkeypatch, "compare", str(scores), "--strict", *options) == 4


def test_data_and_estimators_list_what_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "data", "--format", "json") == 0
    sets = {d["name"]: (d["persons"], d["items"]) for d in json.loads(capsys.readouterr().out)}
    assert sets["lsat7"] == (1000, 5)
    assert sets["swebench-verified"] == (35, 500)
    assert run(monkeypatch, "estimators", "--format", "csv") == 0
    assert {r["name"] for r in csv.DictReader(io.StringIO(capsys.readouterr().out))} == set(REGISTRY)


def test_doctor_names_an_engine_that_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "doctor", "numpy", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["available"] is True
    assert run(monkeypatch, "doctor", "abacus") == 2

from __future__ import annotations

import csv
import io
import json
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from psychoeval import cli
from psychoeval.registry import REGISTRY
from tests.golden import reference
from tests.unit.fakes import row


@pytest.fixture(autouse=True)
def fake_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "fake", row())


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The command sets handlers for its own process; here that is the process of all tests."""
    monkeypatch.setattr("warnings.showwarning", warnings.showwarning)
    handlers = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGPIPE, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


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


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "4PL"),
        ("--model", "2PL[evil]"),
        ("--timeout", "nan"),
        ("--seed", "-1"),
        ("--estimators", ","),
        ("--estimators", "map", "--model", "3PL"),
        ("--read", "person=nobody"),
        ("--read", "path=x"),
        ("--table", "chairs"),
    ],
)
def test_mistakes_in_compare_exit_with_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scores: Path, options: tuple[str, ...]
) -> None:
    assert run(monkeypatch, "compare", str(scores), *options) == 2
    assert capsys.readouterr().err.strip()


@pytest.mark.parametrize("name", ["name", "model", "responses", "estimator", "priors"])
def test_a_setting_is_one_of_the_estimator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scores: Path, name: str
) -> None:
    options = ("--estimator", "fake", "--model", "Rasch", "--set", f"{name}=weak")
    assert run(monkeypatch, "fit", str(scores), *options) == 2
    assert f"no setting '{name}'" in " ".join(capsys.readouterr().err.split())


def test_ctrl_c_prints_what_was_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scores: Path
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tests.unit.fakes.Fake.fit", interrupt)
    options = ("--estimators", "simple-average,fake,ctt", "--model", "Rasch")
    assert run(monkeypatch, "compare", str(scores), *options) == 130
    captured = capsys.readouterr()
    assert "1 fits were finished" in captured.err
    assert "simple-average" in captured.out
    assert "Verdicts" in captured.out


def test_ctrl_c_in_fit_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scores: Path
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tests.unit.fakes.Fake.fit", interrupt)
    assert run(monkeypatch, "fit", str(scores), "--estimator", "fake", "--model", "Rasch") == 130
    assert "Interrupted" in capsys.readouterr().err


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


def test_a_log_likelihood_has_four_decimals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "fit", "lsat7", "--estimator", "mml", "--model", "2PL", "--priors", "none") == 0
    expected = reference("mirt_lsat7")["two_pl"]["log_likelihood"]
    assert f"{expected:.4f}" == "-2658.8051"
    assert f" {expected:.4f} " in capsys.readouterr().out


def test_compare_prints_the_log_likelihoods_of_fits_that_claim_one_maximum(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--estimators", "mml", "--model", "Rasch", "--model", "1PL", "--priors", "none")
    assert run(monkeypatch, "compare", "lsat7", *options) == 0
    out = capsys.readouterr().out
    table = out[out.index("Log-likelihoods of fits that claim the same maximum") :].splitlines()[1:4]
    assert table[0].split("  ")[0] == "pair"
    expected = f"{reference('mirt_lsat7')['rasch']['log_likelihood']:.4f}"
    for line, name in zip(table[1:], ("mml Rasch", "mml 1PL"), strict=True):
        assert line.rsplit(name, 1)[-1].split()[:4] == [expected, expected, "0.0000", "0.0000"]


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


def test_a_remedy_is_told_as_the_command_takes_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("system,a\nm1,C\n")
    assert run(monkeypatch, "screen", str(tmp_path / "t.csv")) == 2
    assert "On the command line: --read coding=C:1,I:0,error:" in capsys.readouterr().err

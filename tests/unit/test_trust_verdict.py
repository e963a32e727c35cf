"""The verdict: grades from reasons, and what it says of data whose truth is known."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import psychoeval as pe
from benchmarks._interval_worlds import simulate
from psychoeval.cli.commands import app
from psychoeval.cli.console import plain
from psychoeval.errors import DataError, DisconnectedDataError, NotComparableError, SettingsError
from psychoeval.trust import Assessment, assess
from psychoeval.trust.claims import Claim, Reason, graded
from psychoeval.trust.thresholds import TAU_FAILED, TAU_SUPPORTED
from psychoeval.trust.verdict import claims


@pytest.fixture(scope="module")
def long_test() -> Assessment:
    """30 systems on 400 items of one slope: much is known of the order, little of single items."""
    return assess(simulate(30, 400, 0, slopes=False).responses, replications=10, top=1)


@pytest.fixture(scope="module")
def many_systems() -> Assessment:
    """400 systems on 8 items: little is known of the order."""
    return assess(simulate(400, 8, 0).responses, replications=30)


def test_a_claim_has_the_worst_grade_of_its_reasons() -> None:
    good, fair, bad = Reason("a", "supported"), Reason("b", "with care", "x"), Reason("c", "not supported", "y")
    claim = Claim("ranking", "s", (good, fair, bad))
    assert claim.grade == "not supported"
    assert claim.deciding == (bad,)
    assert claim.against == (bad, fair)
    assert Claim("ranking", "s", (good,)).deciding == (good,)


@pytest.mark.parametrize(
    ("value", "grade"),
    [(0.8, "supported"), (0.79, "with care"), (0.6, "with care"), (0.59, "not supported"), (math.nan, "not supported")],
)
def test_a_value_is_held_to_two_limits(value: float, grade: str) -> None:
    reason = graded(value, TAU_SUPPORTED, TAU_FAILED, "words", "change")
    assert reason.allows == grade
    assert bool(reason.change) == (grade != "supported")
    assert "arXiv:2607.15190" in reason.threshold


def test_what_two_errors_reach_is_neither_above_nor_below_a_limit() -> None:
    def grade(value: float) -> str:
        return graded(value, TAU_SUPPORTED, TAU_FAILED, "words", "change", error=0.02).allows

    assert [grade(v) for v in (0.85, 0.83, 0.57, 0.55)] == ["supported", "with care", "with care", "not supported"]


def test_few_systems_with_many_items_know_their_order_but_no_items_to_remove(long_test: Assessment) -> None:
    assert long_test["ranking"].grade != "not supported"
    assert long_test["ranking"].reasons[0].allows == "supported"
    assert long_test["difficulties"].grade == "with care"
    assert "100 or so" in long_test["difficulties"].against[0].change
    for name in ("discriminations", "removing_items"):
        assert long_test[name].grade == "not supported"
        assert "equally discriminating" in long_test[name].against[0].words


def test_many_systems_with_few_items_know_the_items_but_not_the_order(many_systems: Assessment) -> None:
    assert many_systems.evidence.fit.model is not None
    assert many_systems.evidence.fit.model.name == "2PL"
    for name in ("ranking", "top", "neighbors"):
        assert many_systems[name].grade == "not supported"
    assert many_systems["difficulties"].grade == "supported"
    mean = many_systems.evidence.recovered("tau")[0]
    assert f"{mean:.2f} on average" in many_systems["ranking"].deciding[0].words
    assert mean < 0.6


def test_a_fit_that_did_not_converge_supports_nothing(many_systems: Assessment) -> None:
    found = many_systems.evidence
    conditions = tuple(
        dataclasses.replace(c, value=0.0) if c.name == "convergence" else c for c in found.conditions.conditions
    )
    broken = dataclasses.replace(found, conditions=dataclasses.replace(found.conditions, conditions=conditions))
    assert {c.grade for c in claims(broken, 3)} == {"not supported"}


def test_other_orders_and_missing_parts_ask_for_care(long_test: Assessment) -> None:
    found = dataclasses.replace(long_test.evidence, agreement={"additive": 0.5})
    assert any("additive (tau 0.50)" in r.words for r in claims(found, 1)[0].against)
    without = dataclasses.replace(
        long_test.evidence, over_items=None, refitting=None, missing={"over_items": "Why not.", "refitting": "No."}
    )
    ranking, top, *_ = claims(without, 1)
    # Without refits the reliability says what tau to expect: 2 / pi asin(root of it).
    reliability = without.conditions["empirical_reliability"].value
    expected = 2 / math.pi * math.asin(math.sqrt(reliability))
    assert f"No. With normal abilities an empirical reliability of {reliability:.2f} means a tau of {expected:.2f}" in (
        ranking.reasons[0].words
    )
    assert ranking.grade != "not supported"
    assert "Why not." in [r.words for r in top.reasons]
    nobody = dataclasses.replace(long_test.evidence, ranking=None, missing={"ranking": "Nobody."})
    assert [c.grade for c in claims(nobody, 1)[1:3]] == ["not supported"] * 2


def test_what_nothing_shows_is_not_supported() -> None:
    """Averages of five items, which nothing refits, order nobody; nor do three systems on three items."""
    found = assess(pe.load_dataset("lsat6"), "simple-average", replications=2)
    assert found["ranking"].grade == "not supported"
    assert "no item parameters to simulate from" in found["ranking"].against[0].words
    tiny = assess(pe.Responses.from_array([[1, 0, 1], [1, 0, 0], [0, 1, 1]]), replications=3, top=1)
    assert {c.grade for c in tiny.claims} == {"not supported"}


def test_disconnected_data_have_no_order() -> None:
    cells = np.full((20, 40), np.nan)
    random = np.random.default_rng(0)
    cells[:10, :20], cells[10:, 20:] = random.integers(0, 2, (2, 10, 20))
    responses = pe.Responses.from_array(cells, person_label="system")
    with pytest.raises(DisconnectedDataError, match="fall into 2 components"):
        assess(responses, replications=2)
    found = assess(responses, "simple-average", replications=2)
    assert found["ranking"].grade == "not supported"
    assert "2 components" in " ".join(r.words for r in found["ranking"].deciding)
    assert "over_items" in found.evidence.missing


def test_the_report_and_json_hold_every_reason(long_test: Assessment, tmp_path: Path) -> None:
    told = json.loads(json.dumps(plain(long_test.to_dict())))
    assert [c["grade"] for c in told["claims"]] == [c.grade for c in long_test.claims]
    assert all(len(c["reasons"]) == len(o.reasons) for c, o in zip(told["claims"], long_test.claims, strict=True))
    assert told["refits"] == 10
    assert list(long_test.to_frame().index) == [c.name for c in long_test.claims]


@pytest.mark.needs("report")
def test_the_report_begins_with_the_claims(long_test: Assessment, tmp_path: Path) -> None:
    from psychoeval.report.trust import trust_report

    page = trust_report(long_test, tmp_path / "t.html").read_text(encoding="utf-8")
    assert page.index("1 What may be claimed") < page.index("With care: ") < page.index("2 Reasons")
    assert "No model is fitted here" not in page
    assert "Not drawn" not in page
    assert page.count("data:image/") == 3


@pytest.mark.needs("report")
def test_the_report_of_a_comparison_begins_with_the_claims(tmp_path: Path) -> None:
    path, page = tmp_path / "d.csv", tmp_path / "c.html"
    pe.write_table(simulate(12, 30, 0).responses, path)
    options = ["compare", str(path), "--estimators", "mml,simple-average", "--report", str(page)]
    printed = CliRunner().invoke(app, options)
    assert printed.exit_code == 0, printed.output
    text = page.read_text(encoding="utf-8")
    assert text.index("What may be claimed") < text.index("Can these results be believed?")
    assert text.count("<strong>not supported</strong>") >= 2
    CliRunner().invoke(app, [*options[:3], "simple-average", *options[4:]])
    assert "What may be claimed" not in page.read_text(encoding="utf-8")


@pytest.mark.needs("report")
def test_an_assessment_of_other_data_is_no_first_page(long_test: Assessment, tmp_path: Path) -> None:
    other = simulate(12, 30, 0).responses
    comparison = pe.compare(pe.fit_many(other, ["simple-average", "additive"]))
    with pytest.raises(NotComparableError, match="other data"):
        pe.report(comparison, tmp_path / "c.html", assessment=long_test)


def test_the_command_prints_grades_and_goes_on_from_its_store(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    pe.write_table(simulate(12, 30, 0).responses, path)
    options = ["trust", str(path), "--replications", "3", "--store", str(tmp_path / "rows.jsonl")]
    printed = CliRunner().invoke(app, options)
    assert printed.exit_code == 0, printed.output
    assert printed.stdout.count("SUPPORTED: ") + printed.stdout.count("WITH CARE: ") == 6
    assert "What would change it: " in printed.stdout
    kept = (tmp_path / "rows.jsonl").read_text().splitlines()
    again = CliRunner().invoke(app, [*options, "--format", "csv"])
    assert again.stdout.splitlines()[0] == "claim,statement,grade,because,change"
    assert (tmp_path / "rows.jsonl").read_text().splitlines() == kept
    assert sum("believed" in line for line in kept) == 3


def test_bad_settings_are_refused() -> None:
    responses = simulate(12, 30, 0).responses
    with pytest.raises(SettingsError, match="top is 12"):
        assess(responses, top=12)
    with pytest.raises(SettingsError, match="replications"):
        assess(responses, replications=0)
    with pytest.raises(DataError):
        assess(np.eye(3))  # type: ignore[arg-type]

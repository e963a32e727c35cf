"""Conclusions of several fits as picture, section of the report and output of the command."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psychoeval as pe
from psychoeval.agreement.comparison import Comparison
from psychoeval.agreement.inference import compare_inference
from psychoeval.cli import main
from psychoeval.plots import rank_claims
from psychoeval.plots.canvas import COLORS
from psychoeval.report import pictures
from psychoeval.report.html import report
from tests.unit.agreement_fits import made, proportions, with_theta


@pytest.fixture(scope="module")
def responses() -> pe.Responses:
    rng = np.random.default_rng(3)
    p = 1 / (1 + np.exp(-(rng.normal(0, 1.4, 14)[:, None] - rng.normal(0, 1, 30))))
    return pe.Responses.from_array((rng.random(p.shape) < p).astype(int), person_label="system")


@pytest.fixture(scope="module")
def comparison(responses: pe.Responses) -> Comparison:
    return pe.compare(pe.fit_many(responses, ["map", "additive", "simple-average"], model="Rasch"))


def text_of(page: str) -> str:
    bare = re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(bare))


def test_bars_are_the_ranks_that_claims_leave_open() -> None:
    found = compare_inference({"one": made(), "two": made("mirt-em", ability_error=0.6), "three": proportions()})
    figure = rank_claims(found, names=["other", "one", "two", "three"], limit=5)
    (ax,) = figure.axes
    best = np.argsort(found.ranks.mean(axis=1))[:5]
    assert [t.get_text() for t in ax.get_yticklabels()] == [found.person_ids[i] for i in best]
    for k in range(3):
        segments = np.array(ax.collections[k].get_segments())[:, :, 0]  # type: ignore[attr-defined]
        np.testing.assert_array_equal(segments, np.column_stack([found.low[best, k], found.high[best, k]]))
        np.testing.assert_array_equal(ax.lines[k].get_xdata(), found.ranks[best, k])
        assert ax.lines[k].get_color() == COLORS[k + 1]  # the color it has in other pictures
    assert ax.get_xlim()[0] == 0.5
    wide, narrow = (found.high - found.low)[:, 1], (found.high - found.low)[:, 0]
    assert (wide >= narrow).all()
    assert wide.sum() > narrow.sum()


def test_the_report_says_what_fits_conclude(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "pictures", lambda *_: [])
    found = compare_inference(comparison)
    page = report(comparison, tmp_path / "r.html").read_text(encoding="utf-8")
    section = text_of(page).partition("Do they conclude the same?")[2]
    for sentence in found.sentences:
        assert sentence in section
    for pair in found.pairs:
        counts = pair.decisions
        row = f"{counts.n} {counts.same} {counts.both_tied} {counts.only_first} {counts.only_second}"
        assert row in section
    assert all(name in section for t in found.tops for name in t.ids)


def test_the_report_names_who_is_put_above_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "pictures", lambda *_: [])
    swapped = with_theta(made("map"), lambda t: np.concatenate([t[-1:], t[1:-1], t[:1]]))
    data = pe.Responses.from_array(
        np.eye(40, 12, dtype=int), person_ids=[f"p{k}" for k in range(40)], item_ids=[f"i{k}" for k in range(12)]
    )
    comparison = pe.compare([made(), swapped], responses=data)
    page = text_of(report(comparison, tmp_path / "r.html").read_text(encoding="utf-8"))
    pair = next(p for p in compare_inference(comparison).pairs if p.second == "map 2PL")
    above, below = pair.decisions.flipped[0]
    assert pair.decisions.opposite > 1
    assert int(above[1:]) > int(below[1:])  # `made` has them in ascending order
    assert f"mml 2PL puts {above} above {below} , map 2PL below" in page


def test_one_fit_alone_has_its_average_beside_it_and_no_pair_is_said(responses: pe.Responses) -> None:
    fit = pe.fit(responses, "map", "Rasch")
    assert compare_inference([fit], responses=responses).names == ("map Rasch [published]", "simple-average")


@pytest.mark.parametrize("output", ["table", "csv", "json"])
def test_the_command_prints_conclusions(
    responses: pe.Responses, comparison: Comparison, output: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = tmp_path / "scores.csv"
    np.savetxt(path, responses.successes, fmt="%d", delimiter=",", header=",".join(responses.item_ids), comments="")
    names = "map,additive,simple-average"
    monkeypatch.setattr(
        "sys.argv",
        ["psychoeval", "compare", str(path), "--estimators", names, "--table", "inference", "--format", output],
    )
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    out = capsys.readouterr().out
    found = compare_inference(comparison)
    if output == "json":
        content: dict[str, Any] = json.loads(out)["inference"]
        assert [p["decisions"]["same"] for p in content["pairs"]] == [p.decisions.same for p in found.pairs]
        assert [t["k"] for t in content["top"]] == [1, 3, 5]
    elif output == "csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        assert [int(r["only_first"]) for r in rows] == [p.decisions.only_first for p in found.pairs]
        assert rows[0]["first_errors"] == "posterior SD, items estimated"
    else:
        assert "What the fits conclude about pairs of" in out
        assert "make opposite claims about any two" in out

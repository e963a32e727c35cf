"""`psychoeval score`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from psychoeval.cli.commands import app
from psychoeval.errors import DataError, SettingsError
from psychoeval.estimators.native.mml import MML
from psychoeval.irt.models import ItemModel
from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.scoring import expected_scores, read_item_parameters, score

ITEMS = "item,a,b\nq1,1.0,-1.0\nq2,1.5,0.0\nq3,0.8,0.5\nq4,1.2,1.0\n"
DATA = "system,q1,q2,q3,q4\nalpha,1,1,0,0\nbeta,1,,,\ngamma,1,1,1,1\ndelta,,,,\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    items, data = tmp_path / "items.csv", tmp_path / "data.csv"
    items.write_text(ITEMS)
    data.write_text(DATA)
    return str(data), str(items)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["score", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def by_hand(files: tuple[str, str]) -> pd.DataFrame:
    known = read_item_parameters(files[1])
    rows = np.array([[1, 1, 0, 0], [1, np.nan, np.nan, np.nan], [1] * 4, [np.nan] * 4])
    responses = Responses.from_array(rows, item_ids=known.item_ids)
    scored = score(responses, known)
    return expected_scores(known, scored, responses=responses).to_frame().assign(ability=scored.estimate)


def test_abilities_expected_scores_and_statuses_are_printed(files: tuple[str, str], by_hand: pd.DataFrame) -> None:
    printed = " ".join(run(files[0], "--items", files[1]).split())
    assert "EAP in logits, and expected scores over 4 items (95% intervals, items fixed)" in printed
    for name, row in zip(("alpha", "beta", "gamma"), by_hand.itertuples(), strict=False):
        assert f"{name} {row.ability:.3f}" in printed
        assert f"{row.expected_score:.3f} {row.conf_low:.3f} {row.conf_high:.3f} {row.observed:.3f}" in printed
    assert "delta - - - - - - 0 no_responses" in printed
    assert "Note: Persons without responses have no score" in printed


def test_csv_and_json_hold_everything(files: tuple[str, str], by_hand: pd.DataFrame, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_text(run(files[0], "--items", files[1], "--format", "csv"))
    table = pd.read_csv(out)
    assert ",".join(table.columns) == (
        "system,ability,std_error,conf_low,conf_high,expected_score,expected_se,expected_low,expected_high,observed,"
        "expected_on_taken,n_items,differs,status"
    )
    assert table["expected_low"][:3].to_numpy() == pytest.approx(by_hand["conf_low"][:3].to_numpy())
    options = ["--method", "WLE", "--level", "0.9", "--format", "json"]
    content = json.loads(run(files[0], "--items", files[1], *options))
    assert (content["method"], content["level"], content["uncertainty"]) == ("WLE", 0.9, "items fixed")
    assert content["persons"][3]["ability"] is None
    assert content["persons"][0]["status"] == "estimated"


def test_selective_averages_are_pointed_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    b = np.linspace(-2, 2, 200)
    p = 1 / (1 + np.exp(-(np.array([[1.0], [-1.0], [0.0]]) - b)))
    x = (rng.random(p.shape) < p).astype(object)
    x[0, b < 0.5], x[1, b > -0.5] = "", ""
    x = np.where(x == "", "", x.astype(str))
    ids = [f"q{k}" for k in range(200)]
    frame = pd.DataFrame(np.where(x == "True", "1", np.where(x == "False", "0", "")), columns=ids)
    frame.insert(0, "system", ["strong", "weak", "all"])
    frame.to_csv(tmp_path / "data.csv", index=False)
    pd.DataFrame({"item": ids, "b": b}).to_csv(tmp_path / "items.csv", index=False)
    printed = run(str(tmp_path / "data.csv"), "--items", str(tmp_path / "items.csv"), "--latent", "0:1.5")
    assert "differ clearly from the expected score: 2 of 3 (1 easier items, 1 harder items)" in printed
    lines = {line.split()[0]: line for line in printed.splitlines() if line}
    assert "harder items" in lines["strong"]
    assert "easier items" in lines["weak"]


def test_items_of_a_saved_fit_with_its_distribution_and_errors(tmp_path: Path) -> None:
    data = load_dataset("lsat7")
    fit = MML().fit(data, ItemModel("Rasch"))
    path = str(fit.save(tmp_path / "f.fit"))
    content = json.loads(run("lsat7", "--items", path, "--item-uncertainty", "--format", "json"))
    loaded = FitResult.load(path)
    assert loaded.item_parameters is not None
    assert loaded.latent_distribution is not None
    assert content["latent_distribution"]["sd"] == loaded.latent_distribution.sd != 1.0
    law = loaded.latent_distribution
    scored = score(data, loaded.item_parameters, latent=law)
    expected = expected_scores(loaded.item_parameters, scored, responses=data, item_uncertainty=True, latent=law)
    assert content["uncertainty"] == "items estimated"
    first = content["persons"][0]
    assert first["expected_low"] == pytest.approx(expected.low[0])
    carried = score(data, loaded.item_parameters, latent=law, item_uncertainty=True)
    assert carried.standard_error is not None
    assert first["std_error"] == pytest.approx(carried.standard_error[0])


def test_sources_and_macro_averages(files: tuple[str, str], tmp_path: Path) -> None:
    mirts = tmp_path / "mirt.csv"
    mirts.write_text('"","a","b","g","u"\n"q1",1.0,-1.0,0,1\n"q2",1.5,0,0,1\n"q3",0.8,0.5,0,1\n"q4",1.2,1,0,1\n')
    same = run(files[0], "--items", str(mirts), "--source", "mirt", "--format", "csv")
    assert same == run(files[0], "--items", files[1], "--format", "csv")
    covariates = tmp_path / "long.csv"
    rows = [f"{s},q{k},{(k + i) % 2},{'A' if k < 4 else 'B'}" for i, s in enumerate(("s1", "s2")) for k in range(1, 5)]
    covariates.write_text("\n".join(["system,item,score,benchmark", *rows]))
    read = ["--read", "items=benchmark"]
    content = json.loads(
        run(str(covariates), "--items", files[1], *read, "--benchmarks", "benchmark", "--format", "json")
    )
    assert content["expected_over"] == "2 benchmarks, each counting the same (4 items)"
    assert content["persons"][0]["observed"] == pytest.approx((2 / 3 + 0) / 2)


def test_what_cannot_be_used_is_refused(files: tuple[str, str], tmp_path: Path) -> None:
    def invoke(*more: str) -> None:
        CliRunner().invoke(app, ["score", files[0], "--items", *more], catch_exceptions=False)

    with pytest.raises(DataError, match=r"gone\.csv does not exist"):
        invoke(str(tmp_path / "gone.csv"))
    with pytest.raises(SettingsError, match="--latent 0:x is no mean and SD"):
        invoke(files[1], "--latent", "0:x")
    with pytest.raises(SettingsError, match="The items of DATA have no column 'benchmark'"):
        invoke(files[1], "--benchmarks", "benchmark")
    with pytest.raises(DataError, match="The items have no covariance"):
        invoke(files[1], "--item-uncertainty")

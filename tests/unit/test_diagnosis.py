"""`diagnose`: what stands out first, statuses, reasons for what is missing; and `psychoeval diagnose`."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from psychoeval import Responses, fit, load_dataset
from psychoeval.cli.commands import app
from psychoeval.diagnostics import Diagnosis, diagnose, item_fit, local_dependence, model_fit, person_fit
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.irt.curves import probability
from psychoeval.responses.writing import write_table


def drawn(seed: int, n: int = 600, j: int = 12) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random((n, j)) < probability(rng.normal(size=n), np.ones(j), np.linspace(-1.5, 1.5, j))).astype(float)


def found(x: np.ndarray, model: str = "Rasch") -> Diagnosis:
    responses = Responses.from_array(x)
    return diagnose(fit(responses, "mml", model, priors="none"), responses, replications=40)


def assert_nothing_is_unsaid(table: pd.DataFrame, quiet: tuple[str, ...] = ()) -> None:
    """Every row has a status, and where a number is missing a reason."""
    assert (table["status"].str.len() > 0).all()
    numbers = table.select_dtypes("number").drop(columns=list(quiet))
    missing = numbers.isna().any(axis=1)
    assert (table.loc[missing, "not_known"].str.len() > 0).all()


def test_nothing_stands_out_where_the_model_is_true() -> None:
    """Of 30 such data sets most are quiet."""
    three = [found(drawn(seed, n=300, j=8)) for seed in range(3)]
    assert sum(f.findings[0].startswith("Nothing stands out") for f in three) >= 2
    quiet = found(drawn(0))
    assert not quiet.item_frame()["status"].str.contains("misfit").any()
    assert (quiet.item_frame()["status"] == "fits").sum() >= 9
    assert (quiet.model_frame().loc["M2", "status"], quiet.absent) == ("fits", {})


def test_parts_are_those_of_their_own_functions() -> None:
    responses = load_dataset("lsat7")
    result = fit(responses, "mml", "2PL", priors="none")
    both = diagnose(result, responses, replications=40)
    np.testing.assert_array_equal(both.items.s_x2, item_fit(result, responses).s_x2)
    np.testing.assert_array_equal(both.persons.lz, person_fit(result, responses).lz)
    assert both.pairs is not None
    np.testing.assert_array_equal(both.pairs.q3, local_dependence(result, responses).q3)
    assert both.model_frame().loc["M2", "value"] == model_fit(result, responses).m2
    assert "(M2 11.9, df 5, p = 0.036)" in both.findings[0]
    assert "'item-2'" in both.findings[1]
    assert both.item_frame().loc["item-2", "status"].startswith("misfit: S-X2")


def test_what_is_wrong_is_said_first_and_named() -> None:
    rng = np.random.default_rng(1)
    x = drawn(1)
    x[:, 4] = rng.random(600) < 0.5  # by chance
    x[:, 9] = np.where(rng.random(600) < 0.7, x[:, 2], x[:, 9])
    x[0] = x[0] * 0 + (np.arange(12) < 4)  # the hardest right, the easiest wrong
    loud = found(x)
    words = " ".join(loud.findings)
    assert "'item-3' with 'item-10'" in words
    assert "not as their curves say" in words
    assert "'person-1'" in words
    table = loud.item_frame()
    assert table.loc["item-5", "status"].startswith("misfit: S-X2")
    assert "goes with another item" in table.loc["item-10", "status"]
    assert loud.pair_frame(1).iloc[0][["first", "second", "status"]].tolist() == ["item-3", "item-10", "go together"]
    assert loud.person_frame().loc["person-1", "status"] == "unlikely pattern"


@pytest.mark.filterwarnings("ignore::psychoeval.errors.ConvergenceWarning")
def test_nothing_is_missing_without_a_reason() -> None:
    rng = np.random.default_rng(2)
    x = drawn(2, n=60)
    x[:, 1], x[:, 7], x[0] = 1, np.nan, np.nan
    x[rng.random(x.shape) < 0.1] = np.nan
    responses = Responses.from_array(x)
    for name in ("mml", "cml"):
        sparse = diagnose(fit(responses, name, "Rasch"), responses, replications=40)
        for table in (sparse.item_frame(), sparse.person_frame(), sparse.pair_frame()):
            assert_nothing_is_unsaid(table)
        assert sparse.model_frame()["status"].str.len().min() > 0
        assert any("60 persons are few" in sentence for sentence in sparse.findings)
        assert sparse.item_frame().loc["item-2", "status"] == "without parameters: all responses to it are right"
    assert {"predictive check", "number of dimensions"} == set(sparse.absent)
    assert "There is no number of dimensions: The fit has no distribution of abilities" in " ".join(sparse.findings)


def test_few_persons_leave_m2_without_a_verdict() -> None:
    diagnosis = found(drawn(4, n=40))
    row = diagnosis.model_frame().loc["M2"]
    assert row["value"] > 0
    assert np.isnan(row["p"])
    assert row["status"].startswith("40 persons are too few")
    assert sum("M2 has no p and no RMSEA: 40 persons are too few" in said for said in diagnosis.findings) == 1


def test_counts_are_judged_as_far_as_they_can_be() -> None:
    rng = np.random.default_rng(3)
    p = probability(rng.normal(size=80), np.ones(6), np.linspace(-1, 1, 6))
    responses = Responses.from_array(rng.binomial(3, p), np.full(p.shape, 3))
    counts = diagnose(fit(responses, "mml", "Rasch"), responses, replications=40)
    assert_nothing_is_unsaid(counts.item_frame())
    assert_nothing_is_unsaid(counts.pair_frame())
    assert counts.item_frame()["not_known"].str.contains("more than one trial").all()


def test_a_fit_that_is_not_believed_comes_first() -> None:
    responses = Responses.from_array(drawn(4, n=100, j=6))
    result = fit(responses, "mml", "Rasch", priors="none")
    doubtful = replace(result, convergence=replace(result.convergence, status="iteration_limit"))
    assert diagnose(doubtful, responses, replications=40).findings[0].startswith("Do not read on before")


def test_what_cannot_be_diagnosed_is_refused() -> None:
    responses = Responses.from_array(drawn(5, n=50, j=5))
    with pytest.raises(NotComparableError, match="no item parameters"):
        diagnose(fit(responses, "ctt"), responses)
    with pytest.raises(SettingsError, match="replications is 10"):
        diagnose(fit(responses, "mml", "Rasch"), responses, replications=10)


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "data.csv"
    write_table(Responses.from_array(drawn(6, n=150, j=14)), path)
    return str(path)


def test_the_command_prints_what_stands_out_and_every_table(table: str) -> None:
    result = CliRunner().invoke(app, ["diagnose", table, "--model", "Rasch", "--replications", "40"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("mml Rasch")
    titles = ("what stands out\n- ", "Model\n", "Items, the worst first", "Pairs, the worst", "Persons, the worst")
    places = [result.stdout.index(text) for text in titles]
    assert places == sorted(places)
    assert "10 of 91 pairs shown; all are in --format csv --table pairs." in result.stdout
    assert all(f"item-{k} " in result.stdout for k in range(1, 15))


def test_json_and_csv_hold_every_row(table: str, tmp_path: Path) -> None:
    saved = tmp_path / "f.fit"
    kept = CliRunner().invoke(app, ["fit", table, "--estimator", "mml", "--model", "Rasch", "--save", str(saved)])
    assert kept.exit_code == 0, kept.output
    common = ["diagnose", table, "--fit", str(saved), "--replications", "40"]
    content = json.loads(CliRunner().invoke(app, [*common, "--format", "json"]).stdout)
    assert (len(content["items"]), len(content["persons"]), len(content["pairs"])) == (14, 150, 91)
    assert content["findings"]
    printed = CliRunner().invoke(app, [*common, "--format", "csv", "--table", "pairs"]).stdout
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [(r["first"], r["second"]) for r in rows] == [(p["first"], p["second"]) for p in content["pairs"]]
    both = CliRunner().invoke(app, [*common, "--model", "2PL"])
    assert isinstance(both.exception, SettingsError)

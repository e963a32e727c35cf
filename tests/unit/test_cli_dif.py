"""`psychoeval dif`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from psychoeval.cli.commands import app
from psychoeval.diagnostics import dif
from psychoeval.errors import DataError
from psychoeval.responses.writing import write_frame
from tests.unit.test_dif import simulated


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    import pandas as pd

    responses, groups = simulated(1, 100, 8, dif_items=1, size=2.0)
    table = pd.DataFrame(responses.proportions.astype(int), columns=list(responses.item_ids))
    table.insert(0, "system", responses.person_ids)
    write_frame(table, tmp_path / "data.csv")
    write_frame(pd.DataFrame({"system": responses.person_ids, "kind": groups}), tmp_path / "persons.csv")
    return str(tmp_path / "data.csv"), str(tmp_path / "persons.csv")


def test_the_table_and_its_notes_are_printed(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["dif", files[0], "--persons", files[1], "--groups", "kind"])
    assert result.exit_code == 0, result.output
    assert "Groups: old (100), new (100); old is the reference." in result.stdout
    assert "1 of 8 tested items are flagged (p adjusted by holm below 0.05)." in result.stdout
    assert "Note: Purification ended after 2 rounds" in result.stdout


@pytest.mark.parametrize("options", [[], ["--method", "wald", "--model", "Rasch", "--reference", "new", "--no-purify"]])
def test_json_and_csv_hold_every_item(files: tuple[str, str], options: list[str]) -> None:
    arguments = ["dif", files[0], "--persons", files[1], "--groups", "kind", *options]
    content = json.loads(CliRunner().invoke(app, [*arguments, "--format", "json"]).stdout)
    responses, groups = simulated(1, 100, 8, dif_items=1, size=2.0)
    given = {"method": "wald", "model": "Rasch", "reference": "new", "purify": False} if options else {}
    expected = dif(responses, groups, **given).to_frame()  # type: ignore[arg-type]
    np.testing.assert_allclose([i["statistic"] for i in content["items"]], expected.statistic, rtol=1e-9)
    rows = CliRunner().invoke(app, [*arguments, "--format", "csv"]).stdout.splitlines()
    assert rows[0].startswith("item,statistic,df,p,p_adjusted,flagged")
    assert len(rows) == 9


def test_guessing_is_an_option(files: tuple[str, str]) -> None:
    arguments = ["dif", files[0], "--persons", files[1], "--groups", "kind", "--method", "wald", "--model", "3PL"]
    result = CliRunner().invoke(app, [*arguments, "--guessing", "0.2"])
    assert result.exit_code == 0, result.output
    assert "(mml, 3PL, c = 0.2)" in result.stdout


def test_a_long_table_holds_its_own_groups(tmp_path: Path) -> None:
    import pandas as pd

    responses, groups = simulated(2, 40, 8)
    n, j = responses.successes.shape
    long = pd.DataFrame({
        "system": np.repeat(responses.person_ids, j), "kind": np.repeat(groups, j),
        "item": np.tile(responses.item_ids, n), "score": responses.successes.ravel(),
    })  # fmt: skip
    write_frame(long, tmp_path / "long.csv")
    result = CliRunner().invoke(app, ["dif", str(tmp_path / "long.csv"), "--groups", "kind", "--format", "csv"])
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 9


def test_without_groups_it_says_what_is_missing(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["dif", files[0], "--groups", "kind"])
    assert result.exit_code == 1
    assert isinstance(result.exception, DataError)
    assert "no covariate 'kind'" in str(result.exception)

"""What commands refuse of data that fall apart, they do of one component that --component names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import psychoeval as pe
from psychoeval.cli.commands import app
from psychoeval.diagnostics import diagnose, dif
from psychoeval.errors import DisconnectedDataError, SettingsError
from psychoeval.responses.connections import select_component
from psychoeval.responses.writing import write_frame
from psychoeval.trust.assessment import assess

DATA = Path(__file__).parent / "data" / "14" / "responses.csv"


@pytest.fixture(scope="module")
def responses() -> pe.Responses:
    return pe.read_table(DATA)


def parts() -> pe.Responses:
    """Five systems with two items, six with two others, six with three others."""
    scores = np.full((17, 7), np.nan)
    for rows, columns in ((slice(5), slice(2)), (slice(5, 11), slice(2, 4)), (slice(11, 17), slice(4, 7))):
        scores[rows, columns] = 1.0
    return pe.Responses.from_array(scores)


def test_the_largest_has_most_systems_and_then_most_items() -> None:
    assert select_component(parts(), "largest").item_ids == ("item-5", "item-6", "item-7")
    fewer = parts().select(items=np.arange(6))
    assert select_component(fewer, "largest").person_ids[0] == "person-6"  # as many of both as the third: the first
    for wrong in (0, 4, True, "2", "small"):
        with pytest.raises(SettingsError, match=r"There are 3 components: give a whole number from 1 to 3, or"):
            select_component(parts(), wrong)  # type: ignore[arg-type]


def test_one_component_is_assessed(responses: pe.Responses) -> None:
    with pytest.raises(DisconnectedDataError, match="--component 1"):
        assess(responses, replications=2)
    alone = select_component(responses, 2)
    one, other = (assess(data, replications=3, component=c) for data, c in ((responses, 2), (alone, None)))
    assert one.evidence.responses.person_ids == alone.person_ids
    assert one.to_frame().equals(other.to_frame())
    with pytest.raises(SettingsError, match="top is 6, and there are 6"):
        assess(responses, component=2, top=6)
    with pytest.raises(SettingsError, match="fit and component are both given"):
        assess(responses, component=2, fit=one.evidence.fit)


def test_trust_takes_a_component(responses: pe.Responses) -> None:
    refused = CliRunner().invoke(app, ["trust", str(DATA)])
    assert "--component 1" in str(getattr(refused.exception, "remedy", ""))
    done = CliRunner().invoke(app, ["trust", str(DATA), "--component", "2", "--replications", "3", "--format", "json"])
    assert done.exit_code == 0, done.output
    ranked = {row["person"] for row in json.loads(done.stdout)["ranking"]}
    assert ranked == set(select_component(responses, 2).person_ids)


def test_fit_and_diagnose_take_a_component(responses: pe.Responses) -> None:
    fitted = ["fit", str(DATA), "--estimator", "mml", "--model", "Rasch"]
    assert isinstance(CliRunner().invoke(app, fitted).exception, DisconnectedDataError)
    done = CliRunner().invoke(app, [*fitted, "--component", "1", "--format", "csv", "--table", "abilities"])
    assert done.exit_code in (0, 4), done.output
    assert [line.split(",")[0] for line in done.stdout.splitlines()[1:]] == [f"teamA_{k}" for k in range(1, 7)]

    options = ["--model", "Rasch", "--replications", "40", "--format", "json"]
    found = CliRunner().invoke(app, ["diagnose", str(DATA), *options, "--component", "largest"])
    assert found.exit_code == 0, found.output
    alone = select_component(responses, 1)  # both have six systems and ten items: the first is taken
    items = json.loads(found.stdout)["items"]
    assert [i["item"] for i in items] == list(alone.item_ids)
    expected = diagnose(pe.fit(alone, "mml", model="Rasch"), alone, replications=40).items
    np.testing.assert_allclose(
        np.array([i["infit"] for i in items], dtype=float), expected.infit, rtol=1e-12, equal_nan=True
    )


@pytest.mark.parametrize("word", ["0", "3"])
def test_a_component_that_is_not_there_is_refused(word: str) -> None:
    result = CliRunner().invoke(app, ["diagnose", str(DATA), "--component", word])
    assert isinstance(result.exception, SettingsError)
    assert "There are 2 components" in result.exception.remedy


@pytest.mark.parametrize("word", ["smallest", "-1", "1.5", ""])
def test_a_word_that_is_no_component_is_refused(word: str) -> None:
    result = CliRunner().invoke(app, ["trust", str(DATA), f"--component={word}"])
    assert isinstance(result.exception, SettingsError)
    assert "Give the number of a component, or largest" in result.exception.remedy


def test_dif_takes_a_component_of_data_with_a_file_of_groups(tmp_path: Path) -> None:
    import pandas as pd

    rng = np.random.default_rng(4)
    scores = np.full((160, 16), np.nan)
    for rows, columns in ((slice(60), slice(8)), (slice(60, 160), slice(8, 16))):
        part = scores[rows, columns]
        ability = rng.normal(size=(len(part), 1))
        part[:] = rng.random(part.shape) < 1 / (1 + np.exp(-(ability - np.linspace(-1, 1, 8))))
    apart = pe.Responses.from_array(scores)
    groups = ["old", "new"] * 80
    table = pd.DataFrame(scores, columns=list(apart.item_ids)).astype("Int64")
    table.insert(0, "system", apart.person_ids)
    write_frame(table, tmp_path / "data.csv")
    write_frame(pd.DataFrame({"system": apart.person_ids, "kind": groups}), tmp_path / "persons.csv")
    given = ["dif", str(tmp_path / "data.csv"), "--persons", str(tmp_path / "persons.csv"), "--groups", "kind"]
    method = ["--method", "likelihood-ratio", "--no-purify", "--format", "json"]
    assert isinstance(CliRunner().invoke(app, [*given, *method]).exception, DisconnectedDataError)
    done = CliRunner().invoke(app, [*given, *method, "--component", "largest"])
    assert done.exit_code == 0, done.output
    expected = dif(select_component(apart, 2), groups[60:], "likelihood-ratio", purify=False)
    found = [i["statistic"] for i in json.loads(done.stdout)["items"]]
    np.testing.assert_allclose(found, expected.to_frame().statistic, rtol=1e-9)

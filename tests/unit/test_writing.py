"""Responses written to a table come back as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.responses.writing import write_table


def counts() -> Responses:
    successes, trials = np.array([[1, 0, 2], [0, 0, 0], [3, 0, 0]]), np.array([[1, 0, 2], [0, 0, 0], [4, 0, 1]])
    return Responses.from_array(
        successes, trials, person_ids=["A", 'b,"c"', "NA"], item_ids=[" q 1", "ü\r", "3"], person_label="system"
    )


@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "csv.gz", pytest.param("parquet", marks=pytest.mark.needs("parquet"))]
)
def test_counts_come_back_with_empty_rows_and_columns(tmp_path: Path, ending: str) -> None:
    given = counts()
    found = read_table(write_table(given, tmp_path / f"x.{ending}"))
    assert found.sha256 == given.sha256
    assert found.person_label == "system"


@pytest.mark.needs("parquet")
def test_parquet_keeps_the_notes(tmp_path: Path) -> None:
    given = Responses.from_array([[1, 0]], missing="wrong", person_label="system")
    noted = Responses(given.successes, given.trials, given.person_ids, given.item_ids, notes=("errors are wrong",))
    assert read_table(write_table(noted, tmp_path / "x.parquet")).notes[0] == "errors are wrong"


@pytest.mark.parametrize("ending", ["csv", pytest.param("parquet", marks=pytest.mark.needs("parquet"))])
def test_covariates_come_back_where_they_are_asked_for(tmp_path: Path, ending: str) -> None:
    bare = counts()
    items = pd.DataFrame({"topic": ["x", "y", "x"], "Task ID": ["a", "b", "c"], "line": [1, 2, 3]})
    persons = pd.DataFrame({"maker": ["M", None, "N"]})
    given = Responses(
        bare.successes, bare.trials, bare.person_ids, bare.item_ids, persons, items, person_label="system"
    )
    path = write_table(given, tmp_path / f"x.{ending}")
    found = read_table(path, items=["topic"], persons=["maker"])
    assert found.sha256 == given.sha256
    assert found.items is not None
    assert found.persons is not None
    assert found.items["topic"].tolist() == ["x", "y", "x"]
    assert [v if isinstance(v, str) and v else None for v in found.persons["maker"]] == ["M", None, "N"]
    # A second column of ids would make the table ambiguous, and a line of a log is no property.
    with pytest.raises(DataError, match="no column called 'Task ID'"):
        read_table(path, items=["Task ID"])
    with pytest.raises(DataError, match="no column called 'line'"):
        read_table(path, items=["line"])


def test_bounded_scores_are_written(tmp_path: Path) -> None:
    given = ContinuousResponses(np.array([[0.5, np.nan], [1, 0.25]]), 0, 1, ("A", "B"), ("q1", "q2"))
    path = write_table(given, tmp_path / "x.csv")
    assert path.read_text() == '"system","item","score"\n"A","q1",0.5\n"B","q1",1.0\n"B","q2",0.25\n'


def test_an_unknown_ending_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no ending"):
        write_table(counts(), tmp_path / "x.xls")
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(SettingsError, match="is a folder"):
        write_table(counts(), tmp_path / "x.csv")

"""Covariates and outside scores from files of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychoeval.errors import DataError
from psychoeval.responses.covariate_files import add_covariates, read_scores
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table


@pytest.fixture
def responses() -> Responses:
    items = pd.DataFrame({"topic": ["x", "y"], "old": [1, 2]}, index=["q1", "q2"])
    return Responses.from_array(
        [[1, 0], [0, 1], [1, 1]], person_ids=["a", "b", "c"], item_ids=["q1", "q2"], items=items, person_label="system"
    )


def written(folder: Path, text: str) -> Path:
    (folder / "x.csv").write_text(text)
    return folder / "x.csv"


def test_columns_stand_in_the_order_of_the_data_beside_those_that_were_there(
    responses: Responses, tmp_path: Path
) -> None:
    path = written(tmp_path, "note,item,topic\nn2,q2,new\nn3,q3,other\nn1,q1,fresh\n")
    found = add_covariates(responses, path, "items")
    assert found.items is not None
    assert found.items.to_dict("list") == {"old": [1, 2], "note": ["n1", "n2"], "topic": ["fresh", "new"]}
    assert found.sha256 == responses.sha256
    assert found.notes == ()


def test_the_column_of_ids_is_the_one_with_ids(responses: Responses, tmp_path: Path) -> None:
    path = written(tmp_path, "question,problem,task\nWhat?,1,q1\nWhy?,2,q2\n")
    found = add_covariates(responses, path, "items")
    assert found.items is not None
    assert found.items["question"].tolist() == ["What?", "Why?"]
    path = written(tmp_path, "code,maker\nb,B\na,A\nc,C\n")  # no usual name: the first
    found = add_covariates(responses, path, "persons")
    assert found.persons is not None
    assert found.persons["maker"].tolist() == ["A", "B", "C"]


def test_who_has_no_row_is_missing_and_noted(responses: Responses, tmp_path: Path) -> None:
    found = add_covariates(responses, written(tmp_path, "system,maker\nc,C\n"), "persons")
    assert found.persons is not None
    assert found.persons["maker"].tolist() == [None, None, "C"]
    assert found.notes[0].endswith("no row for 2 of 3 systems: 'a', 'b'.")


def test_blanks_are_missing_and_no_group(responses: Responses, tmp_path: Path) -> None:
    found = add_covariates(responses, written(tmp_path, "system,maker\na,A\nb,\nc,\n"), "persons")
    assert found.persons is not None
    assert found.persons["maker"].tolist() == ["A", None, None]
    blank = replace(responses, persons=pd.DataFrame({"maker": ["A", " ", "A"]}))
    with pytest.raises(DataError, match="1 systems have no 'maker': 'b'"):
        group_codes(blank, "maker", "persons")


def test_scores_are_numbers_and_texts_are_named(responses: Responses, tmp_path: Path) -> None:
    scores, notes = read_scores(responses, written(tmp_path, "system,elo,maker,mmlu\nb,1200,B,\na,1100,A,.5\n"))
    assert scores.keys() == {"elo", "mmlu"}
    np.testing.assert_array_equal(scores["elo"], [1100, 1200, np.nan])
    np.testing.assert_array_equal(scores["mmlu"], [0.5, np.nan, np.nan])
    assert notes[1] == "Columns of texts are no scores: 'maker'."
    with pytest.raises(DataError, match="no column beside the ids holds numbers"):
        read_scores(responses, written(tmp_path, "system,maker\na,A\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("system,elo\na,1\nb,2\na,3\n", "system 'a' has two rows"),
        ("system,elo\nx,1\ny,2\n", "no row has the id of a system of the data"),
        ("system\na\n", "no column beside the ids"),
    ],
)
def test_files_that_do_not_fit_are_refused_by_name(responses: Responses, tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        add_covariates(responses, written(tmp_path, text), "persons")


LABELS = ["1.1", "1.10", "2.0", "01", "1", "1e3", "1000", "12345678901234567890", "12345678901234567891", "1_0"]


@pytest.mark.parametrize("label", ["system", "person"])
def test_labels_that_are_equal_as_numbers_stay_groups_of_their_own(tmp_path: Path, label: str) -> None:
    ids = [f"s{k}" for k in range(len(LABELS))]
    data = Responses.from_array(np.eye(len(LABELS), dtype=int), person_ids=ids, person_label=label)  # type: ignore[arg-type]
    lines = "\n".join(f"{i},{text}" for i, text in zip(ids, LABELS, strict=True))
    found = add_covariates(data, written(tmp_path, f"system,version\n{lines}\n"), "persons")
    codes, names = group_codes(found, "version", "persons")
    assert names == tuple(LABELS)
    assert codes.tolist() == list(range(len(LABELS)))


@pytest.mark.parametrize("long", [True, False])
def test_columns_of_the_table_itself_stay_texts_too(tmp_path: Path, long: bool) -> None:
    text = (
        "system,version,item,score\na,1.1,q,1\nb,1.10,q,0\nc,,q,1\n"
        if long
        else "system,version,q\na,1.1,1\nb,1.10,0\nc,,1\n"
    )
    found = read_table(written(tmp_path, text), persons=["version"]).persons
    assert found is not None
    assert found["version"].tolist()[:2] == ["1.1", "1.10"]
    assert found["version"].isna().tolist() == [False, False, True]


def test_whole_numbers_of_parquet_have_no_decimals_where_some_are_missing(tmp_path: Path) -> None:
    """pandas turns a column of integers into floats for a missing one."""
    data = Responses.from_array(np.eye(3, dtype=int), person_ids=["a", "b", "c"])
    table = pd.DataFrame({"system": ["a", "b", "c", "d"], "version": pd.array([1, 2, 1, None], dtype="Int64")})
    table.to_parquet(tmp_path / "x.parquet")
    found = add_covariates(data, tmp_path / "x.parquet", "persons")
    assert group_codes(found, "version", "persons")[1] == ("1", "2")
    fractions = replace(data, persons=pd.DataFrame({"version": [1.0, 1.5, 1.0]}))
    assert group_codes(fractions, "version", "persons")[1] == ("1.0", "1.5")


def test_only_numbers_are_scores(responses: Responses, tmp_path: Path) -> None:
    scores, notes = read_scores(
        responses, written(tmp_path, "system,elo,version,mmlu\na,1e3,1_0,NA\nb,01,2, \nc,NA,3,1\n")
    )
    np.testing.assert_array_equal(scores["elo"], [1000, 1, np.nan])
    np.testing.assert_array_equal(scores["mmlu"], [np.nan, np.nan, 1])
    assert notes == ("Columns of texts are no scores: 'version'.",)

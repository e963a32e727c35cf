"""Leaderboards, tables of the Item Response Warehouse, and other tables as logs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from psychoeval.cli.commands import app
from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers import yaml_table
from psychoeval.responses.readers.log import records
from psychoeval.responses.readers.reading import read, read_log
from psychoeval.responses.writing import write_table

BOARD = "Rank,Model,Company,MMLU,ARC,Average\n1,A,x,90.5,80,85.25\n2,B,y,-,70,70\n3,C,,N/A,,\n"


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def board(path: Path, **options: Any) -> ContinuousResponses:
    found = read(path, format="leaderboard", **({"bounds": (0, 100)} | options))
    assert isinstance(found, ContinuousResponses)
    return found


def test_benchmarks_are_items_and_scores_lie_between_the_bounds_given(tmp_path: Path) -> None:
    found = board(put(tmp_path, "board.csv", BOARD), columns=["MMLU", "ARC"])
    assert found.person_ids == ("A", "B", "C")
    assert found.item_ids == ("MMLU", "ARC")
    np.testing.assert_array_equal(found.scores, [[90.5, 80], [np.nan, 70], [np.nan, np.nan]])
    assert (found.lower, found.upper) == (0, 100)
    assert any("'Rank', 'Company', 'Average'" in n for n in found.notes)


def test_which_columns_are_benchmarks_is_asked(tmp_path: Path) -> None:
    path = put(tmp_path, "board.csv", BOARD)
    with pytest.raises(DataError, match=r"4 columns of numbers are benchmarks.*'Rank', 'MMLU', 'ARC', 'Average'"):
        board(path)
    assert board(path, leave_out=["Rank", "Average"]).item_ids == ("MMLU", "ARC")
    assert board(path, columns="*", leave_out="Rank").item_ids == ("MMLU", "ARC", "Average")
    assert board(path, columns="A*").item_ids == ("ARC", "Average")
    with pytest.raises(DataError, match="no column is called 'GSM8K'"):
        board(path, columns=["GSM8K"])
    with pytest.raises(DataError, match="no column of numbers is left"):
        board(path, leave_out="*")


def test_bounds_are_asked_where_scores_exceed_one(tmp_path: Path) -> None:
    path = put(tmp_path, "board.csv", BOARD)
    with pytest.raises(
        DataError, match=r"Scores run from 70 to 90\.5 \(.*, item .*: 90\.5\), and the log does not say"
    ):
        board(path, columns=["MMLU", "ARC"], bounds=None)
    with pytest.raises(DataError, match="outside their bounds 0 to 80"):
        board(path, columns=["MMLU", "ARC"], bounds=(0, 80))


def test_cells_of_two_scores_are_two_items(tmp_path: Path) -> None:
    path = put(tmp_path, "glue.tsv", "Model\tMRPC\tRTE\nA\t94.2/92.3\t90\nB\t-\t80\nC\t91 / 90\t70\n")
    found = board(path, columns="*")
    assert found.item_ids == ("MRPC (1 of 2)", "MRPC (2 of 2)", "RTE")
    np.testing.assert_array_equal(found.scores, [[94.2, 92.3, 90], [np.nan, np.nan, 80], [91, 90, 70]])
    mixed = put(tmp_path, "mixed.tsv", "Model\tMRPC\nA\t94.2/92.3\nB\t90\n")
    with pytest.raises(DataError, match=r"mixed\.tsv, line 2: 'MRPC' is '94\.2/92\.3', 2 scores; other cells.* 1"):
        board(mixed, columns="*")


def test_dates_are_no_scores(tmp_path: Path) -> None:
    path = put(tmp_path, "dates.csv", "Model,Release,X\nA,2023/3/15,1\nB,2024/1/1,2\n")
    assert board(path, columns="*").item_ids == ("X",)
    with pytest.raises(DataError, match="line 2: 'Release' is '2023/3/15', not a number"):
        board(path, columns=["Release"])


def test_a_system_in_two_rows_is_asked_about_with_both_lines(tmp_path: Path) -> None:
    path = put(tmp_path, "board.csv", "Model,X\nA,10\nB,20\nA,30\n")
    with pytest.raises(DataError, match=r"'A', item 'X' in .*board\.csv, line 2 and .*board\.csv, line 4"):
        board(path, columns="*")
    assert board(path, columns="*", duplicates="last").scores.tolist() == [[30], [20]]
    assert board(path, columns="*", duplicates="trials").scores.tolist() == [[20], [20]]


def test_a_first_column_that_numbers_the_rows_is_none(tmp_path: Path) -> None:
    numbered = put(tmp_path, "a.tsv", "\tmodel_name\tX\n0\tA\t10\n1\tB\t20\n")
    assert board(numbered, columns="*").person_ids == ("A", "B")
    names = put(tmp_path, "b.csv", ",X\nA,10\nB,20\n")
    assert board(names, columns="*").person_ids == ("A", "B")


def test_the_column_of_systems_may_be_named(tmp_path: Path) -> None:
    path = put(tmp_path, "board.csv", "X,Entry\n10,A\n20,B\n")
    with pytest.raises(DataError, match="no column has a usual name for systems"):
        board(path, columns="*")
    assert board(path, columns="*", person_column="Entry").person_ids == ("A", "B")


def test_a_cell_that_is_no_number_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"board\.csv, line 3: 'X' is 'n\.a\.', not a number"):
        board(put(tmp_path, "board.csv", "Model,X\nA,10\nB,n.a.\n"), columns="*")


YAML = """# aider
- model: A
  date: 2025-01-02
  pass: 35.6
  flag: no

- model: "B"
  pass: 20
  runs: [1, 2]
"""


def test_yaml_is_recognized_and_its_cells_stay_texts(tmp_path: Path) -> None:
    path = put(tmp_path, "board.yml", YAML)
    found = read(path, columns=["pass"], bounds=(0, 100))
    assert isinstance(found, ContinuousResponses)
    assert found.person_ids == ("A", "B")
    assert found.scores.tolist() == [[35.6], [20]]
    with pytest.raises(DataError, match="which of its 1 columns of numbers"):
        read_log(path)
    again = put(tmp_path, "again.yml", YAML + "- model: A\n  pass: 1\n")
    with pytest.raises(DataError, match=r"again\.yml, line 2 and .*again\.yml, line 10"):
        read(again, columns=["pass"], bounds=(0, 100))


def test_other_yaml_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "config.yml", "- name: run\n  seed: 1\n")
    put(tmp_path, "README.md", "# Title\n\n- key: value\n")
    put(tmp_path, "irw.csv", "id,item,resp\ns1,q1,1\n")
    log = read_log(tmp_path)
    assert len(log) == 1
    assert any("Passed over" in n and "config.yml" in n for n in log.notes)
    assert any("1 files of no known format" in n for n in log.notes)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("- model: A\n  x: 1\n  x: 2\n", "line 3: the key 'x' occurs twice"),
     ("- model: &a A\n  x: 1\n- *a\n", "line 3 refers to an anchor"),
     ("- model: A\n  x: [1\n", "line 3 is no YAML"),
     ("- model: A\n- B\n", "line 2 is no object"),
     ("- model: A\n  x: 1\n---\n- model: B\n", "line 3 begins another document"),
     ("- model: A\n  x: 1\n  <<: {y: 2}\n", "line 3 merges another object"),
     ("- model: A\n  ~: 1\n", "line 2: a key is no text"),
     ("- model: A\n  [x]: 1\n", "line 2: a key is no text"),
     ("- model: A\n  x: " + "[" * 5000, "nested too deeply|exceeded maximum nesting depth"),
     ("- model: A\n- " + "- " * 101 + "1", "line 2 is no object"),
     ("- model: A\n  x:\n  - " + "- " * 101 + "1", "line 3 is nested too deeply")],
)  # fmt: skip
def test_yaml_that_is_no_table_is_refused(tmp_path: Path, text: str, problem: str, libyaml: bool) -> None:
    with pytest.raises(DataError, match=problem):
        read_log(put(tmp_path, "board.yml", text), columns=["x"])


@pytest.fixture(params=["libyaml", "without"])
def libyaml(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """PyYAML has libyaml's parser, and one of its own that is twenty times slower."""
    yaml = importlib.import_module("yaml")
    with_it = bool(request.param == "libyaml" and yaml.__with_libyaml__)
    monkeypatch.setattr(yaml, "__with_libyaml__", with_it)
    return with_it


def test_yaml_says_the_same_to_both_parsers(tmp_path: Path, libyaml: bool) -> None:
    text = "# boards\n---\n- model: A\n  x: 1\n  y: ~\n  z: {a: [1, 2], b: 3}\n- {model: 'B', x: !!str 2, y: \"3\"}\n"
    log = read_log(put(tmp_path, "board.yml", text), columns=["x", "y"])
    assert [(r.person, r.item, r.line) for r in records(log)] == [
        ("A", "x", 3),
        ("A", "y", 3),
        ("B", "x", 7),
        ("B", "y", 7),
    ]
    assert log.numbers["score"].tolist() == pytest.approx([1, np.nan, 2, 3], nan_ok=True)


def test_yaml_has_a_largest_size(tmp_path: Path, libyaml: bool) -> None:
    limit = yaml_table._MAX_BYTES if libyaml else yaml_table._MAX_BYTES_SLOW
    row = "- model: A\n  x: 1\n"
    with pytest.raises(DataError, match="is larger than"):
        read_log(put(tmp_path, "board.yml", row * (limit // len(row) + 1)), columns=["x"])


def test_yaml_runs_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    text = f"- model: A\n  x: 1\n  y: !!python/object/apply:pathlib.Path.touch [{made}]\n"
    log = read_log(put(tmp_path, "board.yml", text), columns=["x"])
    assert log.numbers["score"].tolist() == [1]
    assert not made.exists()


def test_irw_is_recognized_by_its_columns(tmp_path: Path) -> None:
    text = "id,item,resp,cov_size,itemcov_n\ns1,q1,1,7,2\ns1,q2,NA,7,3\ns2,q1,0,9,2\n"
    found = read(put(tmp_path, "irw.csv", text))
    assert isinstance(found, Responses)
    assert found.successes.tolist() == [[1, 0], [0, 0]]
    assert found.trials.tolist() == [[1, 0], [1, 0]]
    assert any("'cov_size', 'itemcov_n'" in n for n in found.notes)
    log = read_log(put(tmp_path, "poly.csv", "id,item,resp\ns1,q1,3\ns2,q1,1\n"))
    assert log.levels("benchmark") == {"poly": 2}
    assert log.numbers["score"].tolist() == [3, 1]


def test_irw_names_what_is_no_number_and_an_empty_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"bad\.csv, line 3: resp is 'x', not a number"):
        read_log(put(tmp_path, "bad.csv", "id,item,resp\ns1,q1,1\ns2,q1,x\n"))
    with pytest.raises(DataError, match="header and no rows"):
        read_log(put(tmp_path, "empty.csv", "id,item,resp,cov_a\n"))


def test_scores_that_were_written_come_back(tmp_path: Path) -> None:
    given = board(put(tmp_path, "board.csv", BOARD), columns=["MMLU", "ARC"])
    for name in ("out.csv", "out.parquet"):
        write_table(given, tmp_path / name)
        back = read(tmp_path / name, format="long scores", bounds=(0, 100))
        assert isinstance(back, ContinuousResponses)
        # A system without any score has a row, and stays.
        assert (back.person_ids, back.item_ids) == (given.person_ids, given.item_ids)
        np.testing.assert_array_equal(back.scores, given.scores)


def test_epochs_of_long_scores_are_trials(tmp_path: Path) -> None:
    text = "model,task,epoch,score,note\nA,t,1,0.5,x\nA,t,2,1,y\n"
    found = read(put(tmp_path, "long.csv", text), format="long scores")
    assert isinstance(found, ContinuousResponses)
    assert found.scores.tolist() == [[0.75]]
    with pytest.raises(DataError, match="no column has a usual name for items and scores"):
        read_log(put(tmp_path, "odd.csv", "model,what\nA,1\n"), format="long scores")


def test_tables_of_right_and_wrong_need_no_format(tmp_path: Path) -> None:
    path = put(tmp_path, "wide.csv", "system,q1,q2\nA,1,0\nB,,1\n")
    found = read(path)
    assert isinstance(found, Responses)
    assert found.trials.tolist() == [[1, 1], [0, 1]]
    assert read(path, errors="wrong").trials.tolist() == [[1, 1], [1, 1]]  # type: ignore[union-attr]
    with pytest.raises(SettingsError, match="is a table: metric would mean nothing"):
        read(path, metric="acc")
    with pytest.raises(DataError, match="is a table, and of no log format") as refused:
        read_log(path)
    assert "read_table" in refused.value.remedy
    with pytest.raises(DataError, match="a fraction") as refused:
        read(put(tmp_path, "board.csv", "system,q1\nA,0.5\n"))
    assert '"leaderboard"' in refused.value.remedy


def test_the_command_imports_a_leaderboard(tmp_path: Path) -> None:
    path = put(tmp_path, "board.csv", BOARD)
    reading = ["format=leaderboard", "columns=MMLU,ARC", "bounds=0:100"]
    options = [part for pair in reading for part in ("--read", pair)]
    ran = CliRunner().invoke(app, ["import", str(path), "--out", str(tmp_path / "out.csv"), *options])
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "out.csv").read_text().startswith('"system","item","score"\n"A","MMLU",90.5\n')

"""Replications: rows kept as they are done, found again, failures apart, Ctrl-C without loss."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from psychoeval.errors import DataError, SettingsError, StoredFileError
from psychoeval.studies import RowStore, replicate
from psychoeval.studies.store import Row


def square(number: int) -> Row:
    return {"square": number**2, "none": None}


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_rows_come_in_order(n_jobs: int) -> None:
    found = replicate(square, 5, key="q", n_jobs=n_jobs)
    assert [row["square"] for row in found.rows] == [0, 1, 4, 9, 16]
    assert not found.interrupted
    assert found.to_frame()["square"].tolist() == [0, 1, 4, 9, 16]


def test_rows_that_are_kept_are_not_computed_again(tmp_path: Path) -> None:
    path = tmp_path / "rows" / "study.jsonl"
    first = replicate(square, 3, key="q", store=RowStore(path))

    def must_not_run(number: int) -> Row:
        assert number >= 3
        return square(number)

    again = replicate(must_not_run, 5, key="q", store=RowStore(path))
    assert again.rows[:3] == first.rows
    assert len(again.rows) == 5
    with pytest.raises(AssertionError):
        replicate(must_not_run, 3, key="another question", store=RowStore(path))


def test_a_failure_costs_no_other_row_and_is_tried_again(tmp_path: Path) -> None:
    store = RowStore(tmp_path / "study.jsonl")

    def task(number: int) -> Row:
        if number == 1:
            raise DataError("No data.", "Give some.")
        return square(number)

    found = replicate(task, 3, key="q", store=store)
    assert [row["square"] for row in found.rows] == [0, 4]
    assert found.failures == ("No data. Give some.",)
    assert not found.interrupted
    assert len(replicate(square, 3, key="q", store=store).rows) == 3


def test_ctrl_c_loses_nothing(tmp_path: Path) -> None:
    store = RowStore(tmp_path / "study.jsonl")

    def task(number: int) -> Row:
        if number == 2:
            raise KeyboardInterrupt
        return square(number)

    found = replicate(task, 5, key="q", store=store)
    assert found.interrupted
    assert len(found.rows) == 2
    assert RowStore(store.path).find("q-1") == {"square": 1, "none": None}


def test_a_line_cut_by_a_killed_process_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    replicate(square, 2, key="q", store=RowStore(path))
    whole = path.read_bytes()
    path.write_bytes(whole + b'["q-2", {"squ')
    store = RowStore(path)
    assert path.read_bytes() == whole
    assert len(replicate(square, 3, key="q", store=store).rows) == 3
    assert [json.loads(line)[0] for line in path.read_text().splitlines()] == ["q-0", "q-1", "q-2"]


def test_damaged_and_unwritable_stores_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    path.write_text('["q-0", {"a": 1}]\n{"no": "row"}\n')
    with pytest.raises(StoredFileError, match="line 2 is no row"):
        RowStore(path)
    with pytest.raises(SettingsError, match="no file"):
        RowStore(tmp_path)
    with pytest.raises(SettingsError):
        replicate(square, 0, key="q")


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    store = RowStore(tmp_path / "study.jsonl")
    store.path.unlink()
    store.path.mkdir()
    with pytest.raises(StoredFileError, match="cannot be written"):
        store.keep("q-0", {"a": 1})
    with pytest.raises(SettingsError, match="no file"):
        RowStore(Path("/dev/full"))

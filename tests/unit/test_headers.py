"""Files without a header: their first row must not become names."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from psychoeval.errors import DataError
from psychoeval.responses.readers.reading import read
from psychoeval.responses.tables import from_wide, read_table


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "m1,1,0\nm2,0,1\n",  # wide
        "1,0\n0,1\n1,1\n",  # wide without ids
        "m1;0;NA\nm2;1;1\n",
        "m1,true,false\nm2,true,true\n",
        "m1,7,3\nm2,5,9\n",  # counts
        "m1,0.5,0.7\nm2,1,0\n",
        "m1,inf,0\nm2,1,0\n",
        "m1,t1,1\nm1,t2,0\nm2,t1,1\n",  # long
        "5,9,1\n5,8,0\n",
        "m1,t1,1,0.25\nm1,t2,0,0.5\n",  # with a cost
    ],
)
def test_a_first_line_of_data_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"t\.csv, line 1 looks like data") as refused:
        read_table(write(tmp_path / "t.csv", text))
    assert "Put a line of names above it" in refused.value.remedy


@pytest.mark.parametrize(
    "text", ["m1,1,0,1\nm2,0,1,1\n", "1,1,1\n1,2,0\n", "m1,,1\nm2,1,0\n", "1.0,1.0,\n0.0,1.0,1.0\n"]
)
def test_names_that_repeat_or_lack_may_be_data_too(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"more than once|has no name") as refused:
        read_table(write(tmp_path / "t.csv", text))
    assert "If the first line holds data, put a line of names above it." in refused.value.remedy
    with pytest.raises(DataError) as refused:
        read_table(write(tmp_path / "t.csv", "system,q,q\nm1,1,0\n"))
    assert "first line" not in refused.value.remedy


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("system,1,0\nm1,1,0\n", ("1", "0")),
        (",0,1\nm1,1,0\n", ("0", "1")),
        ("id,0,1\nm1,1,0\n", ("0", "1")),
        ("0,1,2\n1,0,1\n0,0,1\n", ("0", "1", "2")),  # as pandas writes an array
        ("Modell,1,2,3\nm1,1,1,0\n", ("1", "2", "3")),
        ("Modell,101,205\nm1,1,1\n", ("101", "205")),
        ("q1,q2\n1,0\n", ("q1", "q2")),
    ],
)
def test_items_may_be_called_by_numbers(tmp_path: Path, text: str, items: tuple[str, ...]) -> None:
    assert read_table(write(tmp_path / "t.csv", text)).item_ids == items


def test_who_names_the_column_of_persons_says_that_there_is_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "Modell,0,1\nm1,1,1\n")
    assert read_table(path, person="Modell").item_ids == ("0", "1")
    assert from_wide(pd.DataFrame([[1, 0], [0, 1]])).item_ids == ("0", "1")


def test_leaderboards_without_a_header_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "m1,81.5,70.25\nm2,44.5,61.5\n")
    with pytest.raises(DataError, match=r"t\.csv, line 1 looks like data"):
        read(path, format="leaderboard", columns="*", bounds=(0, 100))

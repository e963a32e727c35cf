from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoeval.errors import DataError, PsychoevalError, SettingsError
from psychoeval.responses import files
from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import from_wide, read_table

WIDE = "system,q1,q2\nA,1,0\nB,,1\n"


def read(folder: Path, content: str | bytes, name: str = "data.csv", **options: Any) -> Responses:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, **options)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (WIDE, "data.csv"),
        ("\ufeff" + WIDE, "data.csv"),
        (WIDE.replace("\n", "\r\n"), "data.csv"),
        (WIDE + "\n\r\n", "data.csv"),
        (WIDE.rstrip("\n"), "data.csv"),
        (WIDE.replace(",", "\t"), "data.tsv"),
        (WIDE.replace(",", ";"), "data.csv"),
        (WIDE.replace(",", ", "), "data.csv"),
        ('"system","q1","q2"\n"A","1","0"\n"B",NA,"1"\n', "data.csv"),
        ("system,q1,q2\nA,1.0,0.0\nB,nan,1.0\n", "data.csv"),
        ("system,q1,q2\nA,True,False\nB,,True\n", "data.csv"),
        (gzip.compress(WIDE.encode()), "data.csv.gz"),
    ],
)
def test_the_same_table_in_many_spellings(tmp_path: Path, content: str | bytes, name: str) -> None:
    r = read(tmp_path, content, name)
    assert r.sha256 == from_wide({"system": ["A", "B"], "q1": [1, None], "q2": [0, 1]}).sha256
    assert (r.person_label, r.name, r.source) == ("system", "data", str(tmp_path / name))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is empty"),
        ("system,q1\n", "has a header and no rows"),
        ("system,q1\n\n\n", "has a header and no rows"),
        ("system,q1,q2,q1\nA,1,0,1\n", "the column name 'q1' occurs more than once: columns 2 and 4"),
        ("system,q1,\nA,1,0\n", "column 3 has no name"),
        (",system,q1\n0,A,1\n", "first column .* has no name"),
        ("system,q1,q2\nA,1,0\nB,1\n", "line 3 has 2 cells; the header has 3"),
        ("system,q1,q2\nA,1,0\nB,1,0,1\n", "line 3 has 4 cells; the header has 3"),
        ('"q1","q2"\n"1",1,0\n', "line 2 has 3 cells.*R writes none"),
        ("system,q1\nA,1\n\nB,0\n", "line 3 is blank"),
        ('system,q1\n"A,1\nB,0\n', "record that starts in line 2 cannot be read: unexpected end of data"),
        ('system,q1\n"A"x,1\nB,0\n', "record that starts in line 2 cannot be read"),
        ("system,q1\nA,1\nA,0\n", r"'A' occurs more than once: at \S+, line 2 and \S+, line 3"),
        ("system,q1\nA,1\n,0\n", r"system at \S+, line 3 has no id"),
        ("system,q1\n" + "A" * 200_000 + ",1\n", "line 2 cannot be read: field larger than"),
        ("system,q1\rA,1\rB,0\r", "line ends of old Macs"),
        (b"system,q1\nA,1\nB\xe9,0\n", r"line 3 is not utf-8 \(byte 2 is 0xe9\).*encoding="),
        (b"system,q1\nA,1\nB\0,0\n", "line 3 holds a NUL byte"),
        ("system,q1\nA,1\n".encode("utf-16"), "is UTF-16, not text"),
        ("\nsystem,q1\nA,1\n", "line 1 is blank"),
        ("system,q1\nA,1\n" + "\n" * 1_001, "line 3 is blank"),
        ("system,q1\n" + "A," * 600 + "\n", "line 2 has 601 cells"),
        (b"PK\x03\x04rest", "is a zip archive or spreadsheet"),
        (b"\x1f\x8brest", "is gzip, not text"),
        (b"PAR1rest", "is Parquet, not text"),
        ('system,"q\n1"\n"A\nB",0\n"C",x\n', r"item 'q\\n1' \(line 5, column 2\): 'x', not a number"),
        ("system,q1\nA,94.2/92.3\n", r"system 'A', item 'q1' \(line 2, column 2\): '94.2/92.3', not a number"),
        ("system;q1\nA;0,25\n", r"\(line 2, column 2\): '0,25', not a number"),
        ("system,q1\nA,0.25\n", r"\(line 2, column 2\): 0.25, a fraction"),
        ("system,q1\nA,2\n", r"2, more than one success in one trial.*trials="),
        ("system,q1\nA,inf\n", "inf, infinite"),
        ("pid,q1\n101,1\n102,0\n", r"2 cells .*item 'pid' \(line 2, column 1\): 101.*person"),
    ],
)
def test_malformed_files_are_refused_by_file_and_line(tmp_path: Path, content: str | bytes, told: str) -> None:
    with pytest.raises(DataError, match=told) as caught:
        read(tmp_path, content)
    assert "data.csv" in caught.value.problem
    assert caught.value.remedy


def test_ids_stay_the_texts_they_are(tmp_path: Path) -> None:
    long = "x" * 10_000
    r = read(tmp_path, f'system,"a ""b"", c",日本,{long}\nNA,1,0,1\n007,1,1,\n{long},0,0,0\n')
    assert r.person_ids == ("NA", "007", long)
    assert r.item_ids == ('a "b", c', "日本", long)


@pytest.mark.parametrize("cell", ["A,", '"A\n",'])
def test_records_have_a_longest_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str) -> None:
    monkeypatch.setattr(files, "MAX_RECORD", 1 << 20)
    rows = "".join(f"{'s' * 1000}{k},1\n" for k in range(1_100))
    assert len(read(tmp_path, f"system,q1\n{rows}").person_ids) == 1_100
    with pytest.raises(DataError, match=r"record that ends in line \d+ or later is longer than 1 MB"):
        read(tmp_path, f"system,q1\nA,0\n{cell * (600 << 10)}")


def test_a_header_may_start_as_other_files_do(tmp_path: Path) -> None:
    assert read(tmp_path, "PKey,q1\nA,1\nB,0\n", person="PKey").item_ids == ("q1",)


def test_names_that_pandas_would_change(tmp_path: Path) -> None:
    r = read(tmp_path, "system,q1,q1.1\nNone,1,0\n")
    assert r.item_ids == ("q1", "q1.1")
    assert r.person_ids == ("None",)


def test_row_names_without_a_header(tmp_path: Path) -> None:
    assert read(tmp_path, ",q1,q2\n0,1,0\n1,0,1\n").person_ids == ("0", "1")


def test_no_person_column(tmp_path: Path) -> None:
    r = read(tmp_path, "q1,q2\n1,0\n,1\n")
    assert (r.person_ids, r.person_label, r.n_observed) == (("person-1", "person-2"), "person", 3)


def test_other_encodings(tmp_path: Path) -> None:
    assert read(tmp_path, b"system,q1\nB\xe9,0\n", encoding="latin-1").person_ids == ("Bé",)
    with pytest.raises(DataError, match="encoding 'latin-99' is unknown"):
        read(tmp_path, WIDE, encoding="latin-99")


@pytest.mark.parametrize("content", [gzip.compress(WIDE.encode())[:-4], WIDE.encode()])
def test_broken_compression(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path, content, "data.csv.gz")


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_table(tmp_path)


LONG = "model,task,score\nA,t1,1\nB,t2,0\nB,t1,\n"


def test_long_files_are_recognized(tmp_path: Path) -> None:
    r = read(tmp_path, LONG)
    assert (r.person_ids, r.item_ids, r.trials.tolist()) == (("A", "B"), ("t1", "t2"), [[1, 0], [0, 1]])
    assert read(tmp_path, LONG, layout="long").sha256 == r.sha256
    other = read(tmp_path, LONG.replace("task,score", "q,hit"), item="q", score="hit")
    assert other.sha256 == r.sha256


def test_a_file_that_could_be_both_is_refused_with_a_question(tmp_path: Path) -> None:
    text = "model,task,score\nA,0,1\nB,1,0\n"
    with pytest.raises(DataError, match=r"Is each row one response, or one person\?"):
        read(tmp_path, text)
    assert read(tmp_path, text, layout="long").item_ids == ("0", "1")
    assert read(tmp_path, text, layout="wide").item_ids == ("task", "score")


def test_repeated_pairs_name_their_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"system 'A', item 't1' \(line 2\) again in line 5"):
        read(tmp_path, LONG + "A,t1,0\n")
    assert read(tmp_path, LONG + "A,t1,0\n", duplicates="trials").trials.tolist() == [[2, 0], [0, 1]]


def test_long_cells_name_their_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data.csv: 1 cell .*system 'C', item 't9' \(line 5\): 'E', not a number"):
        read(tmp_path, LONG + "C,t9,E\n")


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        (WIDE, {"layout": "tall"}, "layout="),
        (WIDE, {"layout": "wide", "item": "q1"}, "item belong to long tables"),
        (WIDE, {"duplicates": "first"}, "duplicates belong to long tables"),
        (WIDE, {"layout": "wide", "trials": "n"}, "trials='n' with a wide table"),
        (WIDE, {"items": ["q1"]}, "items= names columns"),
        (LONG, {"trials": 3}, "trials=3 with a long table"),
    ],
)
def test_options_of_the_other_layout(tmp_path: Path, content: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        read(tmp_path, content, **options)


def test_counts_in_a_wide_file(tmp_path: Path) -> None:
    r = read(tmp_path, "system,org,q1\nA,x,3\nB,y,0\n", trials=3, persons=["org"])
    assert r.trials.tolist() == [[3], [3]]
    assert r.persons is not None
    assert r.persons["org"].tolist() == ["x", "y"]


def test_parquet_equals_csv(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"system": ["A", "B"], "q1": pd.array([1, None], dtype="Int64"), "q2": [False, True]})
    frame.to_parquet(tmp_path / "wide.parquet")
    assert read_table(tmp_path / "wide.parquet").sha256 == read(tmp_path, WIDE).sha256
    frame.set_index("system").to_parquet(tmp_path / "index.pq")
    assert read_table(tmp_path / "index.pq").sha256 == read(tmp_path, WIDE).sha256
    frame = frame.astype({"q2": "Int64"})
    frame.melt("system", var_name="item", value_name="score").to_parquet(tmp_path / "long.parquet")
    assert read_table(tmp_path / "long.parquet").sha256 == read(tmp_path, WIDE).sha256
    frame.assign(q1=[0, 7]).to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(DataError, match=r"bad.parquet: 1 cell .*\(row 2, column 2\): 7"):
        read_table(tmp_path / "bad.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"nothing")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_table(tmp_path / "broken.parquet")


def test_real_data_written_and_read_again(tmp_path: Path) -> None:
    r = load_dataset("swebench-lite")
    table = pd.DataFrame(r.successes, columns=list(r.item_ids), index=pd.Index(r.person_ids, name="system"))
    table.to_csv(tmp_path / "lite.csv")
    assert read_table(tmp_path / "lite.csv").sha256 == r.sha256


def test_no_bytes_bring_anything_but_our_own_errors(tmp_path: Path) -> None:
    """Mutate a good file at random: it is read, or refused with an error of ours and a remedy."""
    rng = np.random.default_rng(20)
    alphabet = np.frombuffer(b',;\t"\n\r\0\xff\xc3 01-.eNAinf', dtype=np.uint8)
    path = tmp_path / "data.csv"
    refused: list[PsychoevalError] = []
    for source in (WIDE, LONG):
        for _ in range(400):
            content = np.frombuffer(source.encode(), dtype=np.uint8).copy()
            where = rng.integers(0, len(content), rng.integers(1, 5))
            content[where] = rng.choice(alphabet, len(where))
            path.write_bytes(content.tobytes())
            try:
                read_table(path)
            except PsychoevalError as error:
                refused.append(error)
    assert 100 < len(refused) < 800
    assert all(error.problem and error.remedy for error in refused)

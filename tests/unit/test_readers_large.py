"""Large logs: columns that take little, lines that are not kept, progress, interrupts, columns that are not read."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from psychoeval.errors import DataError
from psychoeval.responses import parquet_files
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers import reading_progress
from psychoeval.responses.readers.joining import combined, groups
from psychoeval.responses.readers.log import LogBuilder, Record, records
from psychoeval.responses.readers.reading import read, read_log


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setattr(reading_progress, "_FIRST", 0.0)
    monkeypatch.setattr(reading_progress, "_EVERY", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return Terminal()


def samples(folder: Path, lines: int, text: str = "q", ending: str = "jsonl") -> Path:
    rows = [
        {"doc_id": k, "doc": {"q": text}, "resps": [["y"]], "doc_hash": f"h{k}", "metrics": ["acc"], "acc": k % 2}
        for k in range(lines)
    ]
    path = folder / f"samples_t.{ending}"
    raw = "".join(json.dumps(r) + "\n" for r in rows).encode()
    path.write_bytes(gzip.compress(raw) if ending.endswith("gz") else raw)
    return path


def test_what_is_added_comes_back_over_many_blocks() -> None:
    """Columns that change in some block only, in all, or never."""
    builder = LogBuilder()
    given = [
        Record(
            person=f"s{k // 5000}", item=f"q{k % 700}", metric="m", trial=str(k % 3), line=k,
            score=k / 10_000 if k % 11 else float("nan"), outcome="scored" if k % 11 else "errored",
            tokens=float(k) if k > 9000 else float("nan"), error="" if k % 11 else "broke",
        )
        for k in range(10_000)
    ]  # fmt: skip
    for record in given:
        builder.add(record)
    assert len(builder) == 10_000
    log = builder.build()
    assert len(log) == log.n_read == 10_000
    assert [repr(r) for r in records(log)] == [repr(r) for r in given]
    assert log.texts["item"][1] == tuple(f"q{k}" for k in range(700))
    assert [n for n, (codes, _) in log.texts.items() if codes.strides != (0,)] == ["person", "item", "trial", "error"]
    assert log.numbers["cost"].strides == (0,)
    assert log.texts["item"][0].dtype == np.int32


def test_an_empty_builder_gives_an_empty_log() -> None:
    log = LogBuilder().build()
    assert (len(log), log.n_read, log.texts["person"][1]) == (0, 0, ())


def test_lines_are_not_kept(tmp_path: Path) -> None:
    read(samples(tmp_path, 1), person="m")  # what is imported on the way does not count
    path = samples(tmp_path, 300, text="x" * 100_000)
    assert path.stat().st_size > 30e6
    tracemalloc.start()
    read(path, person="m")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6  # the head's outline takes 8


def test_a_row_longer_than_the_head_is_recognized(tmp_path: Path) -> None:
    log = read_log(samples(tmp_path, 2, text="x" * 100_000), person="m")
    assert set(log.formats.values()) == {"lm-eval"}


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_a_caller_is_told_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(reading_progress, "_EVERY", 0.0)
    path = samples(tmp_path, 1000, ending=ending)
    other = tmp_path / "z.md"
    other.write_text("# notes")
    seen: list[tuple[int, int, str]] = []
    read_log(tmp_path, person="m", progress=lambda *told: seen.append(told))
    size = path.stat().st_size
    done, totals, paths = zip(*seen, strict=True)
    assert set(totals) == {size + other.stat().st_size}
    assert list(done) == sorted(done)
    assert done[0] == 0
    within = [d for d, _, p in seen if p == str(path)]
    assert len(within) >= 4
    assert 0 < within[-1] <= size
    assert (done[-1], paths[-1]) == (size, str(other))


def test_a_terminal_has_one_line_that_goes(tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    path = samples(tmp_path, 1000, text="x" * 2000)
    monkeypatch.setattr(sys, "stderr", terminal)
    read(path, person="m")
    told = terminal.getvalue().split("\r\x1b[K")[1:]
    assert told[0] == "reading: 0 of 2 MB, in samples_t.jsonl"
    assert told[-2].startswith("reading: about 0 s left; 2 of 2 MB")
    assert told[-1] == ""
    assert "\n" not in terminal.getvalue()


def test_nothing_is_said_where_there_is_no_terminal_or_reading_is_short(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = samples(tmp_path, 1000)
    read(path, person="m")
    assert capfd.readouterr().err == ""
    made = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", made)
    read(path, person="m")
    assert made.getvalue().replace("\r\x1b[K", "") == ""


def test_an_interrupt_says_where_and_leaves_no_line(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = samples(tmp_path, 1000, text="x" * 2000)
    add = LogBuilder.add

    def interrupted(self: LogBuilder, record: Record) -> None:
        if record.line == 600:
            raise KeyboardInterrupt
        add(self, record)

    monkeypatch.setattr(LogBuilder, "add", interrupted)
    monkeypatch.setattr(sys, "stderr", terminal)
    stopped = r"^Reading was stopped at 1 of 2 MB, in samples_t\.jsonl; nothing is kept\.$"
    with pytest.raises(KeyboardInterrupt, match=stopped):
        read(path, person="m")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_an_error_leaves_no_line_and_frees_it(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = samples(tmp_path, 1000)
    path.write_bytes(path.read_bytes()[:-5])
    monkeypatch.setattr(sys, "stderr", terminal)
    for _ in range(2):
        with pytest.raises(DataError, match="line 1000 is no JSON"):
            read(path, person="m")
        assert terminal.getvalue().endswith("\r\x1b[K")
        assert terminal.getvalue().count("reading: 0 of") >= 1
        terminal.truncate(0)


def test_columns_of_texts_could_hold_anything(tmp_path: Path) -> None:
    """Texts of responses are overwritten in the file: what is read is the same, so they were not."""
    path = tmp_path / "train-00000.parquet"
    rows = [
        {
            "response_id": f"b_20260101T000000Z_{k}_m_0",
            "model": {"name": "m"},
            "response_content": ["text " * 200 + str(k)],
            "scores": {"metric": [{"name": "em", "models": []}], "value": [k % 2 * 1.0]},
        }
        for k in range(50)
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    whole = read(path)
    group = parquet.ParquetFile(path).metadata.row_group(0)
    raw = bytearray(path.read_bytes())
    (text,) = [
        c for c in map(group.column, range(group.num_columns)) if c.path_in_schema.startswith("response_content")
    ]
    start = text.dictionary_page_offset or text.data_page_offset
    raw[start : start + text.total_compressed_size] = b"\xff" * text.total_compressed_size
    path.write_bytes(raw)
    with pytest.raises(OSError, match=r"."):  # what pyarrow says differs between versions
        parquet.read_table(path)
    found = read(path)
    assert isinstance(whole, Responses)
    assert isinstance(found, Responses)
    assert found.successes.tolist() == whole.successes.tolist() == [[k % 2 for k in range(50)]]


def test_texts_inside_of_others_are_read_from_several_row_groups(tmp_path: Path) -> None:
    """Arrow joins no dictionaries of nested columns: 100 systems with 300 items each, in groups of 3,000 rows."""
    rows = [
        {
            "response_id": f"bench_20260101T000000Z_{item}_system-{system}_0",
            "model": {"name": f"system-{system}"},
            "scores": {"metric": [{"name": "em"}], "value": [float((item + system) % 2)]},
        }
        for item in range(300)
        for system in range(100)
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "train-00000.parquet", row_group_size=3_000)
    found = read(tmp_path / "train-00000.parquet")
    assert isinstance(found, Responses)
    assert found.trials.shape == (100, 300)
    assert found.successes.sum() == 15_000


def test_parquet_that_unpacks_too_far_is_refused_unread(tmp_path: Path) -> None:
    """A few kilobytes of equal rows, of which the footer says how many there are."""
    path = tmp_path / "long.parquet"

    def equal(value: Any, rows: int) -> Any:
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(rows, np.int32)), pyarrow.array([value]))

    def put_and_read(rows: int) -> None:
        columns = {"system": equal("a", rows), "item": equal("q", rows), "score": equal(1, rows)}
        parquet.write_table(pyarrow.table(columns), path, row_group_size=1 << 30)
        read(path, duplicates="trials")

    put_and_read(1 << 20)
    with pytest.raises(
        DataError, match=r"long\.parquet has \d+ bytes and unpacks to 288 MB: 12582912 rows of 3 columns"
    ):
        put_and_read(12 << 20)


def test_parquet_of_which_a_page_is_passed_over_is_refused(tmp_path: Path) -> None:
    """The kind of the first page is damaged: Arrow gives no rows then, and no error."""
    path = tmp_path / "response.parquet"
    rows = [
        {"response_id": f"b_20260101T000000Z_{k}_m_0", "model": {"name": "m"}, "response_content": ["a"],
         "scores": [{"metric": {"name": "em", "models": []}, "value": k % 2 * 1.0}]}
        for k in range(5)
    ]  # fmt: skip
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, write_page_checksum=True)
    assert len(read_log(path)) == 5
    raw = bytearray(path.read_bytes())
    assert raw[4:6] == b"\x15\x04"  # a page of texts
    raw[5] = 6
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"response\.parquet gives 0 of its 5 rows"):
        read_log(path)


def test_parquet_whose_columns_have_two_names_is_refused(tmp_path: Path) -> None:
    """One bit of the footer, which has no checksum: an item would have another name."""
    path = tmp_path / "wide.parquet"
    parquet.write_table(pyarrow.table({"system": ["a", "b"], "q1": [0, 1], "q2": [1, 0]}), path)
    raw = path.read_bytes()
    for place in (raw.index(b"q2"), raw.index(b"q2", raw.index(b"q2") + 1)):
        path.write_bytes(raw[:place] + b"q6" + raw[place + 2 :])
        with pytest.raises(DataError, match=r"calls column 3 both 'q[26]' and 'q[26]': its footer is damaged"):
            read(path)
    path.write_bytes(raw)
    assert read(path).item_ids == ("q1", "q2")


@pytest.mark.parametrize(("ratio", "told"), [(400, ""), (20, "unpacks to 6 MB")])
def test_parquet_of_many_bytes_is_held_to_a_smaller_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ratio: int, told: str
) -> None:
    rng = np.random.default_rng(1)
    table = pyarrow.table(
        {"system": [f"s{k}" for k in range(9_000)]} | {f"q{j}": rng.integers(0, 2, 9_000) for j in range(99)}
    )
    parquet.write_table(table, tmp_path / "wide.parquet")
    monkeypatch.setattr(parquet_files, "BOUNDS", ((1 << 30, 1), (4 << 20, ratio)))
    if not told:
        assert len(read(tmp_path / "wide.parquet").item_ids) == 99
        return
    with pytest.raises(DataError, match=told):
        read(tmp_path / "wide.parquet")


def test_codes_are_combined_as_pairs_are() -> None:
    rng = np.random.default_rng(3)
    for n in (0, 1, 500):
        columns: list[Any] = [
            rng.integers(-1, 40, n), np.broadcast_to(np.int32(7), n), rng.integers(0, 9, n).astype(np.int8)
        ]  # fmt: skip
        for chosen in (columns, columns[:1], columns[1:2], columns[1:]):
            rows = list(zip(*(c.tolist() for c in chosen), strict=True))
            for found in (combined(*chosen), groups(*[np.maximum(c, 0) for c in chosen])):
                assert len(found) == n
            key = combined(*chosen).tolist()
            assert len(set(key)) == len(set(rows)) == len(set(zip(key, rows, strict=True)))
            positive = [np.maximum(c, 0) for c in chosen]
            group = groups(*positive).tolist()
            rows = list(zip(*(c.tolist() for c in positive), strict=True))
            assert len(set(group)) == len(set(rows)) == len(set(zip(group, rows, strict=True)))

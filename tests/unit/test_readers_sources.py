"""Opening files with bounds, and recognising formats by content."""

from __future__ import annotations

import copy
import gzip
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses import unpacking
from psychoeval.responses.readers import sources
from psychoeval.responses.readers.formats import FORMATS, format_named, recognize
from psychoeval.responses.readers.reading import read, read_log
from psychoeval.responses.readers.shape import shape_of
from psychoeval.responses.readers.sources import Source, find_files, open_source

LOG = {"status": "success", "eval": {"model": "m", "task": "t"}, "plan": {}, "samples": []}
GOOD = json.dumps(
    LOG | {"samples": [{"id": 1, "epoch": 1, "input": "q", "scores": {"match": {"value": "C"}}}]}
).encode()


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_folders_globs_and_files_each_once_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("a.json", "b.json", "sub/c.json", ".hidden/d.json", "sub/.e.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, b"{}")
    found = find_files([tmp_path / "b.json", tmp_path, str(tmp_path / "*.json")])
    assert [p.name for p in found] == ["b.json", "a.json", "c.json"]
    with pytest.raises(DataError, match="does not exist"):
        find_files([tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no file"):
        find_files([tmp_path / "empty"])


@pytest.mark.parametrize("name", ["log.pkl", "log.json", "log.json.gz"])
def test_pickles_are_refused_and_not_run(tmp_path: Path, name: str) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (Path(tmp_path / "ran"),))  # type: ignore[return-value]

    raw = pickle.dumps(Trap())
    path = write(tmp_path / name, gzip.compress(raw) if name.endswith("gz") else raw)
    with pytest.raises(DataError, match="is a pickle"):
        read(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[" * 200_000, "no known log format|nested too deeply"),
        (GOOD[:-1] + b', "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (GOOD[:-1] + b', "x": ' + b"9" * 5_000 + b"}", "a number that cannot be read"),
        (GOOD[:-4], "is no JSON"),
        (GOOD.replace(b'"q"', b'"\xff"'), "is not UTF-8"),
        (b"", "is empty"),
        (b"\0" * 100, "no known log format"),
    ],
    ids=["brackets", "deep", "digits", "cut", "bytes", "empty", "zeros"],
)
def test_what_is_no_log_is_refused_with_its_name(tmp_path: Path, content: bytes, problem: str) -> None:
    path = write(tmp_path / "log.json", content)
    with pytest.raises(DataError, match=problem) as refused:
        read(path)
    assert "log.json" in str(refused.value)


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    assert read(write(tmp_path / "log.json", b"\xef\xbb\xbf" + GOOD)).person_ids == ("m",)


def test_gzip_is_read_and_a_cut_one_named(tmp_path: Path) -> None:
    packed = gzip.compress(GOOD)
    assert read(write(tmp_path / "log.json.gz", packed)).person_ids == ("m",)
    with pytest.raises(DataError, match=r"cut\.json\.gz cannot be read"):
        read(write(tmp_path / "cut.json.gz", packed[:-12]))


def test_files_larger_than_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "log.json", GOOD)
    monkeypatch.setattr(sources, "MAX_WHOLE", 64)
    with pytest.raises(DataError, match="is larger than"):
        read(path)


def test_an_archive_that_unpacks_too_far_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "bomb.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("_journal/start.json", "{}")
        out.writestr("samples/1_epoch_1.json", b" " * (64 << 20))
    with pytest.raises(DataError, match="unpacks to"):
        read(path)


def test_names_in_an_archive_are_never_paths(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("header.json", json.dumps({k: v for k, v in LOG.items() if k != "samples"}))
        out.writestr("samples/../../../evil_epoch_1.json", json.dumps(json.loads(GOOD)["samples"][0]))
    assert read(path).person_ids == ("m",)
    assert [p.name for p in tmp_path.iterdir()] == ["log.eval"]


def test_a_file_of_two_formats_is_asked_about() -> None:
    both = {"eval": {}, "status": "success", "results": {}, "configs": {}}
    source = Source(Path("log.json"), json.dumps(both).encode())
    with pytest.raises(DataError, match="could be lm-eval results or inspect") as refused:
        recognize(source)
    assert "format=" in refused.value.remedy


def test_format_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", GOOD)
    assert read(path, format="inspect").person_ids == ("m",)
    with pytest.raises(SettingsError, match="no log format 'xml'"):
        read(path, format="xml")
    with pytest.raises(SettingsError, match="no log format"):
        format_named("lm-eval results")


def test_names_of_formats_differ() -> None:
    assert len({f.name for f in FORMATS}) == len(FORMATS)


def test_unknown_files_are_passed_over_in_a_folder_and_counted(tmp_path: Path) -> None:
    write(tmp_path / "log.json", GOOD)
    write(tmp_path / "notes.md", b"# notes")
    assert any("1 files of no known format were passed over" in n for n in read_log(tmp_path).notes)
    (tmp_path / "log.json").unlink()
    with pytest.raises(DataError, match="None of 1 files is of a known log format"):
        read(tmp_path)


def test_shapes(tmp_path: Path) -> None:
    def shape(content: bytes) -> tuple[str, set[str], set[str]]:
        found = shape_of(open_source(write(tmp_path / "x", content)))
        return found.kind, set(found.keys), set(found.inner)

    assert shape(b' {"a": {"b": [{"c": 1}]}, "d": "}{"}') == ("object", {"a", "d"}, {"b"})
    assert shape(b'{"a": 1}\n{"b": 2}\n') == ("lines", {"a"}, set())
    assert shape(b'[{"a": "\\"x\\": 1", "b": {"c": 1}}, {"e": 1}]') == ("array", {"a", "b"}, {"c"})
    assert shape(b"a,b\n1,2\n") == ("text", set(), set())
    assert shape(b"PAR1....") == ("parquet", set(), set())


def test_linked_folders_are_read_once_and_loops_end(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    write(outside / "log.json", GOOD)
    (inside / "link").symlink_to(outside)
    (inside / "again").symlink_to(outside)
    (outside / "loop").symlink_to(inside)
    assert [p.name for p in find_files([inside])] == ["log.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_are_refused_and_do_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(DataError, match="is no plain file"):
        read_log(tmp_path / "pipe.json")


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "log.json", GOOD)

    def refused(top: object, onerror: Any, followlinks: bool) -> list[object]:
        onerror(PermissionError(13, "Permission denied", str(tmp_path / "secret")))
        return []

    monkeypatch.setattr(sources.os, "walk", refused)
    with pytest.raises(DataError, match=r"secret cannot be read: Permission denied"):
        find_files([tmp_path])


def test_an_empty_path_and_what_is_no_path_are_refused() -> None:
    with pytest.raises(DataError, match="A path is empty"):
        read_log("")
    with pytest.raises(SettingsError, match="A path is None"):
        read_log([None])  # type: ignore[list-item]


def test_a_damaged_gzip_head_is_named(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(GOOD))
    packed[12:20] = bytes(8)
    with pytest.raises(DataError, match=r"log\.json\.gz cannot be read"):
        read_log(write(tmp_path / "log.json.gz", bytes(packed)))


@pytest.mark.parametrize("name", ["data.csv.gz", "samples_t.jsonl.gz", "log.json.gz"])
def test_gzip_that_unpacks_farther_than_any_log_is_refused(tmp_path: Path, name: str) -> None:
    """One bound for tables and logs; below its floor, and where text repeats as in logs, files are read."""
    start = {"data.csv.gz": b"system,item,score\na,b,1\n", "log.json.gz": b'{"eval": {}, "plan": ['}
    content = start.get(name, json.dumps({"doc_id": 1, "doc": {}, "resps": [], "acc": 1}).encode() + b"\n")
    path = write(tmp_path / name, gzip.compress(content + b" " * (2 * unpacking.RATIO_FROM)))
    with pytest.raises(DataError, match=r"unpacks to more than 8 MB: .* \(gunzip\)") as refused:
        read(path, **({"person": "m"} if "jsonl" in name else {}))
    assert name in str(refused.value)


def test_text_that_repeats_as_in_logs_is_read_from_gzip(tmp_path: Path) -> None:
    """A prompt in every row, farther back than deflate needs no bits to say: as far as real logs can be packed."""
    prompt = "".join(f"example {k}: {k * k}. " for k in range(60))
    rows = [
        {"doc_id": k, "doc": {"q": k}, "arguments": [[prompt]] * 20, "resps": [["y"]], "metrics": ["acc"], "acc": k % 2}
        for k in range(600)
    ]
    raw = "".join(json.dumps(r) + "\n" for r in rows).encode()
    path = write(tmp_path / "samples_t.jsonl.gz", gzip.compress(raw))
    assert len(raw) > unpacking.RATIO_FROM
    assert 100 < len(raw) / path.stat().st_size < unpacking.MAX_RATIO
    assert len(read(path, person="m").item_ids) == 600


def test_damaged_gzip_of_tables_names_the_file(tmp_path: Path) -> None:
    """Wrong lengths and codes are `zlib.error`, which is no OSError."""
    raw = bytearray(gzip.compress(b"system,item,score\n" + os.urandom(3000).hex().encode(), mtime=0))
    raw[10:30] = b"\xff" * 20
    with pytest.raises(DataError, match=r"data\.csv\.gz cannot be read"):
        read(write(tmp_path / "data.csv.gz", bytes(raw)))


@pytest.mark.parametrize(
    ("name", "start", "kind"),
    [
        ("log.eval.gz", b"PK\x03\x04_journal/start.json", "a zip archive"),
        ("train.parquet.gz", b"PAR1", "Parquet"),
        ("data.csv.gz", b"PAR1", "Parquet"),
        ("log.json.gz.gz", gzip.compress(GOOD), "gzip"),
    ],
)
def test_what_is_no_text_within_gzip_is_named(tmp_path: Path, name: str, start: bytes, kind: str) -> None:
    path = write(tmp_path / name, gzip.compress(start + b"\n"))
    with pytest.raises(DataError, match=rf"holds {kind}"):
        read(path)
    write(tmp_path / "log.json", GOOD)
    assert any(name in note for note in read_log(tmp_path).notes)


def test_gzip_by_another_name_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds gzip") as refused:
        read(write(tmp_path / "log.json", gzip.compress(GOOD)))
    assert ".gz" in refused.value.remedy


def test_an_archive_of_many_members_that_unpack_far_is_refused(tmp_path: Path) -> None:
    """Each below what one may be; all together a gigabyte in a megabyte."""
    path = tmp_path / "log.eval"
    member = b" " * (unpacking.RATIO_FROM // 2)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", json.dumps(LOG))
        for k in range(3):
            out.writestr(f"samples/{k}_epoch_1.json", member)
    with pytest.raises(DataError, match=r"log\.eval unpacks to 12 MB"):
        read(path)


def test_members_that_overlap_are_refused(tmp_path: Path) -> None:
    """Many members that are the same bytes of the file: each is read, though the file is small."""
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("samples/0_epoch_1.json", os.urandom(1000))
        for k in range(1, 9):
            again = copy.copy(out.filelist[0])
            again.filename = f"samples/{k}_epoch_1.json"
            again.header_offset += k % 2  # also not just at one place
            out.filelist.append(again)
    with pytest.raises(DataError, match=r"log\.eval has members that overlap"):
        read(path)


def test_members_packed_as_no_log_is_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_BZIP2) as out:
        out.writestr("header.json", "{}")
    with pytest.raises(DataError, match="packed by method 12"):
        read(tmp_path / "log.eval")


def test_only_companions_are_named(tmp_path: Path) -> None:
    folder = tmp_path / ("long name of a folder " * 5)
    folder.mkdir()
    write(folder / "run_spec.json", json.dumps({"adapter_spec": {}, "scenario_spec": {}}).encode())
    write(folder / "scenario.json", json.dumps({"name": "s", "description": "", "tags": []}).encode())
    with pytest.raises(DataError, match=r"only helm run files \('run_spec\.json'\) among 2 files"):
        read(folder)

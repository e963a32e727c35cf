"""JSON that is damaged or hostile: each fault has its place."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.readers import json_values
from psychoeval.responses.readers.fields import content_hash
from psychoeval.responses.readers.json_values import parse_json
from psychoeval.responses.readers.reading import read
from psychoeval.responses.readers.shape import shape_of
from psychoeval.responses.readers.sources import Source
from psychoeval.responses.readers.yaml_table import looks_like_yaml


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ('{"a": 1, "a": 1}', "a", 1),
        ('{"a": {"b": 1},\n "c": [{"b": 1, "x": "\\"b\\":"},\n  {"b": 2,\n "b": 3}]}', "b", 4),
        ('{"a": 1,\n"\\u0061": 2}', "a", 2),
        ('[{"score": 1}, {"score": 1,\n "score": {"score": 0}}]', "score", 2),
    ],
)
def test_a_key_twice_in_one_object_is_named_with_its_line(text: str, key: str, line: int) -> None:
    with pytest.raises(DataError, match=rf"log: has the key '{key}' twice in one object \(line {line} of it\)"):
        parse_json(text.encode(), "log:")


def test_one_key_in_two_objects_is_no_matter() -> None:
    assert parse_json(b'[{"a": 1}, {"a": {"a": 2}}]', "") == [{"a": 1}, {"a": {"a": 2}}]


def test_values_of_three_bytes_that_take_a_hundred_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "_SMALL", 1 << 10)
    monkeypatch.setattr(json_values, "MAX_HELD", 4 << 20)
    assert len(parse_json(b'["' + b"x" * 3_000_000 + b'"]', "")[0]) == 3_000_000
    with pytest.raises(DataError, match=r"log holds so many values that they could take \d+ MB"):
        parse_json(b"[" + b"{}," * 30_000 + b"0]", "log")


@pytest.mark.parametrize("depth", range(900, 1000, 9))
def test_what_can_just_be_read_is_hashed_or_refused_with_its_line(tmp_path: Path, depth: int) -> None:
    doc = "[" * depth + "]" * depth
    row = json.dumps({"doc_id": 0, "doc": "@", "filter": "none", "metrics": ["acc"], "acc": 1.0}).replace('"@"', doc)
    path = tmp_path / "samples_t.jsonl"
    path.write_text(row + "\n")
    problem = ""
    try:
        read(path, person="m")
    except DataError as error:
        problem = error.problem
    assert problem in ("", f"{path}, line 1 is nested too deeply.")


def test_a_value_too_deep_to_be_written_has_its_place() -> None:
    value: list[object] = []
    for _ in range(200_000):  # Python 3.12 and later write 5,000 levels
        value = [value]
    with pytest.raises(DataError, match=r"log, line 3 is nested too deeply"):
        content_hash(value, "log, line 3")


@pytest.mark.parametrize("unit", [b"\n", b" \n", b"\r\n", b"---\n", b"# \n", b"- ", b'\\"', b'"', b'{"', b'"\\', b"\\"])
@pytest.mark.parametrize("front", [b"", b"{", b'{"', b"- "])
def test_the_head_of_a_file_is_searched_once(front: bytes, unit: bytes) -> None:
    head = (front + unit * 65_536)[:65_536]
    began = time.process_time()
    looks_like_yaml(head)
    shape_of(Source(Path("log.json"), head))
    assert time.process_time() - began < 1

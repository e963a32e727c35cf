"""Fields of logs: numbers, failures, dates, names."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.readers.fields import (
    content_hash,
    day,
    failure,
    first_line,
    known_number,
    number,
    system_of_file,
)
from psychoeval.responses.readers.reading import read_log
from psychoeval.responses.readers.sources import Source

GIGANTIC = 10**400


def test_numbers_and_truth_values_alone_are_scores() -> None:
    assert [number(v, "here", "it") for v in (True, 0, 0.5)] == [1.0, 0.0, 0.5]
    for value, named in ((None, "it is nothing"), ("1", "it is '1'"), ([1], "not a number"), (GIGANTIC, "308 digits")):
        with pytest.raises(DataError, match=rf"^here: .*{named}"):
            number(value, "here", "it")
    assert known_number(7) == 7.0
    assert all(math.isnan(known_number(v)) for v in (None, "7", True, GIGANTIC))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("samples_x.jsonl", {"doc_id": 0, "doc": 1, "resps": [], "filter": "none", "metrics": ["a"], "a": GIGANTIC}),
        ("log.json", {"eval": {"model": "m"}, "status": "success", "plan": {}, "samples": [
            {"id": 1, "input": "x", "scores": {"a": {"value": GIGANTIC}}}]}),
    ],
)  # fmt: skip
def test_a_gigantic_score_is_refused_with_its_place(tmp_path: Path, name: str, content: dict[str, Any]) -> None:
    (tmp_path / name).write_text(json.dumps(content) + "\n")
    with pytest.raises(DataError, match=rf"{name}, (line|sample) 1: a has more than 308 digits"):
        read_log(tmp_path, person="m")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [("stopped by the content_filter", "refused"), ("Refusal", "refused"), ("model refused to answer", "refused"),
     ("Connection refused", "errored"), ("timeout", "errored")],
)  # fmt: skip
def test_refusals_are_told_from_errors(error: str, outcome: str) -> None:
    assert failure(error) == outcome


def test_dates_hashes_and_first_lines() -> None:
    assert [day(s) for s in ("0", 86400.0, "2025-01-02", None, 1e300)] == [
        "1970-01-01",
        "1970-01-02",
        "2025-01-02",
        "",
        "",
    ]
    assert content_hash({"a": 1, "b": "\ud800"}, "") == content_hash({"b": "\ud800", "a": 1}, "")
    assert content_hash(["1"], "") != content_hash([1], "")
    assert (first_line("\nfirst\nsecond"), len(first_line("x" * 999))) == ("first", 200)


@pytest.mark.parametrize(
    ("path", "name"),
    [("/x/gpt-4.1.json", "gpt-4.1"), ("/x/gpt-4__results.json.gz", "gpt-4"), ("/x/sys/results/results.json", "sys"),
     ("/x/sys/final_report.json", "sys"), ("/x/a.jsonlines", "a"), ("/results.json", "")],
)  # fmt: skip
def test_a_system_is_named_by_its_file_or_folder(path: str, name: str) -> None:
    assert system_of_file(Source(Path(path), b"")) == name

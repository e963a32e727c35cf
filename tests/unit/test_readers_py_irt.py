"""JSONL of py-irt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.reading import read, read_log


def write(path: Path, *lines: tuple[Any, Any]) -> Path:
    path.write_text("".join(json.dumps({"subject_id": s, "responses": r}) + "\n" for s, r in lines))
    return path


def test_items_that_a_line_does_not_name_were_not_given(tmp_path: Path) -> None:
    path = write(tmp_path / "data.jsonlines", ("a", {"q1": 1, "q2": 0}), ("b", {"q2": True, "q3": 0.0}))
    assert set(read_log(path).formats.values()) == {"py-irt"}
    found = read(path)
    assert isinstance(found, Responses)
    assert found.person_ids == ("a", "b")
    assert found.successes.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found.trials.tolist() == [[1, 1, 0], [0, 1, 1]]


def test_one_line_numbers_for_names_fractions_and_nulls(tmp_path: Path) -> None:
    found = read(write(tmp_path / "data.jsonl", (7, {"q1": 0.25, "q2": None, "q3": 1})))
    assert isinstance(found, ContinuousResponses)
    assert found.person_ids == ("7",)
    assert any("1 unscored" in n for n in found.notes)


def test_a_system_without_responses_and_one_on_two_lines(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "a.jsonl", ("a", {"q1": 1}), ("b", {})))
    assert [d.n for d in log.dropped] == [1]
    twice = write(tmp_path / "b.jsonl", ("a", {"q1": 1}), ("a", {"q2": 0}))
    found = read(twice)
    assert isinstance(found, Responses)
    assert found.successes.tolist() == [[1, 0]]
    with pytest.raises(DataError, match=r"occur more than once.*line 1 and .*line 2"):
        read(write(tmp_path / "c.jsonl", ("a", {"q1": 1}), ("a", {"q1": 0})))


@pytest.mark.parametrize(
    ("subject", "responses", "named"),
    [(None, {"q": 1}, "subject_id is nothing"), ("b", [1], "responses is"), ("b", {"q": "yes"}, "the response to 'q'"),
     ("b", {"q": 10**400}, "more than 308 digits"), ("b", {"": 1}, "a response without an item")],
)  # fmt: skip
def test_a_broken_line_is_named(tmp_path: Path, subject: Any, responses: Any, named: str) -> None:
    with pytest.raises(DataError, match=rf"data\.jsonl, line 2: .*{named}"):
        read(write(tmp_path / "data.jsonl", ("a", {"q": 1}), (subject, responses)))

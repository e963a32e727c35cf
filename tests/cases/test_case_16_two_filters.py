"""Four documents, two filters, eight lines: one filter is asked for, and nothing is pooled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.reading import read

DATA = Path(__file__).parent / "data" / "16"
EXPECTED = json.loads((DATA / "expected.json").read_text())
LOG = DATA / "samples_arith.jsonl"


def test_the_filters_are_listed() -> None:
    with pytest.raises(DataError, match=r"2 filters: 'strict' \(4 rows\), 'flexible' \(4 rows\)"):
        read(LOG, person="A")


@pytest.mark.parametrize("name", ["strict", "flexible"])
def test_each_filter_has_four_items(name: str) -> None:
    found = read(LOG, person="A", filter=name)
    assert isinstance(found, Responses)
    assert found.n_items == 4
    assert found.proportions.mean() == EXPECTED[name]


def test_repeated_lines_are_reported_and_exact_apart_from_conflicting(tmp_path: Path) -> None:
    lines = LOG.read_text().splitlines()
    strict = [json.loads(text) for text in lines if json.loads(text)["filter"] == "strict"]
    again = [strict[0], strict[1] | {"exact_match": 1.0 - strict[1]["exact_match"]}]
    path = tmp_path / LOG.name
    path.write_text("".join(json.dumps(r) + "\n" for r in (*strict, *again)))
    with pytest.raises(DataError, match="1 rows repeating another exactly and 1 contradicting one"):
        read(path, person="A")

"""Eight samples, two of them crashed: 2 of 6 with errors missing, 2 of 8 with errors as wrong answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.reading import read, read_log

SAMPLES = json.loads((Path(__file__).parent / "data" / "10" / "eight_samples_two_errors.json").read_text())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return the eight samples as a log of Inspect."""

    def sample(given: dict[str, Any]) -> dict[str, Any]:
        judged = (
            {"error": {"message": "crashed"}}
            if given["score"] is None
            else {"scores": {"s": {"value": given["score"]}}}
        )
        return {"id": given["id"], "epoch": 1, "input": str(given["id"]), **judged}

    content = {
        "status": "success", "eval": {"model": "m", "task": "t"}, "plan": {}, "samples": [sample(s) for s in SAMPLES],
        "results": {"scores": [{"name": "s"}]},
    }  # fmt: skip
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(("errors", "right", "of"), [("missing", 2, 6), ("wrong", 2, 8)])
def test_mean(log: Path, errors: Any, right: int, of: int) -> None:
    found = read(log, errors=errors)
    assert isinstance(found, Responses)
    assert (found.successes.sum(), found.trials.sum()) == (right, of)


def test_errored_and_wrong_are_counted_apart(log: Path) -> None:
    assert read_log(log).outcomes() == {"scored": 6, "errored": 2}
    assert any("2 right, 4 wrong, 2 errored" in note for note in read(log).notes)

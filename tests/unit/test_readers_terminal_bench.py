"""Results of terminal-bench."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.log import records
from psychoeval.responses.readers.reading import read, read_log


def result(task: str, verdict: bool | None = True, attempt: str = "1-of-1.run1", **more: Any) -> dict[str, Any]:
    return {
        "id": f"{task}{attempt}", "trial_name": f"{task}.{attempt}", "task_id": task, "is_resolved": verdict,
        "failure_mode": "unset", "parser_results": {"test": "passed"}, "total_input_tokens": 5,
        "total_output_tokens": 2, "trial_started_at": "2025-09-24T00:32:51+00:00",
    } | more  # fmt: skip


def write(path: Path, results: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = [r.get("task_id") for r in results]
    content = {"id": "x", "results": results, "n_resolved": 1, "resolved_ids": ids, "unresolved_ids": []}
    raw = json.dumps(content).encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def test_no_verdict_is_no_failure(tmp_path: Path) -> None:
    path = write(
        tmp_path / "agent" / "results.json.gz",
        [result("a"), result("b", False, failure_mode="agent_timeout"), result("c", None, failure_mode="test_timeout"),
         result("d", None)],
    )  # fmt: skip
    log = read_log(path)
    assert set(log.formats.values()) == {"terminal-bench"}
    assert [(r.item, r.outcome, r.error) for r in records(log)] == [
        ("a", "scored", ""), ("b", "scored", "agent_timeout"), ("c", "errored", "test_timeout"), ("d", "unscored", ""),
    ]  # fmt: skip
    assert log.levels("person") == {"agent": 4}
    found = read(path)
    assert isinstance(found, Responses)
    assert (found.successes.tolist(), found.trials.tolist()) == ([[1, 0, 0, 0]], [[1, 1, 0, 0]])


def test_attempts_and_runs_are_trials_of_one_system(tmp_path: Path) -> None:
    write(tmp_path / "r1" / "results.json", [result("a", True, "1-of-2.r1"), result("a", False, "2-of-2.r1")])
    write(tmp_path / "r2" / "results.json", [result("a", True, "1-of-2.r2"), result("a", None, "2-of-2.r2")])
    found = read(tmp_path, person="agent")
    assert isinstance(found, Responses)
    assert (found.successes.tolist(), found.trials.tolist()) == ([[2]], [[3]])


def test_a_run_names_agent_and_model_beside_it_and_its_trials_are_not_read_twice(tmp_path: Path) -> None:
    write(tmp_path / "r1" / "results.json", [result("a")])
    about = {"run_id": "r1", "agent_name": "terminus", "model_name": "org/m"}
    (tmp_path / "r1" / "run_metadata.json").write_text(json.dumps(about))
    trial = tmp_path / "r1" / "a" / "a.1-of-1.r1"
    trial.mkdir(parents=True)
    (trial / "results.json").write_text(json.dumps(result("a")))
    log = read_log(tmp_path)
    assert log.levels("person") == {"terminus org/m": 1}
    assert not log.notes


def test_tokens_that_nobody_counted_are_unknown(tmp_path: Path) -> None:
    uncounted: dict[str, Any] = {"total_input_tokens": 0, "total_output_tokens": 0}
    log = read_log(write(tmp_path / "m.json", [result("a"), result("b", **uncounted)]))
    tokens = log.numbers["tokens"].tolist()
    assert tokens[0] == 7
    assert tokens[1] != tokens[1]
    assert log.levels("date") == {"2025-09-24": 2}


@pytest.mark.parametrize(
    ("broken", "named"), [({"is_resolved": 1}, "is_resolved is '1', not true or false"), ({"task_id": None}, "task_id")]
)
def test_a_broken_result_is_named(tmp_path: Path, broken: dict[str, Any], named: str) -> None:
    with pytest.raises(DataError, match=rf"result 2: {named}"):
        read(write(tmp_path / "m.json", [result("a"), result("b") | broken]))
    lacking = result("b")
    del lacking["is_resolved"]
    with pytest.raises(DataError, match="result 2: is_resolved is 'missing'"):
        read(write(tmp_path / "m.json", [result("a"), lacking]))
    with pytest.raises(DataError, match="holds no result"):
        read(write(tmp_path / "m.json", []), format="terminal-bench")

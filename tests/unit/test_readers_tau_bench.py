"""Trajectories of tau-bench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.reading import read, read_log


def entry(task: int, reward: Any = 1.0, trial: int = 0, domain: str = "airline") -> dict[str, Any]:
    info = {"task": {"user_id": f"{domain}{task}", "instruction": f"Change flight {task}."}, "user_cost": 0.1}
    return {"task_id": task, "reward": reward, "info": info, "traj": [{"role": "user"}], "trial": trial}


def broken(task: int, error: str = "rate limit", trial: int = 0) -> dict[str, Any]:
    return {"task_id": task, "reward": 0.0, "info": {"error": error, "traceback": "..."}, "traj": [], "trial": trial}


def write(path: Path, entries: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(entries))
    return path


def counts(path: Path, **options: Any) -> Responses:
    found = read(path, **options)
    assert isinstance(found, Responses)
    return found


def test_trials_of_a_task_are_counted(tmp_path: Path) -> None:
    entries = [entry(0), entry(1, 0.0), entry(0, 0.0, trial=1), entry(1, 0.0, trial=1)]
    found = counts(write(tmp_path / "gpt-9-airline.json", entries))
    assert found.person_ids == ("gpt-9-airline",)
    assert (found.successes.tolist(), found.trials.tolist()) == ([[1, 0]], [[2, 2]])
    assert any("names of their files" in n for n in found.notes)


def test_a_run_that_broke_off_is_no_failure(tmp_path: Path) -> None:
    path = write(tmp_path / "m.json", [entry(0), broken(0, trial=1), broken(1, "blocked by the content filter")])
    assert read_log(path).outcomes() == {"scored": 1, "errored": 1, "refused": 1}
    found = counts(path)
    assert found.item_ids == ("0", "1")
    assert found.trials.tolist() == [[1, 0]]


def test_a_system_all_of_whose_runs_broke_off_has_the_same_items(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [entry(0), entry(1)])
    write(tmp_path / "b.json", [broken(0), broken(1)])
    found = counts(tmp_path, errors="wrong")
    assert found.item_ids == ("0", "1")
    assert found.successes.tolist() == [[1, 1], [0, 0]]


def test_tasks_of_two_domains_share_ids_and_not_items(tmp_path: Path) -> None:
    write(tmp_path / "m-airline.json", [entry(0)])
    write(tmp_path / "m-retail.json", [entry(0, 0.0, domain="retail")])
    found = counts(tmp_path, person="m")
    assert found.n_items == 2
    assert all(i.startswith("0#") for i in found.item_ids)


@pytest.mark.parametrize(
    ("reward", "named"), [(None, "reward is nothing"), (2, "reward is 2, not within 0 and 1"), ("1", "not a number")]
)
def test_a_broken_reward_is_named(tmp_path: Path, reward: Any, named: str) -> None:
    with pytest.raises(DataError, match=rf"m\.json, entry 2: .*{named}"):
        read(write(tmp_path / "m.json", [entry(0), entry(1, reward)]))

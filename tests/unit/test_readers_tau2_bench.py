"""Runs of tau2-bench; the logs are written by hand after its data model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.log import records
from psychoeval.responses.readers.reading import read, read_log


def simulation(
    task: str, reward: Any = 1.0, trial: int | None = 0, end: str = "user_stop", **more: Any
) -> dict[str, Any]:
    return {
        "id": f"{task}-{trial}", "task_id": task, "timestamp": "2025-08-01T10:00:00", "duration": 9.5,
        "termination_reason": end, "agent_cost": 0.25, "user_cost": 0.1,
        "reward_info": None if reward is None else {"reward": reward, "reward_basis": ["DB"], "info": None},
        "messages": [{"role": "user", "content": "Hello"}], "trial": trial,
    } | more  # fmt: skip


def run(
    simulations: list[dict[str, Any]], *, llm: str = "m1", domain: str = "airline", told: str = ""
) -> dict[str, Any]:
    info = {
        "git_commit": "0", "num_trials": 2, "max_steps": 100, "max_errors": 10,
        "user_info": {"implementation": "user_simulator", "llm": "u1"},
        "agent_info": {"implementation": "llm_agent", "llm": llm},
        "environment_info": {"domain_name": domain, "policy": "Be kind."},
    }  # fmt: skip
    tasks = [
        {"id": t, "user_scenario": {"persona": None, "instructions": {"reason_for_call": f"{domain} {t}{told}"}}}
        for t in dict.fromkeys(s["task_id"] for s in simulations)
    ]
    return {"timestamp": "2025-08-01", "info": info, "tasks": tasks, "simulations": simulations}


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def counts(path: Path, **options: Any) -> Responses:
    found = read(path, **options)
    assert isinstance(found, Responses)
    return found


def test_trials_of_a_task_are_counted_and_the_model_is_the_system(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.json",
        run([simulation("0"), simulation("1", 0.0), simulation("0", 0.0, 1), simulation("1", 0.0, 1)]),
    )
    found = counts(path)
    assert (found.person_ids, found.item_ids) == (("m1",), ("0", "1"))
    assert (found.successes.tolist(), found.trials.tolist()) == ([[1, 0]], [[2, 2]])
    first = next(records(read_log(path)))
    assert (first.benchmark, first.cost, first.date) == ("tau2-bench airline", 0.25, "2025-08-01")


def test_what_broke_a_run_off_is_no_failure_and_what_the_agent_did_is(tmp_path: Path) -> None:
    others = ("infrastructure_error", "unexpected_error", "user_error", "context_window_exceeded")
    own = ("max_steps", "too_many_errors", "agent_error", "timeout", "agent_stop")
    crashed = {"reward": 0.0, "info": {"error": "KeyError: 'x'\ntraceback"}}
    runs = [simulation(end, 0.0, end=end) for end in (*others, *own)]
    runs += [simulation("none", None), simulation("judge", 0.0, reward_info=crashed)]
    log = read_log(write(tmp_path / "x.json", run(runs)))
    assert log.outcomes() == {"scored": 5, "unscored": 1, "errored": 5}
    assert {r.item for r in records(log) if r.outcome == "scored"} == set(own)
    assert log.levels("error")["KeyError: 'x'"] == 1
    assert counts(tmp_path / "x.json", errors="wrong").trials.sum() == 11


def test_tasks_of_two_domains_and_of_two_versions_share_ids_and_not_items(tmp_path: Path) -> None:
    write(tmp_path / "a.json", run([simulation("0")]))
    write(tmp_path / "b.json", run([simulation("0", 0.0)], domain="retail"))
    assert set(counts(tmp_path).item_ids) == {"tau2-bench airline/0", "tau2-bench retail/0"}
    write(tmp_path / "b.json", run([simulation("0", 0.0)], llm="m2", told=", corrected"))
    assert all(i.startswith("0#") for i in counts(tmp_path).item_ids)
    write(tmp_path / "b.json", run([simulation("0", 0.0)], llm="m2"))
    assert counts(tmp_path).successes.tolist() == [[1], [0]]


def test_a_run_with_files_of_its_simulations_is_read_from_its_index(tmp_path: Path) -> None:
    runs = [simulation("0"), simulation("1", 0.0), simulation("2", 0.0, end="infrastructure_error")]
    index = [
        {"id": r["id"], "task_id": int(r["task_id"]), "trial": 0, "reward": r["reward_info"]["reward"],
         "termination_reason": r["termination_reason"], "agent_cost": None} for r in runs
    ]  # fmt: skip
    whole = run(runs)
    whole["info"]["agent_info"]["llm"] = None
    whole["info"]["audio_native_config"] = {"provider": "p", "model": "speech-1"}
    write(
        tmp_path / "results.json", {k: v for k, v in whole.items() if k != "simulations"} | {"simulation_index": index}
    )
    for r in runs:
        write(tmp_path / "simulations" / f"{r['id']}.json", r)
    found = counts(tmp_path)
    assert (found.person_ids, found.trials.tolist()) == (("speech-1",), [[1, 1, 0]])
    with pytest.raises(DataError, match="tau2-bench simulations") as refused:
        read(tmp_path / "simulations")
    assert "results.json" in refused.value.remedy


def test_another_agent_of_the_same_model_is_another_system(tmp_path: Path) -> None:
    write(tmp_path / "a.json", run([simulation("0")]))
    solo = run([simulation("0", 0.0)])
    solo["info"]["agent_info"]["implementation"] = "llm_agent_solo"
    write(tmp_path / "b.json", solo)
    assert counts(tmp_path).person_ids == ("m1", "llm_agent_solo m1")
    nameless = run([simulation("0")])
    nameless["info"]["agent_info"] = {"implementation": "llm_agent", "llm": None}
    assert counts(write(tmp_path / "mine.json", nameless)).person_ids == ("mine",)
    assert counts(tmp_path / "mine.json", person="you").person_ids == ("you",)


def test_a_long_policy_before_the_simulations_hides_nothing(tmp_path: Path) -> None:
    content = run([simulation("0")])
    content["info"]["environment_info"]["policy"] = "Be kind. " * 20_000
    assert counts(write(tmp_path / "x.json", content)).n_items == 1


def test_a_run_without_simulations_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.json holds no simulation"):
        read(write(tmp_path / "x.json", run([])))


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        ({"task_id": None}, "task_id is nothing"),
        ({"reward_info": {"reward": 2}}, "reward is 2, not within 0 and 1"),
        ({"reward_info": {"reward": "1"}}, "not a number"),
    ],
)
def test_a_broken_simulation_is_named(tmp_path: Path, broken: dict[str, Any], named: str) -> None:
    content = run([simulation("0"), simulation("1")])
    content["simulations"][1] |= broken
    with pytest.raises(DataError, match=rf"x\.json, simulations 2: .*{named}"):
        read(write(tmp_path / "x.json", content))

"""tau2-bench: one JSON object of a run, its simulations one a task and trial with a reward.

``info`` names the agent's model and the domain. Runs with voice keep the simulations in files of their own, and in
``results.json`` their rewards (``simulation_index``). Task ids are positions within a domain and tasks were corrected
since, so tasks are told apart by what the simulated user was told. A run that the environment, the simulated user or a
context window broke off is no failure of the system: it has ``reward`` 0 (tau2-bench counts a broken user as wrong).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.readers.fields import content_hash, first_line, known_number, number, system
from psychoeval.responses.readers.log import LogBuilder, Record, Scale
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import NoSamplesError, Source, need, read_json

_METRIC: Final = "reward"
_BENCHMARK: Final = "tau2-bench"
#: Ends of a run that say nothing about the system; the others (``max_steps``, ``agent_error``, ...) are its own doing.
_NO_FAILURES: Final = ("infrastructure_error", "unexpected_error", "user_error", "context_window_exceeded")
#: Implementations of the agent that go without saying.
_PLAIN_AGENTS: Final = ("", "llm_agent")


def is_results(source: Source, shape: Shape) -> bool:
    """Whether a file holds a run; tasks and simulations may lie beyond its head."""
    return shape.kind == "object" and shape.has("info") and {"user_info", "agent_info"} <= shape.inner


def is_simulation(source: Source, shape: Shape) -> bool:
    """Whether a file is one simulation of a run, which ``results.json`` lists."""
    return shape.kind == "object" and shape.has("id", "task_id", "termination_reason")


def read_results(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read a run; the system is the agent's model, else the option ``person`` or named by the file.

    Raises
    ------
    DataError
        If a simulation lacks its task, or its reward is no number from 0 to 1; with the simulation.
    """
    content = need(read_json(source), dict, source.place, "the file")
    info = need(content.get("info"), dict, source.place, "info")
    key = "simulations" if content.get("simulations") else "simulation_index"
    runs = need(content.get(key) or [], list, source.place, key)
    if not runs:
        raise NoSamplesError(f"{source.place} holds no simulation.", "Was the run finished?")
    contents = _contents(content, source.place)
    domain = _object(info, "environment_info").get("domain_name")
    common = Record(
        person=_agent(info) or system(source, log, options), item="", metric=_METRIC, file=source.place,
        benchmark=f"{_BENCHMARK} {domain}" if domain else _BENCHMARK,
    )  # fmt: skip
    log.scale(_METRIC, Scale(0.0, 1.0), source.place)
    for k, given in enumerate(runs, 1):
        place = f"{source.place}, {key} {k}"
        run = need(given, dict, place, "the simulation")
        task = str(need(run.get("task_id"), (int, str), place, "task_id"))
        trial = run.get("trial")
        record = common._replace(
            item=task, trial="1" if trial is None else str(trial), content=contents.get(task, ""),
            cost=known_number(run.get("agent_cost")), date=str(run.get("timestamp") or "")[:10],
        )  # fmt: skip
        log.add(_ended(record, run, place))


def _ended(record: Record, run: Mapping[str, Any], place: str) -> Record:
    """Return the record of a simulation with what became of it."""
    judged = run if "reward" in run else _object(run, "reward_info")
    end = str(run.get("termination_reason") or "")
    failed = _object(_object(run, "reward_info"), "info").get("error")
    if end in _NO_FAILURES or failed:
        return record._replace(outcome="errored", error=first_line(str(failed)) if failed else end)
    if judged.get("reward") is None:
        return record._replace(outcome="unscored", error=end)
    reward = number(judged["reward"], place, "reward")
    if not 0 <= reward <= 1:
        raise DataError(f"{place}: reward is {reward:g}, not within 0 and 1.", "Is this a log of tau2-bench?")
    return record._replace(score=reward)


def _contents(content: Mapping[str, Any], place: str) -> dict[str, str]:
    """Return the hash of what the simulated user was told, by task."""
    hashes: dict[str, str] = {}
    for k, given in enumerate(need(content.get("tasks") or [], list, place, "tasks"), 1):
        task = need(given, dict, f"{place}, task {k}", "the task")
        told = _object(task, "user_scenario").get("instructions")
        if told:
            hashes[str(task.get("id"))] = content_hash(told, f"{place}, task {k}")
    return hashes


def _agent(info: Mapping[str, Any]) -> str:
    """Return the agent's model, behind its implementation where that is not the usual one."""
    agent = _object(info, "agent_info")
    kind = str(agent.get("implementation") or "")
    model = agent.get("llm") or _object(info, "audio_native_config").get("model") or ""
    return str(model) if kind in _PLAIN_AGENTS else f"{kind} {model}".strip()


def _object(holder: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key, empty where there is none."""
    found = holder.get(key)
    return found if isinstance(found, dict) else {}

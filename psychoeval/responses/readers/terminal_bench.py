"""terminal-bench: ``results.json`` of a run, one entry a task and trial.

``is_resolved`` is null where no verdict was reached (the tests timed out, or their output could not be parsed): that is
no failure of the system. The system is named by ``run_metadata.json`` beside the file, where that was kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from psychoeval.responses.readers.fields import known_number, number, object_beside, system
from psychoeval.responses.readers.log import LogBuilder, Outcome, Record
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import NoSamplesError, Source, need, read_json

_NO_FAILURE: Final = ("", "unset", "none")


def is_run(source: Source, shape: Shape) -> bool:
    """Whether a file holds the results of a run."""
    return shape.kind == "object" and shape.has("results") and {"task_id", "is_resolved"} <= shape.inner


def is_companion(source: Source, shape: Shape) -> bool:
    """Whether a file says how a run was made, or is one trial of it, which the results hold too."""
    return shape.kind == "object" and (
        shape.has("run_id", "agent_name") or shape.has("task_id", "trial_name", "is_resolved")
    )


def read_run(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read the results of a run; the system is the option ``person``, else agent and model, or the file's name.

    Raises
    ------
    DataError
        If an entry lacks its task, or its verdict is neither true, false nor null; with the entry.
    """
    content = need(read_json(source), dict, source.place, "the file")
    results = need(content.get("results"), list, source.place, "results")
    if not results:
        raise NoSamplesError(f"{source.place} holds no result of a task.", "Was the run finished?")
    person = _agent(source) or system(source, log, options)
    for k, given in enumerate(results, 1):
        place = f"{source.place}, result {k}"
        result = need(given, dict, place, "the result")
        log.add(_record(result, place)._replace(person=person, file=source.place))


def _record(result: Mapping[str, Any], place: str) -> Record:
    task = need(result.get("task_id"), str, place, "task_id")
    verdict = result.get("is_resolved", "missing")
    if verdict is not None:
        need(verdict, bool, place, "is_resolved")
    mode = str(result.get("failure_mode") or "")
    mode = "" if mode in _NO_FAILURE else mode
    outcome: Outcome = "scored" if verdict is not None else "errored" if mode else "unscored"
    return Record(
        person="", item=task, metric="is_resolved", outcome=outcome,
        score=float("nan") if verdict is None else number(verdict, place, "is_resolved"),
        # the name is task.k-of-n.run, so attempts of several runs stay apart
        trial=str(result.get("trial_name") or result.get("id") or "1").removeprefix(f"{task}."),
        benchmark="terminal-bench", error=mode, date=str(result.get("trial_started_at") or "")[:10],
        tokens=_tokens(result),
    )  # fmt: skip


def _tokens(result: Mapping[str, Any]) -> float:
    """Return the tokens, unknown where they add to 0: many agents do not count them."""
    total = sum(known_number(result.get(f"total_{part}_tokens")) for part in ("input", "output"))
    return total if total else float("nan")


def _agent(source: Source) -> str:
    """Return agent and model of a run."""
    run = object_beside(source, "run_metadata.json") or {}
    return " ".join(str(run[k]) for k in ("agent_name", "model_name") if run.get(k))

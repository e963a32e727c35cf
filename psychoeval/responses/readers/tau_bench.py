"""tau-bench: a JSON array, one entry a task and trial with its ``reward``.

The file does not name its system. ``task_id`` is a position within a domain (airline, retail), so tasks are told apart
by the instruction that the simulated user had. A run that broke off has reward 0 and ``info.error``: it is no failure
of the system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.readers.fields import content_hash, failure, first_line, number, system
from psychoeval.responses.readers.log import LogBuilder, Record, Scale
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import NoSamplesError, Source, need, read_json

_METRIC: Final = "reward"


def is_runs(source: Source, shape: Shape) -> bool:
    """Whether a file holds such entries."""
    return shape.kind == "array" and shape.has("task_id", "reward") and bool(shape.keys & {"info", "traj", "trial"})


def read_runs(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read entries; the system is the option ``person``, or has the file's name.

    Raises
    ------
    DataError
        If an entry lacks its task or reward, or the reward lies outside 0 to 1; with the entry.
    """
    runs = need(read_json(source), list, source.place, "the file")
    if not runs:
        raise NoSamplesError(f"{source.place} holds no run.", "Was the evaluation finished?")
    contents = _contents(runs, source.place)
    log.scale(_METRIC, Scale(0.0, 1.0), source.place)
    common = Record(
        person=system(source, log, options),
        item="",
        metric=_METRIC,
        benchmark="tau-bench",
        file=source.place,
    )
    for k, given in enumerate(runs, 1):
        place = f"{source.place}, entry {k}"
        run = need(given, dict, place, "the entry")
        task = need(run.get("task_id"), (int, str), place, "task_id")
        reward = number(run.get("reward"), place, "reward")
        if not 0 <= reward <= 1:
            raise DataError(f"{place}: reward is {reward:g}, not within 0 and 1.", "Is this a log of tau-bench?")
        record = common._replace(
            item=str(task), trial=str(run.get("trial", 1)), content=contents.get(str(task), ""), score=reward
        )
        error = _info(run).get("error")
        if error:
            record = record._replace(outcome=failure(str(error)), error=first_line(str(error)))
        log.add(record)


def _contents(runs: Sequence[Any], place: str) -> dict[str, str]:
    """Return the hash of each task's instruction; runs that broke off lack it, and share that of their task."""
    contents: dict[str, str] = {}
    for k, run in enumerate(runs, 1):
        task = _info(run).get("task") if isinstance(run, dict) else None
        if isinstance(task, dict) and task.get("instruction"):
            contents[str(run.get("task_id"))] = content_hash(
                [task.get("user_id"), task["instruction"]], f"{place}, entry {k}"
            )
    return contents


def _info(run: Mapping[str, Any]) -> dict[str, Any]:
    info = run.get("info")
    return info if isinstance(info, dict) else {}

"""The child's half: do one piece of work, and leave the answer in files that hold every bit.

A child is given its folder, and finds what to do in its parent's ``job.json``. What it prints is for people.
"""

from __future__ import annotations

import contextlib
import json
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

REPLY: Final = "reply.json"
#: Before the number of numbers that one draw has, in what a child prints.
SIZE_MARK: Final = "psychoeval: numbers in a draw:"


class StageError(Exception):
    """What went wrong, and at which stage: see `refusals`."""

    def __init__(self, stage: str, text: str, return_code: int | None = None) -> None:
        self.stage, self.text, self.return_code = stage, text, return_code
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Answer:
    """The draws of one chain; values are arrays (samples, *shape), statistics (samples,) under Stan's own names."""

    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    sample_stats: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Say at which stage an error of the engine came."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise StageError(name, str(error)) from error


def run(work: Callable[[Mapping[str, Any], Path], Answer]) -> None:
    """Do the work of the folder that the command line names, answer, and end the process."""
    folder = Path(sys.argv[1])
    try:
        job = json.loads((folder.parent / "job.json").read_text(encoding="utf-8"))
        reply = _written(work(job, folder), folder)
    except StageError as error:
        reply = {"stage": error.stage, "error": error.text, "return_code": error.return_code}
    except OSError as error:
        # NumPy says no more than how much it could write.
        why = error.strerror or f"no room is left, or a limit is reached ({error})"
        problem = f"{error.filename or folder} cannot be written: {why}."
        reply = {"stage": "writing", "error": problem, "return_code": None}
    except Exception as error:
        traceback.print_exc()
        reply = {"stage": "defect", "error": f"{type(error).__name__}: {error}", "return_code": None}
    (folder / REPLY).write_text(json.dumps(reply), encoding="utf-8")
    sys.exit(1 if reply.get("stage") else 0)


def say_size(numbers: int) -> None:
    """Tell the parent how many numbers a draw has."""
    print(f"{SIZE_MARK} {numbers}", flush=True)


def _written(answer: Answer, folder: Path) -> dict[str, Any]:
    names: dict[str, dict[str, str]] = {"values": {}, "sample_stats": {}}
    for kind, arrays in (("values", answer.values), ("sample_stats", answer.sample_stats)):
        for number, (name, array) in enumerate(arrays.items()):
            names[kind][name] = f"{kind}-{number}.npy"
            np.save(folder / names[kind][name], array)
    return {**names, "versions": dict(answer.versions), "files": list(answer.files)}

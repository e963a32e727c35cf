"""The one table of log formats, and how a file's format is recognised by its content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.readers import inspect_logs, lm_eval
from psychoeval.responses.readers.log import LogBuilder
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape, shape_of
from psychoeval.responses.readers.sources import Source

Reader: TypeAlias = Callable[[Source, LogBuilder, ReadOptions], None]


@dataclass(frozen=True, slots=True)
class Format:
    """A log format.

    Parameters
    ----------
    name : str
    about : str
    is_it : callable
        Whether a file with this outline is of the format; from its first bytes alone.
    read : callable, optional
        Adds the records of a file to a log. None for files that go with others and are read with them.
    """

    name: str
    about: str
    is_it: Callable[[Source, Shape], bool]
    read: Reader | None = None


FORMATS: Final[tuple[Format, ...]] = (
    Format("lm-eval", "LM Evaluation Harness, samples_*.jsonl", lm_eval.is_samples, lm_eval.read_samples),
    Format("lm-eval results", "means of the LM Evaluation Harness, results_*.json", lm_eval.is_results),
    Format("inspect", "Inspect, .json", inspect_logs.is_json, inspect_logs.read_log),
    Format("inspect archive", "Inspect, .eval", inspect_logs.is_archive, inspect_logs.read_archive),
)


def recognize(source: Source) -> Format | None:
    """Return the format of a file, None where it is none of the table.

    Raises
    ------
    DataError
        If it could be of several.
    """
    shape = shape_of(source)
    found = [f for f in FORMATS if f.is_it(source, shape)]
    if len(found) > 1:
        names = " or ".join(f.name for f in found)
        raise DataError(f"{source.place} could be {names}.", "Say which: format=.")
    return found[0] if found else None


def format_named(name: str) -> Format:
    """Return a format by its name.

    Raises
    ------
    SettingsError
        If there is none, or it is read only with others.
    """
    readable = {f.name: f for f in FORMATS if f.read is not None}
    if name not in readable:
        raise SettingsError(f"There is no log format {name!r}.", f"Choose one of {', '.join(readable)}.")
    return readable[name]

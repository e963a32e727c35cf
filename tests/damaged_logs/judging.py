"""Reading damaged logs, and judging what readers answer, how long they take and how much memory."""

from __future__ import annotations

import gc
import math
import resource
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from psychoeval.errors import PsychoevalError
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.log import EvaluationLog, records
from psychoeval.responses.readers.reading import read, read_log
from tests.damaged_logs.file_damages import ALL
from tests.damaged_logs.making import BY_NAME, Input, Made, put
from tests.damaged_logs.samples import SAMPLES, Sample

#: What reading one input may take: processor seconds, and bytes of the whole process.
MOST_SECONDS: Final = 10.0
MOST_BYTES: Final = 1 << 30

#: What a log or a table says: of each response (or pair) its scores, or outcomes.
Told = dict[tuple[str, ...], tuple[Any, ...]]
#: What an undamaged sample says, its notes, and what of it each record says.
Whole = tuple[Told, tuple[str, ...], tuple[frozenset[tuple[str, ...]], ...]]
Answers = tuple[EvaluationLog | None, Responses | ContinuousResponses | None]


@dataclass(frozen=True)
class Outcome:
    """What became of an input.

    `answer` is ``"equal"``, ``"untouched equal"``, or the name of a typed error; `violation` says what must
    not be, and is empty where all is well.
    """

    input: Input
    answer: str
    violation: str = ""
    message: str = ""
    seconds: float = 0.0
    peak: int = 0


def judge(one: Input, made: Made, wholes: Mapping[str, Whole]) -> Outcome:
    """Read a damaged log, and judge the answer; only reading counts."""
    sample = BY_NAME[one.sample]
    leaks: list[str] = []
    sys.unraisablehook = lambda raised: leaks.append(f"unraisable {raised.exc_value!r}")
    message = violation = ""
    found: Answers | None = None
    gc.collect()
    _reset_peak()
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = _read(sample, made.folder, made.read, made.whole)
    except PsychoevalError as error:
        answer, message = type(error).__name__, str(error)
        violation = _unnamed(sample, made.folder, message)
    except MemoryError:
        answer, violation = "violation", "out of memory"
    except Exception as error:
        answer, violation = "violation", f"{type(error).__name__}: {str(error)[:300]}"
    seconds, peak = time.process_time() - began, _peak()
    if found is not None:
        answer, violation = _compared(*_said(*found, made.folder), made.touched, wholes[one.sample])
    if not violation and seconds > MOST_SECONDS:
        violation = f"takes {seconds:.1f} s"
    if not violation and peak > MOST_BYTES:
        violation = f"takes {peak >> 20} MB"
    return Outcome(one, answer, violation or "; ".join(leaks), message[:400], seconds, peak)


def warm() -> None:
    """Read all samples: what is imported when used counts to no input."""
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    for sample in SAMPLES:
        with tempfile.TemporaryDirectory(prefix="warm-") as folder:
            put(sample, Path(folder))
            _read(sample, Path(folder), sample.read, sample.whole)


def _read(sample: Sample, folder: Path, options: Mapping[str, Any], whole: bool) -> Answers:
    """Return the log that is read, None of tables, and the responses, None where a question is asked."""
    path = folder if whole else folder / sample.file
    log = None
    # What is of no log format is read as a table.
    if "format" in options or not sample.name.startswith(("wide", "long")):
        log = read_log(path, **{k: v for k, v in options.items() if k != "bounds"})
    try:
        return log, read(path, **options)
    except PsychoevalError:
        # A system or metric too many is asked about; the rows are known all the same.
        if log is None:
            raise
        return log, None


def _said(
    log: EvaluationLog | None, responses: Responses | ContinuousResponses | None, folder: Path
) -> tuple[Told, tuple[str, ...]]:
    """Return what was read, by record and by cell, and what is noted of it."""
    found: defaultdict[tuple[str, ...], list[Any]] = defaultdict(list)
    notes: list[str] = []
    if log is not None:
        for r in records(log):
            key = ("record", r.person, r.item, r.metric, r.filter, r.trial, r.benchmark)
            found[key].append((r.outcome, None if math.isnan(r.score) else r.score))
        notes = [note.replace(str(folder), "") for note in (*log.notes, *(d.reason for d in log.dropped))]
    if responses is not None:
        persons, items = responses.person_ids, responses.item_ids
        if isinstance(responses, Responses):
            shares = np.where(responses.trials > 0, responses.successes / np.maximum(responses.trials, 1), np.nan)
        else:
            shares = responses.scores
        for (i, j), share in np.ndenumerate(shares):
            found["cell", persons[i], items[j]] = [None if math.isnan(share) else float(share)]
    return {key: tuple(values) for key, values in found.items()}, tuple(notes)


@cache
def whole(name: str) -> Whole:
    """Return what an undamaged sample says, its notes, and what of it each record says."""
    sample = BY_NAME[name]
    with tempfile.TemporaryDirectory(prefix="whole-") as made:
        folder = Path(made)
        put(sample, folder)
        said, notes = _said(*_read(sample, folder, sample.read, sample.whole), folder)
        of_records = []
        for k in range(len(sample.records)):
            (folder / sample.file).write_bytes(sample.content(_without(sample, sample.texts(), k)))
            less, _ = _said(*_read(sample, folder, sample.read, sample.whole), folder)
            of_records.append(frozenset(key for key, _ in said.items() - less.items()))
    return said, notes, tuple(of_records)


def _without(sample: Sample, texts: list[str], k: int) -> list[str]:
    if sample.name == "swe-bench":  # told apart by position
        return [*texts[:k], '"another"', *texts[k + 1 :]]
    return texts[:k] + texts[k + 1 :]


def _compared(found: Told, notes: tuple[str, ...], touched: frozenset[int] | None, undamaged: Whole) -> tuple[str, str]:
    """Return the answer, and what is silently wrong in it."""
    said, known_notes, of_records = undamaged
    if found == said:
        return "equal", ""
    if touched is ALL:
        return "untouched equal", ""
    changeable = frozenset[tuple[str, ...]]().union(*(of_records[k] for k in touched if k < len(of_records)))
    counted = bool(set(notes) - set(known_notes))
    for key, values in said.items():
        if key in changeable:
            continue
        if key not in found:
            # Cells are named by what else is there (id#hash); records are not, and may go only with a word.
            if key[0] == "record" and not counted:
                return "wrong", f"{key} is lost without a word"
        elif key[0] == "record" and set(values) < set(found[key]) and ("cell", key[1], key[2]) not in found:
            # The damaged record took the name of another: both are in the log, and no matrix is made of it, or one that
            # tells them apart by their content.
            continue
        elif set(found[key]) != set(values):
            return "wrong", f"{key} was {values} and is {found[key]}"
    if not touched and (extra := found.keys() - said.keys()) and not counted:
        return "wrong", f"{sorted(extra)[0]} came from nowhere"
    return "untouched equal", ""


def _unnamed(sample: Sample, folder: Path, message: str) -> str:
    """Say so where an error does not name a file."""
    names = [sample.file, *sample.beside]
    if any(Path(name).name in message for name in names) or str(folder) in message:
        return ""
    return f"names no file: {message[:300]}"


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Return the most memory that this process had since the last reset, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

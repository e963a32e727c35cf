"""Damaged logs are read in a child process with bounds, and what readers answer is judged."""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np

from psychoeval.errors import PsychoevalError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.formats import FORMATS
from psychoeval.responses.readers.log import records
from psychoeval.responses.readers.reading import read, read_log
from tests.damaged_logs import bombs, file_damages, record_damages
from tests.damaged_logs.file_damages import ALL, Damaged
from tests.damaged_logs.samples import SAMPLES, Sample

_LIBRARY_PATH: Final = os.environ.get("LD_LIBRARY_PATH")

#: What reading one input may take: processor seconds, and bytes of the whole process.
MOST_SECONDS: Final = 10.0
MOST_BYTES: Final = 1 << 30
#: After so many seconds an input hangs, and its process is killed.
HANGS: Final = 120.0

#: What a log or a table says: of each response (or pair) its scores, or outcomes.
Told = dict[tuple[str, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class Input:
    """One damaged log: a sample, what is done to it, the seed; by `number` it is made again."""

    number: int
    sample: str
    damage: str
    large: bool


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


Maker = Callable[[Sample, np.random.Generator, bool], Damaged | None]


def _plainly(damage: Callable[[Sample, np.random.Generator], Damaged | None]) -> Maker:
    return lambda sample, rng, large: damage(sample, rng)


DAMAGES: Final[dict[str, Maker]] = {
    **{d.__name__.strip("_"): _plainly(d) for d in (
        file_damages.cut, file_damages.overwritten, file_damages.digit_changed, file_damages.removed,
        file_damages.repeated, file_damages.reversed_, file_damages.zeroed, file_damages.spliced,
        file_damages.foreign_end, file_damages.recoded, file_damages.line_ends, record_damages.odd_value,
        record_damages.number_as_text, record_damages.lacking, record_damages.misspelled, record_damages.key_twice,
        record_damages.deep, record_damages.gigantic, record_damages.long_text, record_damages.no_record,
        record_damages.gone, record_damages.twice, record_damages.moved, bombs.blank_head, bombs.in_its_format,
        bombs.two_of_one_name)},
    "many_values": bombs.many_values,
    "unpacks_far": bombs.unpacks_far,
    "beside": lambda sample, rng, large: _damaged_beside(sample, rng),
    "other_format": lambda sample, rng, large: (file_damages.plain(sample), ALL),
}  # fmt: skip
_BY_NAME: Final = {sample.name: sample for sample in SAMPLES}


def plan(n: int, seed: int = 0, large: bool = False) -> list[Input]:
    """Return `n` inputs, all samples and damages in turn."""
    pairs = [(s.name, d) for s in SAMPLES for d in DAMAGES if _applies(s, d)]
    order = np.random.default_rng(seed).permutation(len(pairs)).tolist()
    turns = (pairs[k] for _ in range(n // len(pairs) + 1) for k in order)
    return [Input(seed * 1_000_000 + k, *pair, large) for k, pair in zip(range(n), turns, strict=False)]


def _applies(sample: Sample, damage: str) -> bool:
    """Whether a damage means something to a sample."""
    return {
        "recoded": sample.pack is None,
        "line_ends": sample.pack is None,
        "blank_head": sample.pack is None,
        "many_values": sample.kind in ("lines", "json", "zip"),
        "unpacks_far": sample.packed,
        "two_of_one_name": sample.kind == "zip",
        "beside": bool(sample.beside),
        "moved": sample.kind != "zip" and sample.name != "swe-bench",
        "gone": sample.name != "swe-bench",
        "twice": sample.name != "swe-bench",
        **dict.fromkeys(("number_as_text", "misspelled", "key_twice", "deep"), sample.kind != "cells"),
    }.get(damage, True)


def run(inputs: Sequence[Input]) -> Iterator[Outcome]:
    """Yield what becomes of inputs, read in a child process that is replaced if it dies or hangs."""
    context = multiprocessing.get_context("spawn")
    waiting = list(inputs)
    while waiting:
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=_work, args=(waiting, theirs), daemon=True)
        _reset_library_path()
        child.start()
        theirs.close()
        try:
            while waiting and ours.poll(HANGS):
                yield ours.recv()
                waiting.pop(0)
            problem = f"hangs: more than {HANGS:g} s"
        except EOFError:
            child.join()
            problem = f"the process died ({child.exitcode})"
        child.kill()
        child.join()
        ours.close()
        if waiting:
            yield Outcome(waiting.pop(0), "violation", problem)


def _reset_library_path() -> None:
    """Give children the library path of before any test: R, once in this process, sets one that breaks their `ssl`."""
    os.environ.pop("LD_LIBRARY_PATH", None)
    if _LIBRARY_PATH is not None:
        os.environ["LD_LIBRARY_PATH"] = _LIBRARY_PATH


def _work(inputs: Sequence[Input], results: Connection) -> None:
    """Read inputs, each in a folder of its own."""
    # What is imported when used counts to the process, not to the first input.
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    for sample in SAMPLES:
        _whole(sample.name)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2 * MOST_BYTES, resource.RLIM_INFINITY))
    for one in inputs:
        results.send(judge(one))


def judge(one: Input) -> Outcome:
    """Damage, read, and judge the answer."""
    sample, rng = _BY_NAME[one.sample], np.random.default_rng(one.number)
    damaged = None
    while damaged is None:  # some values cannot stand in some formats
        damaged = DAMAGES[one.damage](sample, rng, one.large)
    content, touched = damaged
    if one.damage == "other_format":
        names = [f.name for f in FORMATS if f.read is not None]
        sample = replace(sample, read={**sample.read, "format": names[int(rng.integers(len(names)))]})
    elif rng.random() < 0.3:  # a folder passes over what it does not know, and may not do so silently
        sample = replace(sample, whole=sample.kind not in ("cells", "parquet"))
    with tempfile.TemporaryDirectory(prefix="damaged-") as name:
        folder = Path(name) / "logs"
        put(sample, folder)
        target = folder / (_damaged_name(sample) if one.damage == "beside" else sample.file)
        target.write_bytes(content)
        del content, damaged
        return _judged(one, sample, folder, touched)


def _judged(one: Input, sample: Sample, folder: Path, touched: frozenset[int] | None) -> Outcome:
    leaks: list[str] = []
    sys.unraisablehook = lambda raised: leaks.append(f"unraisable {raised.exc_value!r}")
    _reset_peak()
    began = time.process_time()
    message = violation = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found, notes = told(sample, folder)
        answer, violation = _compared(sample, found, notes, touched)
    except PsychoevalError as error:
        answer, message = type(error).__name__, str(error)
        violation = _unnamed(sample, folder, message)
    except MemoryError:
        answer, violation = "violation", "out of memory"
    except BaseException as error:
        answer, violation = "violation", f"{type(error).__name__}: {str(error)[:300]}"
    seconds, peak = time.process_time() - began, _peak()
    if not violation and seconds > MOST_SECONDS:
        violation = f"takes {seconds:.1f} s"
    if not violation and peak > MOST_BYTES:
        violation = f"takes {peak >> 20} MB"
    return Outcome(one, answer, violation or "; ".join(leaks), message[:400], seconds, peak)


def put(sample: Sample, folder: Path) -> None:
    """Write a sample, undamaged."""
    import json

    for name, content in sample.beside.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    (folder / sample.file).parent.mkdir(parents=True, exist_ok=True)
    (folder / sample.file).write_bytes(sample.content(sample.texts()))


def told(sample: Sample, folder: Path) -> tuple[Told, tuple[str, ...]]:
    """Return what a log says by record and by cell, and what is noted of it."""
    path = folder if sample.whole else folder / sample.file
    found: Told = {}
    notes: list[str] = []
    if not _is_table(sample):
        log_options = {k: v for k, v in sample.read.items() if k != "bounds"}
        log = read_log(path, **log_options)
        for r in records(log):
            key = ("record", r.person, r.item, r.metric, r.filter, r.trial, r.benchmark)
            found[key] = (*found.get(key, ()), (r.outcome, None if math.isnan(r.score) else r.score))
        notes = [note.replace(str(folder), "") for note in (*log.notes, *(d.reason for d in log.dropped))]
    try:
        responses = read(path, **sample.read)
    except PsychoevalError:
        # A system or metric too many is asked about; the rows are known all the same.
        if _is_table(sample):
            raise
        return found, tuple(notes)
    persons, items = responses.person_ids, responses.item_ids
    if isinstance(responses, Responses):
        shares = np.where(responses.trials > 0, responses.successes / np.maximum(responses.trials, 1), np.nan)
    else:
        shares = responses.scores
    for i, j in np.ndindex(shares.shape):
        found["cell", persons[i], items[j]] = (None if math.isnan(shares[i, j]) else float(shares[i, j]),)
    return found, tuple(notes)


def _is_table(sample: Sample) -> bool:
    """Whether a sample is of no log format, and read as a table."""
    return "format" not in sample.read and sample.name.startswith(("wide", "long"))


@cache
def _whole(name: str) -> tuple[Told, tuple[str, ...], tuple[frozenset[tuple[str, ...]], ...]]:
    """Return what an undamaged sample says, its notes, and what of it each record says."""
    sample = _BY_NAME[name]
    with tempfile.TemporaryDirectory(prefix="whole-") as folder:
        put(sample, Path(folder))
        whole, notes = told(sample, Path(folder))
        of_records = []
        for k in range(len(sample.records)):
            texts = sample.texts()
            (Path(folder) / sample.file).write_bytes(sample.content(_without(sample, texts, k)))
            of_records.append(frozenset(whole.items() - told(sample, Path(folder))[0].items()))
    return whole, notes, tuple(frozenset(key for key, _ in pairs) for pairs in of_records)


def _without(sample: Sample, texts: list[str], k: int) -> list[str]:
    if sample.name == "swe-bench":  # told apart by position
        return [*texts[:k], '"another"', *texts[k + 1 :]]
    return texts[:k] + texts[k + 1 :]


def _compared(sample: Sample, found: Told, notes: tuple[str, ...], touched: frozenset[int] | None) -> tuple[str, str]:
    """Return the answer, and what is silently wrong in it."""
    whole, known_notes, of_records = _whole(sample.name)
    if found == whole:
        return "equal", ""
    if touched is ALL:
        return "untouched equal", ""
    changeable = frozenset[tuple[str, ...]]().union(*(of_records[k] for k in touched if k < len(of_records)))
    counted = bool(set(notes) - set(known_notes))
    refused = not any(key[0] == "cell" for key in found)
    for key, values in whole.items():
        if key in changeable:
            continue
        if key not in found:
            # Cells are named by what else is there (id#hash); records are not, and may go only with a word.
            if key[0] == "record" and not counted:
                return "wrong", f"{key} is lost without a word"
        elif refused and key[0] == "record" and set(values) < set(found[key]):
            continue  # the damaged record took the name of another: both are in the log, and no matrix is made of it
        elif set(found[key]) != set(values):
            return "wrong", f"{key} was {values} and is {found[key]}"
    if not touched and (extra := found.keys() - whole.keys()) and not counted:
        return "wrong", f"{sorted(extra)[0]} came from nowhere"
    return "untouched equal", ""


def _unnamed(sample: Sample, folder: Path, message: str) -> str:
    """Say so where an error does not name a file."""
    names = [sample.file, *sample.beside]
    if any(Path(name).name in message for name in names) or str(folder) in message:
        return ""
    return f"names no file: {message[:300]}"


def _damaged_name(sample: Sample) -> str:
    return sorted(sample.beside)[0]


def _damaged_beside(sample: Sample, rng: np.random.Generator) -> Damaged:
    """Damage a file that goes with the log: the log may say anything else then, but not break."""
    import json

    raw = bytearray(json.dumps(sample.beside[_damaged_name(sample)]).encode())
    start, stop = sorted(rng.integers(0, len(raw) + 1, 2).tolist())
    kind = rng.integers(4)
    if kind == 0:
        return bytes(raw[:start]), ALL
    if kind == 1:
        return bytes(raw[:start] + raw[stop:]), ALL
    if kind == 2:
        raw[min(start, len(raw) - 1)] = int(rng.integers(256))
        return bytes(raw), ALL
    value = record_damages._changed(json.loads(raw), rng, lambda _: record_damages._pick(rng, record_damages._ODD))
    return json.dumps(value).encode(), ALL


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Return the most memory that this process had since the last reset, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

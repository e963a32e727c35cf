"""Damaged logs are made in one child process and read in another, with bounds; either is replaced if it dies."""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from tests.damaged_logs.judging import MOST_BYTES, Outcome, Whole, judge, warm, whole
from tests.damaged_logs.making import Input, Made, make
from tests.damaged_logs.samples import SAMPLES

_LIBRARY_PATH: Final = os.environ.get("LD_LIBRARY_PATH")

#: After so many seconds an input hangs, and its process is killed.
HANGS: Final = 120.0
#: A process that had so many bytes keeps some of them: what comes after is read in a new one.
_RENEWED_FROM: Final = 400 << 20
#: What a process may map beyond what it has before its first input, in bytes. A fuse: what counts is memory in use
#: (`MOST_BYTES`), of which Arrow's allocator and threads map several times as much.
_HEADROOM: Final = 4 * MOST_BYTES


class _LostError(Exception):
    """A child process died or hangs."""


class _Child:
    """A child process that answers requests, begun when one comes."""

    def __init__(self, work: Callable[..., None], *given: Any) -> None:
        self._work, self._given = work, given
        self._process: Any = None

    def ask(self, request: Any) -> Any:
        """Return the answer.

        Raises
        ------
        _LostError
            If the process dies, or takes more than `HANGS` seconds.
        """
        if self._process is None:
            self._begin()
        try:
            self._connection.send(request)
            if self._connection.poll(HANGS):
                return self._connection.recv()
            problem = f"hangs: more than {HANGS:g} s"
        except (EOFError, OSError):
            self._process.join(HANGS)
            problem = f"the process died ({self._process.exitcode})"
        self.end()
        raise _LostError(problem)

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=self._work, args=(theirs, *self._given), daemon=True)
        _reset_library_path()
        self._process.start()
        theirs.close()

    def end(self) -> None:
        """End the process; the next request begins another."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def run(inputs: Sequence[Input]) -> Iterator[Outcome]:
    """Yield what becomes of inputs."""
    maker, reader = _Child(_makes), _Child(_reads, {sample.name: whole(sample.name) for sample in SAMPLES})
    try:
        for one in inputs:
            with tempfile.TemporaryDirectory(prefix="damaged-") as name:
                yield _outcome(one, Path(name) / "logs", maker, reader)
    finally:
        maker.end()
        reader.end()


def _outcome(one: Input, folder: Path, maker: _Child, reader: _Child) -> Outcome:
    try:
        made = maker.ask((one, folder))
    except _LostError as lost:
        return Outcome(one, "not made", f"making it: {lost}")
    if isinstance(made, str):
        return Outcome(one, "not made", f"making it: {made}")
    try:
        outcome: Outcome = reader.ask((one, made))
    except _LostError as lost:
        return Outcome(one, "violation", str(lost))
    if outcome.peak > _RENEWED_FROM:
        reader.end()
    return outcome


def _makes(connection: Connection) -> None:
    """Make one input after another."""
    while True:
        one, folder = connection.recv()
        made: Made | str
        try:
            made = make(one, folder)
        except Exception as error:  # a fault of ours, told with the input that shows it
            made = f"{type(error).__name__}: {str(error)[:300]}"
        connection.send(made)


def _reads(connection: Connection, wholes: Mapping[str, Whole]) -> None:
    """Read one input after another."""
    warm()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData"):
            most = (int(line.split()[1]) << 10) + _HEADROOM
            resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))
    while True:
        one, made = connection.recv()
        connection.send(judge(one, made, wholes))


def _reset_library_path() -> None:
    """Give children the library path of before any test: R, once in this process, sets one that breaks their `ssl`."""
    os.environ.pop("LD_LIBRARY_PATH", None)
    if _LIBRARY_PATH is not None:
        os.environ["LD_LIBRARY_PATH"] = _LIBRARY_PATH

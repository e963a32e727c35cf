"""R in a child process: can be stopped, timed and run beside others."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import numpy as np

from psychoeval.availability import R_FLAGS, R_UNWANTED, require
from psychoeval.children import ended_by, refuse_if_stopping, running, temporary_folder, writing
from psychoeval.errors import EngineFailedError, FitTimeoutError
from psychoeval.rbridge.protocol import Job, Reply, integers, plain_job, refuse_sentinel
from psychoeval.resources import resource

#: What R itself says at the end of a failure: enough for a traceback.
TAIL_CHARACTERS: Final = 2000
#: What R says where it cannot write.
_NO_ROOM: Final = re.compile(r"No space left on device|error writing to connection")
_MAKE_ROOM: Final = "Make room in the folder for temporary files, or set TMPDIR to another before Python starts."
#: Between two looks at what R has printed.
LISTEN_SECONDS: Final = 0.2


class RscriptBridge:
    """Calls R in a child process through files that hold every bit.

    The child leads its own process group. It is killed with all of its own children when the time limit is reached,
    on KeyboardInterrupt, by `stop_children`, and on Linux when Python itself is killed (only then its temporary
    folder stays behind). Any thread may call; calls run side by side.

    Parameters
    ----------
    listen : callable, optional
        Called with each line that R prints, soon after it is printed.
    """

    name: ClassVar[Literal["rpy2", "rscript"]] = "rscript"

    def __init__(self, *, listen: Callable[[str], None] | None = None) -> None:
        self._listen = listen

    def call(self, script: Path, function: str, job: Mapping[str, Any], *, timeout: float | None = None) -> Reply:
        """Call an R function; see `psychoeval.rbridge.protocol.RBridge.call`."""
        plain = plain_job(job)
        refuse_if_stopping("R")
        state = require("r")
        with temporary_folder("R") as folder:
            job_file, reply_file = folder / "job.rds", folder / "reply.rds"
            with writing(folder, "R"):
                _write(job_file, plain)
            run_job = resource("r_scripts", "run_job.R")
            arguments = [str(run_job), str(script), function, str(job_file), str(reply_file)]
            command = [state.paths["Rscript"], *R_FLAGS, *arguments]
            status = _run(command, folder, state.paths.get("libraries", ""), timeout, self._listen)
            if status != 0 or not reply_file.is_file():
                raise EngineFailedError(*_failure(status, _tail(folder / "console")))
            reply = _read(reply_file)
        refuse_sentinel(reply)
        return reply


def _run(
    command: Sequence[str], folder: Path, libraries: str, timeout: float | None, listen: Callable[[str], None] | None
) -> int:
    environment = {key: value for key, value in os.environ.items() if key not in R_UNWANTED}
    # TMPDIR: what a killed R leaves behind goes with the folder.
    environment |= {"TMPDIR": str(folder), "LANGUAGE": "en"}
    if libraries:
        environment["R_LIBS"] = libraries
    with running(command, folder / "console", folder, environment, "R") as process:
        try:
            return process.wait(timeout) if listen is None else _wait(process, folder / "console", timeout, listen)
        except subprocess.TimeoutExpired:
            raise FitTimeoutError(
                f"R did not finish within {timeout:g} s and was stopped.",
                "Allow more time (timeout=), or fit fewer items or a simpler model.",
            ) from None


def _wait(process: subprocess.Popen[bytes], console: Path, timeout: float | None, listen: Callable[[str], None]) -> int:
    """Wait for the end, and pass on each line that is printed until then."""
    end = None if timeout is None else time.monotonic() + timeout
    with console.open("rb") as printed:
        rest = b""
        while True:
            status = process.poll()
            *lines, rest = (rest + printed.read()).split(b"\n")
            for line in lines if status is None or not rest else [*lines, rest]:
                listen(line.decode("utf-8", "replace"))
            if status is not None:
                return status
            left = LISTEN_SECONDS if end is None else min(LISTEN_SECONDS, end - time.monotonic())
            if left <= 0:
                assert timeout is not None
                raise subprocess.TimeoutExpired(process.args, timeout)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(left)


def _failure(status: int, console: str) -> tuple[str, str]:
    if _NO_ROOM.search(console):
        return f"R found no room for its answer. Its last words:\n{console[-200:]}", _MAKE_ROOM
    said = f" R's last words:\n{console}" if console else " R said nothing."
    if status >= 0:
        return f"R ended with exit status {status} and without an answer.{said}", "Check with: psychoeval doctor"
    return f"R gave no answer: it {ended_by(status)}.{said}", "Fit fewer items, or fewer fits at a time."


def _tail(path: Path) -> str:
    with path.open("rb") as console:
        console.seek(0, os.SEEK_END)
        console.seek(max(0, console.tell() - TAIL_CHARACTERS))
        return console.read().decode("utf-8", "replace").strip()


def _write(path: Path, job: Job) -> None:
    import rdata

    rdata.write_rds(path, _for_rdata(job), compression=None)


def _for_rdata(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _for_rdata(v) for key, v in value.items()}
    # To rdata a Python list is a list of R vectors, an array one vector.
    return np.array(value) if isinstance(value, list) else value


def _read(path: Path) -> Reply:
    import rdata

    try:
        whole = rdata.read_rds(path)
    except Exception as error:  # rdata has no error of its own, and R does not always notice that a disk is full
        raise EngineFailedError(f"R's answer is cut short or damaged ({error}).", _MAKE_ROOM) from error
    return {str(key): _plain(value) for key, value in whole.items()}


def _plain(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(value)
        if value.dtype.kind == "b":
            return [None if m else bool(v) for v, m in zip(value.data, masked, strict=True)]
        return np.where(masked, np.nan, value.data.astype(np.float64))
    if value.dtype.kind == "f":
        return np.asarray(value, dtype=np.float64)
    if value.dtype.kind in "iu":
        return integers(value)
    if value.dtype.kind == "b":
        return [bool(v) for v in value]
    return [None if v is None else str(v) for v in value]

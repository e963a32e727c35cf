"""R in a child process: can be stopped, timed and run beside others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import numpy as np

from psychoeval.availability import require
from psychoeval.errors import EngineFailedError, FitTimeoutError
from psychoeval.rbridge.protocol import Job, Reply, integers, plain_job, refuse_sentinel
from psychoeval.resources import resource

#: What R itself says at the end of a failure: enough for a traceback.
TAIL_CHARACTERS: Final = 2000

#: No profile of the user or the site is run: they may print, ask, or attach packages that mask others. Environment
#: files are read, because they say where the user's packages are.
_FLAGS: Final = ("--no-save", "--no-restore", "--no-site-file", "--no-init-file")

# R_HOME: R's front end sets its own and complains about another. R_TESTS names a file that R would run.
_UNWANTED: Final = ("R_HOME", "R_TESTS", "R_DEFAULT_PACKAGES")

# Linux ends the child with the thread that started it, however that ends (PR_SET_PDEATHSIG is 1). It is set in a
# small program that then becomes R, since code between fork and exec is not safe beside other threads.
_DIE_WITH_PARENT: Final = (
    "import ctypes, os, signal, sys\n"
    "ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)\n"
    "if os.getppid() != int(sys.argv[1]): sys.exit(1)\n"
    "os.execv(sys.argv[2], sys.argv[2:])\n"
)

_running: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()


class RscriptBridge:
    """Calls R in a child process through files that hold every bit.

    The child leads its own process group. It is killed with all of its own children when the time limit is reached,
    on KeyboardInterrupt, by `stop_children`, and on Linux when Python itself is killed (only then its temporary
    folder stays behind). Any thread may call; calls run side by side.
    """

    name: ClassVar[Literal["rpy2", "rscript"]] = "rscript"

    def call(self, script: Path, function: str, job: Mapping[str, Any], *, timeout: float | None = None) -> Reply:
        """Call an R function; see `psychoeval.rbridge.protocol.RBridge.call`."""
        state = require("r")
        with tempfile.TemporaryDirectory(prefix="psychoeval-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            job_file, reply_file = folder / "job.rds", folder / "reply.rds"
            _write(job_file, plain_job(job))
            run_job = resource("r_scripts", "run_job.R")
            arguments = [str(run_job), str(script), function, str(job_file), str(reply_file)]
            command = [state.paths["Rscript"], *_FLAGS, *arguments]
            status = _run(command, folder, state.paths.get("libraries", ""), timeout)
            if status != 0 or not reply_file.is_file():
                raise EngineFailedError(*_failure(status, _tail(folder / "console")))
            reply = _read(reply_file)
        refuse_sentinel(reply)
        return reply


def stop_children() -> None:
    """Kill every R that is running for a fit in another thread; those fits end with an EngineFailedError."""
    with _lock:
        for process in _running:
            _kill(process)


def _run(command: Sequence[str], folder: Path, libraries: str, timeout: float | None) -> int:
    environment = {key: value for key, value in os.environ.items() if key not in _UNWANTED}
    # TMPDIR: what a killed R leaves behind goes with the folder.
    environment |= {"TMPDIR": str(folder), "LANGUAGE": "en"}
    if libraries:
        environment["R_LIBS"] = libraries
    if sys.platform == "linux" and sys.executable:
        command = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]
    with (folder / "console").open("wb") as console, _lock:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        _running.add(process)
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        raise FitTimeoutError(
            f"R did not finish within {timeout:g} s and was stopped.",
            "Allow more time (timeout=), or fit fewer items or a simpler model.",
        ) from None
    finally:
        with _lock:
            _running.discard(process)
        # Also after a normal end: R may have left children of its own.
        _kill(process)
        process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def _failure(status: int, console: str) -> tuple[str, str]:
    said = f" R's last words:\n{console}" if console else " R said nothing."
    if status >= 0:
        return f"R ended with exit status {status} and without an answer.{said}", "Check with: psychoeval doctor"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    because = " This is what a system does that runs out of memory." if -status == signal.SIGKILL else ""
    return f"R was killed by {name} before it answered.{because}{said}", "Fit fewer items, or fewer fits at a time."


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

    return {str(key): _plain(value) for key, value in rdata.read_rds(path).items()}


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

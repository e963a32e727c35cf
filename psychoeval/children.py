"""Child processes that do not outlive the call that started them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from psychoeval.errors import EngineFailedError

# Linux ends the child with the thread that started it, however that ends (PR_SET_PDEATHSIG is 1). Its own children
# would live on, as R's parallel chains and the program that cmdstanpy starts do: beside it waits a process that is told
# of its end in the same way, and kills the group. Both are set up in a small program that then becomes the one that is
# meant, since code between fork and exec is not safe beside other threads.
_DIE_WITH_PARENT: Final = (
    "import ctypes, os, signal, sys\n"
    "prctl = ctypes.CDLL(None).prctl\n"
    "prctl(1, int(signal.SIGKILL), 0, 0, 0)\n"
    "if os.getppid() != int(sys.argv[1]): sys.exit(1)\n"
    "leader = os.getpid()\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n"
    "if os.fork() == 0:\n"
    "    prctl(1, int(signal.SIGTERM), 0, 0, 0)\n"
    "    if os.getppid() == leader: signal.sigwait({signal.SIGTERM})\n"
    "    os.killpg(leader, signal.SIGKILL)\n"
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})\n"
    "os.execv(sys.argv[2], sys.argv[2:])\n"
)

_running: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()
_stopping = False  # under the lock


@contextlib.contextmanager
def running(
    command: Sequence[str], console: Path, folder: Path, environment: Mapping[str, str], what: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child, and end it with all of its own children however the block ends.

    The child leads a process group of its own, so that Ctrl-C in a terminal reaches only its parent. The group is
    killed at the end of the block, by `stop_children`, and on Linux when Python itself is killed.

    Parameters
    ----------
    command : sequence of str
        The program's absolute path and its arguments.
    console : Path
        File for all that the child prints.
    folder : Path
        Where it runs.
    environment : mapping
        All of its environment variables.
    what : str
        The engine's name in messages.

    Raises
    ------
    EngineFailedError
        If it cannot be started, `console` cannot be written, or `stop_children` was called.
    """
    process = _start(command, console, folder, environment, what)
    try:
        yield process
    finally:
        with _lock:
            _running.discard(process)
        # Also after a normal end: it may have left children of its own.
        _kill(process)
        process.wait()


@contextlib.contextmanager
def temporary_folder(what: str) -> Iterator[Path]:
    """Make a folder for a child of the engine `what`, and remove it.

    Raises
    ------
    EngineFailedError
        If it cannot be made.
    """
    with writing(tempfile.tempdir or os.environ.get("TMPDIR") or "the folder for temporary files", what):
        made = tempfile.TemporaryDirectory(prefix="psychoeval-", ignore_cleanup_errors=True)
    with made as name:
        yield Path(name)


@contextlib.contextmanager
def writing(folder: str | Path, what: str) -> Iterator[None]:
    """Turn the system's errors of the block into one that names the folder and the engine.

    Raises
    ------
    EngineFailedError
    """
    try:
        yield
    except OSError as error:
        raise EngineFailedError(
            f"What {what} needs cannot be written to {folder}: {error.strerror or error}.",
            "Make room there, or set TMPDIR to another folder that can be written before Python starts.",
        ) from error


def stop_children() -> None:
    """Kill every child that is running for a fit, and let none start before `allow_children` is called.

    The fits concerned end with an EngineFailedError, in whatever threads they are.
    """
    global _stopping
    with _lock:
        _stopping = True
        for process in _running:
            _kill(process)


def allow_children() -> None:
    """Let children start again after `stop_children`."""
    global _stopping
    with _lock:
        _stopping = False


def refuse_if_stopping(what: str) -> None:
    """Raise EngineFailedError between `stop_children` and `allow_children`."""
    with _lock:
        _refuse_if_stopping(what)


def ended_by(status: int) -> str:
    """Return how a child ended, as in ``"ended with exit status 3"`` or ``"was killed by SIGSEGV"``.

    Examples
    --------
    >>> ended_by(3), ended_by(-11)
    ('ended with exit status 3', 'was killed by SIGSEGV')
    """
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    because = ", which is what a system does that runs out of memory" if -status == signal.SIGKILL else ""
    return f"was killed by {name}{because}"


def _refuse_if_stopping(what: str) -> None:
    if _stopping:
        raise EngineFailedError(f"{what} was not started, because the fits are being stopped.", "Fit again.")


def _start(
    command: Sequence[str], console: Path, folder: Path, environment: Mapping[str, str], what: str
) -> subprocess.Popen[bytes]:
    if sys.platform == "linux" and sys.executable:
        command = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]
    try:
        output = console.open("wb")
    except OSError as error:
        problem = f"{console} cannot be written: {error.strerror or error}."
        raise EngineFailedError(problem, "Make room there, or choose another folder.") from error
    with output, _lock:
        _refuse_if_stopping(what)
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            problem = f"{what} cannot be started: {error.strerror or error} ({command[0]})."
            raise EngineFailedError(problem, "Check with: psychoeval doctor") from error
        _running.add(process)
    return process


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()

"""R inside this process, through rpy2."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Literal

import numpy as np

from psychoeval.availability import NO_PROFILES, R_UNWANTED, RPY2_OPTIONS, require, rpy2_environment
from psychoeval.errors import EngineFailedError, SettingsError
from psychoeval.rbridge.protocol import Job, Reply, integers, plain_job, refuse_sentinel

_start_lock = threading.Lock()
_started = False
_functions: dict[Path, Any] = {}  # R environments, one a script; used under rpy2's lock


class Rpy2Bridge:
    """Calls R in this process: no start-up after the first call, no time limit, one call at a time.

    Any thread may call; a lock makes the others wait. R is started by the first call, after a child process has shown
    that it starts: a wrong ``R_HOME`` would end this one.

    Ctrl-C: while R runs for the main thread, SIGINT (and SIGTERM under the command) reaches R's own interrupt flag,
    which R looks at between its steps; the call then raises KeyboardInterrupt, usually within a second, but not inside
    one long step of compiled code. An event loop that listens to signals itself keeps them, and Ctrl-C then waits for
    R. A call from another thread cannot be interrupted at all. Where that matters, take the child process
    (``bridge="rscript"``).
    """

    name: ClassVar[Literal["rpy2", "rscript"]] = "rpy2"

    def call(self, script: Path, function: str, job: Mapping[str, Any], *, timeout: float | None = None) -> Reply:
        """Call an R function; see `psychoeval.rbridge.protocol.RBridge.call`."""
        if timeout is not None:
            raise SettingsError("R inside Python cannot be given a time limit.", 'Use bridge="rscript" or "auto".')
        plain = plain_job(job)
        start()
        console: list[str] = []
        reply, problem = _call(script, function, plain, console)
        if problem:
            said = "".join(console).strip()
            raise EngineFailedError(
                f"R stopped: {problem}" + (f" R's last words:\n{said[-2000:]}" if said else ""),
                "Check with: psychoeval doctor",
            )
        if reply.get("interrupted"):
            raise KeyboardInterrupt
        refuse_sentinel(reply)
        return reply


def started() -> bool:
    """Return whether R runs in this process."""
    return _started


def start() -> None:
    """Start R in this process, once.

    Raises
    ------
    EngineUnavailableError
        If a child process that tried could not.
    """
    global _started
    if _started:
        return
    with _start_lock:
        if _started:
            return
        state = require("rpy2")
        libraries = require("r").paths.get("libraries", "")
        os.environ.update(rpy2_environment())
        with _signals_kept(), _environment_kept(), warnings.catch_warnings():
            # "R is not initialized by the main thread": the class's docstring says what follows from it.
            warnings.simplefilter("ignore")
            from rpy2 import rinterface
            from rpy2.rinterface_lib import embedded, openrlib

            with openrlib.rlock:
                ours = not embedded.isinitialized()
                if ours:
                    embedded.set_initoptions(RPY2_OPTIONS)
                    # Not initr(): it copies R's environment into this process, and asks a child that runs profiles.
                    rinterface.initr_simple()
                if ours and libraries:
                    rinterface.baseenv[".libPaths"](rinterface.StrSexpVector(libraries.split(os.pathsep)))
        _started = state.available


@contextlib.contextmanager
def _environment_kept() -> Iterator[None]:
    """Hide from R what would make it run other code while it starts."""
    names = {name for name in (*R_UNWANTED, *NO_PROFILES) if name != "R_HOME"}
    hidden = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ.update(NO_PROFILES)
    try:
        yield
    finally:
        for name in NO_PROFILES:
            os.environ.pop(name, None)
        os.environ.update(hidden)


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Undo what rpy2 does to Python's SIGINT handler when it starts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _call(script: Path, function: str, job: Job, console: list[str]) -> tuple[Reply, str]:
    """Return the reply, or R's error; no R object of a job outlives this frame, so none is freed outside the lock."""
    from rpy2 import rinterface
    from rpy2.rinterface_lib import callbacks, embedded, openrlib

    with (
        openrlib.rlock,
        callbacks.obj_in_module(callbacks, "consolewrite_print", console.append),
        callbacks.obj_in_module(callbacks, "consolewrite_warnerror", console.append),
        _interrupts(openrlib.rlib),
    ):
        try:
            if script not in _functions:
                functions = rinterface.baseenv["new.env"]()
                rinterface.baseenv["source"](
                    rinterface.StrSexpVector([str(script)]),
                    local=functions,
                    encoding=rinterface.StrSexpVector(["UTF-8"]),
                    **{"keep.source": rinterface.BoolSexpVector([False])},
                )
                _functions[script] = functions
            return _from_r(_functions[script][function](_to_r(job))), ""
        except embedded.RRuntimeError as error:
            return {}, str(error).strip()


@contextlib.contextmanager
def _interrupts(rlib: Any) -> Iterator[None]:
    """Pass what interrupts Python on to R while the main thread is inside it, and raise it when R has returned.

    That is SIGINT, and SIGTERM where it raises KeyboardInterrupt too, as under the command; where it has another
    handler, that waits for R.

    Python's handlers run only in the main thread, which is in R. What Python's C handler does at once is to write the
    signal's number to a file descriptor; a thread reads it there and sets R's flag. The handler itself only takes
    note, because an exception in a callback from R would be printed and lost.
    """
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}
    if callable(handler := signal.getsignal(signal.SIGINT)):
        before[signal.SIGINT] = handler
    if signal.getsignal(signal.SIGTERM) is signal.default_int_handler:
        before[signal.SIGTERM] = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or not before:
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if previous != -1:  # an event loop's; it is left alone
        signal.set_wakeup_fd(previous)
    noted: list[tuple[int, FrameType | None]] = []
    for kind in before:
        signal.signal(kind, lambda number, frame: noted.append((number, frame)))

    def watch() -> None:
        while number := os.read(reader, 1):
            if number[0] in before:
                rlib.R_interrupts_pending = 1

    watcher = threading.Thread(target=watch, name="psychoeval-r-interrupts", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
        if previous == -1:
            signal.set_wakeup_fd(-1)
        os.close(writer)
        watcher.join()
        os.close(reader)
        rlib.R_interrupts_pending = 0
    if noted:
        kind, frame = noted[0]
        before[kind](kind, frame)


def _to_r(job: Job) -> Any:
    from rpy2 import rinterface

    out = []
    for value in job.values():
        if value is None:
            out.append(rinterface.NULL)
        elif isinstance(value, dict):
            out.append(_to_r(value))
        elif isinstance(value, np.ndarray):
            out.append(rinterface.FloatSexpVector.from_memoryview(value.data))
        elif isinstance(value[0], str):
            out.append(rinterface.StrSexpVector(value))
        else:
            out.append(rinterface.BoolSexpVector(value))
    vector = rinterface.ListSexpVector(out)
    vector.names = rinterface.StrSexpVector(list(job))
    return vector


def _from_r(value: Any) -> Any:
    from rpy2 import rinterface

    if value is rinterface.NULL or value.rid == rinterface.NULL.rid:
        return None
    if isinstance(value, rinterface.ListSexpVector):
        parts = [_from_r(part) for part in value]
        names = value.names
        return parts if names.rid == rinterface.NULL.rid else dict(zip(names, parts, strict=True))
    if isinstance(value, rinterface.FloatSexpVector):
        # Copied: R owns what np.asarray shows. memoryview(value) is refused by rpy2 3.5 on some platforms.
        return np.array(np.asarray(value), dtype=np.float64)
    if isinstance(value, rinterface.BoolSexpVector):
        return [None if v is rinterface.NA_Logical else bool(v) for v in value]
    if isinstance(value, rinterface.IntSexpVector):
        return integers(np.array(np.asarray(value), dtype=np.int32))
    if isinstance(value, rinterface.StrSexpVector):
        return [None if v is rinterface.NA_Character else str(v) for v in value]
    raise EngineFailedError(f"R answered with a {type(value).__name__}, which is no plain list.", "Please report this.")

"""Programs that CmdStan has compiled, in the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from psychoeval.children import writing
from psychoeval.errors import EngineFailedError
from psychoeval.resources import own_cache, user_cache

#: For stanc and for the C++ compiler.
STANC_OPTIONS: Final[Mapping[str, Any]] = {"O1": True}
CPP_OPTIONS: Final[Mapping[str, Any]] = {}


def cache_folder() -> Path:
    """Return where compiled programs are kept: XDG_CACHE_HOME or ~/.cache, then psychoeval/stan."""
    return user_cache("stan")


def executable(name: str, source: str, cmdstan: str, version: str) -> Path:
    """Return where a program is or will be once it is compiled.

    The folder's name stands for all that decides what the program does: its text with everything included, CmdStan's
    folder (whose libraries it loads) and version, and the options.
    """
    parts = [source, cmdstan, version, json.dumps([dict(STANC_OPTIONS), dict(CPP_OPTIONS)], sort_keys=True)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    return cache_folder() / digest / (f"{name}.exe" if sys.platform == "win32" else name)


@contextlib.contextmanager
def workshop() -> Iterator[Path]:
    """Make a temporary folder whose path make can take, without spaces, and remove it.

    Raises
    ------
    EngineFailedError
        If no folder for temporary files is such a one and can be written.
    """
    candidates = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    taken = [folder for folder in candidates if not set(" ~\t") & set(folder) and os.access(folder, os.W_OK)]
    if not taken:
        raise EngineFailedError(
            f"CmdStan's make cannot work in {candidates[0]}, because of the space or ~ in its path.",
            "Set TMPDIR to a folder without them.",
        )
    with writing(taken[0], "CmdStan"):
        made = tempfile.TemporaryDirectory(prefix="psychoeval-", dir=taken[0], ignore_cleanup_errors=True)
    with made as name:
        yield Path(name)


def check_cache() -> None:
    """Make the cache, and find out that nobody but the user puts programs there, which would be run.

    Raises
    ------
    EngineFailedError
        If it cannot be made, or others may write there.
    """
    with _writing_cache():
        own_cache("stan")


def check_cache_room() -> None:
    """Find out that the cache can be written, before minutes go into compiling.

    Raises
    ------
    EngineFailedError
        If it cannot.
    """
    with _writing_cache(), tempfile.TemporaryDirectory(dir=cache_folder()):
        pass


def keep(built: Path, source: Path, target: Path) -> None:
    """Move a compiled program and its source into the cache, whole or not at all.

    Raises
    ------
    EngineFailedError
        If the cache cannot be written.
    """
    with _writing_cache(), tempfile.TemporaryDirectory(dir=cache_folder()) as name:
        half = Path(name, "half")
        half.mkdir(mode=0o700)
        shutil.copy(built, half / target.name)
        shutil.copy(source, half / f"{target.stem}.stan")
        with contextlib.suppress(FileExistsError):  # another process was first
            _rename(half, target.parent)


@contextlib.contextmanager
def _writing_cache() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EngineFailedError(
            f"Compiled Stan programs cannot be kept in {cache_folder()}: {error.strerror or error}.",
            "Make room there or make it yours to write, or set XDG_CACHE_HOME to another folder.",
        ) from error


def _rename(half: Path, whole: Path) -> None:
    try:
        half.rename(whole)
    except OSError as error:
        if whole.is_dir():
            raise FileExistsError(str(whole)) from error
        raise

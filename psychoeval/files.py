"""Write files whole or not at all, and only where a plain file may stand."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from psychoeval.errors import PsychoevalError, SettingsError


def checked_target(path: Path, unwritable: type[PsychoevalError] = SettingsError) -> Path:
    """Return the file that writing to `path` would replace: links are followed.

    Parameters
    ----------
    path : Path
    unwritable : type
        Of the error if the system does not let the path be looked at, as where a name is too long.

    Raises
    ------
    SettingsError
        If `path` is there and is no plain file: replacing a device or a pipe would destroy it for everybody.
    """
    with _named(path, unwritable):
        try:
            mode = os.stat(path).st_mode
        except ValueError as error:  # a zero byte, or half of a pair of UTF-16
            raise unwritable(f"{str(path)!r} is no path: {error}.", "Choose another name.") from error
        except FileNotFoundError:
            mode = stat.S_IFREG
        target = Path(os.path.realpath(path))
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
        kind = kinds.get(stat.S_IFMT(mode), "device")
        raise SettingsError(f"{path} is a {kind}, which a file cannot replace.", "Give the name of a file.")
    return target


def write_whole(
    path: Path, write: Callable[[BinaryIO], object], unwritable: type[PsychoevalError] = SettingsError
) -> None:
    """Let `write` fill a file that then takes the place of `path` in one step; links are followed.

    Parameters
    ----------
    path : Path
    write : callable
        Given an empty binary file, which is removed again if anything is raised.
    unwritable : type
        Of the error if the file cannot be written.

    Raises
    ------
    SettingsError
        If `path` is there and is no plain file.
    """
    target = checked_target(path, unwritable)
    # Beside the target, so that the replacement is one step on one file system.
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    with _named(path, unwritable):
        try:
            with part.open("xb") as file:
                write(file)
            os.replace(part, target)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are missing.

    Raises
    ------
    SettingsError
        If that cannot be done.
    """
    with _named(folder, SettingsError):
        folder.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def _named(path: Path, unwritable: type[PsychoevalError]) -> Iterator[None]:
    """Turn the system's errors into one that names the path."""
    try:
        yield
    except OSError as error:
        problem = f"{path} cannot be written: {error.strerror or error}."
        raise unwritable(problem, "Choose another place or name, in a folder that can be written.") from error

"""Paths of the shipped R and Stan files, in a wheel or a checkout, and of the user's cache."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from psychoeval.errors import PsychoevalError

_PACKAGE = Path(__file__).resolve().parent


def resource(folder: str, name: str) -> Path:
    """Return the path of a shipped file.

    Parameters
    ----------
    folder : str
        ``"r_scripts"`` or ``"stan"``.
    name : str
        File name inside it.

    Raises
    ------
    PsychoevalError
        If neither the installed package nor the checkout has the file.
    """
    for root in (_PACKAGE / "_resources", _PACKAGE.parent):
        path = root / folder / name
        if path.is_file():
            return path
    raise PsychoevalError(
        f"The shipped file {folder}/{name} is missing from this installation.",
        "Reinstall psychoeval.",
    )


def user_cache(engine: str) -> Path:
    """Return where an engine's compiled programs are kept: XDG_CACHE_HOME or ~/.cache, then psychoeval/<engine>."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "psychoeval" / engine


def own_cache(engine: str) -> Path:
    """Return `user_cache(engine)`, made where it is missing. Only the user may write there: what lies in it is run.

    Raises
    ------
    OSError
        If it cannot be made, is somebody else's, or others may write there; `strerror` says which.
    """
    folder = user_cache(engine)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        raise PermissionError(errno.EPERM, "it belongs to another user, and what lies in it would be run", str(folder))
    if os.name == "posix" and found.st_mode & 0o022:
        raise PermissionError(
            errno.EPERM, "others may write there, and what lies in it would be run (chmod go-w it)", str(folder)
        )
    return folder

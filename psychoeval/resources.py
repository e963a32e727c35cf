"""Paths of the shipped R and Stan files, in a wheel or a checkout, and of the user's cache."""

from __future__ import annotations

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

"""Paths of the shipped R and Stan files, in a wheel or a checkout."""

from __future__ import annotations

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

"""The text of a Stan program, with what it includes in its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from psychoeval.errors import EngineFailedError
from psychoeval.resources import resource

_INCLUDE: Final = re.compile(r"""^[ \t]*#include[ \t]+["<]?([^">\n]+?)[">]?[ \t]*$""", re.MULTILINE)


def program_name(program: str | Path) -> str:
    """Return the name of a program, as files and messages carry it."""
    return Path(program).stem


def program_source(program: str | Path) -> str:
    """Return a program that needs no other file.

    One text serves every back end: it can be compiled anywhere, and it alone says which compiled program is meant.

    Parameters
    ----------
    program : str or Path
        The stem of a file in ``stan/``, or the path of another program. Includes are looked for beside the program and
        in the folder ``include`` there.

    Raises
    ------
    PsychoevalError
        If the program is not there.
    EngineFailedError
        If it includes a file that is not there, or itself.
    """
    path = program if isinstance(program, Path) else resource("stan", f"{program}.stan")
    return _with_includes(path, path.parent, ())


def _with_includes(path: Path, home: Path, within: tuple[Path, ...]) -> str:
    if path in within:
        raise EngineFailedError(f"The Stan program {within[0]} includes {path}, which includes itself.", "Correct it.")

    def included(found: re.Match[str]) -> str:
        name = found[1].strip()
        for folder in (home, home / "include"):
            if (folder / name).is_file():
                return _with_includes(folder / name, home, (*within, path)).rstrip("\n")
        raise EngineFailedError(
            f"The Stan program {path} includes {name}, which is neither in {home} nor in {home / 'include'}.",
            "Put it there; if the program is psychoeval's own, reinstall psychoeval.",
        )

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        problem = f"The Stan program {path} cannot be read: {error.strerror or error}."
        raise EngineFailedError(problem, "Give the path of a file.") from error
    return _INCLUDE.sub(included, text)

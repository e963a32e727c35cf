"""Paths as commands take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer


def given_path(text: str) -> Path:
    """Return a path; refuse an empty one (a shell variable that is not set), which Python takes for this folder.

    Raises
    ------
    typer.BadParameter
    """
    if not text.strip():
        raise typer.BadParameter("The path is empty. Name a file or folder; this folder is a dot.")
    return Path(text)


def path_option(help: str, *names: str) -> Any:
    """Return an option that is a path, and never an empty one."""
    return typer.Option(*names, parser=given_path, metavar="PATH", help=help)

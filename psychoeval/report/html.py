"""Write the report: one HTML file that needs nothing else."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from psychoeval.errors import EngineUnavailableError, SettingsError
from psychoeval.report import numbers
from psychoeval.report.content import Content, content

if TYPE_CHECKING:
    from psychoeval.agreement.comparison import Comparison

#: Characters that HTML does not allow, from data or an engine's messages.
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def report(comparison: Comparison, path: str | Path, *, title: str | None = None) -> Path:
    """Write a comparison as one self-contained HTML file: inline styles and pictures, no scripts, no network.

    Parameters
    ----------
    comparison : Comparison
        From `psychoeval.compare`.
    path : str or Path
        Of the file; missing folders are made, an existing file is replaced in one step.
    title : str, optional
        Heading; by default it names the data.

    Returns
    -------
    Path
        Of the written file.

    Raises
    ------
    EngineUnavailableError
        Without Matplotlib or Jinja2.
    SettingsError
        If the file cannot be written.
    """
    target = Path(path)
    _check_target(target)
    text = render(content(comparison, title))
    _write(target, text)
    return target


def render(what: Content) -> str:
    """Return the report as HTML text."""
    text = _environment().get_template("report.html.j2").render(c=what)
    return _FORBIDDEN.sub("\ufffd", text)


def _environment() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise EngineUnavailableError(
            "The report needs Jinja2, which is not installed.",
            "pip install psychoeval[report]; check with: psychoeval doctor",
        ) from error
    # Everything is escaped, whatever a template is called: names in data are never markup.
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(numbers.FILTERS)
    return environment


def _check_target(target: Path) -> None:
    if target.is_dir():
        raise SettingsError(f"{target} is a folder.", "Give the name of a file, such as report.html.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(target, error) from error


def _write(target: Path, text: str) -> None:
    # Beside the target, so that the replacement is one step on one file system.
    part = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _unwritable(target, error) from error


def _unwritable(target: Path, error: OSError) -> SettingsError:
    return SettingsError(
        f"The report cannot be written to {target}: {error.strerror or error}.", "Choose a folder that can be written."
    )

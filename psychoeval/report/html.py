"""Write the report: one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from psychoeval.errors import DataError, EngineUnavailableError, SettingsError
from psychoeval.files import checked_target, make_folder, write_whole
from psychoeval.report import numbers
from psychoeval.report.content import Content, content

if TYPE_CHECKING:
    from psychoeval.agreement.comparison import Comparison
    from psychoeval.trust.assessment import Assessment

#: Characters that HTML does not allow, from data or an engine's messages.
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def report(
    comparison: Comparison | Assessment,
    path: str | Path,
    *,
    title: str | None = None,
    assessment: Assessment | None = None,
) -> Path:
    """Write a comparison as one self-contained HTML file: inline styles and pictures, no scripts, no network.

    Parameters
    ----------
    comparison : Comparison or Assessment
        From `psychoeval.compare`; or from `psychoeval.assess`, whose own report is written (`report.trust_report`).
    path : str or Path
        Of the file; missing folders are made, an existing file is replaced in one step, links are followed.
    title : str, optional
        Heading; by default it names the data.
    assessment : Assessment, optional
        From `psychoeval.trust.assess`: what may be claimed becomes the first page.

    Returns
    -------
    Path
        Of the written file.

    Raises
    ------
    DataError
        For what is neither a comparison nor an assessment.
    EngineUnavailableError
        Without Matplotlib or Jinja2.
    NotComparableError
        If the assessment is of other data.
    SettingsError
        If the file cannot be written, or `path` is a folder, a device, a pipe or a socket; or for `assessment` beside
        an assessment.
    """
    from psychoeval.agreement.comparison import Comparison as Compared
    from psychoeval.trust.assessment import Assessment as Assessed

    if isinstance(comparison, Assessed):
        from psychoeval.report.trust import trust_report

        if assessment is not None:
            raise SettingsError("An assessment is given twice.", "Give one: report(assessment, path).")
        return trust_report(comparison, path, title=title)
    for name, value, kind in (("comparison", comparison, Compared), ("assessment", assessment, Assessed)):
        if not isinstance(value, kind) and (name == "comparison" or value is not None):
            raise DataError(
                f"{name} is a {type(value).__name__}.", "Give what psychoeval.compare or psychoeval.assess returns."
            )
    return write_page("report.html.j2", lambda: content(comparison, title, assessment), path)


def render(what: Content) -> str:
    """Return the report as HTML text."""
    return _render("report.html.j2", what)


def write_page(template: str, make: Callable[[], Any], path: str | Path) -> Path:
    """Fill a template with what `make` returns (as ``c``) and write it, as `report` does."""
    target = Path(path)
    make_folder(checked_target(target).parent)
    text = _render(template, make())
    write_whole(target, lambda file: file.write(text.encode("utf-8")))
    return target


def _render(template: str, what: Any) -> str:
    return _FORBIDDEN.sub("\ufffd", _environment().get_template(template).render(c=what))


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

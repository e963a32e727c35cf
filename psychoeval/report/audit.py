"""The audit of a data set: items and systems without a model, as one HTML file, tables and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from psychoeval._version import __version__
from psychoeval.errors import DataError, SettingsError
from psychoeval.report import audit_factors, audit_items, audit_stability, audit_systems
from psychoeval.report.audit_parts import AuditSettings, Section, Table, shape
from psychoeval.report.html import write_page
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

__all__ = ["AuditContent", "AuditSettings", "audit_content", "audit_report"]

_Make = Callable[[Responses, AuditSettings], Section | tuple[Section, ...]]
#: Title where a section could not be made, and what makes it.
_SECTIONS: Final[tuple[tuple[str, _Make], ...]] = (
    ("What stands out", audit_systems.findings),
    ("Mean scores", audit_systems.means),
    ("Pairs", audit_systems.pairs),
    ("Items", audit_items.items),
    ("Difficulty and discrimination", audit_items.bins),
    ("Benchmarks", audit_items.benchmarks),
    ("Curves of items", audit_items.curves),
    ("Other samples", audit_stability.bootstrap),
    ("Groups left out", audit_stability.groups),
    ("Factors", audit_factors.structure),
)
#: Place of the section on a pair that was asked for.
_PAIR_AT: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class AuditContent:
    """What an audit found: shown by the template, printed, and written as tables."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    version: str = __version__
    remark: ClassVar[str] = "No model is fitted here."

    @property
    def tables(self) -> Iterator[Table]:
        """All tables, those that the report does not show among them."""
        return (t for s in self.sections for t in s.tables)

    def to_dict(self) -> dict[str, Any]:
        """Return sentences and tables as JSON takes them."""
        sections = [
            {
                "title": s.title,
                "sentences": list(s.sentences),
                "rules": list(s.rules),
                "tables": {t.key: t.frame.reset_index().to_dict("records") for t in s.tables},
            }
            for s in self.sections
        ]
        return {"title": self.title, "data": self.lead, "sections": sections}


def audit_report(
    responses: Responses,
    path: str | Path,
    *,
    settings: AuditSettings | None = None,
    title: str | None = None,
    content: AuditContent | None = None,
) -> Path:
    """Write the audit of a data set as one self-contained HTML file.

    What stands out, scores of persons with their errors, tests of pairs, the classical item table, bins of difficulty,
    binned curves, stability over persons and groups of them, factors, clusters and outside scores.

    Parameters
    ----------
    responses : Responses
    path : str or Path
    settings : AuditSettings, optional
    title : str, optional
    content : AuditContent, optional
        What `audit_content` returned for the same responses and settings, so that it is not computed again.

    Returns
    -------
    Path

    Raises
    ------
    EngineUnavailableError
        Without Matplotlib or Jinja2.
    SettingsError
        If the file cannot be written.
    """
    return write_page("audit.html.j2", lambda: content or audit_content(responses, settings, title), path)


def audit_content(
    responses: Responses, settings: AuditSettings | None = None, title: str | None = None
) -> AuditContent:
    """Return what an audit finds; a part that cannot be computed says why, and costs nothing else.

    Raises
    ------
    DataError, SettingsError
        If a column or pair that was asked for by name is not there.
    """
    r, chosen = responses, settings or AuditSettings()
    _check_names(r, chosen)
    pair = () if chosen.pair is None else (audit_systems.one_pair(r, chosen),)
    sections = [s for name, make in _SECTIONS for s in _made(name, make, r, chosen)]
    sections[_PAIR_AT:_PAIR_AT] = pair
    return AuditContent(title or f"{r.name}: audit of the items", f"{shape(r)}.", tuple(sections))


def _check_names(r: Responses, settings: AuditSettings) -> None:
    """Refuse columns that were asked for and are not there, before anything is computed."""
    for column in (settings.cluster, settings.benchmark):
        if column is not None:
            group_codes(r, column, "items")
    names = [] if r.persons is None else [str(c) for c in r.persons.columns]
    if settings.group is not None and settings.group not in names:
        known = f"They have {some(names)}." if names else "Give them with --persons FILE."
        raise DataError(f"The {r.person_label}s have no covariate {settings.group!r}.", known)


def _made(name: str, make: _Make, r: Responses, settings: AuditSettings) -> tuple[Section, ...]:
    """Return sections, or one that says why they are not there; what was asked for by name is no such reason."""
    try:
        made = make(r, settings)
    except (DataError, SettingsError) as error:
        return (Section(name, (f"Not computed: {error.problem} {error.remedy}",)),)
    return made if isinstance(made, tuple) else (made,)

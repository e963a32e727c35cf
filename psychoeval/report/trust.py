"""The report of a verdict: claims first, then what they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from psychoeval import plots
from psychoeval._version import __version__
from psychoeval.report.audit_parts import Drawing, Section, Table, shape
from psychoeval.report.html import write_page
from psychoeval.trust.assessment import Assessment
from psychoeval.trust.claims import Claim
from psychoeval.trust.evidence import Evidence
from psychoeval.trust.ranking import Ranking
from psychoeval.trust.words import STATISTICS, condition_words, metric_words

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class TrustContent:
    """The report as values; the template, that of the audit, only arranges them."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    remark: str = "What may be claimed of them comes first; what that rests on follows."
    version: str = __version__


def trust_report(assessment: Assessment, path: str | Path, *, title: str | None = None) -> Path:
    """Write a verdict and what it rests on as one self-contained HTML file.

    Parameters
    ----------
    assessment : Assessment
    path : str or Path
    title : str, optional

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
    return write_page("audit.html.j2", lambda: trust_content(assessment, title), path)


def trust_content(assessment: Assessment, title: str | None = None) -> TrustContent:
    """Return the sections of the report."""
    found = assessment.evidence
    r = found.responses
    lead = f"{shape(r)}, fitted by {found.fit.label}."
    sections = (
        Section("What may be claimed", tuple(_sentence(c) for c in assessment.claims), _RULES, (_claims(assessment),)),
        Section("What is known beside the claims", assessment.facts),
        Section("Reasons", tables=(_reasons(assessment),)),
        _ranks("Ranks on these items", found.ranking, found, "ranking"),
        _ranks("Ranks on items like these", found.over_items, found, "over_items"),
        _items(found),
        _refits(found),
        Section("Conditions", _not_met(found), tables=(_conditions(found),)),
    )
    return TrustContent(title or f"{r.name}: can its ranking be trusted?", lead, sections)


_RULES = ("Each reason allows a best grade, and a claim has the worst of them. The limits are in the table of reasons, "
          "each with its source.",)  # fmt: skip


def _sentence(claim: Claim) -> str:
    why = " ".join(r.words for r in claim.deciding[:2])
    return f"{claim.grade.capitalize()}: {claim.statement} {why}"


def _claims(assessment: Assessment) -> Table:
    columns = ("statement", "grade", "change")
    return Table("claims", "Claims, and what would change their grade", assessment.to_frame(), columns)


def _reasons(assessment: Assessment) -> Table:
    import pandas as pd

    rows = [
        {"claim": c.name, "found": r.words, "allows": r.allows, "held_to": r.threshold}
        for c in assessment.claims
        for r in c.reasons
    ]
    frame = pd.DataFrame(rows).set_index("claim")
    return Table("reasons", "All reasons", frame, ("found", "allows", "held_to"))


def _ranks(title: str, ranking: Ranking | None, found: Evidence, part: str) -> Section:
    if ranking is None:
        return Section(title, (f"Not known: {found.missing.get(part, '')}",))
    n = len(ranking.person_ids)
    apart = int(ranking.told_apart.sum()) // 2
    sentences = (f"{apart:,} of {n * (n - 1) // 2:,} pairs are told apart at {ranking.level:.0%} after correction by "
                 f"{ranking.correction}.", *ranking.notes)  # fmt: skip
    frame = ranking.to_frame()
    together = ", all of them together" if ranking.correction == "holm" else ""
    reading = (
        f"Dot: the rank. Thin blue: {ranking.level:.0%} interval of each rank on its own. Thick grey: ranks that the "
        f"tests of all pairs leave possible{together}."
    )
    drawing = Drawing(title, reading, f"{title}, intervals", lambda: plots.rank_intervals(ranking, noun=found.noun))
    rules = (f"{ranking.source}; {ranking.uncertainty}.",)
    return Section(title, sentences, rules, (Table(part, title, frame, tuple(map(str, frame.columns))),), (drawing,))


def _items(found: Evidence) -> Section:
    coverage = found.conditions.item_coverage
    title = "Items against abilities"
    if coverage is None:
        return Section(title, (found.conditions["item_coverage"].not_applicable,))
    drawing = Drawing(
        title, f"Above the axis {found.noun}s, below it items. Hatched: {found.noun}s with few items near their "
        "ability, of whom little is known.", f"{title}, two histograms",
        lambda: plots.item_coverage(coverage, noun=found.noun),
    )  # fmt: skip
    return Section(title, (found.conditions["item_coverage"].words,), drawings=(drawing,))


def _refits(found: Evidence) -> Section:
    title = "What refitting recovers"
    check = found.refitting
    if check is None:
        return Section(title, (f"Not known: {found.missing.get('refitting', '')}",))
    sentences = (
        f"{check.n_believed} of {check.replications.n_wanted} data sets simulated from {check.truth} were fitted again "
        f"by {check.label}; {check.failure_rate:.0%} of the fits failed or did not converge.",
        *check.notes,
    )
    recovery = check.recovery().rename(index=lambda name: metric_words(str(name), found.noun))
    likeness = check.likeness().rename(index=STATISTICS)
    tables = (
        _table("recovery", "Recovery of the simulated truth", recovery),
        _table("likeness", "Statistics of the data beside those of simulated data", likeness),
    )
    return Section(title, sentences, tables=tables)


def _not_met(found: Evidence) -> tuple[str, ...]:
    names = [condition_words(name, found.noun) for name in found.conditions.not_met]
    return (f"Not met: {'; '.join(names)}." if names else "All that apply are met.",)


def _conditions(found: Evidence) -> Table:
    frame = found.conditions.to_frame()
    frame["met"] = frame["met"].map({True: "met", False: "not met"}).fillna("does not apply")
    frame["words"] = frame["words"].where(frame["not_applicable"] == "", frame["not_applicable"])
    frame = frame.rename(index=lambda name: condition_words(str(name), found.noun))
    return Table("conditions", "Conditions", frame, ("value", "rule", "threshold", "met", "words", "source"))


def _table(key: str, title: str, frame: pd.DataFrame) -> Table:
    return Table(key, title, frame, tuple(map(str, frame.columns)))

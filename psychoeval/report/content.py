"""Everything the report's templates show, gathered from a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psychoeval.errors import NotComparableError
from psychoeval.fitting import FitFailure
from psychoeval.report import data, items, likelihood, pictures, systems, words
from psychoeval.report.agreement import Agreement, agreement
from psychoeval.report.inference import InferenceSection, conclusions, inference_section
from psychoeval.report.likelihood import Maxima
from psychoeval.report.sampling import SamplingSection, sampling_section
from psychoeval.report.status import StatusRow, status_row
from psychoeval.results.fit_result import LIKELIHOOD_WORDS, FitResult

if TYPE_CHECKING:
    from psychoeval.agreement.comparison import Comparison
    from psychoeval.trust.assessment import Assessment


@dataclass(frozen=True, slots=True)
class ClaimsSection:
    """What may be claimed, judged by one fit; rows have statement, grade, because, change."""

    label: str
    refits: int
    rows: tuple[dict[str, str], ...]
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """The report as values; the templates only arrange them."""

    title: str
    version: str
    noun: str
    opening: tuple[str, ...]
    cautions: tuple[tuple[str, str], ...]
    status: tuple[StatusRow, ...]
    failures: tuple[FitFailure, ...]
    failure_groups: tuple[tuple[FitFailure, ...], ...]
    data: data.DataSection
    systems: systems.SystemsSection | None
    agreement: Agreement
    inference: InferenceSection
    items: tuple[items.ItemsTable, ...]
    likelihood: tuple[likelihood.LikelihoodRow, ...]
    likelihood_words: tuple[tuple[str, str], ...]
    maxima: Maxima
    sampling: SamplingSection | None
    pictures: tuple[pictures.Picture, ...]
    as_given: str
    fits: tuple[tuple[str, FitResult], ...]
    claims: ClaimsSection | None


def content(comparison: Comparison, title: str | None = None, assessment: Assessment | None = None) -> Content:
    """Gather the report of a comparison.

    Raises
    ------
    NotComparableError
        If the comparison does not hold the responses.
    """
    from psychoeval._version import __version__

    responses, fits, names = comparison.responses, comparison.fits, comparison.names
    if responses is None:
        raise NotComparableError(
            "The comparison does not hold the data, which the report describes.",
            "Give them to the comparison: compare(fits, responses=responses).",
        )
    noun, named = responses.person_label, tuple(zip(names, fits, strict=True))
    agreed, concluded = agreement(comparison), conclusions(comparison)
    return Content(
        title=title or f"{responses.name}: estimators compared",
        version=__version__,
        noun=noun,
        opening=(*words.opening(responses, names, fits, len(comparison.failures)), *agreed.summary),
        cautions=(
            *words.cautions(responses, names, fits, comparison.failures),
            *likelihood.shortfall_cautions(comparison.pairs),
            *words.connection_cautions(comparison.connections),
        ),
        status=tuple(status_row(n, f) for n, f in named),
        failures=comparison.failures,
        failure_groups=tuple(tuple(g) for g in words.grouped(comparison.failures)),
        data=data.data_section(responses),
        systems=systems.systems_section(names, fits, noun),
        agreement=agreed,
        inference=inference_section(concluded),
        items=tuple(t for n, f in named if (t := items.items_table(n, f, responses)) is not None),
        likelihood=tuple(likelihood.likelihood_row(n, f) for n, f in named),
        likelihood_words=tuple(LIKELIHOOD_WORDS.values()),
        maxima=likelihood.maxima(comparison.pairs),
        sampling=sampling_section(comparison, noun),
        pictures=tuple(pictures.pictures(comparison, responses, concluded)),
        as_given=words.as_given(named),
        fits=named,
        claims=None if assessment is None else _claims(assessment, responses.sha256),
    )


def _claims(assessment: Assessment, sha256: str) -> ClaimsSection:
    found = assessment.evidence
    if found.responses.sha256 != sha256:
        raise NotComparableError("The assessment is of other data than the comparison.", "Assess the same responses.")
    rows = assessment.to_frame().to_dict("records")
    refits = 0 if found.refitting is None else found.refitting.n_believed
    told = tuple({str(k): str(v) for k, v in row.items()} for row in rows)
    return ClaimsSection(found.fit.label, refits, told, assessment.facts)

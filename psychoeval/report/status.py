"""How each fit ended."""

from __future__ import annotations

from dataclasses import dataclass

from psychoeval.plots.canvas import STATUS_WORDS
from psychoeval.report import words
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult


@dataclass(frozen=True, slots=True)
class StatusRow:
    """One fit: its status in words, what it means, and what to do."""

    label: str
    believed: bool
    status: str
    meaning: str
    advice: str
    convergence: Convergence
    seconds: float | None


def status_row(name: str, fit: FitResult) -> StatusRow:
    """Return the status of a fit as the report shows it."""
    return StatusRow(
        name,
        fit.convergence.believed,
        STATUS_WORDS[fit.convergence.status] + (f", {fit.sampling.grade}" if fit.sampling is not None else ""),
        words.meaning(fit),
        words.advice(fit),
        fit.convergence,
        fit.provenance.seconds,
    )

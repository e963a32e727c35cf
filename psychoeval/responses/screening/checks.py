"""All checks, in one call."""

from __future__ import annotations

from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.families import families
from psychoeval.responses.screening.findings import Screening
from psychoeval.responses.screening.items import near_copies, nearly_constant, runs_against
from psychoeval.responses.screening.missingness import missingness
from psychoeval.responses.screening.overlap import overlap
from psychoeval.responses.screening.repeats import duplicates, similar_ids
from psychoeval.responses.screening.saturation import saturation
from psychoeval.responses.screening.status import unusable
from psychoeval.responses.screening.unreached import unreached

_CHECKS = (
    unusable, nearly_constant, duplicates, near_copies, similar_ids, runs_against, overlap, missingness, unreached,
    saturation, families,
)  # fmt: skip


def screen(responses: Responses) -> Screening:
    """Look for what makes responses hard to model or to believe; nothing is changed.

    Items that are constant, nearly so, never run, copies of others, or run against the rest (key errors); persons that
    are extreme, empty or copies; ids that differ by case or spaces alone; thin overlap and components; cells that are
    missing where ability or difficulty says so; responses that end in an improbably long run of failures, as they do
    where items that were not reached are stored as wrong; saturation; families of systems that fail alike.
    """
    found = [finding for check in _CHECKS for finding in check(responses)]
    return Screening(tuple(sorted(found, key=lambda f: f.severity == "note")))

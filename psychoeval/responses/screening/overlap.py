"""What links persons to each other."""

from __future__ import annotations

from psychoeval.responses.cells import counted
from psychoeval.responses.connectivity import components, coverage
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.findings import Finding, pick
from psychoeval.wording import some


def overlap(responses: Responses) -> list[Finding]:
    """Find components, and persons that hardly anything links to others."""
    if responses.is_complete:
        return []
    label = responses.person_label
    findings = []
    n = components(responses).n
    if n > 1:
        sentence = f"The responses fall into {n} components; abilities in one cannot be compared with those in another."
        findings.append(Finding("warning", "disconnected", sentence, ()))
    found = coverage(responses)
    thin = pick(responses.person_ids, (found.items_per_person > 0) & (found.linking_items < 2))
    if thin:
        sentence = f"{counted(len(thin), label)} with fewer than 2 items that others saw too: {some(thin)}."
        findings.append(Finding("warning", "thin_overlap", sentence, thin))
    return findings

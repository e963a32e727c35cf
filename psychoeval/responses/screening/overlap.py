"""What links persons to each other."""

from __future__ import annotations

from typing import Final

import numpy as np

from psychoeval.responses.cells import counted
from psychoeval.responses.connectivity import components, coverage, shared_items
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.findings import Finding, pick
from psychoeval.wording import some

#: With more persons what each two share is not counted.
MOST_PERSONS: Final = 2_000


def overlap(responses: Responses) -> list[Finding]:
    """Find components, and persons that hardly anything links to others; say what two persons share."""
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
    given = found.items_per_person
    sentence = (
        f"Coverage: a {label} was given {given.min()} to {given.max()} items, an item to "
        f"{found.persons_per_item.min()} to {found.persons_per_item.max()} {label}s."
    )
    if 2 <= responses.n_persons <= MOST_PERSONS:
        shared = shared_items(responses)[np.triu_indices(responses.n_persons, 1)]
        sentence += (
            f" Two {label}s share {shared.min()} to {shared.max()} items, {np.median(shared):g} in the middle; "
            f"{np.count_nonzero(shared == 0)} of {shared.size} pairs share none."
        )
    return [*findings, Finding("note", "coverage", sentence, ())]

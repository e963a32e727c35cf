"""What links persons to each other."""

from __future__ import annotations

from typing import Final

import numpy as np

from psychoeval.responses.cells import counted
from psychoeval.responses.connections import connections
from psychoeval.responses.connectivity import coverage, shared_items
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.findings import Finding, pick
from psychoeval.wording import some

#: With more persons what each two share is not counted.
MOST_PERSONS: Final = 2_000


def overlap(responses: Responses) -> list[Finding]:
    """Find components with what would join them, weak links and thin overlap; say what two persons share."""
    if responses.is_complete:
        return []
    label = responses.person_label
    findings = []
    links = connections(responses)
    if not links.is_connected:
        sentence = " ".join([links.problem, *links.remedies])
        findings.append(Finding("warning", "disconnected", sentence, ()))
    if links.weak:
        ids = tuple(w.id for w in links.weak_links or ())
        findings.append(Finding("warning", "weak_link", " ".join(links.weak), ids))
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

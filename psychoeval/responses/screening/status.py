"""What can be estimated at all: persons and items that vary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.parameters import ItemStatus, PersonStatus
from psychoeval.responses.cells import counted
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.findings import Finding, Severity, pick
from psychoeval.wording import some


def item_status(responses: Responses) -> tuple[ItemStatus, ...]:
    """Return the status of each item: ``estimated``, ``constant_all_0``, ``constant_all_1`` or ``no_responses``.

    Constant means no success, or as many successes as trials, over all its observed cells.
    """
    codes = constancy(responses, axis=0)
    names: tuple[ItemStatus, ...] = ("estimated", "constant_all_0", "constant_all_1", "no_responses")
    return tuple(names[code] for code in codes)


def person_status(responses: Responses) -> tuple[PersonStatus, ...]:
    """Return the status of each person: ``estimated``, ``extreme_all_0``, ``extreme_all_1`` or ``no_responses``."""
    codes = constancy(responses, axis=1)
    names: tuple[PersonStatus, ...] = ("estimated", "extreme_all_0", "extreme_all_1", "no_responses")
    return tuple(names[code] for code in codes)


def constancy(responses: Responses, axis: int) -> NDArray[np.intp]:
    """Return 0 mixed, 1 no success, 2 nothing but successes, 3 no trials; along `axis`."""
    successes = responses.successes.sum(axis=axis, dtype=np.uint64)
    trials = responses.trials.sum(axis=axis, dtype=np.uint64)
    return np.select([trials == 0, successes == 0, successes == trials], [3, 1, 2], 0).astype(np.intp)


def unusable(responses: Responses) -> list[Finding]:
    """Find what holds no information, or too little for a finite estimate."""
    label = responses.person_label
    item, person = constancy(responses, axis=0), constancy(responses, axis=1)
    rows: tuple[tuple[Severity, str, NDArray[np.bool_], str, Sequence[str], str], ...] = (
        ("warning", "never_run_items", item == 3, "item", responses.item_ids, "without any response"),
        ("warning", "empty_persons", person == 3, label, responses.person_ids, "without any response"),
        ("note", "constant_items", item == 1, "item", responses.item_ids, f"that no {label} got right"),
        ("note", "constant_items", item == 2, "item", responses.item_ids, f"that every {label} got right"),
        ("note", "extreme_persons", person == 1, label, responses.person_ids, "without any success"),
        ("note", "extreme_persons", person == 2, label, responses.person_ids, "without any failure"),
    )
    findings = []
    for severity, kind, chosen, noun, all_ids, what in rows:
        ids = pick(all_ids, chosen)
        if ids:
            findings.append(Finding(severity, kind, f"{counted(len(ids), noun)} {what}: {some(ids)}.", ids))
    return findings

"""Rows, columns and ids that repeat others."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.responses.cells import counted
from psychoeval.responses.ids_and_counts import CountArray
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.findings import Finding
from psychoeval.responses.screening.status import constancy
from psychoeval.wording import some

#: Over fewer cells, items or persons are equal by chance.
MIN_COMPARED: Final = 20


def duplicates(responses: Responses) -> list[Finding]:
    """Find items and persons that repeat an earlier one in every cell."""
    label = responses.person_label
    findings = []
    for axis, noun, ids in ((0, "item", responses.item_ids), (1, label, responses.person_ids)):
        if responses.trials.shape[axis] < MIN_COMPARED:
            continue
        usable = constancy(responses, axis=axis) == 0
        successes, trials = (m.T if axis == 0 else m for m in (responses.successes, responses.trials))
        repeats = _repeated_rows(successes, trials, usable)
        if repeats:
            again = tuple(ids[i] for i, _ in repeats)
            pairs = [f"{ids[i]} = {ids[first]}" for i, first in repeats]
            sentence = f"{counted(len(again), noun)} with exactly the responses of an earlier one: {some(pairs)}."
            findings.append(Finding("note", f"duplicate_{'items' if axis == 0 else 'persons'}", sentence, again))
    return findings


def _repeated_rows(successes: CountArray, trials: CountArray, usable: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return each usable row that equals an earlier one, with the first of its kind."""
    first: dict[bytes, int] = {}
    repeats = []
    for i in np.flatnonzero(usable).tolist():
        earlier = first.setdefault(successes[i].tobytes() + trials[i].tobytes(), i)
        if earlier != i:
            repeats.append((i, earlier))
    return repeats


def similar_ids(responses: Responses) -> list[Finding]:
    """Find ids that differ by case or spaces alone."""
    findings = []
    for noun, ids in (("item", responses.item_ids), (responses.person_label, responses.person_ids)):
        groups: dict[str, list[str]] = {}
        for text in ids:
            groups.setdefault(" ".join(text.casefold().split()), []).append(text)
        alike = tuple(text for group in groups.values() if len(group) > 1 for text in group)
        if alike:
            sentence = f"{counted(len(alike), noun)} whose ids differ by case or spaces alone: {some(alike)}."
            findings.append(Finding("warning", "similar_ids", sentence, alike))
    return findings

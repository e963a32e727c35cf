"""How much room a benchmark leaves."""

from __future__ import annotations

from typing import Final

import numpy as np

from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.findings import Finding, pick

#: An item is easy at this share of right answers, and a benchmark saturated where half its items are.
EASY: Final = 0.8
SATURATED: Final = 0.5


def saturation(responses: Responses) -> list[Finding]:
    """Say which share of items has p >= `EASY`, and what the best person has left to gain."""
    trials = responses.trials.sum(axis=0, dtype=np.float64)
    ran = trials > 0
    if not ran.any():
        return []
    p = responses.successes.sum(axis=0, dtype=np.float64)[ran] / trials[ran]
    easy, never = p >= EASY, p == 0
    mean = np.nanmean(
        np.where(responses.observed, responses.proportions, np.nan)[responses.observed.any(axis=1)], axis=1
    )
    label, best = responses.person_label, float(mean.max())
    sentence = (
        f"{easy.sum()} of {ran.sum()} items ({easy.mean():.0%}) are answered right in {EASY:.0%} of the trials or "
        f"more, {never.sum()} never; the best {label} has {1 - best:.0%} of its items left to gain."
    )
    saturated = bool(easy.mean() >= SATURATED)
    if saturated:
        sentence += " The benchmark is saturated: most of its items no longer tell strong systems apart."
    ids = pick([i for i, r in zip(responses.item_ids, ran, strict=True) if r], easy)
    return [Finding("warning" if saturated else "note", "saturation", sentence, ids)]

"""Reasons that several claims share: conditions not met, likeness, what refits recover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from psychoeval.agreement.thresholds import Threshold
from psychoeval.responses.cells import counted
from psychoeval.trust import thresholds as limits
from psychoeval.trust.claims import Grade, Reason, graded
from psychoeval.trust.evidence import Evidence
from psychoeval.trust.words import STATISTICS, condition_words

#: Conditions that leave no claim at all.
STOPS: Final = ("convergence", "connectivity")
_CHANGE: Final = {
    "convergence": "a fit that reaches its end (more iterations, priors on the items, fewer parameters)",
    "connectivity": "items that systems of every component were given",
    "systems": "more systems that are not of the same families",
    "systems_for_items": "more systems that are not of the same families: 100 or so",
    "skewness": "a pool of systems without a long tail, or a fit with an estimated latent distribution",
    "item_coverage": "items of the difficulty of the systems named",
    "missing_at_random": "the missing cells of these systems run",
    "difficulty_gap": "the missing cells run, or fewer extreme items",
    "sparsity": "more cells run",
    "saturation": "harder items",
}


def stops(found: Evidence) -> list[Reason]:
    """Return what leaves no claim at all."""
    return not_met(found, STOPS, "not supported")


def not_met(found: Evidence, names: Sequence[str], allows: Grade = "with care") -> list[Reason]:
    """Return those of the conditions that are not met, as reasons."""
    out = []
    for name in names:
        condition = found.conditions[name]
        if condition.met is False:
            words = f"{condition_words(name, found.noun)}: {condition.words}"
            threshold = f"{condition.about}: {condition.threshold:g} ({condition.source})"
            out.append(Reason(words, allows, _CHANGE[name].replace("system", found.noun), threshold))
    return out


def held(limit: Threshold) -> str:
    """Return what a value is held to, and the source."""
    return f"{limit.about}: {limit.value:g} ({limit.reason})"


def likeness(found: Evidence) -> list[Reason]:
    """Return in what the data are unlike data of the fitted model, and whether some seem to guess: reasons for care."""
    out = []
    unlike = () if found.refitting is None else found.refitting.unlike()
    if unlike:
        words = f"The data are not like data of the fitted model: {', '.join(STATISTICS[n] for n in unlike)}."
        out.append(Reason(words, "with care", "a model that makes data like these", held(limits.UNLIKE)))
    if found.guessing > limits.GUESSING.value:
        words = (
            f"Weak {found.noun}s seem to guess: a 3PL raises the log-likelihood of a 2PL by {found.guessing:.1f}. "
            "Refits do not show what that means for the claim."
        )
        out.append(Reason(words, "with care", "a 3PL", held(limits.GUESSING)))
    return out


def refits(
    found: Evidence,
    metric: str,
    supported: Threshold,
    failed: Threshold,
    words: str,
    change: str,
    *,
    low: float | None = None,
) -> list[Reason]:
    """Return what the mean of a metric over refits leaves, and that few of them support nothing.

    The mean is held to the limits at the lower end of its 95% interval (`claims.graded`); where nothing was fitted
    again, it is NaN, and the reason says why.
    """
    n, mean = found.n_refits(metric), found.recovered(metric)[0]
    if not n:
        told = found.missing.get("refitting", "Refitting says nothing of it.")
        return [graded(np.nan, supported, failed, told, change)]
    times = "1 data set" if n == 1 else f"{n} data sets"
    told = f"In {times} simulated from the fit and fitted again, {words}."
    out = [graded(mean, supported, failed, told, change, error=found.reach(metric), low=low)]
    if n < limits.REFITS.value:
        few = f"{counted(n, 'refit')}: too few to support a claim."
        out.append(Reason(few, "with care", f"{limits.REFITS.value:g} refits or more", held(limits.REFITS)))
    return out


def plus_minus(reach: float, form: str = ".2g") -> str:
    """Return half the width of an interval in words, nothing where it is infinite."""
    return f" (+- {reach:{form}})" if np.isfinite(reach) else ""

"""Claims about the items: their difficulties, their discriminations, and whether any may be removed."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import ndtr

from psychoeval.trust import thresholds as limits
from psychoeval.trust.claims import Claim, ClaimName, Grade, Reason
from psychoeval.trust.evidence import Evidence
from psychoeval.trust.reasons import held, likeness, not_met, plus_minus, refits, stops

#: Models that take all items as equally discriminating.
EQUAL_SLOPES: Final = ("Rasch", "1PL")


def parameters(found: Evidence, term: str) -> Claim:
    """Return the claim that the items' difficulties or discriminations are those printed."""
    name: ClaimName = "difficulties" if term == "difficulty" else "discriminations"
    lacking = _without(found, term)
    if lacking is not None:
        return Claim(name, f"The items' {name} are those printed, within their intervals.", (lacking,))
    statement = f"The {_model(found)}{name} of {_of_items(found, term)} are those printed, within their intervals."
    return Claim(name, statement, tuple(_reasons(found, term)))


def removing(found: Evidence) -> Claim:
    """Return the claim that items may be removed for what their parameters say."""
    lacking = _without(found, "discrimination")
    if lacking is not None:
        return Claim("removing_items", "Items may be removed for what their parameters say.", (lacking,))
    statement = f"Of {_of_items(found, 'discrimination')}, some may be removed for what their parameters say."
    few = not_met(found, ["systems_for_items"], "not supported")
    return Claim("removing_items", statement, (*few, *_reasons(found, "discrimination")))


def _model(found: Evidence) -> str:
    """Return whose parameters they are: refits take the model as true."""
    return "" if found.fit.model is None else f"{found.fit.model.name} "


def _of_items(found: Evidence, term: str) -> str:
    """Return for how many of how many items a fit has a value of a term."""
    items = found.fit.item_parameters
    assert items is not None
    n = int(np.count_nonzero(items.estimated & np.isfinite(getattr(items, term))))
    total = found.responses.n_items
    if n == total:
        return f"all {total} items"
    return f"{n} of {total} items (the others have none: constant, or never run)"


def _reasons(found: Evidence, term: str) -> list[Reason]:
    plural = "difficulties" if term == "difficulty" else "discriminations"
    reasons = [*stops(found), *not_met(found, ["systems_for_items"]), *_alike(found)]
    metric = f"r_{term}"
    mean, low, high = found.recovered(metric)
    words = (f"{plural} correlate {mean:.2f}{plus_minus(found.reach(metric))} with the true ones, "
             f"{low:.2f} to {high:.2f}")  # fmt: skip
    change = f"more {found.noun}s" + (", or priors on the items" if term == "discrimination" else "")
    reasons += refits(found, metric, limits.PARAMETERS_FOUND, limits.PARAMETERS_LOST, words, change)
    metric = f"{term}_coverage"
    if found.n_refits(metric):
        mean, reach = found.recovered(metric)[0], found.reach(metric)
        words = f"the printed 95% intervals hold the truth in {mean:.0%}{plus_minus(reach, '.1%')}"
        change = "another estimator, or priors that suit the items"
        reasons += refits(found, metric, limits.INTERVALS_HOLD, limits.INTERVALS_FAIL, words, change)
    return list(dict.fromkeys([*reasons, *likeness(found)]))


def _alike(found: Evidence) -> list[Reason]:
    """Return what the printed intervals of items hold at most where systems count as fewer.

    Refits take them as independent. Errors are then at most root of (independent / all) of what they should be, and 95%
    intervals hold at most 2 Phi(1.96 root of that share) - 1: the share is that of systems that are the same or
    unrelated, and many that are a little alike are worse for items (`thresholds.SHARE_FOR_ITEMS`).
    """
    condition = found.conditions["effective_systems"]
    if condition.not_applicable:
        return []
    share = condition.value * limits.EFFECTIVE_SHARE.value / condition.threshold
    if share >= limits.SHARE_FOR_ITEMS.value:
        return []
    holds = float(2 * ndtr(1.96 * np.sqrt(share)) - 1)
    words = f"{condition.words} Printed 95% intervals of the items then hold the truth in at most about {holds:.0%}."
    allows: Grade = "with care" if holds >= limits.INTERVALS_FAIL.value else "not supported"
    change = f"{found.noun}s that are not of the same families"
    return [Reason(words, allows, change, held(limits.SHARE_FOR_ITEMS))]


def _without(found: Evidence, term: str) -> Reason | None:
    """Return why a fit says nothing of a term of its items."""
    fit = found.fit
    if fit.item_parameters is None:
        change = "a fit of an item response model"
        return Reason(f"{fit.label} has no item parameters.", "not supported", change)
    if term == "discrimination" and (fit.model is None or fit.model.name in EQUAL_SLOPES):
        words = f"{fit.label} takes all items as equally discriminating: it says nothing of that."
        return Reason(words, "not supported", "a 2PL, which wants about 100 systems")
    return None

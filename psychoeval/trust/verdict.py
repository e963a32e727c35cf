"""The verdict: what may be claimed of a data set, and what would change it.

Each rule turns one thing found into the best grade it allows; a claim has the worst of its reasons' grades.
"""

from __future__ import annotations

import numpy as np

from psychoeval.trust import claims_items, claims_order
from psychoeval.trust.claims import Claim
from psychoeval.trust.evidence import Evidence
from psychoeval.trust.reasons import plus_minus


def claims(found: Evidence, top: int) -> tuple[Claim, ...]:
    """Return the claims in their order, each with its grade and reasons.

    Parameters
    ----------
    found : Evidence
    top : int
        How many are the best ones.
    """
    return (
        claims_order.ranking(found),
        claims_order.top(found, top),
        claims_order.neighbors(found),
        claims_order.pairs(found),
        claims_items.parameters(found, "difficulty"),
        claims_items.parameters(found, "discrimination"),
        claims_items.removing(found),
    )


def facts(found: Evidence) -> tuple[str, ...]:
    """Return what is known beside the claims, a sentence each: other orders, the simple average, skewness."""
    return tuple(filter(None, (_others(found), _simple_average(found), _skewness(found))))


def _others(found: Evidence) -> str:
    said = [
        f"{label} {tau:.2f}{' (it cannot differ)' if label in found.forced else ''}"
        for label, tau in found.agreement.items()
    ]
    return f"Kendall's tau of the order with that of other estimators: {', '.join(said)}." if said else ""


def _simple_average(found: Evidence) -> str:
    """Return what the simple average reaches in the refits' data sets, and whether it is worse."""
    mean = found.recovered("tau_simple_average")[0]
    if not np.isfinite(mean):
        return ""
    words = f"The simple average of the same simulated data reaches a tau of {mean:.2f} with the true order"
    if not found.n_refits("tau") or found.fit.estimator == "simple-average":
        return f"{words}."
    gain, reach = found.difference("tau", "tau_simple_average")
    worse = "worse" if gain > reach else "no worse"
    other = f"that of {found.fit.label} is {abs(gain):.3f}{plus_minus(reach)} {'higher' if gain > 0 else 'lower'}"
    if gain == reach == 0:
        other = f"that of {found.fit.label} is the same" + ", as it must be" * ("simple-average" in found.forced)
    return f"{words}; {other}: the average is {worse}."


def _skewness(found: Evidence) -> str:
    condition = found.conditions["skewness"]
    if not np.isfinite(condition.value):
        return ""
    unless = f" {condition.not_applicable}" if condition.not_applicable else ""
    return (
        f"Skewness of the estimated abilities: {condition.value:.2f}, {found.conditions.level:.0%} interval "
        f"{condition.low:.2f} to {condition.high:.2f}.{unless}"
    )

"""The verdict: what may be claimed of a data set, and what would change it.

Each rule turns one thing found into the best grade it allows; a claim has the worst of its reasons' grades.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from psychoeval.trust import thresholds as limits
from psychoeval.trust.claims import Claim, ClaimName, Grade, Reason, graded
from psychoeval.trust.evidence import Evidence
from psychoeval.trust.ranking import Ranking
from psychoeval.wording import some

#: Conditions that leave no claim at all, and those that ask for care with an order.
_STOPS: Final = ("convergence", "connectivity")
_CARE: Final = ("systems", "skewness", "item_coverage", "missing_at_random", "difficulty_gap", "sparsity", "saturation")
_EQUAL_SLOPES: Final = ("Rasch", "1PL")
_CHANGE: Final = {
    "convergence": "a fit that reaches its end (more iterations, priors on the items, fewer parameters)",
    "connectivity": "items that systems of every component were given",
    "systems": "more systems",
    "systems_for_items": "more systems: 100 or so",
    "skewness": "a pool of systems without a long tail, or a fit with an estimated latent distribution",
    "item_coverage": "items of the difficulty of the systems named",
    "missing_at_random": "the missing cells of these systems run",
    "difficulty_gap": "the missing cells run, or fewer extreme items",
    "sparsity": "more cells run",
    "saturation": "harder items",
}


def claims(found: Evidence, top: int) -> tuple[Claim, ...]:
    """Return the claims in their order, each with its grade and reasons.

    Parameters
    ----------
    found : Evidence
    top : int
        How many are the best ones.
    """
    return (
        _ranking(found),
        _top(found, top),
        _neighbors(found),
        _parameters(found, "difficulty"),
        _parameters(found, "discrimination"),
        _removing(found),
    )


def _ranking(found: Evidence) -> Claim:
    reasons = [*_stops(found), *_order(found), *_conditions(found, _CARE), *_likeness(found), *_agreement(found)]
    statement = f"The order of all {found.noun}s is right but for one pair in ten."
    return Claim("ranking", statement, tuple(reasons))


def _order(found: Evidence) -> list[Reason]:
    """Return what refits say of the order; where there are none, what the reliability lets expect."""
    change = f"more items, or items of the difficulty of the {found.noun}s: tau grows with the reliability"
    mean, low, high = found.recovered("tau")
    reliability = found.conditions["empirical_reliability"]
    if not np.isfinite(mean) and not reliability.not_applicable:
        mean = float(2 / np.pi * np.arcsin(np.sqrt(np.clip(reliability.value, 0, 1))))
        words = (
            f"{_refits(found, '', np.nan)} With normal abilities an empirical reliability of "
            f"{reliability.value:.2f} means a tau of {mean:.2f} with the true order."
        )
        return [graded(mean, limits.TAU_SUPPORTED, limits.TAU_FAILED, words, change)]
    words = _refits(found, f"tau with the true order {mean:.2f} on average, {low:.2f} to {high:.2f}", mean)
    error = found.monte_carlo_error("tau")
    reasons = [graded(mean, limits.TAU_SUPPORTED, limits.TAU_FAILED, words, change, error=error)]
    if mean >= limits.TAU_FAILED.value > low:
        words = f"In single refits tau falls to {low:.2f}."
        reasons.append(Reason(words, "with care", change, limits.TAU_FAILED.reason))
    check = found.refitting
    if check is not None and check.failure_rate > limits.FAILURES.value:
        words = f"{check.failure_rate:.0%} of the refits gave no result or did not converge."
        held = f"{limits.FAILURES.about}: {limits.FAILURES.value:g} ({limits.FAILURES.reason})"
        reasons.append(Reason(words, "with care", _CHANGE["convergence"], held))
    return reasons


def _top(found: Evidence, k: int) -> Claim:
    kind = f"{k} best {found.noun}s are" if k > 1 else f"best {found.noun} is"
    if found.ranking is None:
        return Claim("top", f"The {kind} known.", (*_stops(found), _no_ranking(found)))
    best = np.argsort(-found.ranking.estimate, kind="stable")[:k]
    names = tuple(found.ranking.person_ids[i] for i in best)
    reasons = _stops(found)
    for ranking, what in _rankings(found):
        p = _together(ranking, names)
        words = f"For {what}, P(all {k} belong there) is {p:.2f} or more." if k > 1 else f"For {what}, P = {p:.2f}."
        change = f"a smaller or larger k that no close {found.noun}s straddle, or more items"
        reasons.append(graded(p, limits.CONFIDENT, limits.LIKELY, words, change))
    return Claim("top", f"The {kind} {some(names)}.", (*reasons, *_not_over_items(found)))


def _rankings(found: Evidence) -> list[tuple[Ranking, str]]:
    """Return the rankings there are, and what each is about."""
    both = ((found.ranking, "these items"), (found.over_items, "items like these"))
    return [(ranking, what) for ranking, what in both if ranking is not None]


def _not_over_items(found: Evidence) -> list[Reason]:
    if found.over_items is not None:
        return []
    return [Reason(found.missing.get("over_items", "Not known."), "with care", "what the reason names")]


def _together(ranking: Ranking, names: tuple[str, ...]) -> float:
    """Return a lower bound of the probability that all of k persons are among the best k (Bonferroni)."""
    p = ranking.top(len(names))[[ranking.person_ids.index(name) for name in names]]
    return max(0.0, 1 - float(np.sum(1 - p)))


def _neighbors(found: Evidence) -> Claim:
    statement = f"Each {found.noun} is better than the next one in the list."
    if found.ranking is None:
        return Claim("neighbors", statement, (*_stops(found), _no_ranking(found)))
    reasons = _stops(found)
    for ranking, what in _rankings(found):
        order = np.argsort(-ranking.estimate, kind="stable")
        apart = ranking.told_apart[order[:-1], order[1:]]
        n, all_pairs = int(apart.sum()), apart.size
        allows: Grade = "supported" if n == all_pairs else "with care" if n else "not supported"
        first = [f"{ranking.person_ids[order[i]]} > {ranking.person_ids[order[i + 1]]}" for i in np.flatnonzero(apart)]
        words = f"For {what}, {n} of {all_pairs} neighbors are told apart{': ' if n else ''}{some(first)}."
        change = "more items, or fewer claims: only of pairs that are told apart"
        rule = f"tests of all pairs at {ranking.level:.0%}, correction {ranking.correction}"
        reasons.append(Reason(words, allows, "" if allows == "supported" else change, rule))
    return Claim("neighbors", statement, (*reasons, *_not_over_items(found)))


def _parameters(found: Evidence, term: str) -> Claim:
    plural = {"difficulty": "difficulties", "discrimination": "discriminations"}[term]
    statement = f"The items' {plural} are those printed, within their intervals."
    name: ClaimName = "difficulties" if term == "difficulty" else "discriminations"
    lacking = _without(found, term)
    if lacking is not None:
        return Claim(name, statement, (lacking,))
    reasons = [*_stops(found), *_conditions(found, ["systems_for_items"])]
    mean, low, high = found.recovered(f"r_{term}")
    words = _refits(found, f"{plural} correlate {mean:.2f} with the true ones, {low:.2f} to {high:.2f}", mean)
    change = f"more {found.noun}s" + (", or priors on the items" if term == "discrimination" else "")
    error = found.monte_carlo_error(f"r_{term}")
    reasons.append(graded(mean, limits.PARAMETERS_FOUND, limits.PARAMETERS_LOST, words, change, error=error))
    mean = found.recovered(f"{term}_coverage")[0]
    if np.isfinite(mean):
        error = found.monte_carlo_error(f"{term}_coverage")
        words = _refits(found, f"the printed 95% intervals hold the truth in {mean:.0%} (+- {error:.1%})", mean)
        change = "another estimator, or priors that suit the items"
        reasons.append(graded(mean, limits.INTERVALS_HOLD, limits.INTERVALS_FAIL, words, change, error=error))
    return Claim(name, statement, (*reasons, *_likeness(found)))


def _removing(found: Evidence) -> Claim:
    statement = "Items may be removed for what their parameters say."
    lacking = _without(found, "discrimination")
    if lacking is not None:
        return Claim("removing_items", statement, (lacking,))
    few = _conditions(found, ["systems_for_items"], "not supported")
    return Claim("removing_items", statement, (*few, *_parameters(found, "discrimination").reasons))


def _without(found: Evidence, term: str) -> Reason | None:
    """Return why a fit says nothing of a term of its items."""
    fit = found.fit
    if fit.item_parameters is None:
        change = "a fit of an item response model"
        return Reason(f"{fit.label} has no item parameters.", "not supported", change)
    if term == "discrimination" and (fit.model is None or fit.model.name in _EQUAL_SLOPES):
        words = f"{fit.label} takes all items as equally discriminating: it says nothing of that."
        return Reason(words, "not supported", "a 2PL, which wants about 100 systems")
    return None


def _stops(found: Evidence) -> list[Reason]:
    return _conditions(found, _STOPS, "not supported")


def _conditions(found: Evidence, names: Sequence[str], allows: Grade = "with care") -> list[Reason]:
    """Return those of the conditions that are not met, as reasons."""
    out = []
    for name in names:
        condition = found.conditions[name]
        if condition.met is False:
            held = f"{condition.about}: {condition.threshold:g} ({condition.source})"
            words = f"{name.replace('_', ' ').capitalize()}: {condition.value:.3g}. {condition.words}"
            out.append(Reason(words, allows, _CHANGE[name].replace("system", found.noun), held))
    return out


def _likeness(found: Evidence) -> list[Reason]:
    unlike = () if found.refitting is None else found.refitting.unlike()
    if not unlike:
        return []
    words = f"The data are not like data of the fitted model in {some([n.replace('_', ' ') for n in unlike])}."
    return [
        Reason(
            words,
            "with care",
            "a model that makes data like these",
            "prediction interval of what refits' own data have, 5% over all statistics",
        )
    ]


def _agreement(found: Evidence) -> list[Reason]:
    low = {label: tau for label, tau in found.agreement.items() if tau < limits.TAU_SUPPORTED.value}
    if not low:
        return []
    words = ", ".join(f"{label} (tau {tau:.2f})" for label, tau in low.items())
    return [Reason(f"Other estimators order otherwise: {words}.", "with care", "knowing why they differ: compare them",
                   limits.TAU_SUPPORTED.reason)]  # fmt: skip


def _refits(found: Evidence, words: str, mean: float) -> str:
    if not np.isfinite(mean):
        return found.missing.get("refitting", "Refitting says nothing of it.")
    assert found.refitting is not None
    return f"In {found.refitting.n_believed} data sets simulated from the fit and fitted again, {words}."


def _no_ranking(found: Evidence) -> Reason:
    return Reason(found.missing.get("ranking", "There is no ranking."), "not supported", "what the reason names")

"""Claims about the order: of all systems, of the best k, of neighbors, of pairs."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from psychoeval.agreement.ranks import tied_groups
from psychoeval.trust import thresholds as limits
from psychoeval.trust.claims import Claim, Grade, Reason, graded
from psychoeval.trust.evidence import Evidence
from psychoeval.trust.ranking import Ranking
from psychoeval.trust.reasons import held, likeness, not_met, plus_minus, refits, stops
from psychoeval.wording import some

#: Conditions that ask for care with the order of all, with the best ones and neighbors, and with single pairs.
_CARE: Final = ("systems", "skewness", "item_coverage", "missing_at_random", "difficulty_gap", "sparsity", "saturation")
_CARE_OF_SOME: Final = ("systems", "missing_at_random", "difficulty_gap")
_CARE_OF_PAIRS: Final = ("missing_at_random", "difficulty_gap")
#: So many ids of systems tied at the border of the best k are named.
_MOST_TIED: Final = 20


def ranking(found: Evidence) -> Claim:
    """Return the claim that the order of all is right but for a share of the pairs: (1 - tau) / 2."""
    mean, single = found.recovered("tau")[0], found.reach("tau", single=True)
    tau = mean if np.isfinite(mean) else _tau_of_reliability(found)
    statement = f"The order of all {found.noun}s is known."
    if np.isfinite(tau):
        limit = f", at the limit of a single data set {_discordant(mean - single)}" if np.isfinite(single) else ""
        statement = f"The order of all {found.noun}s is right but for about {_discordant(tau)} of the pairs{limit}."
    reasons = [*stops(found), *_order(found), *not_met(found, _CARE), *likeness(found), *_agreement(found)]
    return Claim("ranking", statement, tuple(reasons))


def _discordant(tau: float) -> str:
    return f"{100 * min(1.0, (1 - tau) / 2):.2g}%"


def _tau_of_reliability(found: Evidence) -> float:
    """Return the tau with the true order that an empirical reliability means, abilities and errors normal."""
    reliability = found.conditions["empirical_reliability"]
    if reliability.not_applicable:
        return float("nan")
    return float(2 / np.pi * np.arcsin(np.sqrt(np.clip(reliability.value, 0, 1))))


def _order(found: Evidence) -> list[Reason]:
    """Return what refits say of the order; where there are none, what the reliability lets expect."""
    change = f"more items, or items of the difficulty of the {found.noun}s: tau grows with the reliability"
    mean, low, high = found.recovered("tau")
    expected = _tau_of_reliability(found)
    if not np.isfinite(mean) and np.isfinite(expected):
        words = (
            f"{found.missing.get('refitting', 'Refitting says nothing of it.')} With normal abilities an empirical "
            f"reliability of {found.conditions['empirical_reliability'].value:.2f} means a tau of {expected:.2f} with "
            "the true order, which no simulation has shown."
        )
        if expected >= limits.TAU_SUPPORTED.value:
            change = "a fit of an item response model, which can be fitted again to simulated data"
        return [graded(expected, limits.TAU_SUPPORTED, limits.TAU_FAILED, words, change, low=-np.inf)]
    reach = found.reach("tau")
    words = f"tau with the true order {mean:.2f}{plus_minus(reach)} on average, {low:.2f} to {high:.2f}"
    single = mean - found.reach("tau", single=True)
    reasons = refits(found, "tau", limits.TAU_SUPPORTED, limits.TAU_FAILED, words, change, low=single)
    check = found.refitting
    if check is not None and check.failure_rate > limits.FAILURES.value:
        words = f"{check.failure_rate:.0%} of the refits gave no result or did not converge."
        change = "a fit that reaches its end (more iterations, priors on the items, fewer parameters)"
        reasons.append(Reason(words, "with care", change, held(limits.FAILURES)))
    return reasons


def _agreement(found: Evidence) -> list[Reason]:
    """Return what the order of other estimators says; of those that cannot differ, that it says nothing."""

    def told(labels: list[str]) -> str:
        return ", ".join(f"{label} (tau {found.agreement[label]:.2f})" for label in labels)

    limit = limits.TAU_SUPPORTED
    low = [label for label, tau in found.agreement.items() if tau < limit.value]
    forced = [label for label in found.agreement if label in found.forced and label not in low]
    alike = [label for label in found.agreement if label not in low and label not in forced]
    out = []
    if low:
        change = "knowing why they differ: compare them"
        out.append(Reason(f"Other estimators order otherwise: {told(low)}.", "with care", change, limit.reason))
    if alike:
        out.append(Reason(f"Other estimators order alike: {told(alike)}.", "supported", "", limit.reason))
    if forced:
        words = (f"Of complete data {' and '.join(forced)} can only give the order of {found.fit.label}, that of the "
                 "sums of right answers: that they agree shows nothing.")  # fmt: skip
        out.append(Reason(words, "supported"))
    return out


def top(found: Evidence, k: int) -> Claim:
    """Return the claim that the k best are known: all k together, on these items and on items like these."""
    kind = f"{k} best {found.noun}s are" if k > 1 else f"best {found.noun} is"
    if found.ranking is None:
        return Claim("top", f"The {kind} known.", (*stops(found), _no_ranking(found)))
    names, tied = _best(found.ranking, k)
    if tied:
        left = k - len(names) + len(tied)
        places = (
            "the first place"
            if k == 1
            else f"all {k} places"
            if left == k
            else f"the last {f'{left} ' * (left > 1)}of {k} places"
        )
        words = f"{len(tied)} {found.noun}s are tied for {places}: {some(tied, _MOST_TIED)}."
        change = "a k that no tie straddles, or more items"
        reason = Reason(words, "not supported", change, "equal estimates have no order")
        statement = f"The {kind} among {some(names)}."
        return Claim("top", statement, (*stops(found), reason, *_care(found)))
    reasons = stops(found)
    for one, what in rankings(found):
        p, exact = _together(one, names)
        error = 2 * np.sqrt(p * (1 - p) / one.counts[0].sum())
        who = f"these {k} are the best {k}, all together" if k > 1 else "it is the best"
        words = f"For {what}, P({who}) is {p:.2f}{'' if exact else ' or more'}."
        change = f"a smaller or larger k that no close {found.noun}s straddle, or more items"
        reasons.append(graded(p, limits.CONFIDENT, limits.LIKELY, words, change, error=error))
    return Claim("top", f"The {kind} {some(names, _MOST_TIED)}.", (*reasons, *_care(found), *_not_over_items(found)))


def _best(ranking: Ranking, k: int) -> tuple[list[str], list[str]]:
    """Return the ids of the k best, and of those tied with the k-th where not all of them are among the k."""
    groups = tied_groups(ranking.estimate)
    order = np.argsort(-groups, kind="stable")
    names = [ranking.person_ids[i] for i in order]
    sizes = groups[order]
    if sizes[k - 1] != sizes[k]:
        return names[:k], []
    first, last = np.flatnonzero(sizes == sizes[k - 1])[[0, -1]]
    return names[: last + 1], names[first : last + 1]


def _together(ranking: Ranking, names: list[str]) -> tuple[float, bool]:
    """Return P(k persons are the best k), and whether it is that or a lower bound.

    The share of draws where they are the k highest estimates; of others the lower bound of Bonferroni,
    1 - sum of P(one is not among the best k).
    """
    at = [ranking.person_ids.index(name) for name in names]
    others = np.delete(ranking.estimate, at)
    if ranking.estimate[at].min() > others.max():
        return float(ranking.best_together[len(at) - 1]), True
    return max(0.0, 1 - float(np.sum(1 - ranking.top(len(at))[at]))), False


def neighbors(found: Evidence) -> Claim:
    """Return the claim that each one is better than the next in the list.

    Supported where every pair is told apart, with care from a share of them on (`thresholds.APART`).
    """
    statement = f"Each {found.noun} is better than the next one in the list."
    if found.ranking is None:
        return Claim("neighbors", statement, (*stops(found), _no_ranking(found)))
    reasons = stops(found)
    for one, what in rankings(found):
        order = np.argsort(-one.estimate, kind="stable")
        names = [f"{one.person_ids[i]} > {one.person_ids[j]}" for i, j in pairwise(order)]
        apart = one.told_apart[order[:-1], order[1:]]
        share = float(apart.mean())
        most = share >= limits.APART.value
        allows: Grade = "supported" if share == 1 else "with care" if most else "not supported"
        shown = [names[i] for i in np.flatnonzero(~apart if most else apart)]
        verb = "is" if apart.size == 1 else "are"
        words = f"For {what}, {int(apart.sum()):,} of {_counted(apart.size, 'pair')} of neighbors {verb} told apart"
        if shown:
            words += f"{', all but' if most else ':'} {some(shown)}"
        change = "more items, or fewer claims: only of pairs that are told apart"
        rule = f"{held(limits.APART)}; tests of all pairs at {one.level:.0%}, correction {one.correction}"
        reasons.append(Reason(f"{words}.", allows, "" if allows == "supported" else change, rule))
    return Claim("neighbors", statement, (*reasons, *_care(found), *_not_over_items(found)))


def pairs(found: Evidence) -> Claim:
    """Return the claim of the pairs whose order is known: those that every ranking there is tells apart.

    Both tests are about items drawn, and the one over items takes no model: neither few systems nor data unlike those
    of the model speak against it; cells that are missing by ability do.
    """
    if found.ranking is None:
        statement = f"Some pairs of {found.noun}s are told apart."
        return Claim("pairs", statement, (*stops(found), _no_ranking(found)))
    ids = found.ranking.person_ids
    known = np.triu(np.ones((len(ids), len(ids)), dtype=bool), 1)
    all_pairs, reasons = int(np.count_nonzero(known)), stops(found)
    for one, what in rankings(found):
        at = [one.person_ids.index(name) for name in ids]
        higher = one.estimate[at, None] > one.estimate[at]
        known &= one.told_apart[np.ix_(at, at)] & (higher == (found.ranking.estimate[:, None] > found.ranking.estimate))
        n = int(np.count_nonzero(np.triu(one.told_apart, 1)))
        error = {
            "holm": f"the chance that any of these is false is at most {1 - one.level:.2g} (Holm)",
            "benjamini-hochberg": f"of these about {1 - one.level:.2g} are false (Benjamini-Hochberg)",
            "none": f"each has a chance of {1 - one.level:.2g} of being false, not corrected for their number",
        }[one.correction]
        words = f"For {what}, {n:,} of {_counted(all_pairs, 'pair')} {'is' if n == 1 else 'are'} told apart"
        rule = f"tests of all pairs at {one.level:.0%}, correction {one.correction}"
        reasons.append(Reason(f"{words}; {error}." if n else f"{words}.", "supported", "", rule))
    n = int(np.count_nonzero(known))
    statement = f"{n:,} of {_counted(all_pairs, 'pair')} of {found.noun}s {'is' if n == 1 else 'are'} told apart."
    if not n:
        statement = f"Some pairs of {found.noun}s are told apart."
        reasons.append(Reason("No pair is told apart by each of them.", "not supported", "more items"))
    return Claim("pairs", statement, (*reasons, *not_met(found, _CARE_OF_PAIRS), *_not_over_items(found)))


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _care(found: Evidence) -> list[Reason]:
    return [*not_met(found, _CARE_OF_SOME), *likeness(found)]


def rankings(found: Evidence) -> list[tuple[Ranking, str]]:
    """Return the rankings there are, and what each is about."""
    both = ((found.ranking, "these items"), (found.over_items, "items like these"))
    return [(ranking, what) for ranking, what in both if ranking is not None]


def _not_over_items(found: Evidence) -> list[Reason]:
    if found.over_items is not None:
        return []
    return [Reason(found.missing.get("over_items", "Not known."), "with care", "what the reason names")]


def _no_ranking(found: Evidence) -> Reason:
    return Reason(found.missing.get("ranking", "There is no ranking."), "not supported", "what the reason names")

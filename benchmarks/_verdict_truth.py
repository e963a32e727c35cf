"""Whether a claim of the verdict is true in a world whose truth is known."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np
from scipy.stats import kendalltau

from benchmarks._verdict_worlds import VerdictWorld
from psychoeval.irt.intervals import wald_interval
from psychoeval.trust import Assessment, Claim
from psychoeval.trust.thresholds import INTERVALS_HOLD, PARAMETERS_FOUND, TAU_SUPPORTED

#: Of the items, those flagged: the share with the lowest printed discriminations; and in what part they must truly be.
FLAGGED: Final = 0.1
WEAK: Final = 1 / 3
#: Share of the flagged items that must be there.
RIGHT: Final = 0.9
#: The grade of what is said as a fact, at a level.
STATED: Final = "stated"


class Judged(NamedTuple):
    """A claim in one world: its grade, whether it is true (None where it says nothing), and how much of it is."""

    claim: str
    grade: str
    true: bool | None
    part: float


def judged(found: Assessment, world: VerdictWorld, tops: dict[int, Claim]) -> list[Judged]:
    """Return every claim of an assessment, and those of the best k for each k, beside the truth."""
    fit = found.evidence.fit
    assert fit.abilities is not None
    estimate, known = fit.abilities.estimate, np.isfinite(fit.abilities.estimate)
    truth = np.where(known, world.expected, -np.inf)
    discordant = (1 - float(kendalltau(estimate[known], truth[known]).statistic)) / 2
    ranking, neighbors = found["ranking"], found["neighbors"]
    order = np.argsort(-np.where(known, estimate, -np.inf), kind="stable")
    right = np.diff(truth[order]) < 0
    out = [
        Judged("ranking, as stated", ranking.grade, discordant <= stated_discordance(ranking.statement), discordant),
        Judged("ranking, tau .80", ranking.grade, discordant <= (1 - TAU_SUPPORTED.value) / 2, discordant),
        Judged("neighbors", neighbors.grade, bool(right.all()), float(right.mean())),
    ]
    for k, claim in tops.items():
        named = estimate >= np.sort(estimate[known])[-k] - 1e-9  # with those tied
        best = named[np.argsort(-world.expected)[:k]]
        out.append(Judged(f"top {k}", claim.grade, bool(best.all()), float(best.mean())))
    return [*out, *_pairs(found, world), *_items(found, world)]


def stated_discordance(statement: str) -> float:
    """Return the largest share of pairs that a statement about an order leaves out of order; one in ten without any."""
    found = [float(x) / 100 for x in re.findall(r"([\d.]+(?:e[+-]?\d+)?)%", statement)]
    return max(found, default=(1 - TAU_SUPPORTED.value) / 2)


def _pairs(found: Assessment, world: VerdictWorld) -> list[Judged]:
    """Return the pairs told apart on these items, on items like these, and by both, which is the claim."""
    by_both, out = np.ones((world.expected.size, world.expected.size), dtype=bool), []
    for one, what, truth in (
        (found.evidence.ranking, "these items", world.on_these),
        (found.evidence.over_items, "items like these", world.expected),
    ):
        if one is not None:
            above = np.zeros_like(by_both)
            at = [world.responses.person_ids.index(name) for name in one.person_ids]
            above[np.ix_(at, at)] = one.told_apart & (one.estimate[:, None] > one.estimate)
            by_both &= above
            out.append(_right(f"pairs told apart, {what}", STATED, above, truth))
    return [*out, _right("pairs", found["pairs"].grade, by_both, world.expected)]


def _right(claim: str, grade: str, above: np.ndarray, truth: np.ndarray) -> Judged:
    """Return whether no pair is claimed the wrong way, and the share of those claimed that is right."""
    told, wrong = np.count_nonzero(above), np.count_nonzero(above & (truth[:, None] <= truth))
    return Judged(claim, grade, wrong == 0 if told else None, 1 - wrong / told if told else np.nan)


def _items(found: Assessment, world: VerdictWorld) -> list[Judged]:
    fit = found.evidence.fit
    items, rasch = fit.item_parameters, fit.model is not None and fit.model.name == "Rasch"
    assert items is not None
    unit = 1.0 if rasch else world.unit
    truth = {"difficulty": (world.b - world.center) / unit, "discrimination": world.a * unit}
    out = []
    for term, name in (("difficulty", "difficulties"), ("discrimination", "discriminations")):
        values, errors = getattr(items, term), (items.standard_errors or {}).get(term)
        known = items.estimated & np.isfinite(values)
        said = errors is not None and not (rasch and term == "discrimination")
        if not said or known.sum() < 3:
            out.append(Judged(name, found[name].grade, None, np.nan))
            continue
        assert errors is not None
        known &= errors > 0
        low, high = wald_interval(values, errors)
        held = float(np.mean((low <= truth[term])[known] & (truth[term] <= high)[known]))
        r = float(np.corrcoef(values[known], truth[term][known])[0, 1])
        correlated = r >= PARAMETERS_FOUND.value
        out.append(Judged(name, found[name].grade, correlated and held >= INTERVALS_HOLD.value, held))
        out.append(Judged(f"{name}, r .90", found[name].grade, correlated, r))
    share = np.nan if rasch else weak_share(items.discrimination, items.estimated, world.a)
    removing = found["removing_items"].grade
    return [*out, Judged("removing items", removing, None if np.isnan(share) else share >= RIGHT, share)]


def weak_share(printed: np.ndarray, known: np.ndarray, true: np.ndarray) -> float:
    """Return how many of the items flagged, the tenth with the lowest printed values, are truly in the lowest third."""
    at = np.flatnonzero(known & np.isfinite(printed))
    flagged = at[np.argsort(printed[at], kind="stable")[: int(np.ceil(FLAGGED * at.size))]]
    return float(np.mean(true[flagged] <= np.quantile(true, WEAK)))

"""What a joint mode must be told with: the sentences of the `map` estimator."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.map_objective import JointObjective, Slopes
from psychoeval.irt.classical import mean_of_seen
from psychoeval.irt.parameters import ItemParameters, ItemStatus
from psychoeval.responses.matrix import Responses
from psychoeval.results.data_checks import disconnected_warning
from psychoeval.results.item_checks import RUNAWAY_INTERCEPT, RUNAWAY_SLOPE, STEEP_SLOPE
from psychoeval.results.judgement import NAMED

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Sentences = tuple[str, ...]

#: Mean of theta^2 + SE^2 over the prior variance. 100 x 1000 gives .85, 30 x 500 gives 1.0.
SPREAD_LIMITS: Final = (0.5, 2.0)
#: SD over persons of the mean intercept of the items they saw, logits.
UNEQUAL_ITEMS: Final = 0.5
OVERDISPERSED: Final = 1.5
#: What became of constant items under a prior on the location, and without one.
HELD: Final = ": their finite parameters are the priors' doing."
LEFT_OUT: Final = "; without a prior on the location they have no finite maximum and are left out (NaN)."
#: What a user should do where a joint mode cannot answer.
INSTEAD: Final = "Take the Rasch model, or an estimator that integrates the abilities out (mirt-em)."
#: Of items that ran away, and what to do.
CAUSES: Final[dict[Slopes, str]] = {
    "free": "a joint mode gains by letting a few items order the {people} alone, so these abilities and slopes mean "
    f"nothing. {INSTEAD}",
    "common": f"the items' locations are not determined by these data. {INSTEAD}",
    "fixed": "ability_sd is too large for these data, or an item's responses are almost all alike. Take a smaller "
    "ability_sd, or leave the item out.",
}


def runaway_items(a: FloatArray, d: FloatArray) -> BoolArray:
    """Return which items have slopes above 10 or intercepts beyond 20, (J,); NaN counts as no."""
    return np.asarray((np.abs(a) > RUNAWAY_SLOPE) | (np.abs(d) > RUNAWAY_INTERCEPT))


def with_runaways(status: tuple[ItemStatus, ...], slopes: FloatArray, intercepts: FloatArray) -> tuple[ItemStatus, ...]:
    """Return the statuses of all J items, those that ran away called so."""
    away = runaway_items(slopes, intercepts)
    return tuple("runaway" if gone and s == "estimated" else s for gone, s in zip(away, status, strict=True))


def slope_findings(responses: Responses, items: ItemParameters, slopes: Slopes) -> tuple[Sentences, Sentences]:
    """Return failures and warnings about runaway and steep items."""
    people, n = f"{responses.person_label}s", int(items.estimated.sum())
    a, d = items.discrimination, items.intercept
    if slopes == "common" and np.nanmax(a) > STEEP_SLOPE:
        sentence = (
            f"The common slope is {np.nanmax(a):.3g}, and the abilities are as much smaller: a joint mode does not "
            f"determine the unit of the scale, which here comes from the priors and the size of the data. {INSTEAD}"
        )
        return ((sentence,), ()) if np.nanmax(a) > RUNAWAY_SLOPE else ((), (sentence,))
    runaway = runaway_items(a, d)
    steep = (a > STEEP_SLOPE) & ~runaway
    failures: Sentences = ()
    if runaway.any():
        size = np.maximum(a / RUNAWAY_SLOPE, np.abs(d) / RUNAWAY_INTERCEPT)
        failures = (
            f"{int(runaway.sum())} of {n} items ran away: {_items_named(items, runaway, by=size)}. A slope above "
            f"{RUNAWAY_SLOPE:g} or an intercept beyond {RUNAWAY_INTERCEPT:g} is no property of an item: "
            f"{CAUSES[slopes].format(people=people)}",
        )
    if not steep.any():
        return failures, ()
    return failures, (
        f"{int(steep.sum())} of {n} items have slopes above {STEEP_SLOPE:g}: {_items_named(items, steep, by=a)}. "
        "The joint mode overstates slopes where items are few.",
    )


def spread_warning(responses: Responses, mean_square: float, objective: JointObjective) -> Sentences:
    """Return a warning where the abilities do not spread as their prior says: then the data do not set the scale."""
    ratio = mean_square * objective.ability_precision
    if SPREAD_LIMITS[0] <= ratio <= SPREAD_LIMITS[1]:
        return ()
    found = f"The abilities' mean square is {mean_square:.3g} where their prior expects {objective.ability_sd**2:.3g}"
    if objective.slopes == "fixed":
        return (
            f"{found}: ability_sd={objective.ability_sd:g} is too {'small' if ratio > 1 else 'large'} for these data. "
            "A joint mode cannot estimate it: give the latent SD that an estimator finds which integrates the "
            "abilities out (mirt-em).",
        )
    return (
        f"{found}: slopes come out too {'small' if ratio > 1 else 'large'}. With {responses.n_persons} "
        f"{responses.person_label}s and {responses.n_items} items the joint mode does not estimate the unit of the "
        "scale. Ranks and ratios of slopes are not affected.",
    )


def constant_warning(status: tuple[ItemStatus, ...], what_became_of_them: str) -> Sentences:
    """Return sentences about items that are constant, which `what_became_of_them` ends, or were never run."""
    constant, never = sum(s.startswith("constant") for s in status), status.count("no_responses")
    out: Sentences = ()
    if constant:
        out += (f"{constant} of {len(status)} items were answered alike by all who saw them{what_became_of_them}",)
    if never:
        out += (f"{never} items were never run: nothing is known of them (NaN).",)
    return out


def link_warning(responses: Responses, items: ItemParameters, objective: JointObjective) -> Sentences:
    """Return a warning where only the priors link persons, or pull those together who saw unequal items."""
    people, label = f"{responses.person_label}s", responses.person_label
    apart = disconnected_warning(responses, "Only the priors link them")
    if apart:
        return apart
    seen = mean_of_seen(items.intercept, responses.trials)
    seen = seen[np.isfinite(seen)]
    if seen.size < 2 or seen.std() <= UNEQUAL_ITEMS:
        return ()
    remedy = "a larger ability_sd" if objective.slopes == "fixed" else "the Rasch model and a larger ability_sd"
    return (
        f"{people.capitalize()} saw items of unequal difficulty: the mean intercept of a {label}'s items lies between "
        f"{seen.min():.2f} and {seen.max():.2f}. The prior of the abilities pulls all {people} to one mean and undoes "
        f"a part of the correction for it. Fit again with {remedy} and see which ranks move.",
    )


def overdispersion_warning(ratio: float) -> Sentences:
    """Return a warning where counts vary more than binomial counts would."""
    if not ratio > OVERDISPERSED:
        return ()
    return (
        f"Counts vary {ratio:.2g} times as much as binomial counts with these probabilities (Pearson's chi-squared "
        "over its degrees of freedom): trials of one cell are not independent or the model does not fit. Standard "
        f"errors are too small by about {np.sqrt(ratio):.2g} times.",
    )


def interrupted_warning(iterations: int) -> str:
    """Return what to know of a search that Ctrl-C ended."""
    return f"Interrupted after {iterations} iterations: this is where the search stood, not a maximum."


def _items_named(items: ItemParameters, which: BoolArray, *, by: FloatArray) -> str:
    texts = [
        f"{name[:60]!r} (slope {a:.3g}, intercept {d:.3g})"
        for name, a, d in zip(items.item_ids, items.discrimination, items.intercept, strict=True)
    ]
    return _first(texts, by, which)


def _first(texts: list[str], by: FloatArray, which: BoolArray) -> str:
    """Return the few of `which` with the largest `by`, and how many more there are."""
    index = np.flatnonzero(which)
    index = index[np.argsort(-by[index], kind="stable")]
    more = f" and {len(index) - NAMED} more" if len(index) > NAMED else ""
    return ", ".join(texts[i] for i in index[:NAMED]) + more

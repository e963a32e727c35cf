"""Judge item parameters: runaway, steep, flat, undetermined, never moved."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.parameters import UNSTABLE_SLOPE, ItemParameters
from psychoeval.results.judgement import NAMED, Judgement

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Sentences = tuple[str, ...]

#: Slopes and intercepts (logits) that no item of an achievement or AI benchmark has: at a = 10 success goes from 1 %
#: to 99 % within one logit; at d = 20 the chance of failing is 2e-9.
RUNAWAY_SLOPE: Final = 10.0
RUNAWAY_INTERCEPT: Final = 20.0
#: Steeper than well-identified items are: on 100 x 1000 with true slopes up to 2.6 a free fit gives up to 8.
STEEP_SLOPE: Final = 4.0
#: A guessing parameter below the first is 0 for every purpose; with a standard error above the second it could as well
#: be 0 as that of a four-choice item (LSAT7's free 3PL: four at 1e-4, one at .30 with .14, log-likelihood up by .75).
GUESSING_ZERO: Final = 1e-3
GUESSING_ERROR: Final = 0.1


def judge_items(items: ItemParameters, people: str, *, penalised: bool = False) -> Judgement:
    """Judge slopes and intercepts by their size.

    Parameters
    ----------
    items : ItemParameters
    people : str
        What the persons are called, in the plural.
    penalised : bool
        Whether priors hold the items.
    """
    a, d = np.abs(items.discrimination), np.abs(items.intercept)
    runaway = (a > RUNAWAY_SLOPE) | (d > RUNAWAY_INTERCEPT)
    no_factor, flat = _flat(items, a)
    return Judgement(
        (*_lost(items, a), *_ran_away(items, a, d, runaway, people), *no_factor),
        (*_steep(items, a, (a > STEEP_SLOPE) & ~runaway, people, penalised), *flat, *_negative(items)),
        {"runaway_items": float(runaway.sum())},
    )


def _lost(items: ItemParameters, a: FloatArray) -> Sentences:
    lost = ~items.estimated & np.isin(np.array(items.status), ("estimated", "runaway"))
    if not lost.any():
        return ()
    return (
        f"The engine returned no number for {int(lost.sum())} of {items.n_items} items: {_named(items, lost, by=a)}.",
    )


def _ran_away(items: ItemParameters, a: FloatArray, d: FloatArray, runaway: BoolArray, people: str) -> Sentences:
    if not runaway.any():
        return ()
    return (
        f"{int(runaway.sum())} of {int(items.estimated.sum())} items ran away: "
        f"{_named(items, runaway, by=np.maximum(a / RUNAWAY_SLOPE, d / RUNAWAY_INTERCEPT))}. "
        f"A slope above {RUNAWAY_SLOPE:g} or an intercept beyond {RUNAWAY_INTERCEPT:g} is no property of an item: "
        f"there are too few {people} for this model, and its parameters grow without end. "
        "Fit the Rasch model, or give the items priors (priors='weak').",
    )


def _steep(items: ItemParameters, a: FloatArray, steep: BoolArray, people: str, penalised: bool) -> Sentences:
    if not steep.any():
        return ()
    return (
        f"{int(steep.sum())} of {int(items.estimated.sum())} items have slopes above {STEEP_SLOPE:g}: "
        f"{_named(items, steep, by=a)}. "
        + (
            "Only the priors keep them finite: their values are the priors' doing as much as the data's."
            if penalised
            else f"Such slopes usually come from too few {people}; priors on the items (priors='weak') hold them."
        ),
    )


def _flat(items: ItemParameters, a: FloatArray) -> tuple[Sentences, Sentences]:
    """Return a failure where all slopes are near 0, and a warning where some are."""
    n, flat = int(items.estimated.sum()), a < UNSTABLE_SLOPE
    if n and flat.sum() == n:
        sentence = (
            f"All {n} slopes are near 0: {_named(items, flat, by=a)}. No common factor was found: the abilities mean "
            "nothing, nor do difficulties (-intercept / slope). Slopes of 0 are always a stationary point of the "
            "likelihood, so this may be a saddle point. Check for reversed items and wrong keys; if the data are as "
            "they should be, they do not measure one ability."
        )
        return (sentence,), ()
    if not flat.any():
        return (), ()
    sentence = (
        f"{int(flat.sum())} of {n} items have slopes near 0: {_named(items, flat, by=-a)}. "
        "They hardly measure the ability, and their difficulty (-intercept / slope) means nothing."
    )
    return (), (sentence,)


def _negative(items: ItemParameters) -> Sentences:
    negative = items.discrimination <= -UNSTABLE_SLOPE
    if not negative.any():
        return ()
    return (
        f"{int(negative.sum())} of {int(items.estimated.sum())} items have slopes below 0: "
        f"{_named(items, negative, by=-items.discrimination)}. More ability means less success on them: look at "
        "their keys (a wrong key, reversed scoring), or leave them out.",
    )


def judge_guessing(items: ItemParameters) -> Judgement:
    """Warn of guessing parameters that the data do not determine."""
    errors = items.standard_errors
    c = items.guessing
    if errors is None or not (errors["guessing"] > 0).any():
        return Judgement()
    with np.errstate(invalid="ignore"):
        weak = items.estimated & ((c < GUESSING_ZERO) | ~(errors["guessing"] <= GUESSING_ERROR))
    if not weak.any():
        return Judgement()
    index = np.flatnonzero(weak)
    texts = [
        f"{items.item_ids[i][:60]!r} ({c[i]:.3f}, standard error {errors['guessing'][i]:.2g})" for i in index[:NAMED]
    ]
    more = f" and {len(index) - NAMED} more" if len(index) > NAMED else ""
    return Judgement(
        warnings=(
            f"The data say next to nothing about the guessing of {len(index)} of {int(items.estimated.sum())} items: "
            f"{', '.join(texts)}{more}. A value at 0 or with a standard error above {GUESSING_ERROR:g} is no finding "
            "about an item. Fix it (guessing=0.2), give it a prior (the 3PL's default), or fit the 2PL.",
        )
    )


def judge_start(items: ItemParameters, slopes: FloatArray | None, intercepts: FloatArray | None) -> Judgement:
    """Find items that still have the start values, (J,) arrays with NaN for items the engine did not see."""
    if intercepts is None:
        return Judgement()
    # Equal to the last bit: an estimate that moved at all differs. Slopes that the model fixes always "stay".
    unmoved = items.intercept == intercepts
    if slopes is not None:
        unmoved &= items.discrimination == slopes
    if not unmoved.any():
        return Judgement()
    return Judgement(
        (
            f"{int(unmoved.sum())} of {int(items.estimated.sum())} items still have the values the engine started "
            f"from, to the last digit: {_named(items, unmoved, by=np.abs(items.intercept))}. "
            "They were never estimated and say nothing about the items.",
        )
    )


def _named(items: ItemParameters, which: BoolArray, *, by: FloatArray) -> str:
    """Name the worst few of `which` with their values."""
    index = np.flatnonzero(which)
    index = index[np.argsort(-by[index], kind="stable")]
    a, d = items.discrimination, items.intercept
    texts = [f"{items.item_ids[i][:60]!r} (slope {a[i]:.3g}, intercept {d[i]:.3g})" for i in index[:NAMED]]
    more = len(index) - NAMED
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")

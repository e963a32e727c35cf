"""What a joint mode must be told with: the sentences of the `map` estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.classical import item_rest_correlation
from psychoeval.irt.parameters import ItemStatus
from psychoeval.responses.matrix import Responses
from psychoeval.results.checks import RUNAWAY_INTERCEPT, RUNAWAY_SLOPE, STEEP_SLOPE

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Below it success moves by less than .1 within 4 logits of ability.
FLAT_SLOPE: Final = 0.1
#: Share of items that do not correlate with the rest. Simulated 2PL data give at most .04 (30 x 500), coin flips .4.
UNRELATED_SHARE: Final = 0.2
#: Mean of theta^2 + SE^2, which the N(0, 1) prior puts at 1. 100 x 1000 gives .85, 30 x 500 gives 1.0.
SPREAD_LIMITS: Final = (0.5, 2.0)
OVERDISPERSED: Final = 1.5
NAMED: Final = 3


def runaway_items(a: FloatArray, d: FloatArray) -> BoolArray:
    """Return which items have slopes above 10 or intercepts beyond 20, (J,); NaN counts as no."""
    return np.asarray((np.abs(a) > RUNAWAY_SLOPE) | (np.abs(d) > RUNAWAY_INTERCEPT))


def slope_findings(responses: Responses, a: FloatArray, d: FloatArray) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return failures and warnings about items with slopes of their own, (J,) arrays in the order of the items."""
    people, n = f"{responses.person_label}s", int(np.isfinite(a).sum())
    runaway = runaway_items(a, d)
    steep, flat = (np.abs(a) > STEEP_SLOPE) & ~runaway, np.abs(a) < FLAT_SLOPE
    failures, warnings = [], []
    if runaway.any():
        failures.append(
            f"{int(runaway.sum())} of {n} items ran away: {_named(responses, a, runaway, largest=True)}. With "
            f"{responses.n_persons} {people} on {responses.n_items} items the joint mode gains by letting a few items "
            f"order the {people} alone, whatever the prior says. Use an estimator that integrates the abilities out "
            "(mirt-em), the Rasch model, or a tighter prior on the slopes."
        )
    if steep.any():
        warnings.append(
            f"{int(steep.sum())} of {n} items have slopes above {STEEP_SLOPE:g}: "
            f"{_named(responses, a, steep, largest=True)}. The joint mode overstates slopes where items are few."
        )
    if flat.any():
        warnings.append(
            f"{int(flat.sum())} of {n} slopes pile up near 0: {_named(responses, a, flat, largest=False)}. "
            "Slopes are positive here (log a), so an item that works the wrong way round ends at 0."
        )
    return tuple(failures), tuple(warnings)


def factor_warning(responses: Responses) -> tuple[str, ...]:
    """Return a warning where many items do not correlate with the others: the data hold almost no common factor."""
    correlation, _, _ = item_rest_correlation(responses.successes, responses.trials)
    known = np.isfinite(correlation)
    unrelated = known & (correlation <= 0)
    if unrelated.sum() < max(2.0, UNRELATED_SHARE * known.sum()):
        return ()
    names = _named(responses, correlation, unrelated, largest=False)
    return (
        f"{int(unrelated.sum())} of {int(known.sum())} items do not correlate with the rest: {names}. The data hold "
        "almost no common factor; the slopes are positive because log a is estimated, not because the data say so.",
    )


def spread_warning(responses: Responses, second_moment: float, common: float | None, *, rasch: bool) -> tuple[str, ...]:
    """Return a warning where the abilities do not spread as their prior says: then the data do not set the scale.

    Parameters
    ----------
    responses : Responses
    second_moment : float
        Mean of theta^2 + SE^2 on the scale where theta ~ N(0, 1).
    common : float, optional
        The common slope, or the latent SD of the Rasch model.
    rasch : bool
    """
    low, high = SPREAD_LIMITS
    if low <= second_moment <= high:
        return ()
    size = "large" if second_moment < 1 else "small"
    if common is None:
        what = f"the slopes come out too {size}"
    else:
        what = f"the {'latent SD' if rasch else 'common slope'} ({common:.3g}) comes out too {size}"
    return (
        f"The abilities' mean square is {second_moment:.3g} where their N(0, 1) prior expects 1: {what}. "
        f"With {responses.n_persons} {responses.person_label}s and {responses.n_items} items the joint "
        "mode does not estimate the unit of the scale. Ranks and ratios of slopes are not affected.",
    )


def constant_warning(responses: Responses, status: Sequence[ItemStatus], *, estimated: bool) -> tuple[str, ...]:
    """Return a sentence about items that are constant or were never run."""
    constant = np.array([s.startswith("constant") for s in status])
    never = np.array([s == "no_responses" for s in status])
    out = []
    if constant.any():
        what = f"{int(constant.sum())} of {len(status)} items were answered alike by all who saw them"
        out.append(
            f"{what}: their finite parameters are the priors' doing."
            if estimated
            else f"{what}; without a prior on the location they have no finite maximum and are left out (NaN)."
        )
    if never.any():
        out.append(f"{int(never.sum())} items were never run: nothing is known of them (NaN).")
    return tuple(out)


def disconnected_warning(responses: Responses) -> tuple[str, ...]:
    """Return a warning where persons and items fall apart into groups that share no response."""
    groups = person_groups(responses)
    n = int(groups.max()) + 1
    if n <= 1:
        return ()
    people = f"{responses.person_label}s"
    largest = np.bincount(groups[groups >= 0])
    first = [int(np.flatnonzero(groups == k)[0]) for k in range(min(n, NAMED))]
    examples = ", ".join(repr(responses.person_ids[i][:60]) for i in first)
    return (
        f"The data fall into {n} groups of {people} and items that share no response (sizes {largest[:NAMED].tolist()}"
        f"{', ...' if n > NAMED else ''}; for example {examples} lie in different ones). Only the priors link them: "
        f"do not compare {people} across groups.",
    )


def person_groups(responses: Responses) -> NDArray[np.intp]:
    """Return the connected component of each person, (N,), numbered from 0; -1 for persons without responses."""
    seen = responses.trials.any(axis=1)
    if (responses.trials > 0).all(axis=1).any():  # somebody saw every item
        return np.where(seen, 0, -1)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = np.nonzero(responses.trials)
    size = responses.n_persons + responses.n_items
    links = coo_array((np.ones(rows.size, dtype=np.int8), (rows, responses.n_persons + columns)), shape=(size, size))
    _, labels = connected_components(links, directed=False)
    groups = np.full(responses.n_persons, -1)
    groups[seen] = np.unique(labels[: responses.n_persons][seen], return_inverse=True)[1]
    return groups


def overdispersion_warning(ratio: float) -> tuple[str, ...]:
    """Return a warning where counts vary more than binomial counts would."""
    if not ratio > OVERDISPERSED:
        return ()
    return (
        f"Counts vary {ratio:.2g} times as much as binomial counts with these probabilities (Pearson's chi-squared "
        "over its degrees of freedom): trials of one cell are not independent or the model does not fit. Standard "
        f"errors are too small by about {np.sqrt(ratio):.2g} times.",
    )


def _named(responses: Responses, values: FloatArray, which: BoolArray, *, largest: bool) -> str:
    index = np.flatnonzero(which)
    index = index[np.argsort(-values[index] if largest else values[index], kind="stable")]
    more = f" and {len(index) - NAMED} more" if len(index) > NAMED else ""
    return ", ".join(f"{responses.item_ids[i][:60]!r} ({values[i]:.3g})" for i in index[:NAMED]) + more

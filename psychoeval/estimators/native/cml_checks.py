"""Whether conditional estimates exist, and what a user should know about them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.responses.cells import counted
from psychoeval.responses.connectivity import require_connected
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

BoolArray = NDArray[np.bool_]

#: Units (sets of persons with equal items seen and equal raw score) x items: 40 s a step on one core.
MAX_WORK: Final = 1e8


def require_estimable(responses: Responses) -> None:
    """Refuse data whose conditional likelihood has no finite maximum.

    It has one exactly if the items cannot be split into two sets such that nobody passed an item of the one and failed
    an item of the other (Fischer 1981, Psychometrika 46, 59-77); passing and failing are single trials.

    Parameters
    ----------
    responses : Responses
        Without constant items.

    Raises
    ------
    DisconnectedDataError
        If persons and items fall into components.
    DataError
        If there is a single item, or such a split, whose sets are named.
    """
    if responses.n_items < 2:
        raise DataError(
            f"Only item {responses.item_ids[0]!r} can be estimated, and conditional likelihood knows differences of "
            "difficulties alone.",
            "Add items that were answered both rightly and wrongly.",
        )
    require_connected(responses)
    passed, failed = responses.successes > 0, responses.successes < responses.trials
    below = _reached(passed, failed)  # from item 1, by persons who passed one and failed the next
    easy = ~below if not below.all() else _reached(failed, passed)
    hard = ~easy
    if not (easy.any() and hard.any()):
        return
    label = responses.person_label
    sets = [[responses.item_ids[j] for j in np.flatnonzero(part)] for part in (hard, easy)]
    smaller = min(sets, key=len)
    raise DataError(
        f"No {label} passed one of {counted(len(sets[0]), 'item')} ({some(sets[0])}) and failed one of "
        f"{counted(len(sets[1]), 'item')} ({some(sets[1])}): nothing says by how much the former are harder, and the "
        "conditional likelihood rises without end.",
        f"Leave {some(smaller)} out (responses.select), add {label}s, or take an estimator that holds items by a "
        "distribution of abilities or by priors (mirt-em, map).",
    )


def require_feasible(n_units: int, n_items: int, label: str) -> None:
    """Refuse what would take hours, saying why.

    Raises
    ------
    DataError
    """
    if n_units * n_items <= MAX_WORK:
        return
    raise DataError(
        f"The {label}s fall into {n_units} sets of equal items seen and equal raw score. Each needs a conditional "
        f"distribution over {n_items} items: {n_units * n_items:.2g} evaluations a step, above the {MAX_WORK:.0g} "
        "that are feasible.",
        f"Fit a sample of the {label}s (responses.select), {label}s who saw the same items, or take another estimator "
        "(mirt-em, map).",
    )


def _reached(leave: BoolArray, arrive: BoolArray) -> BoolArray:
    """Return the items reached from the first, (J,): i to j where somebody has leave[i] and arrive[j]."""
    reached, new = np.zeros(leave.shape[1], bool), np.array([0])
    waiting = np.ones(leave.shape[0], bool)
    while new.size:
        reached[new] = True
        candidates = np.flatnonzero(waiting)
        persons = candidates[leave[np.ix_(candidates, new)].any(axis=1)]
        waiting[persons] = False
        new = np.flatnonzero(arrive[persons].any(axis=0) & ~reached)
    return reached

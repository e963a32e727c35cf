"""What stands out in responses before any model is fitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.parameters import ItemStatus, PersonStatus
from psychoeval.responses.matrix import Responses


def item_status(responses: Responses) -> tuple[ItemStatus, ...]:
    """Return the status of each item: ``estimated``, ``constant_all_0``, ``constant_all_1`` or ``no_responses``.

    Constant means no success, or as many successes as trials, over all its observed cells.
    """
    codes = _constancy(responses, axis=0)
    names: tuple[ItemStatus, ...] = ("estimated", "constant_all_0", "constant_all_1", "no_responses")
    return tuple(names[code] for code in codes)


def person_status(responses: Responses) -> tuple[PersonStatus, ...]:
    """Return the status of each person: ``estimated``, ``extreme_all_0``, ``extreme_all_1``, ``no_responses``."""
    codes = _constancy(responses, axis=1)
    names: tuple[PersonStatus, ...] = ("estimated", "extreme_all_0", "extreme_all_1", "no_responses")
    return tuple(names[code] for code in codes)


def _constancy(responses: Responses, axis: int) -> NDArray[np.intp]:
    """0 mixed, 1 no success, 2 nothing but successes, 3 no trials; along `axis`."""
    successes = responses.successes.sum(axis=axis, dtype=np.uint64)
    trials = responses.trials.sum(axis=axis, dtype=np.uint64)
    return np.select([trials == 0, successes == 0, successes == trials], [3, 1, 2], 0).astype(np.intp)

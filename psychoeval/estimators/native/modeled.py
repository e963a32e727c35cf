"""The part of the data that a native estimator fits, and the way back to every person and item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.irt.parameters import ItemStatus, PersonStatus, in_place
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Modeled:
    """The persons and items that take part in a fit.

    Parameters
    ----------
    responses : Responses
        All N persons and J items.
    items, persons : (J,) and (N,) arrays of bool
        Which take part.
    item_status, person_status : tuples of str
        Of all.
    part : Responses
        The persons and items that take part; `responses` itself if all do.
    """

    responses: Responses
    items: BoolArray
    persons: BoolArray
    item_status: tuple[ItemStatus, ...]
    person_status: tuple[PersonStatus, ...]
    part: Responses

    def fill_items(self, values: NDArray[np.generic]) -> FloatArray:
        """Return (J, ...) with `values` in the places of the items that take part, and NaN elsewhere."""
        return in_place(values, self.items, self.items.size)

    def ability_status(self, estimate: FloatArray) -> tuple[PersonStatus, ...]:
        """Return the statuses of all persons, given the estimates (n,) of those that take part: infinite ones named."""
        infinite = np.isinf(self.fill_persons(estimate))
        return tuple("ml_infinite" if i else s for i, s in zip(infinite, self.person_status, strict=True))

    def fill_persons(self, values: NDArray[np.generic]) -> FloatArray:
        """Return (N, ...) with `values` in the places of the persons that take part, and NaN elsewhere."""
        return in_place(values, self.persons, self.persons.size)


def modeled(responses: Responses, *, constant_items: bool) -> Modeled:
    """Choose the items that can be estimated and the persons with responses on them.

    Parameters
    ----------
    responses : Responses
    constant_items : bool
        Whether items that were answered alike by all take part, as they can where something proper (a prior, a
        population of items) keeps them finite. Items that were never run do not.

    Raises
    ------
    DataError
        If no item can be estimated.
    """
    items, persons = item_status(responses), person_status(responses)
    left_out = {"no_responses"} | (set() if constant_items else {"constant_all_0", "constant_all_1"})
    kept = np.array([status not in left_out for status in items], dtype=bool)
    if not kept.any():
        raise DataError(
            f"None of the {len(items)} items can be estimated: all are constant or were never run.",
            "Look at the data, or hold the items by priors (priors='weak').",
        )
    seen = np.asarray(responses.trials[:, kept].any(axis=1)) if not kept.all() else responses.trials.any(axis=1)
    part = responses
    if not (kept.all() and seen.all()):  # an index would copy
        part = responses.select(persons=np.flatnonzero(seen), items=np.flatnonzero(kept))
    return Modeled(responses, kept, np.asarray(seen), items, persons, part)

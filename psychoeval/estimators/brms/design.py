"""Which items and persons brms is given, and in what form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.responses.matrix import Responses

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """What of the responses goes to brms: one row a cell that was run, so that missing ones are left out.

    Parameters
    ----------
    responses : Responses
        As given, N persons, J items.
    items, persons : arrays of positions
        Those that go: all that have a response. Constant items do too: their priors hold them.
    person, item : (cells,) float64 arrays
        1, 2, ... among those that go.
    successes, trials : (cells,) float64 arrays
    """

    responses: Responses
    items: NDArray[np.intp]
    persons: NDArray[np.intp]
    person: FloatArray
    item: FloatArray
    successes: FloatArray
    trials: FloatArray

    @property
    def modeled(self) -> Responses:
        """The responses of the persons and items that go."""
        return self.responses.select(self.persons, self.items)

    @property
    def person_ids(self) -> tuple[str, ...]:
        """Ids of the persons that go."""
        return tuple(self.responses.person_ids[i] for i in self.persons)

    @property
    def item_ids(self) -> tuple[str, ...]:
        """Ids of the items that go."""
        return tuple(self.responses.item_ids[j] for j in self.items)


def make_design(responses: Responses) -> Design:
    """Return what of the responses brms is given.

    Raises
    ------
    DataError
        If fewer than two items or two persons have a response: brms makes no factor of fewer.
    """
    observed = responses.trials > 0
    items, persons = np.flatnonzero(observed.any(axis=0)), np.flatnonzero(observed.any(axis=1))
    for n, what in ((len(items), "item"), (len(persons), responses.person_label)):
        if n < 2:
            raise DataError(
                f"Only {n} {what}{'s' * (n != 1)} of {responses.n_persons} x {responses.n_items} responses "
                f"{'have' if n != 1 else 'has'} any; brms needs two.",
                "Look at the proportions (simple-average).",
            )
    row, column = np.nonzero(observed)
    return Design(
        responses,
        items,
        persons,
        (np.searchsorted(persons, row) + 1).astype(np.float64),
        (np.searchsorted(items, column) + 1).astype(np.float64),
        responses.successes[row, column].astype(np.float64),
        responses.trials[row, column].astype(np.float64),
    )

"""What systems are matched by: their proportion right, or their ability, on the anchors and the item itself."""

from __future__ import annotations

import warnings
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import ConvergenceWarning
from psychoeval.estimators.native.mml import MML
from psychoeval.fitting import fit
from psychoeval.irt import scoring
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]


class Matching(Protocol):
    """A matching variable of N persons.

    An item is matched with itself counted in, also where it is no anchor: without it the sum score of a Rasch model
    leaves impact in the item (Holland & Thayer 1988, in Wainer & Braun, Test validity).
    """

    @property
    def how(self) -> str:
        """What it is, in words."""

    def values(self, anchors: BoolArray, at: IntArray) -> FloatArray:
        """Return the variable of every person for the items `at`, (N, len(at)); NaN without a response."""

    def notes(self, anchors: BoolArray) -> tuple[str, ...]:
        """Return what a reader must know."""


class Proportions:
    """Successes over trials, on the anchors that a person ran."""

    how = "proportion right on the anchors"

    def __init__(self, responses: Responses) -> None:
        self._responses = responses

    def values(self, anchors: BoolArray, at: IntArray) -> FloatArray:
        """Return proportions; see `Matching`."""
        both = self._responses.successes, self._responses.trials
        right, total = (
            c[:, anchors].sum(axis=1, dtype=np.int64)[:, None] + c[:, at].astype(np.float64) * ~anchors[at]
            for c in both
        )
        return np.asarray(np.divide(right, total, out=np.full(right.shape, np.nan), where=total > 0))

    def notes(self, anchors: BoolArray) -> tuple[str, ...]:
        """Say where proportions are of different items."""
        ran = self._responses.trials[:, anchors] > 0
        if (ran == ran[0]).all():
            return ()
        return (
            "Systems ran different anchors, and proportions right on harder and easier ones are matched as if they "
            "were alike: matching='ability' takes their difficulty into account.",
        )


class Abilities:
    """WLE on the anchors, with items from one fit of all groups to all items that can be compared."""

    def __init__(self, responses: Responses, comparable: BoolArray, model: ItemModel) -> None:
        self._responses, self.how = responses, f"ability (WLE, {model.label})"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said in the notes
            self._fit = fit(responses.select(items=comparable), MML(standard_errors="none"), model)
        found = self._fit.item_parameters
        assert found is not None  # mml always has them
        self._items = np.full((3, comparable.size), np.nan)
        self._items[:, comparable] = found.discrimination, found.intercept, found.guessing

    def values(self, anchors: BoolArray, at: IntArray) -> FloatArray:
        """Return abilities; one scoring on the anchors, and one for each item that is none. See `Matching`."""
        out = np.broadcast_to(self._wle(anchors)[:, None], (self._responses.n_persons, at.size)).copy()
        for place in np.flatnonzero(~anchors[at]):
            with_it = anchors.copy()
            with_it[at[place]] = True
            out[:, place] = self._wle(with_it)
        return out

    def _wle(self, items: BoolArray) -> FloatArray:
        cells = self._responses.successes[:, items], self._responses.trials[:, items]
        return np.asarray(scoring.wle(*cells, *self._items[:, items])[0])

    def notes(self, anchors: BoolArray) -> tuple[str, ...]:
        """Say where the fit did not end well."""
        good = self._fit.convergence.believed
        return () if good else (f"{self._fit.label}, which scored the abilities, did not end as it should.",)

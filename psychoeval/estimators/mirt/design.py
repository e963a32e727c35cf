"""Which items and persons mirt is given, and in what form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, ModelError
from psychoeval.irt.models import ItemModel, check_degrees_of_freedom
from psychoeval.irt.parameters import ItemStatus, PersonStatus
from psychoeval.responses.ids_and_counts import CountArray
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status

FloatArray = NDArray[np.float64]

#: Columns that counts may become. mirt estimates equal-constrained columns all at once: 300 take it 13 s per fit.
MAX_COUNT_COLUMNS: Final = 500


@dataclass(frozen=True, slots=True)
class Design:
    """What of the responses goes to mirt.

    Parameters
    ----------
    responses : Responses
        As given, N persons, J items.
    item_status : tuple of str, length J
        Constant and never-run items stay behind.
    person_status : tuple of str, length N
        By the items that go: a person whose responses are all on items that stay behind has ``no_responses``.
    items, persons : arrays of positions
        Those that go.
    columns : array, one for each item that goes
        Binary columns it becomes: its largest number of trials.
    matrix : (persons, columns) float64 array
        0, 1 and NaN. k successes in n trials are k ones and n - k zeros, under equal parameters: the same likelihood,
        without the binomial constant.
    """

    responses: Responses
    item_status: tuple[ItemStatus, ...]
    person_status: tuple[PersonStatus, ...]
    items: NDArray[np.intp]
    persons: NDArray[np.intp]
    columns: NDArray[np.intp]
    matrix: FloatArray

    @property
    def first_columns(self) -> NDArray[np.intp]:
        """Position of each item's first column."""
        return np.concatenate([[0], np.cumsum(self.columns)[:-1]]).astype(np.intp)

    @property
    def expanded(self) -> bool:
        """Whether any item has more than one column."""
        return bool(self.columns.max() > 1)

    @property
    def modeled(self) -> Responses:
        """The responses of the persons and items that go."""
        return self.responses.select(self.persons, self.items)


def make_design(responses: Responses, model: ItemModel) -> Design:
    """Return what of the responses mirt is given.

    Raises
    ------
    DataError
        If no item varies.
    ModelError
        If the counts are too large to be given to mirt, or the model has more parameters than the data can hold.
    """
    items_are = item_status(responses)
    items = np.flatnonzero(np.array(items_are) == "estimated")
    if not len(items):
        raise DataError(
            f"None of the {responses.n_items} items varies: each is all right, all wrong or never run.",
            "There is nothing to estimate; look at the proportions (simple-average).",
        )
    persons_are = person_status(responses.select(items=items))
    persons = np.flatnonzero(np.array(persons_are) != "no_responses")
    successes, trials = responses.successes[np.ix_(persons, items)], responses.trials[np.ix_(persons, items)]
    columns = trials.max(axis=0).astype(np.intp)
    _check_columns(columns)
    check_degrees_of_freedom(model, columns)
    return Design(responses, items_are, persons_are, items, persons, columns, _binary(successes, trials, columns))


def _check_columns(columns: NDArray[np.intp]) -> None:
    total = int(columns.sum())
    if columns.max() > 1 and total > MAX_COUNT_COLUMNS:
        raise ModelError(
            f"mirt takes counts only as equal-constrained binary items, {total} of them for these trials; "
            f"more than {MAX_COUNT_COLUMNS} are not given to it.",
            "Use an estimator that takes counts as they are ('map'), fewer items, or one trial an item.",
        )


def _binary(successes: CountArray, trials: CountArray, columns: NDArray[np.intp]) -> FloatArray:
    item = np.repeat(np.arange(len(columns)), columns)
    trial = np.arange(len(item)) - np.repeat(np.cumsum(columns) - columns, columns)
    out: FloatArray = (trial < successes[:, item]).astype(np.float64)
    out[trial >= trials[:, item]] = np.nan
    return out

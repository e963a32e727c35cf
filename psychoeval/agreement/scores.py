"""Expected scores: the one scale that every estimator has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from psychoeval.irt.parameters import ItemParameters
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]

#: Cells of probabilities held at a time.
BLOCK_CELLS: Final = 1 << 20


def item_is_usable(items: ItemParameters) -> NDArray[np.bool_]:
    """Whether the probability of success of each item is known, (J,): estimated, or constant in the data."""
    return items.estimated | np.isin(np.array(items.status), ("constant_all_0", "constant_all_1"))


def expected_scores(
    fit: FitResult, item_ids: Sequence[str], person_ids: Sequence[str]
) -> tuple[FloatArray, FloatArray] | None:
    """Return each person's mean probability of success over `item_ids`, (N,), and each item's over `person_ids`, (J,).

    Items without parameters count as 0 or 1 where all responses were; an infinite ability takes the limit. A person
    without an ability is NaN and no part of the items' means. None for a fit without items or abilities on one scale.
    """
    items, abilities = fit.item_parameters, fit.abilities
    if items is None or abilities is None or abilities.scale != "logit" or not item_ids or not person_ids:
        return None
    item_place = {text: j for j, text in enumerate(items.item_ids)}
    person_place = {text: i for i, text in enumerate(abilities.person_ids)}
    columns = np.array([item_place[text] for text in item_ids])
    theta = abilities.estimate[[person_place[text] for text in person_ids]]
    return mean_probabilities(theta, items.select(columns))


def mean_probabilities(theta: FloatArray, items: ItemParameters) -> tuple[FloatArray, FloatArray]:
    """Return the mean probability of success of each ability over the items, (N,), and of each item over them, (J,).

    Parameters
    ----------
    theta : (N,) array
        Infinite ones take the limit; NaN gives NaN, and is no part of the items' means.
    items : ItemParameters
        Those without parameters count as 0 or 1 where all responses were.
    """
    a, d, c = items.discrimination, items.intercept, items.guessing
    constant = np.array([status == "constant_all_1" for status in items.status], dtype=float)
    estimated = items.estimated
    persons, total, known = np.empty(theta.size), np.zeros(a.size), ~np.isnan(theta)
    step = max(1, BLOCK_CELLS // a.size)
    for start in range(0, theta.size, step):
        block = theta[start : start + step]
        with np.errstate(invalid="ignore"):  # 0 * inf: an item that does not measure has no limit
            p = np.where(estimated, c + (1 - c) * expit(np.multiply.outer(block, a) + d), constant)
        persons[start : start + step] = np.where(np.isnan(block), np.nan, p.mean(axis=1))
        total += p[known[start : start + step]].sum(axis=0)
    count = int(known.sum())
    return persons, total / count if count else np.full(a.size, np.nan)


class CachedScores:
    """`expected_scores`, computed once for each fit and set of ids."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[FloatArray, FloatArray] | None] = {}

    def __call__(
        self, fit: FitResult, item_ids: Sequence[str], person_ids: Sequence[str]
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return `expected_scores`."""
        key = (id(fit), tuple(item_ids), tuple(person_ids))
        if key not in self._known:
            self._known[key] = expected_scores(fit, item_ids, person_ids)
        return self._known[key]

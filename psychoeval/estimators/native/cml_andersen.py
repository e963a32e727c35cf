"""Andersen's likelihood-ratio test: whether the Rasch difficulties are the same for two groups of persons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from psychoeval.errors import DataError
from psychoeval.estimators.native.cml_checks import require_estimable, require_feasible
from psychoeval.estimators.native.cml_search import maximize
from psychoeval.estimators.native.cml_steps import make_units
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status

TOLERANCE = 1e-6
MAX_ITERATIONS = 100


@dataclass(frozen=True, slots=True)
class AndersenTest:
    """Result of `andersen_test`.

    Parameters
    ----------
    statistic : float
        2 (log-likelihoods of the groups apart - log-likelihood of all), chi-squared if the Rasch model holds.
    degrees_of_freedom : int
        Tested items - 1.
    p_value : float
    items_left_out : tuple of str
        Constant in a group, so without an estimate there; not tested.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    items_left_out: tuple[str, ...]


def andersen_test(responses: Responses, first_group: ArrayLike | None = None) -> AndersenTest:
    """Test the Rasch model by conditional likelihoods of two groups of persons.

    Under the Rasch model difficulties are the same in any group. Unequal slopes or guessing make them differ between
    low and high scorers. The distribution of abilities plays no part; with few persons in a group the chi-squared
    distribution is rough.

    Parameters
    ----------
    responses : Responses
    first_group : (N,) array-like of bool, optional
        Who is in the first group. By default those whose raw score is at most the mean of all; for complete data only,
        since raw scores on different items do not compare.

    Raises
    ------
    DataError
        If a group is empty, data have missing cells and no group is given, or a group alone cannot be estimated (the
        items are named).

    Notes
    -----
    Source: Andersen (1973), Psychometrika 38, 123-140.
    """
    first = _mean_split(responses) if first_group is None else np.asarray(first_group, dtype=bool)
    if first.shape != (responses.n_persons,) or first.all() or not first.any():
        raise DataError(
            f"The groups have {int(first.sum())} of {responses.n_persons} {responses.person_label}s, given as an array "
            f"of shape {first.shape}.",
            f"Give one value for each {responses.person_label}, and at least one of them in each group.",
        )
    groups = [responses.select(persons=part) for part in (first, ~first)]
    tested = np.all([[status == "estimated" for status in item_status(group)] for group in groups], axis=0)
    if tested.sum() < 2:
        raise DataError(
            f"Only {int(tested.sum())} of {responses.n_items} items were answered both rightly and wrongly in each of "
            "the groups.",
            "Choose groups nearer to each other.",
        )
    apart = sum(_log_likelihood(group.select(items=tested)) for group in groups)
    statistic = 2 * (apart - _log_likelihood(responses.select(items=tested)))
    freedom = int(tested.sum()) - 1
    left_out = tuple(responses.item_ids[j] for j in np.flatnonzero(~tested))
    return AndersenTest(statistic, freedom, float(chdtrc(freedom, max(statistic, 0.0))), left_out)


def _mean_split(responses: Responses) -> NDArray[np.bool_]:
    if not responses.is_complete:
        raise DataError(
            "Cells are missing, and raw scores on different items do not compare.",
            "Give first_group, a grouping by something else than the score.",
        )
    scores = responses.successes.sum(axis=1, dtype=np.int64)
    return np.asarray(scores <= scores.mean())


def _log_likelihood(responses: Responses) -> float:
    seen = np.asarray(responses.trials.any(axis=1))
    part = responses if seen.all() else responses.select(persons=seen)
    require_estimable(part)
    units = make_units(part.successes, part.trials)
    require_feasible(len(units.totals), part.n_items, part.person_label)
    return maximize(units, tolerance=TOLERANCE, max_iterations=MAX_ITERATIONS).at.log_likelihood

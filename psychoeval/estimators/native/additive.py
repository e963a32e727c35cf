"""The additive estimator: score = person + item, so that who saw which items drops out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from psychoeval.errors import DataError
from psychoeval.irt.additive import AdditiveFit, fit_additive
from psychoeval.irt.classical import BoolArray, FloatArray
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities
from psychoeval.responses.connectivity import require_connected
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, ItemStatistics
from psychoeval.results.provenance import Provenance

#: Residual over binomial variance from which the result says that person x item effects are large.
OVERDISPERSED = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Additive:
    """Least squares of score = person + item over the observed cells, weighted by trials.

    A person's estimate is the expected score on all items that anybody saw, on the proportion scale and not cut at 0
    and 1. Constant items stay: they shift every estimate alike. Standard errors hold the items fixed and let
    every cell have its own variance (`psychoeval.irt.additive.fit_additive`). They count departures from
    additivity as error, which bias the estimate where cells are missing by difficulty. Coverage of the 95 %
    intervals measured in 2PL worlds (benchmarks/coverage_proportions.py): complete data .93-.98, cells missing at
    random .91-.96 (lowest with 10 items a person), each system near its own level .92 with one trial a cell, .81 with
    ten or a hundred. With 100 or 200 items and 30 % missing at random (benchmarks/interval_coverage.py) .95 with one
    trial, .96-.97 with ten.
    """

    name: ClassVar[str] = "additive"

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit by least squares; `model` is not used.

        Returns
        -------
        FitResult
            `item_statistics` has each item's expected proportion correct over all persons.

        Raises
        ------
        DataError
            If there is no response at all.
        DisconnectedDataError
            If persons fall into groups that share no item: their effects have no common origin.
        """
        if responses.n_observed == 0:
            raise DataError(
                "No cell was administered, so there is nothing to fit.", "Check how missing cells were read."
            )
        require_connected(responses)
        persons: BoolArray = np.asarray(responses.trials.any(axis=1))
        items: BoolArray = np.asarray(responses.trials.any(axis=0))
        whole = bool(persons.all() and items.all())
        part = responses if whole else responses.select(persons, items)
        found = fit_additive(part.successes, part.trials)
        covariance = None if found.covariance is None else _spread(found.covariance, persons)
        return FitResult(
            estimator=self.name,
            model=None,
            convergence=Convergence("not_iterative", warnings=_warnings(found, responses.person_label)),
            provenance=Provenance(engine="numpy"),
            item_statistics=ItemStatistics(
                responses.item_ids,
                _spread(found.item_score, items),
                np.full(items.shape, np.nan),
                {},
                status=item_status(responses),
            ),
            abilities=Abilities(
                responses.person_ids,
                _spread(found.score, persons),
                _spread(np.sqrt(found.variance), persons),
                method="least squares",
                scale="proportion",
                uncertainty="items fixed",
                status=person_status(responses),
                covariance=covariance,
                n_units=np.count_nonzero(responses.trials, axis=1).astype(float),
            ),
            statistics={
                "residual_variance": found.residual_variance,
                "degrees_of_freedom": found.degrees_of_freedom,
                "overdispersion": None if np.isnan(found.overdispersion) else found.overdispersion,
                "standard_errors": "sandwich (HC2) over cells, items fixed, departures from additivity as error",
            },
        )

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return what is computed, in words."""
        return "additive: score = person + item by least squares weighted by trials; sandwich errors (HC2), items fixed"


def _spread(values: FloatArray, keep: BoolArray) -> FloatArray:
    """Put values (or a square of them) in their places among all ids, NaN elsewhere."""
    out = np.full((keep.size,) * values.ndim, np.nan)
    out[np.ix_(*[keep] * values.ndim)] = values
    return out


def _warnings(found: AdditiveFit, who: str) -> tuple[str, ...]:
    notes: list[str] = []
    if np.isnan(found.variance).all():
        reason = (
            f"there are no more observed cells than {who}s and items need"
            if found.degrees_of_freedom < 1
            else "every cell is fitted exactly"
        )
        notes.append(f"The standard errors are unknown, because the fit leaves no residuals: {reason}.")
    outside = int(np.count_nonzero((found.score < 0) | (found.score > 1)))
    if outside:
        notes.append(
            f"{outside} expected score{'s lie' if outside > 1 else ' lies'} outside 0 to 1: the additive form does not "
            "hold at the ends of the scale."
        )
    if found.overdispersion > OVERDISPERSED:
        notes.append(
            f"Cells vary {found.overdispersion:.3g} times as much as trials alone explain: {who} x item effects, or an "
            "additive form that does not hold. The standard errors count them."
        )
    return tuple(notes)

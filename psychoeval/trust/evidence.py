"""What a verdict rests on: one fit, its conditions, its rankings, what refitting recovers, other estimators' order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.trust.conditions import Conditions
from psychoeval.trust.ranking import Ranking
from psychoeval.trust.refitting import Refitting


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of a fit of a data set.

    Parameters
    ----------
    responses : Responses
    fit : FitResult
        The one that is judged.
    conditions : Conditions
    ranking : Ranking or None
        For these items; None where there is none.
    over_items : Ranking or None
        For items like these.
    refitting : Refitting or None
    agreement : mapping of str to float
        Kendall's tau-b of the fit's order with that of other estimators, by their labels.
    missing : mapping of str to str
        Why a part is None, by its name.
    """

    responses: Responses
    fit: FitResult
    conditions: Conditions
    ranking: Ranking | None
    over_items: Ranking | None
    refitting: Refitting | None
    agreement: Mapping[str, float]
    missing: Mapping[str, str]

    @property
    def noun(self) -> str:
        """What a row of the data is: person or system."""
        return self.responses.person_label

    def recovered(self, metric: str) -> tuple[float, float, float]:
        """Return mean and limits of a metric over refits; NaN where there is none."""
        return (np.nan, np.nan, np.nan) if self.refitting is None else self.refitting.mean_and_limits(metric)

    def monte_carlo_error(self, metric: str) -> float:
        """Return the standard error of the mean of a metric over refits; 0 below two, where nothing is known of it."""
        values = np.empty(0) if self.refitting is None else self.refitting.values(metric)
        return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0

"""What a verdict rests on: one fit, its conditions, its rankings, what refitting recovers, other estimators' order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import t

from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.trust.conditions import Conditions
from psychoeval.trust.ranking import Ranking
from psychoeval.trust.refitting import Refitting

#: Of all statistics together, whether the data are like simulated data.
UNLIKE_LEVEL: Final = 0.05


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
        values = np.empty(0) if self.refitting is None else self.refitting.values(metric)
        if self.refitting is None or not values.size:
            return np.nan, np.nan, np.nan
        tail = (1 - self.refitting.level) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(values.mean()), float(low), float(high)

    def monte_carlo_error(self, metric: str) -> float:
        """Return the standard error of the mean of a metric over refits; 0 below two, where nothing is known of it."""
        values = np.empty(0) if self.refitting is None else self.refitting.values(metric)
        return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0

    def unlike(self) -> tuple[str, ...]:
        """Return the statistics in which the data are not like data simulated from the fit.

        Those outside the prediction interval of one more simulated value, mean -+ t SD sqrt(1 + 1/R) with R - 1 degrees
        of freedom, at 5 % divided by the number of statistics: with few refits the share beyond the observed value
        (`Refitting.likeness`) is too coarse for that.
        """
        check = self.refitting
        if check is None:
            return ()
        out = []
        for name, seen in check.observed.items():
            values = check.values(name)
            if values.size < 3 or not np.isfinite(seen):
                continue
            reach = t.isf(UNLIKE_LEVEL / len(check.observed) / 2, values.size - 1) * np.sqrt(1 + 1 / values.size)
            if abs(seen - values.mean()) > reach * values.std(ddof=1) + 1e-12:
                out.append(name)
        return tuple(out)

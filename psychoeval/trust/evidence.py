"""What a verdict rests on: one fit, its conditions, its rankings, what refitting recovers, other estimators' order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

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
    forced : tuple of str
        Those of them that order these data as the fit does whatever the data say: both go by the sum score.
    guessing : float
        `guessing.guessing_gain`; NaN where the fit has no items or is a 3PL, and below 30 systems.
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
    forced: tuple[str, ...] = ()
    guessing: float = np.nan

    @property
    def noun(self) -> str:
        """What a row of the data is: person or system."""
        return self.responses.person_label

    def recovered(self, metric: str) -> tuple[float, float, float]:
        """Return mean and limits of a metric over refits; NaN where there is none."""
        return (np.nan, np.nan, np.nan) if self.refitting is None else self.refitting.mean_and_limits(metric)

    def n_refits(self, metric: str) -> int:
        """Return how many refits have a metric."""
        return 0 if self.refitting is None else self.refitting.values(metric).size

    def reach(self, metric: str, *, single: bool = False) -> float:
        """Return half the width of the 95% interval of a metric's mean over refits, infinite below two refits.

        t s / root of R with R - 1 degrees of freedom, s the SD over R refits; with `single` that of one more value,
        t s root of (1 + 1/R).
        """
        return np.inf if self.refitting is None else _reach(self.refitting.values(metric), single)

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Return the mean over refits of one metric less another, pairwise, and half the width of its 95% interval."""
        rows = [] if self.refitting is None else [r for r in self.refitting.replications.rows if r["believed"]]
        pairs = [(r.get(first), r.get(second)) for r in rows]
        known = [(float(x), float(y)) for x, y in pairs if x is not None and y is not None]
        values = -np.diff(np.array(known, dtype=np.float64).reshape(-1, 2), axis=1)[:, 0]
        values = values[np.isfinite(values)]
        return (float(values.mean()) if values.size else np.nan), _reach(values, False)


def _reach(values: NDArray[np.float64], single: bool) -> float:
    n = values.size
    if n < 2:
        return np.inf
    return float(t.isf(0.025, n - 1) * values.std(ddof=1) * np.sqrt(single + 1 / n))

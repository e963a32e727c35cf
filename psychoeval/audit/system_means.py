"""Mean scores of systems with errors that know their unit: items, clusters of items, trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psychoeval.audit.settings import check_level
from psychoeval.irt.classical import FloatArray, mean_error, row_moments
from psychoeval.irt.clustered import mean_error_between_clusters, trial_mean_error
from psychoeval.irt.intervals import wilson_interval
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import person_status

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class SystemMeans:
    """Mean scores of N persons and their errors; NaN for persons without responses (`status`).

    Parameters
    ----------
    person_ids, status : tuple of str, length N
    mean : (N,) array
        Over the items seen, of successes over trials.
    standard_error, low, high : (N,) arrays
        The error to quote and its interval: between clusters where there are any, else between items.
    error_between_items : (N,) array
        s / sqrt(n) over items, s^2 with n - 1: a new sample of items answered independently, trials drawn anew.
    error_of_trials : (N,) array
        The items kept, only their trials drawn anew; NaN where an item was tried once.
    n_items, n_trials, n_clusters : (N,) arrays
        `n_clusters` counts the items where there are no clusters.
    cluster : str
        Covariate, or empty.
    level : float
    notes : tuple of str
    """

    person_ids: tuple[str, ...]
    status: tuple[str, ...]
    mean: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    error_between_items: FloatArray
    error_of_trials: FloatArray
    n_items: NDArray[np.intp]
    n_trials: NDArray[np.intp]
    n_clusters: NDArray[np.intp]
    cluster: str
    level: float
    notes: tuple[str, ...]

    @property
    def design_effect(self) -> FloatArray:
        """Squared ratio of the standard error to that between items, (N,): 1 without clusters."""
        out = np.full(self.mean.size, np.nan)
        between = self.error_between_items
        np.divide(self.standard_error, between, out=out, where=between > 0)
        return out**2

    def to_frame(self) -> pd.DataFrame:
        """Return one row a person."""
        import pandas as pd

        columns = ("status", "mean", "standard_error", "low", "high", "error_between_items", "error_of_trials",
                   "n_items", "n_trials", "n_clusters", "design_effect")  # fmt: skip
        return pd.DataFrame({name: getattr(self, name) for name in columns}, index=pd.Index(self.person_ids, name="id"))


def average_systems(
    responses: Responses, *, cluster: str | None = None, small_sample: bool = True, level: float = 0.95
) -> SystemMeans:
    """Average each system's scores, with standard errors between items or between clusters of items.

    Repeated trials (epochs) make a cell's score finer, never the sample larger: the unit is the item. Questions on one
    passage, or variants of one task, are dependent: name the covariate in `cluster`, and the unit is the cluster.
    Missing cells are left out of the mean. Intervals are Wilson's at the effective sample size that has this standard
    error; between clusters with Student's t of G - 1 degrees of freedom in place of the normal quantile.

    Parameters
    ----------
    responses : Responses
    cluster : str, optional
        Column of `responses.items`.
    small_sample : bool
        Whether the error between G clusters is multiplied by sqrt(G / (G - 1)).
    level : float
        Of the intervals.

    Raises
    ------
    DataError
        Without such a covariate, or where it is missing for an item.
    SettingsError
        For a level outside (0, 1).
    """
    check_level(level)
    moments = row_moments(responses.successes, responses.trials)
    between, worth = mean_error(moments)
    error, units = between, moments.n.astype(np.intp)
    notes = ["Scores are successes over trials; missing cells are left out; errors and intervals: items sampled."]
    if cluster is None:
        notes.append("The standard error is between items, which it takes to be independent: no passages or variants.")
    else:
        codes, names = group_codes(responses, cluster, "items")
        error, worth, units = mean_error_between_clusters(
            responses.successes, responses.trials, codes, small_sample=small_sample, level=level
        )
        factor = "with the factor sqrt(G / (G - 1))" if small_sample else "without a small-sample factor"
        notes.append(f"The standard error is between {len(names)} clusters of items ({cluster}), {factor}.")
        alone = int(np.count_nonzero(units == 1))
        if alone:
            notes.append(f"{alone} {responses.person_label}s saw a single cluster: no error between clusters.")
    low, high = wilson_interval(moments.mean, worth, level)
    return SystemMeans(
        responses.person_ids,
        person_status(responses),
        moments.mean,
        error,
        low,
        high,
        between,
        trial_mean_error(responses.successes, responses.trials),
        moments.n.astype(np.intp),
        moments.trials.astype(np.intp),
        units,
        cluster or "",
        level,
        (*notes, *_trial_notes(responses)),
    )


def _trial_notes(responses: Responses) -> tuple[str, ...]:
    if int(responses.trials.max(initial=0)) <= 1:
        return ()
    return ("Trials of one item are no independent items: they count once, as a finer score of the item.",)

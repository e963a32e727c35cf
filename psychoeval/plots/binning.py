"""Observed proportions of one item among persons of like ability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.intervals import wilson_interval
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]

#: Fewer persons than this in a group say little about a proportion.
PERSONS_A_BIN = 6
MOST_BINS = 10


@dataclass(frozen=True, slots=True)
class Binned:
    """Persons grouped by ability.

    Attributes
    ----------
    ability : (B,) array
        Mean ability of each group, in logits.
    successes, trials : (B, J) arrays
        Of the group on each item of the responses.
    """

    ability: FloatArray
    successes: FloatArray
    trials: FloatArray

    def proportions(self, item: int, level: float = 0.95) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return proportion and Wilson interval of one item in each group, (B,) each, NaN without trials."""
        n, k = self.trials[:, item], self.successes[:, item]
        p = np.divide(k, n, out=np.full(n.shape, np.nan), where=n > 0)
        return p, *wilson_interval(p, n, level)


def bin_persons(responses: Responses, fit: FitResult) -> Binned:
    """Group persons with a finite ability into groups of about equal size, equal abilities together.

    Parameters
    ----------
    responses : Responses
    fit : FitResult
        With abilities, matched by person id.
    """
    assert fit.abilities is not None
    where = {p: i for i, p in enumerate(fit.abilities.person_ids)}
    rows = np.array([where.get(p, -1) for p in responses.person_ids])
    theta = np.where(rows >= 0, fit.abilities.estimate[rows], np.nan)
    known = np.flatnonzero(np.isfinite(theta))
    n_bins = int(np.clip(known.size // PERSONS_A_BIN, 1, MOST_BINS))
    edges = np.unique(np.quantile(theta[known], np.linspace(0, 1, n_bins + 1)[1:-1])) if n_bins > 1 else np.empty(0)
    group = np.searchsorted(edges, theta[known], side="left")
    _, group = np.unique(group, return_inverse=True)
    member = np.zeros((group.max() + 1, known.size))
    member[group, np.arange(known.size)] = 1.0
    return Binned(
        member @ theta[known] / member.sum(axis=1),
        member @ responses.successes[known].astype(float),
        member @ responses.trials[known].astype(float),
    )

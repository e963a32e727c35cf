"""Q3 and LD-X2 of all pairs of items of a fit, as matrices, and which pairs can be told anything about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from psychoeval.diagnostics.fitted import Fitted, fitted_pairs
from psychoeval.errors import NotComparableError
from psychoeval.irt.classical import BoolArray, FloatArray
from psychoeval.irt.limited_information import pair_probabilities
from psychoeval.irt.local_dependence import (
    PairChiSquares,
    PairCounts,
    adjusted,
    chi_squares,
    pair_counts,
    residual_correlations,
)
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

#: Persons who saw both items, below which a correlation is noise: its standard error is .19 then.
MIN_SHARED: Final = 30

Statistic = Callable[[FitResult, Responses], float | FloatArray]


class PairwiseQ3(NamedTuple):
    """Q3 of all pairs, (J, J) each but `mean`, `theta` and `method`.

    Parameters
    ----------
    q3, above : Q3, and less its mean over the tested pairs (NaN elsewhere).
    used : persons who saw both and have a finite ability, on whom Q3 rests.
    counts : of all who saw both.
    tested : whether both items were answered in both ways by enough of them; False on the diagonal.
    mean : of the tested pairs.
    theta, method : (N,), the abilities, NaN for persons without; how they were scored.
    """

    q3: FloatArray
    above: FloatArray
    used: FloatArray
    counts: PairCounts
    tested: BoolArray
    mean: float
    theta: FloatArray
    method: str


def pairwise_q3(fit: FitResult, found: Fitted) -> PairwiseQ3:
    """Return Q3 at the abilities of the fit.

    Raises
    ------
    NotComparableError
        If it has none in logits.
    """
    if fit.abilities is None or fit.abilities.scale != "logit":
        raise NotComparableError(
            f"{fit.label} has no abilities in logits.", "Give a fit that has them (mml, map, ...)."
        )
    place = {name: i for i, name in enumerate(fit.abilities.person_ids)}
    estimate = np.append(fit.abilities.estimate, np.nan)
    theta = estimate[[place.get(name, -1) for name in found.responses.person_ids]]
    data = found.responses
    q3, used, _ = residual_correlations(data.successes, data.trials, theta, found.items)
    counts = pair_counts(data.successes, data.trials)
    tested = counts.varies & (used >= MIN_SHARED) & np.isfinite(q3)
    np.fill_diagonal(tested, False)
    above, mean = adjusted(q3, tested)
    return PairwiseQ3(q3, above, used, counts, tested, mean, theta, fit.abilities.method)


def largest_q3(fit: FitResult, responses: Responses) -> float:
    """Return the largest Q3 less the mean: Christensen, Makransky and Horton's Q3*; NaN without a tested pair."""
    found = pairwise_q3(fit, fitted_pairs(fit, responses))
    return float(found.above[found.tested].max()) if found.tested.any() else float("nan")


def pairwise_x2(found: Fitted, counts: PairCounts) -> PairChiSquares | None:
    """Return LD-X2 over the latent distribution of the fit; None without one, and for cells of several trials."""
    curves = found.curves()
    if curves is None or not found.responses.is_binary:
        return None
    return chi_squares(counts, curves.weight @ curves.p, pair_probabilities(curves))

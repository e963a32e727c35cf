"""What a statistic is where the fitted model is true: data drawn from the fit, and fitted again."""

from __future__ import annotations

import warnings

import numpy as np

from psychoeval.diagnostics.fitted import Fitted
from psychoeval.diagnostics.pair_residuals import Statistic
from psychoeval.errors import ConvergenceWarning, PsychoevalError
from psychoeval.fitting import estimator_of
from psychoeval.fitting import fit as fit_again
from psychoeval.irt.classical import FloatArray
from psychoeval.results.fit_result import FitResult


def simulated_statistics(
    fit: FitResult, found: Fitted, replications: int, seed: int, statistic: Statistic
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return a statistic of data sets drawn from a fit, each fitted again with the same settings, (R, ...), and notes.

    Parameters
    ----------
    fit : FitResult
    found : Fitted
        The fit with its responses.
    replications, seed : int
    statistic : callable
        Of a fit and its responses, a number or an array. Data sets for which it is NaN, or that cannot be fitted, are
        left out and counted.

    Raises
    ------
    NotComparableError
        If the fit cannot be run again, or has no distribution of the abilities.
    """
    estimator = estimator_of(fit)
    values: list[FloatArray] = []
    unlike = 0
    for _, drawn in found.worlds(replications, seed):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # it is counted
                again = fit_again(drawn, estimator, fit.model, allow_free_2pl=True)
            unlike += not again.convergence.believed
            value = np.asarray(statistic(again, drawn), dtype=np.float64)
        except PsychoevalError:
            continue  # it is counted
        if np.isfinite(value).all():
            values.append(value)
    notes = []
    if lost := replications - len(values):
        notes.append(f"{lost} of {replications} drawn data sets gave no fit or no tested pair.")
    if unlike:
        notes.append(f"{unlike} fits of drawn data sets did not converge, and count all the same.")
    return np.array(values), tuple(notes)

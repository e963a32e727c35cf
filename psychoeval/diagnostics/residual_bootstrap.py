"""What a statistic is where the fitted model is true: data drawn from the fit, and fitted again."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Final

import numpy as np

from psychoeval.diagnostics.pair_residuals import Statistic
from psychoeval.diagnostics.paired_items import PairedItems
from psychoeval.errors import ConvergenceWarning, NotComparableError, PsychoevalError
from psychoeval.fitting import estimator_of
from psychoeval.fitting import fit as fit_again
from psychoeval.irt.classical import FloatArray
from psychoeval.irt.simulate import simulate_counts
from psychoeval.responses.ids_and_counts import smallest_dtype
from psychoeval.results.fit_result import FitResult
from psychoeval.scoring.plausible import plausible_values

#: Plausible values that are held at a time: 32 MiB.
_HELD: Final = 2**22


def simulated_statistics(
    fit: FitResult, found: PairedItems, replications: int, seed: int, statistic: Statistic
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return a statistic of data sets drawn from a fit, each fitted again with the same settings, and notes.

    Abilities are plausible values, one a person and data set: they keep what the persons' missing cells have to do
    with ability. Cells and trials are those observed.

    Parameters
    ----------
    fit : FitResult
    found : PairedItems
        The fit with its responses.
    replications, seed : int
    statistic : callable
        Of a fit and its responses. Data sets for which it is NaN, or that cannot be fitted, are left out and counted.

    Raises
    ------
    NotComparableError
        If the fit cannot be run again, or has no distribution of the abilities.
    """
    estimator = estimator_of(fit)
    latent = found.latent
    if latent is None:
        raise NotComparableError(
            f"{fit.label} has no distribution of abilities to draw from.", "Give a fit that has one (mml, mirt-em)."
        )
    data, k = found.responses, found.items
    out, unlike = np.full(replications, np.nan), 0
    step = max(1, _HELD // data.n_persons)
    for number in range(replications):
        if number % step == 0:
            many = min(step, replications - number)
            theta = plausible_values(data, found.parameters, many, seed=seed + number, latent=latent)
        # The last 1 keeps this stream apart from the plausible values': [seed, 0] would be the same as seed.
        generator = np.random.default_rng([seed, number, 1])
        # Persons without responses have no ability and no trials.
        ability = np.nan_to_num(theta[number % step])
        successes = simulate_counts(ability, k.a, k.d, k.c, data.trials, generator)
        drawn = dataclasses.replace(data, successes=successes.astype(smallest_dtype(int(successes.max(initial=0)))))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # it is counted
                again = fit_again(drawn, estimator, fit.model, allow_free_2pl=True)
            unlike += not again.convergence.believed
            out[number] = statistic(again, drawn)
        except PsychoevalError:
            pass  # it stays NaN, and is counted
    return _told(out, unlike)


def _told(values: FloatArray, unlike: int) -> tuple[FloatArray, tuple[str, ...]]:
    good = np.isfinite(values)
    notes = []
    if not good.all():
        notes.append(f"{int(np.count_nonzero(~good))} of {values.size} drawn data sets gave no fit or no tested pair.")
    if unlike:
        notes.append(f"{unlike} fits of drawn data sets did not converge, and count all the same.")
    return values[good], tuple(notes)

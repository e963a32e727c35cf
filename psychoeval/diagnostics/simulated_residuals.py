"""What mean squares are where the model is true: responses drawn anew at the fitted items and scored the same way."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.diagnostics.fitted import Fitted
from psychoeval.irt.residual_fit import MeanSquares, mean_squares, residual_sums
from psychoeval.irt.score_posteriors import draw
from psychoeval.irt.simulate import simulate_counts
from psychoeval.scoring.matched import histogram

FloatArray = NDArray[np.float64]

#: Abilities that are held at a time: 32 MiB.
_HELD: Final = 2**22


class ResidualTests(NamedTuple):
    """Two-sided p values of infit and outfit of the used items, NaN where there is no mean square."""

    infit: FloatArray
    outfit: FloatArray


def residual_tests(known: Fitted, observed: MeanSquares, replications: int, seed: int) -> ResidualTests:
    """Return where the observed mean squares of items lie among simulated ones.

    Each data set has the cells and trials of the responses and, for every person, an ability drawn from his posterior;
    abilities are then scored as those of the responses were, so that what scoring takes out of the residuals is taken
    out of both. Items stay as they are, so that p is too large where they were estimated from these responses: of 240
    items of true models 1.7 % (Rasch) and none (2PL) had an infit with p <= .05, with known items 2.9 % and 1.3 %.
    p = 2 (1 + the fewer of those below and those above) / (1 + replications).

    Parameters
    ----------
    known : Fitted
        With a distribution of abilities.
    observed : MeanSquares
        Of its used items.
    replications, seed : int
    """
    latent, items = known.latent, known.items
    assert latent is not None  # the caller has looked
    successes, trials = known.counts
    rng = np.random.default_rng(seed)
    below, above = np.zeros((2, items.a.size)), np.zeros((2, items.a.size))
    law = histogram(latent)
    step = max(1, _HELD // len(trials))
    for number in range(replications):
        if number % step == 0:
            many = min(step, replications - number)
            theta = draw(successes, trials, items, many, rng, mean=latent.mean, sd=latent.sd, law=law)
        drawn = simulate_counts(np.nan_to_num(theta[number % step]), items.a, items.d, items.c, trials, rng)
        found = mean_squares(residual_sums(drawn, trials, known.abilities(drawn), items)[0])
        for k, name in enumerate(("infit", "outfit")):
            below[k] += getattr(found, name) <= getattr(observed, name)
            above[k] += getattr(found, name) >= getattr(observed, name)
    p = np.minimum(1.0, 2.0 * (1.0 + np.minimum(below, above)) / (1.0 + replications))
    return ResidualTests(
        np.where(np.isnan(observed.infit), np.nan, p[0]), np.where(np.isnan(observed.outfit), np.nan, p[1])
    )

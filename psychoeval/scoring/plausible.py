"""Draws from every person's posterior under known items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import SettingsError
from psychoeval.estimators.settings import check_whole
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.score_posteriors import draw
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.scoring.known_items import STANDARD_NORMAL
from psychoeval.scoring.matched import histogram, match

FloatArray = NDArray[np.float64]


def plausible_values(
    responses: Responses,
    items: ItemParameters,
    n_draws: int = 20,
    *,
    seed: int,
    latent: LatentDistribution = STANDARD_NORMAL,
) -> FloatArray:
    """Return draws from every person's posterior, with the item parameters held fixed.

    Which score for what: EAPs for the ability of one person. Their variance is too small for that of the population,
    and correlations with other variables are distorted; for these take one set of plausible values at a time and
    average the results over the sets, never the values of a person first.

    Parameters
    ----------
    responses : Responses
    items : ItemParameters
        Matched by id, as in `psychoeval.scoring.score`.
    n_draws : int
        Sets D.
    seed : int
        The same seed gives the same draws.
    latent : LatentDistribution
        Distribution of the abilities.

    Returns
    -------
    (D, N) array
        One set a row, in logits; NaN for persons without responses.

    Raises
    ------
    DataError, SettingsError
        As `psychoeval.scoring.score`; or if `n_draws` or `seed` is no whole number, or `n_draws` below 1.
    """
    check_whole(n_draws=n_draws)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise SettingsError(f"seed is {seed!r}.", "Give a whole number from 0.")
    law = histogram(latent)
    found = match(responses, items)
    return draw(
        found.responses.successes,
        found.responses.trials,
        found.items,
        n_draws,
        np.random.default_rng(seed),
        mean=latent.mean,
        sd=latent.sd,
        law=law,
    )

"""Draws with what they predict of each person: for leave-one-out, and for a check of scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.draw_predictions import marginal_log_likelihoods, replicated_scores
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.draws import Draws

FloatArray = NDArray[np.float64]


def with_log_likelihood(draws: Draws, part: Responses, model: ItemModel) -> Draws:
    """Return the draws with each person's log-likelihood, the ability integrated out, which `loo` needs.

    Parameters
    ----------
    draws : Draws
        Of ``intercept``; without ``discrimination`` slopes are 1, without ``latent_sd`` abilities are N(0, 1).
    part : Responses
        The persons and items of the draws, in their order.
    model : ItemModel
        Says what guessing is where it was not sampled.
    """
    a, d, c = item_draws(draws, model)
    sd = draws.pooled("latent_sd") if "latent_sd" in draws.values else np.ones(len(d))
    values = marginal_log_likelihoods(part.successes, part.trials, a, d, c, sd)
    return replace(draws, log_likelihood=values.reshape(draws.n_chains, draws.n_draws, -1))


def with_replicated_scores(draws: Draws, part: Responses, model: ItemModel, seed: int) -> Draws:
    """Return the draws with raw scores drawn anew of the same persons on the items they took.

    Parameters are those of `with_log_likelihood`; the draws must hold ``ability``. With `seed` the scores are fixed.
    """
    scores = replicated_scores(part.trials, draws.pooled("ability"), *item_draws(draws, model), seed=seed)
    return replace(draws, replicated_scores=scores.reshape(draws.n_chains, draws.n_draws, -1))


def item_draws(draws: Draws, model: ItemModel) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return slopes, intercepts and guessing of all draws, (D, J) each."""
    d = draws.pooled("intercept")
    a = draws.pooled("discrimination") if "discrimination" in draws.values else np.ones(1)
    fixed = float(model.guessing) if isinstance(model.guessing, (int, float)) else 0.0
    c = draws.pooled("guessing") if "guessing" in draws.values else np.full(1, fixed)
    return np.broadcast_to(a, d.shape), d, np.broadcast_to(c, d.shape)

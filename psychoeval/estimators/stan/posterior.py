"""From Stan's variables to draws in our names."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.stan.backend import Sampled
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.draws import Draws

FloatArray = NDArray[np.float64]

#: Our names of the programs' variables. Populations are vectors of length 1, or 0 where densities are stated.
NAMES: Final = {
    "theta": "ability",
    "a": "discrimination",
    "d": "intercept",
    "b": "difficulty",
    "c": "guessing",
    "sigma": "latent_sd",
    "mu_b": "mean_difficulty",
    "sd_b": "sd_difficulty",
    "mu_log_a": "mean_log_discrimination",
    "sd_log_a": "sd_log_discrimination",
}


def read_draws(sampled: Sampled, part: Responses, model: ItemModel, max_treedepth: int) -> Draws:
    """Return the draws of all chains that gave any, of the persons and items in `part`.

    ``guessing`` is left out where it is no parameter.
    """
    values: dict[str, FloatArray] = {}
    for stan_name, name in NAMES.items():
        if stan_name not in sampled.values or (stan_name == "c" and not model.guessing_is_estimated):
            continue
        array = sampled.values[stan_name]
        values[name] = array if Draws.dims(name) else array.reshape(array.shape[:2])
    return Draws(
        values=values,
        person_ids=part.person_ids,
        item_ids=part.item_ids,
        sample_stats=sampled.sample_stats,
        max_treedepth=max_treedepth,
        log_likelihood=sampled.values.get("log_lik"),
        replicated_scores=_counts(sampled.values.get("score_rep")),
        observed_scores=np.asarray(part.successes.sum(axis=1)),
        chain_numbers=sampled.chain_numbers,
    )


def _counts(scores: FloatArray | None) -> NDArray[np.integer[Any]] | None:
    if scores is None:
        return None
    fits = scores.max(initial=0.0) <= np.iinfo(np.int32).max  # a cast of more gives any number
    return scores.astype(np.int32 if fits else np.int64)

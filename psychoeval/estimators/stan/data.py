"""What the Stan programs are given: the model and the responses as plain numbers and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from psychoeval.errors import DataError, ModelError
from psychoeval.estimators.stan.cells import Groups
from psychoeval.irt.models import (
    Beta,
    HalfNormal,
    ItemModel,
    ItemPopulation,
    LogitNormal,
    Normal,
    Priors,
    proper_priors,
)
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status

FloatArray = NDArray[np.float64]

#: With fewer persons nothing is left of the abilities once their mean and SD are taken out.
MIN_PERSONS: Final = 3

#: Variances that populations of items are taken to have, and of an item's estimates on trials that are worth one
#: informative trial (measured, 100 persons x 100 and x 1,000 items): they decide how items are sampled, not what their
#: posterior is. "intercept" is a location where slopes are known.
POPULATION_VARIANCE: Final = {"slope": 0.16, "location": 1.0, "intercept": 1.0}
TRIAL_VARIANCE: Final = {"slope": 2.5, "location": 2.8, "intercept": 1.2}
#: Few items may have slopes nearly alike: sampled as themselves they then close up in a funnel (lsat6 and lsat7, two
#: chains of 1,000 draws, mean of 4 seeds: 4 and 3 divergences at .5, 15 and 2 at .6; at .95, one seed, 97 and 30).
MOST_CENTERING: Final = {"slope": 0.5, "location": 1.0, "intercept": 1.0}

#: Logits of an item's proportion are its logits at mean ability over this, sqrt(1 + 1 / 2.9), at slope 1.
FLATTENING: Final = 1.16


def check_model(model: ItemModel | None, estimator: str = "stan-hmc") -> ItemModel:
    """Return the model, if there is a program for it.

    Raises
    ------
    ModelError
        If there is no model, or a parameter has no density of its own.
    """
    if model is None:
        raise ModelError(f"{estimator} needs a model.", "Give an ItemModel, such as ItemModel('2PL', priors).")
    proper_priors(model, estimator)
    return model


def program(model: ItemModel) -> str:
    """Return the stem of the model's file in ``stan/``; a 3PL without guessing is a 2PL."""
    if model.name == "3PL":
        return "two_pl" if model.guessing == 0 else "three_pl"
    return {"Rasch": "rasch", "1PL": "one_pl", "2PL": "two_pl"}[model.name]


def taking_part(responses: Responses) -> Responses:
    """Return the persons and items that have responses. Constant items take part: priors hold them.

    Raises
    ------
    DataError
        If fewer than three persons have responses.
    """
    items = np.flatnonzero([status != "no_responses" for status in item_status(responses)])
    persons = np.flatnonzero([status != "no_responses" for status in person_status(responses)])
    if len(persons) < MIN_PERSONS:
        raise DataError(
            f"{len(persons)} {responses.person_label}{'s' * (len(persons) != 1)} with responses: too few to be placed "
            "beside each other.",
            f"Give {MIN_PERSONS} or more.",
        )
    if (len(persons), len(items)) == (responses.n_persons, responses.n_items):
        return responses
    return responses.select(persons=persons, items=items)


def stan_data(
    part: Responses, model: ItemModel, *, log_likelihood: bool = False, replicated_scores: bool = False
) -> dict[str, Any]:
    """Return the data of a program, ``stan/<program(model)>.stan``.

    Parameters
    ----------
    part : Responses
        Persons and items that take part (`taking_part`).
    model : ItemModel
        With priors for every parameter.
    log_likelihood : bool
        Put out each person's marginal log-likelihood, ``log_lik``: without the binomial constant.
    replicated_scores : bool
        Put out raw scores drawn anew, ``score_rep``.

    Returns
    -------
    dict
        Numbers, and arrays of integers or floats.

    Raises
    ------
    ModelError
        If a parameter has no density of its own.
    """
    priors = proper_priors(model, "stan-hmc")
    by_person = part.n_persons <= part.n_items  # the fewer groups, the faster
    cells = Groups.of(part.trials, by_person=by_person)
    information = informative_trials(part)
    data: dict[str, Any] = {
        "N": part.n_persons,
        "J": part.n_items,
        "trials": part.trials.astype(np.int64),
        "successes": part.successes.astype(np.int64),
        "by_person": int(by_person),
        "n_groups": cells.group.size,
        "n_cells": cells.member.size,
        "group": cells.group,
        "group_trials": cells.count,
        "group_first": cells.first,
        "member": cells.member,
        # About the SD that the responses leave of an ability in units of their SD, 1 / sqrt(2) where they say nothing.
        "width": float(1.0 / np.sqrt(2.0 + 0.5 * information.sum() / part.n_persons)),
        "want_log_lik": int(log_likelihood),
        "want_score_rep": int(replicated_scores),
        **_locations(model, priors),
    }
    one_slope = model.name in ("Rasch", "1PL")
    data |= _pace(information, "intercept" if one_slope else "location", "location", data)
    if one_slope:
        data |= {"scale_common": float(1.0 / np.sqrt(1.0 + information.sum() / TRIAL_VARIANCE["slope"]))}
    if model.name == "Rasch":
        return data | {"latent_sd_prior": (priors.population or ItemPopulation()).latent_sd.sd}
    data |= _slopes(priors) | {"location_of_intercept": int(priors.intercept is not None)}
    if not one_slope:
        data |= _pace(information, "slope", "slope", data) | {"tilt": _tilt(part, priors.intercept is not None)}
    if program(model) == "three_pl":
        data |= _guessing(model) | _success_cells(part, by_person)
    return data


def informative_trials(part: Responses) -> FloatArray:
    """Return what each item's trials are worth, (J,): the sum of p (1 - p) with its proportion of successes p."""
    trials = part.trials.sum(axis=0, dtype=np.float64)
    p = (part.successes.sum(axis=0, dtype=np.float64) + 0.5) / (trials + 1.0)
    return np.asarray(trials * p * (1.0 - p))


def _centering(information: FloatArray, what: str) -> FloatArray:
    """Return the share of an item's variance over the population in that of its estimate, (J,), up to a limit."""
    variance = POPULATION_VARIANCE[what] * information
    return np.minimum(variance / (variance + TRIAL_VARIANCE[what]), MOST_CENTERING[what])


def _pace(information: FloatArray, what: str, name: str, data: Mapping[str, Any]) -> dict[str, FloatArray]:
    """Return how slopes or locations are sampled, and about the SD that this leaves of each raw variable, (J,)."""
    centering = _centering(information, what)
    variance = POPULATION_VARIANCE[what] if data["population"] else data[f"{name}_prior"][1] ** 2
    left = variance / (1.0 + variance * information / TRIAL_VARIANCE[what])
    return {f"centering_{name}": centering, f"scale_{name}": np.sqrt(left * variance ** (centering - 1.0))}


def _tilt(part: Responses, of_intercept: bool) -> FloatArray:
    """Return how an item's location goes with its log slope in the posterior, (J,), near slope 1 and u ~ N(0, 1).

    With weights w = p (1 - p), logits change by u - place as log slope does and by -1 as the place (by u and 1 as
    slope and intercept do), so that the regression is sum w (u - place) / sum w, or -sum w u / sum w: items that few
    solve are placed the lower the steeper they are. A prior, worth one informative trial, draws it to 0.
    """
    trials = part.trials.sum(axis=0, dtype=np.float64)
    logits = logit((part.successes.sum(axis=0, dtype=np.float64) + 0.5) / (trials + 1.0))
    u = np.linspace(-4.0, 4.0, 41)[:, None]
    place = -FLATTENING * logits
    p = expit(u - place)
    w = trials * p * (1.0 - p) * np.exp(-(u**2) / 2.0) / np.exp(-(u**2) / 2.0).sum()
    change = -u if of_intercept else u - place
    return np.asarray((w * change).sum(axis=0) / (w.sum(axis=0) + 1.0))


def _normal(law: Normal) -> list[float]:
    return [float(law.mean), float(law.sd)]


def _locations(model: ItemModel, priors: Priors) -> dict[str, Any]:
    population, law = priors.population, priors.difficulty or priors.intercept
    spread = HalfNormal(1.0)  # without effect on stated densities
    if population is not None:
        law, spread = population.mean_difficulty, population.sd_difficulty
    assert law is not None
    if model.name == "Rasch" and priors.intercept is not None:  # b = -d
        law = Normal(-law.mean, law.sd)
    return {
        "population": int(population is not None),
        "location_prior": _normal(law),
        "sd_location_prior": float(spread.sd),
    }


def _slopes(priors: Priors) -> dict[str, Any]:
    # As distributions, LogNormal(m, s) of a and Normal(m, s) of log a are one; only their modes differ.
    population, law, spread = priors.population, priors.log_discrimination, HalfNormal(1.0)
    if population is not None:
        law, spread = population.mean_log_discrimination, population.sd_log_discrimination
    elif priors.discrimination is not None:
        law = Normal(priors.discrimination.meanlog, priors.discrimination.sdlog)
    assert law is not None
    return {"slope_prior": _normal(law), "sd_slope_prior": float(spread.sd)}


def _guessing(model: ItemModel) -> dict[str, Any]:
    match model.guessing:
        case Beta(alpha, beta):
            kind, fixed, prior = 1, 0.0, [float(alpha), float(beta)]
        case LogitNormal(mean, sd):
            kind, fixed, prior = 2, 0.0, [float(mean), float(sd)]
        case value:
            assert isinstance(value, (int, float))
            kind, fixed, prior = 0, float(value), [1.0, 1.0]
    return {"guessing_kind": kind, "guessing": fixed, "guessing_prior": prior}


def _success_cells(part: Responses, by_person: bool) -> dict[str, Any]:
    cells = Groups.of(part.successes, by_person=by_person)
    return {
        "n_success_groups": cells.group.size,
        "n_success_cells": cells.member.size,
        "success_group": cells.group,
        "success_group_trials": cells.count,
        "success_group_first": cells.first,
        "success_member": cells.member,
    }

"""Where the chains start: scattered about a first guess, wider than the posterior, so that R-hat can see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from psychoeval.estimators.stan.data import FLATTENING, TRIAL_VARIANCE, informative_trials, program
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses

FloatArray = NDArray[np.float64]

#: Of the scatter of starts to about the posterior's own.
OVERDISPERSION: Final = 2.0
#: The least SD of a population of items to start from.
LEAST_SD: Final = 0.1


@dataclass(frozen=True, slots=True)
class Guess:
    """A first guess at a model's parameters.

    Parameters
    ----------
    ability : (N,) array
    discrimination, intercept : (J,) arrays
        a and d = -a b.
    guessing : (J,) array, optional
        c, where it is estimated.
    """

    ability: FloatArray
    discrimination: FloatArray
    intercept: FloatArray
    guessing: FloatArray | None = None

    @classmethod
    def from_data(cls, part: Responses) -> Guess:
        """Return logits of proportions, with equal slopes."""
        x, n = part.successes.astype(np.float64), part.trials.astype(np.float64)
        persons, items = (logit((x.sum(k) + 0.5) / (n.sum(k) + 1.0)) for k in (1, 0))
        return cls(persons, np.ones(items.size), FLATTENING * items)


def initial_values(
    part: Responses, model: ItemModel, data: Mapping[str, Any], *, chains: int, seed: int, guess: Guess | None = None
) -> tuple[dict[str, Any], ...]:
    """Return starts for the chains, on the scale of the program's parameters.

    Parameters
    ----------
    part : Responses
        Persons and items that take part.
    model : ItemModel
    data : mapping
        What `psychoeval.estimators.stan.data.stan_data` gives.
    chains, seed : int
        A chain's start depends on the seed and its own number only.
    guess : Guess, optional
        What to scatter them about, of the persons and items in `part`; made from the data by default.
    """
    about = Guess.from_data(part) if guess is None else guess
    information = informative_trials(part)
    streams = np.random.SeedSequence(seed).spawn(chains)
    return tuple(_start(model, data, about, information, np.random.default_rng(stream)) for stream in streams)


def _start(
    model: ItemModel, data: Mapping[str, Any], about: Guess, information: FloatArray, rng: np.random.Generator
) -> dict[str, Any]:
    n = int(data["N"])
    wide = {what: OVERDISPERSION * np.sqrt(v / (information + 10.0)) for what, v in TRIAL_VARIANCE.items()}
    u = _standardized(about.ability)
    center, unit = float(about.ability.mean()), float(about.ability.std()) or 1.0
    u = _standardized(u + OVERDISPERSION * data["width"] * rng.normal(size=n))
    # slope u + intercept, in the program's unit of abilities
    log_slope = np.log(np.maximum(about.discrimination * unit, 0.05)) + wide["slope"] * rng.normal(
        size=information.size
    )
    intercept = about.intercept + about.discrimination * center + wide["intercept"] * rng.normal(size=information.size)
    m_raw, log_q = rng.normal(), float(np.log(rng.chisquare(n - 1)))
    common: dict[str, Any] = {"z": u, "log_q": log_q}
    if model.name == "Rasch":
        return common | _rasch(data, log_slope, intercept, m_raw, log_q)
    common |= {"m": m_raw / np.sqrt(n)}
    s = float(np.sqrt(np.exp(log_q) / n))
    if model.name == "1PL":
        log_slope = np.full(information.size, log_slope.mean())
        common |= {"log_slope": float(log_slope[0])}
        shift = np.zeros(information.size)
    else:
        common |= _slopes(data, log_slope, s, rng)
        shift = data["tilt"] * log_slope
    common |= _locations(data, np.exp(log_slope), intercept, common["m"], s, shift, rng)
    if program(model) == "three_pl":
        common |= _guessing(data, about, rng)
    return common


def _standardized(values: FloatArray) -> FloatArray:
    centered = values - values.mean()
    sd = float(centered.std())
    if sd == 0:  # all alike: the program needs some order
        centered = np.linspace(-1.0, 1.0, values.size)
        sd = float(centered.std())
    return np.asarray(centered / sd)


def _raw(x: FloatArray, center: FloatArray | float, sd: float, centering: FloatArray) -> FloatArray:
    """Return the raw variable that the program's ``from_raw`` makes x of."""
    return np.asarray((x - center) * sd ** (centering - 1.0) + centering * center)


def _slopes(data: Mapping[str, Any], log_slope: FloatArray, s: float, rng: np.random.Generator) -> dict[str, Any]:
    mean, sd = data["slope_prior"][0] + np.log(s), data["slope_prior"][1]
    hyper: dict[str, Any] = {"mu_slope": np.empty(0), "log_sd_slope": np.empty(0)}
    if data["population"]:
        mean, sd = _scattered_moments(log_slope, rng)
        hyper = {"mu_slope": np.array([mean]), "log_sd_slope": np.log([sd])}
    return hyper | {"slope_raw": _raw(log_slope, mean, sd, data["centering_slope"])}


def _locations(
    data: Mapping[str, Any],
    slope: FloatArray,
    intercept: FloatArray,
    m: float,
    s: float,
    shift: FloatArray,
    rng: np.random.Generator,
) -> dict[str, Any]:
    mean, sd = data["location_prior"]
    hyper: dict[str, Any] = {"mu_place": np.empty(0), "log_sd_place": np.empty(0)}
    if data["location_of_intercept"]:
        return hyper | {"location_raw": _raw(intercept - shift, mean + slope * m / s, sd, data["centering_location"])}
    place, mean, sd = -intercept / slope, (mean - m) / s, sd / s
    if data["population"]:
        mean, sd = _scattered_moments(place, rng)
        hyper = {"mu_place": np.array([mean]), "log_sd_place": np.log([sd])}
    return hyper | {"location_raw": _raw(place - shift, mean, sd, data["centering_location"])}


def _rasch(
    data: Mapping[str, Any], log_slope: FloatArray, intercept: FloatArray, m_raw: float, log_q: float
) -> dict[str, Any]:
    s, n = float(np.exp(log_slope.mean())), data["N"]
    m = m_raw * s / np.sqrt(np.exp(log_q))  # sigma / sqrt(N) = s / sqrt(q)
    mean, sd = data["location_prior"][0] - m, data["location_prior"][1]
    hyper: dict[str, Any] = {"mu_place": np.empty(0), "log_sd_place": np.empty(0)}
    if data["population"]:
        mean, sd = float(-intercept.mean()), max(float(intercept.std()), LEAST_SD)
        hyper = {"mu_place": np.array([mean]), "log_sd_place": np.log([sd])}
    assert n > 0
    raw = _raw(-intercept, mean, sd, data["centering_location"])
    return hyper | {"m_raw": m_raw, "log_s": np.log(s), "location_raw": raw}


def _scattered_moments(x: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Return mean and SD over items, scattered as a few times x.size items would have them."""
    sd = max(float(x.std()), LEAST_SD)
    relative = OVERDISPERSION / np.sqrt(x.size + 3.0)
    return float(x.mean() + relative * sd * rng.normal()), float(sd * np.exp(0.7 * relative * rng.normal()))


def _guessing(data: Mapping[str, Any], about: Guess, rng: np.random.Generator) -> dict[str, Any]:
    kind, (first, second) = data["guessing_kind"], data["guessing_prior"]
    if kind == 0:
        return {"logit_c": np.empty(0)}
    if kind == 2:
        mean, sd = first, second
    else:  # delta method, kept away from the ends
        p = (first + 0.5) / (first + second + 1.0)
        mean, sd = float(logit(p)), float(1.0 / np.sqrt((first + second + 1.0) * p * (1.0 - p)))
    if about.guessing is not None:
        mean = logit(np.clip(about.guessing, 0.01, 0.9))
    x = mean + 0.5 * min(sd, 2.0) * rng.normal(size=data["J"])
    return {"logit_c": logit(np.clip(expit(x), 1e-3, 0.95))}

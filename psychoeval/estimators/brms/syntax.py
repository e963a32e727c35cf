"""Models and priors in brms's own words: a non-linear formula, its multilevel parts, a density for each parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from psychoeval.errors import ModelError
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

Location = Literal["b", "d"]
Kind = Literal["common", "sd"]


@dataclass(frozen=True, slots=True)
class Density:
    """One ``set_prior()``; "" stands for what it does not say.

    Parameters
    ----------
    prior : str
        As Stan writes it; ``constant(x)`` fixes the parameter.
    nlpar : str
        Part of the formula.
    kind : str
        brms's class: ``b`` or ``sd``.
    coef, group, lb, ub : str
    """

    prior: str
    nlpar: str
    kind: str
    coef: str = ""
    group: str = ""
    lb: str = ""
    ub: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """What brms is asked.

    Parameters
    ----------
    formula : str
        Of the responses, with the parts as unknowns.
    parts : mapping of str to str
        Right-hand side of each part: ``theta``; ``loga`` but for Rasch; ``b`` or ``d``; ``c`` or ``logitc`` where
        guessing is estimated.
    densities : tuple of Density
    trials : bool
        Whether the family is binomial (counts) and not Bernoulli.
    link : {"logit", "identity"}
    location : {"b", "d"}
        Which of difficulty and intercept has the prior, and so is a part.
    scalars : mapping of str to (part, "common" | "sd")
        Our name of each parameter common to items or persons that is estimated.
    """

    formula: str
    parts: Mapping[str, str]
    densities: tuple[Density, ...]
    trials: bool
    link: Literal["logit", "identity"]
    location: Location
    scalars: Mapping[str, tuple[str, Kind]]


#: Right-hand side of a part with a common value and a deviation for each item.
_ITEMS: Final = "1 + (1 | item)"


def check_model(model: ItemModel | None, estimator: str) -> tuple[ItemModel, Priors]:
    """Return the model and its priors, if brms can fit it.

    Raises
    ------
    ModelError
        If there is none, or a parameter has no density of its own. All densities there are brms can express.
    """
    if model is None:
        raise ModelError(f"{estimator} needs a model.", "Give an ItemModel, such as ItemModel('2PL').")
    return model, proper_priors(model, estimator)


def make_program(model: ItemModel, priors: Priors, *, trials: bool) -> Program:
    """Return the formula and the densities of a model that `check_model` has let through.

    Parameters
    ----------
    model : ItemModel
    priors : Priors
        Its own.
    trials : bool
        Whether cells hold counts.

    Notes
    -----
    Items and persons are brms's group-level effects, deviations from a common value with an SD; stated densities are
    the same with both held by ``constant()``. So written, LogNormal(m, s) on a is N(m, s) on log a: as distributions
    the two are one. Source: Bürkner (2021), doi:10.18637/jss.v100.i05.
    """
    location: Location = "d" if priors.intercept is not None else "b"
    eta = f"theta {'+' if location == 'd' else '-'} {location}"
    parts = {"theta": "0 + (1 | person)"}
    densities = [_latent_sd(model, priors)]
    if model.name != "Rasch":
        # exp(loga) theta + d, or exp(loga) (theta - b)
        eta = "exp(loga) * theta + d" if location == "d" else f"exp(loga) * ({eta})"
        parts["loga"] = "1" if model.name == "1PL" else _ITEMS
        densities += _slopes(model, priors)
    parts[location] = _ITEMS
    densities += _locations(priors, location)
    link: Literal["logit", "identity"] = "logit"
    if model.name == "3PL":
        link = "identity"
        c, part, own = _guessing(model)
        eta = f"{c} + (1 - {c}) * inv_logit({eta})"
        parts |= part
        densities += own
    left = "y | trials(n)" if trials else "y"
    return Program(f"{left} ~ {eta}", parts, tuple(densities), trials, link, location, _scalars(model, priors))


def _latent_sd(model: ItemModel, priors: Priors) -> Density:
    """Return the density of the abilities' SD, which only the Rasch model estimates.

    Stated densities of items say nothing of it: then it has that of the default population.
    """
    law = _half((priors.population or ItemPopulation()).latent_sd)
    return Density(law if model.name == "Rasch" else "constant(1)", "theta", "sd", group="person")


def _over_items(part: str, mean: str, sd: str) -> list[Density]:
    """Return what makes the values of a part over items normal."""
    return [Density(mean, part, "b", coef="Intercept"), Density(sd, part, "sd", group="item")]


def _stated(part: str, law: Normal) -> list[Density]:
    return _over_items(part, f"constant({_number(law.mean)})", f"constant({_number(law.sd)})")


def _normal(law: Normal) -> str:
    return f"normal({_number(law.mean)}, {_number(law.sd)})"


def _half(law: HalfNormal) -> str:
    # brms cuts the densities of SDs off at 0 and divides by what is left.
    return f"normal(0, {_number(law.sd)})"


def _slopes(model: ItemModel, priors: Priors) -> list[Density]:
    population = priors.population
    if population is not None:
        mean, sd = _normal(population.mean_log_discrimination), _half(population.sd_log_discrimination)
        return _over_items("loga", mean, sd)[: 1 if model.name == "1PL" else 2]
    law = priors.log_discrimination
    if law is None:
        assert priors.discrimination is not None
        law = Normal(priors.discrimination.meanlog, priors.discrimination.sdlog)
    if model.name == "1PL":
        return [Density(_normal(law), "loga", "b", coef="Intercept")]
    return _stated("loga", law)


def _locations(priors: Priors, location: Location) -> list[Density]:
    population = priors.population
    if population is not None:
        return _over_items("b", _normal(population.mean_difficulty), _half(population.sd_difficulty))
    law = priors.intercept or priors.difficulty
    assert law is not None
    return _stated(location, law)


def _guessing(model: ItemModel) -> tuple[str, dict[str, str], list[Density]]:
    """Return the lower asymptote as the formula has it, its part and its densities."""
    match model.guessing:
        case Beta(alpha, beta):
            density = f"beta({_number(alpha)}, {_number(beta)})"
            return "c", {"c": "0 + item"}, [Density(density, "c", "b", lb="0", ub="1")]
        case LogitNormal(mean, sd):
            return "inv_logit(logitc)", {"logitc": _ITEMS}, _stated("logitc", Normal(mean, sd))
        case value:
            assert isinstance(value, (int, float))
            return _number(value), {}, []


def _scalars(model: ItemModel, priors: Priors) -> dict[str, tuple[str, Kind]]:
    out: dict[str, tuple[str, Kind]] = {}
    if model.name == "Rasch":
        out["latent_sd"] = ("theta", "sd")
    if priors.population is not None:
        out |= {"mean_difficulty": ("b", "common"), "sd_difficulty": ("b", "sd")}
        if model.name in ("2PL", "3PL"):
            out |= {"mean_log_discrimination": ("loga", "common"), "sd_log_discrimination": ("loga", "sd")}
    return out


def _number(value: float) -> str:
    return repr(float(value))

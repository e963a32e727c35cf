"""Priors of item parameters: stated densities, or a population of items."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Final, TypeAlias

from psychoeval.errors import ModelError
from psychoeval.irt.densities import (
    MEAN_LIMIT,
    SD_LIMITS,
    HalfNormal,
    LogNormal,
    Normal,
    check_mean,
    check_sd,
    density_label,
)

#: Wide beside what items and persons do in practice: difficulties within some four SDs of the abilities, slopes within
#: a factor of seven of each other, abilities within some ten logits.
_MEAN_DIFFICULTY: Final = Normal(0.0, 3.0)
_SD_DIFFICULTY: Final = HalfNormal(3.0)
_MEAN_LOG_DISCRIMINATION: Final = Normal(0.0, 1.0)
_SD_LOG_DISCRIMINATION: Final = HalfNormal(1.0)
_LATENT_SD: Final = HalfNormal(3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPopulation:
    """A population of items whose means and SDs are estimated with them, and the densities of those.

    b ~ N(mu_b, sd_b) and log a ~ N(mu_log_a, sd_log_a), independent. The Rasch model has difficulties only; the common
    slope of the 1PL has the density of mu_log_a. Widths are in the unit of the abilities: of their SD, in the Rasch
    model of logits.

    Parameters
    ----------
    mean_difficulty : Normal
        Density of mu_b.
    sd_difficulty : HalfNormal
        Density of sd_b.
    mean_log_discrimination : Normal
        Density of mu_log_a.
    sd_log_discrimination : HalfNormal
        Density of sd_log_a.
    latent_sd : HalfNormal
        Density of the abilities' SD in the Rasch model; in the others it is 1.

    Raises
    ------
    ModelError
        If one of them is another kind of density.
    """

    mean_difficulty: Normal = _MEAN_DIFFICULTY
    sd_difficulty: HalfNormal = _SD_DIFFICULTY
    mean_log_discrimination: Normal = _MEAN_LOG_DISCRIMINATION
    sd_log_discrimination: HalfNormal = _SD_LOG_DISCRIMINATION
    latent_sd: HalfNormal = _LATENT_SD

    def __post_init__(self) -> None:
        for name in ("mean_difficulty", "mean_log_discrimination"):
            _check_density(name, getattr(self, name), Normal)
        for name in ("sd_difficulty", "sd_log_discrimination", "latent_sd"):
            _check_density(name, getattr(self, name), HalfNormal)

    @property
    def label(self) -> str:
        """The densities of the means and SDs."""
        named = (
            ("mu_b", self.mean_difficulty),
            ("sd_b", self.sd_difficulty),
            ("mu_log_a", self.mean_log_discrimination),
            ("sd_log_a", self.sd_log_discrimination),
            ("latent SD", self.latent_sd),
        )
        return "population of items, " + ", ".join(f"{name} ~ {density_label(prior)}" for name, prior in named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Densities of the item parameters, one for every parameter that is estimated.

    A common slope has one density, which counts once; locations have one an item, and so have the slopes of the 2PL
    and 3PL.

    The scale matters for a posterior mode: ``log_discrimination`` is the density of log a,
    ``discrimination`` that of a. LogNormal(m, s) on a has the mode of Normal(m - s^2, s) on log a.

    Parameters
    ----------
    log_discrimination : Normal, optional
        Density of log a.
    discrimination : LogNormal, optional
        Density of a; not together with `log_discrimination`.
    intercept : Normal, optional
        Density of the intercept -a b.
    difficulty : Normal, optional
        Density of b; not together with `intercept`.
    estimated_means : bool
        Whether the means of these densities are estimated with the items, and those stated are of no effect. Stated
        means set the unit and origin of the scale where items are many and persons few: a thousand densities of log a
        around 0 outweigh a hundred persons.
    population : ItemPopulation, optional
        Instead of densities: those of a population of items, whose means and SDs are estimated with the items. For
        estimators that sample a posterior.

    Raises
    ------
    ModelError
        If two densities are given for one parameter, or none at all.
    """

    log_discrimination: Normal | None = None
    discrimination: LogNormal | None = None
    intercept: Normal | None = None
    difficulty: Normal | None = None
    estimated_means: bool = False
    population: ItemPopulation | None = None

    def __post_init__(self) -> None:
        if self.population is not None:
            self._check_population()
            return
        if not isinstance(self.estimated_means, bool):
            raise ModelError(f"estimated_means is {reprlib.repr(self.estimated_means)}.", "Give True or False.")
        for name in ("log_discrimination", "discrimination", "intercept", "difficulty"):
            prior = getattr(self, name)
            if prior is not None:
                _check_density(name, prior, LogNormal if name == "discrimination" else Normal, " or None")
        if self.log_discrimination is not None and self.discrimination is not None:
            raise ModelError("Priors on both a and log a were given.", "Give one of them.")
        if self.intercept is not None and self.difficulty is not None:
            raise ModelError("Priors on both intercept and difficulty were given.", "Give one of them.")
        if not self.has_slope and self.intercept is None and self.difficulty is None:
            raise ModelError("Priors without any density were given.", "Use priors=None for none.")

    def _check_population(self) -> None:
        if not isinstance(self.population, ItemPopulation):
            raise ModelError(
                f"population is {reprlib.repr(self.population)}, a {type(self.population).__name__}.",
                "Give an ItemPopulation or None.",
            )
        stated = (self.log_discrimination, self.discrimination, self.intercept, self.difficulty)
        if any(prior is not None for prior in stated) or self.estimated_means is not False:
            raise ModelError(
                "A population of items was given beside other densities.", "Give one of them: each states all."
            )

    @property
    def has_slope(self) -> bool:
        """Whether slopes have a prior."""
        given = (self.log_discrimination, self.discrimination, self.population)
        return any(prior is not None for prior in given)

    @property
    def slope_on_log_scale(self) -> Normal | None:
        """The slope prior as a density of log a with the same mode in log a."""
        if self.discrimination is None:
            return self.log_discrimination
        m, s = self.discrimination.meanlog, self.discrimination.sdlog
        return Normal(m - s**2, s)

    @property
    def label(self) -> str:
        """A short name: the preset's, else the densities."""
        for name, preset in PRIOR_PRESETS.items():
            if self == preset:
                return name
        if self.population is not None:
            return self.population.label
        named = (("log a", self.log_discrimination), ("a", self.discrimination),
                 ("d", self.intercept), ("b", self.difficulty))  # fmt: skip
        text = ", ".join(f"{name} ~ {density_label(prior)}" for name, prior in named if prior is not None)
        return f"{text}, means estimated" if self.estimated_means else text


def _check_density(name: str, prior: object, kind: type, alternative: str = "") -> None:
    if not isinstance(prior, kind):
        raise ModelError(
            f"The prior of {name} is {reprlib.repr(prior)}, a {type(prior).__name__}.",
            f"Give a {kind.__name__}{alternative}.",
        )
    if isinstance(prior, Normal):
        check_mean(f"The mean of the prior of {name}", prior.mean, MEAN_LIMIT)
        check_sd(f"The SD of the prior of {name}", prior.sd, SD_LIMITS)
    if isinstance(prior, LogNormal):
        check_mean(f"The mean of the prior of {name}", prior.meanlog, MEAN_LIMIT)
        check_sd(f"The SD of the prior of {name}", prior.sdlog, SD_LIMITS)


PRIOR_PRESETS: Final[dict[str, Priors]] = {
    # Weak enough to leave a thousand systems alone, strong enough to hold forty.
    "weak": Priors(log_discrimination=Normal(0.0, 0.5), intercept=Normal(0.0, 3.0)),
    # The same around means that the items themselves give.
    "hierarchical": Priors(log_discrimination=Normal(0.0, 0.5), intercept=Normal(0.0, 3.0), estimated_means=True),
    # Items as draws from a population: what takes its means and SDs from the data, with densities of their own.
    "population": Priors(population=ItemPopulation()),
    # The penalties of arXiv:2605.11205: sum b^2/4 and sum (log a)^2/0.25, halved.
    "published": Priors(log_discrimination=Normal(0.0, 0.5), difficulty=Normal(0.0, 2.0)),
}


PriorsLike: TypeAlias = Priors | str | None


def resolve_priors(priors: PriorsLike) -> Priors | None:
    """Return the `Priors` that a preset's name stands for; None and ``"none"`` are no priors."""
    if priors is None or isinstance(priors, Priors):
        return priors
    if priors == "none":
        return None
    if priors not in PRIOR_PRESETS:
        names = ", ".join(["none", *PRIOR_PRESETS])
        raise ModelError(f"There are no priors named {priors!r}.", f"Choose one of {names}, or give a Priors object.")
    return PRIOR_PRESETS[priors]

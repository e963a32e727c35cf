"""Densities that priors are made of."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Final, TypeAlias

from psychoeval.errors import ModelError

#: Of priors on logits; beyond, squares and exponentials overflow or nothing is left to estimate.
SD_LIMITS: Final = (1e-6, 1e6)
MEAN_LIMIT: Final = 1e6
#: Of any density: room for those that estimators derive from a prior (2 s, s / sqrt(J), m + 4 s^2).
_DERIVED_SD_LIMITS: Final = (1e-9, 1e9)
_DERIVED_MEAN_LIMIT: Final = 1e15


def _check_number(what: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ModelError(f"{what} is {reprlib.repr(value)}, a {type(value).__name__}.", "Give a number.")
    if not low <= value <= high:
        raise ModelError(f"{what} is {reprlib.repr(value)}.", f"Give a number from {low:g} to {high:g}.")


def check_mean(what: str, value: object, limit: float = _DERIVED_MEAN_LIMIT) -> None:
    """Refuse what is no number within the limit; `what` says whose mean it is."""
    _check_number(what, value, -limit, limit)


def check_sd(what: str, value: object, limits: tuple[float, float] = _DERIVED_SD_LIMITS) -> None:
    """Refuse what is no number within the limits; `what` says whose SD it is."""
    _check_number(what, value, *limits)


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal density with mean `mean` and standard deviation `sd`."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        check_mean("The mean of a normal prior", self.mean)
        check_sd("The SD of a normal prior", self.sd)


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Log-normal density of x itself: its mode lies at exp(meanlog - sdlog^2), not at exp(meanlog)."""

    meanlog: float
    sdlog: float

    def __post_init__(self) -> None:
        check_mean("The mean of a log-normal prior", self.meanlog)
        check_sd("The SD of a log-normal prior", self.sdlog)


@dataclass(frozen=True, slots=True)
class HalfNormal:
    """Density of a standard deviation: that of Normal(0, `sd`) on the positive half of the line, doubled."""

    sd: float

    def __post_init__(self) -> None:
        check_sd("The SD of a half-normal prior", self.sd, SD_LIMITS)


@dataclass(frozen=True, slots=True)
class Beta:
    """Beta density on (0, 1) with shapes `alpha` and `beta`."""

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        _check_number("The first shape of a beta prior", self.alpha, *SD_LIMITS)
        _check_number("The second shape of a beta prior", self.beta, *SD_LIMITS)


@dataclass(frozen=True, slots=True)
class LogitNormal:
    """Normal density of logit(x): the density is stated for logit(x), without the Jacobian."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        check_mean("The mean of a logit-normal prior", self.mean, MEAN_LIMIT)
        check_sd("The SD of a logit-normal prior", self.sd, SD_LIMITS)


Density: TypeAlias = Normal | LogNormal | HalfNormal | Beta | LogitNormal


def density_label(prior: Density) -> str:
    """Return a density as reports write it.

    Examples
    --------
    >>> density_label(HalfNormal(2.0))
    'N+(0, 2)'
    """
    match prior:
        case Normal(mean, sd):
            return f"N({mean:g}, {sd:g})"
        case LogNormal(meanlog, sdlog):
            return f"LN({meanlog:g}, {sdlog:g})"
        case HalfNormal(sd):
            return f"N+(0, {sd:g})"
        case Beta(alpha, beta):
            return f"Beta({alpha:g}, {beta:g})"
        case LogitNormal(mean, sd):
            return f"logit-N({mean:g}, {sd:g})"

"""What is assumed: item response models, priors, identification."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import ModelError

ModelName = Literal["Rasch", "1PL", "2PL", "3PL"]
MODEL_NAMES: Final[tuple[str, ...]] = get_args(ModelName)


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


def _check_mean(what: str, value: object, limit: float = _DERIVED_MEAN_LIMIT) -> None:
    _check_number(what, value, -limit, limit)


def _check_sd(what: str, value: object, limits: tuple[float, float] = _DERIVED_SD_LIMITS) -> None:
    _check_number(what, value, *limits)


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal density with mean `mean` and standard deviation `sd`."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        _check_mean("The mean of a normal prior", self.mean)
        _check_sd("The SD of a normal prior", self.sd)


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Log-normal density of x itself: its mode lies at exp(meanlog - sdlog^2), not at exp(meanlog)."""

    meanlog: float
    sdlog: float

    def __post_init__(self) -> None:
        _check_mean("The mean of a log-normal prior", self.meanlog)
        _check_sd("The SD of a log-normal prior", self.sdlog)


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
        _check_mean("The mean of a logit-normal prior", self.mean, MEAN_LIMIT)
        _check_sd("The SD of a logit-normal prior", self.sd, SD_LIMITS)


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

    def __post_init__(self) -> None:
        if not isinstance(self.estimated_means, bool):
            raise ModelError(f"estimated_means is {reprlib.repr(self.estimated_means)}.", "Give True or False.")
        for name in ("log_discrimination", "discrimination", "intercept", "difficulty"):
            _check_density(name, getattr(self, name))
        if self.log_discrimination is not None and self.discrimination is not None:
            raise ModelError("Priors on both a and log a were given.", "Give one of them.")
        if self.intercept is not None and self.difficulty is not None:
            raise ModelError("Priors on both intercept and difficulty were given.", "Give one of them.")
        if not self.has_slope and self.intercept is None and self.difficulty is None:
            raise ModelError("Priors without any density were given.", "Use priors=None for none.")

    @property
    def has_slope(self) -> bool:
        """Whether slopes have a prior."""
        return self.log_discrimination is not None or self.discrimination is not None

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
        named = (("log a", self.log_discrimination), ("a", self.discrimination),
                 ("d", self.intercept), ("b", self.difficulty))  # fmt: skip
        text = ", ".join(f"{name} ~ {_density(prior)}" for name, prior in named if prior is not None)
        return f"{text}, means estimated" if self.estimated_means else text


def _check_density(name: str, prior: object) -> None:
    if prior is None:
        return
    if name == "discrimination" and isinstance(prior, LogNormal):
        mean, sd = prior.meanlog, prior.sdlog
    elif name != "discrimination" and isinstance(prior, Normal):
        mean, sd = prior.mean, prior.sd
    else:
        wanted = "LogNormal" if name == "discrimination" else "Normal"
        raise ModelError(
            f"The prior of {name} is {reprlib.repr(prior)}, a {type(prior).__name__}.", f"Give a {wanted} or None."
        )
    _check_mean(f"The mean of the prior of {name}", mean, MEAN_LIMIT)
    _check_sd(f"The SD of the prior of {name}", sd, SD_LIMITS)


Guessing: TypeAlias = float | Literal["free"] | Beta | LogitNormal

#: Four-choice items; the SD lets g range from about .11 to .47 (two SDs).
DEFAULT_GUESSING_PRIOR: Final = LogitNormal(-1.1, 0.5)

PRIOR_PRESETS: Final[dict[str, Priors]] = {
    # Weak enough to leave a thousand systems alone, strong enough to hold forty.
    "weak": Priors(log_discrimination=Normal(0.0, 0.5), intercept=Normal(0.0, 3.0)),
    # The same around means that the items themselves give.
    "hierarchical": Priors(log_discrimination=Normal(0.0, 0.5), intercept=Normal(0.0, 3.0), estimated_means=True),
    # The penalties of arXiv:2605.11205: sum b^2/4 and sum (log a)^2/0.25, halved.
    "published": Priors(log_discrimination=Normal(0.0, 0.5), difficulty=Normal(0.0, 2.0)),
}


def _density(prior: Normal | LogNormal | Beta | LogitNormal) -> str:
    match prior:
        case Normal(mean, sd):
            return f"N({mean:g}, {sd:g})"
        case LogNormal(meanlog, sdlog):
            return f"LN({meanlog:g}, {sdlog:g})"
        case Beta(alpha, beta):
            return f"Beta({alpha:g}, {beta:g})"
        case LogitNormal(mean, sd):
            return f"logit-N({mean:g}, {sd:g})"


@dataclass(frozen=True, slots=True)
class ItemModel:
    """An item response model with its priors.

    P(x = 1 | theta) = c + (1 - c) / (1 + exp(-a (theta - b))), D = 1, b = -d / a.

    ====== ================= ============ ================
    name   discrimination a  guessing c   latent law
    ====== ================= ============ ================
    Rasch  1                 0            N(0, variance free)
    1PL    common and free   0            N(0, 1)
    2PL    one an item       0            N(0, 1)
    3PL    one an item       see below    N(0, 1)
    ====== ================= ============ ================

    Parameters
    ----------
    name : {"Rasch", "1PL", "2PL", "3PL"}
    priors : Priors, optional
        Of slopes and locations; None for none (maximum likelihood).
    guessing : float, "free", Beta or LogitNormal, optional
        3PL only: fixed at a value in [0, 1), estimated without prior, or estimated with one.
        None gives the 3PL a logit-normal(-1.1, .5) prior, and c = 0 to the others.

    Raises
    ------
    ModelError
        If the name is unknown or guessing does not go with the model.
    """

    name: ModelName
    priors: Priors | None = None
    guessing: Guessing | None = None

    def __post_init__(self) -> None:
        if self.name not in MODEL_NAMES:
            raise ModelError(
                f"There is no model {self.name!r} here.",
                f"Choose one of {', '.join(MODEL_NAMES)}. Polytomous (graded, partial credit), multidimensional and "
                "multigroup models are not fitted by this package.",
            )
        if self.priors is not None and not isinstance(self.priors, Priors):
            raise ModelError(f"priors is a {type(self.priors).__name__}.", "Give a Priors object or None.")
        if self.name != "3PL":
            if self.guessing is not None:
                raise ModelError(
                    f"guessing={self.guessing!r} was given with {self.name}.", "Only the 3PL has guessing."
                )
        elif self.guessing is None:
            object.__setattr__(self, "guessing", DEFAULT_GUESSING_PRIOR)
        elif isinstance(self.guessing, str):
            if self.guessing != "free":
                raise ModelError(f"guessing={self.guessing!r} is unknown.", 'Give a number, "free" or a prior.')
        elif not isinstance(self.guessing, (Beta, LogitNormal)):
            self._check_guessing()

    def _check_guessing(self) -> None:
        given: object = self.guessing
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            raise ModelError(
                f"guessing={reprlib.repr(given)} is a {type(given).__name__}.", 'Give a number, "free" or a prior.'
            )
        if not 0 <= given < 1:
            raise ModelError(f"guessing={reprlib.repr(given)} lies outside [0, 1).", "Give a probability.")

    @property
    def label(self) -> str:
        """The model as a report names it: two fits with different labels are different models."""
        text = str(self.name)
        if self.priors is not None:
            text += f" [{self.priors.label}]"
        if self.name == "3PL":
            match self.guessing:
                case "free":
                    text += ", c free"
                case Beta() | LogitNormal():
                    text += f", c ~ {_density(self.guessing)}"
                case value:
                    text += f", c = {value:g}"
        return text

    @property
    def has_free_slopes(self) -> bool:
        """Whether every item has its own slope and nothing holds it: the fit that fails on few systems."""
        return self.name in ("2PL", "3PL") and (self.priors is None or not self.priors.has_slope)

    @property
    def is_penalised(self) -> bool:
        """Whether any item parameter has a prior."""
        return self.priors is not None or isinstance(self.guessing, (Beta, LogitNormal))

    @property
    def guessing_is_estimated(self) -> bool:
        """Whether c is a parameter."""
        return self.name == "3PL" and not isinstance(self.guessing, (int, float))

    def n_parameters(self, n_items: int) -> int:
        """Return the number of free parameters of `n_items` items, the latent variance of the Rasch model included."""
        if self.name in ("Rasch", "1PL"):
            return n_items + 1
        return n_items * (3 if self.guessing_is_estimated else 2)


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


def check_degrees_of_freedom(model: ItemModel, most_trials: NDArray[np.integer[Any]]) -> None:
    """Refuse a model with more parameters than the possible patterns of responses can tell apart.

    Parameters
    ----------
    model : ItemModel
    most_trials : (J,) integer array
        Largest number of trials of a cell of each item that varies.

    Raises
    ------
    ModelError
        With the two counts.
    """
    n_items = len(most_trials)
    parameters = model.n_parameters(n_items)
    # In logarithms: 2^5000 has no double.
    if np.log(most_trials + 1.0).sum() > np.log(parameters + 1.0) + 1e-9:
        return
    freedom = int(np.prod(most_trials.astype(np.int64) + 1)) - 1
    raise ModelError(
        f"Too few degrees of freedom: the {model.name} of {n_items} item{'s' * (n_items > 1)} that "
        f"var{'y' if n_items > 1 else 'ies'} has {parameters} parameters, and the responses only {freedom} "
        f"degrees of freedom ({freedom + 1} possible patterns).",
        "Give more items or a model with fewer parameters; proportions and their errors (ctt, simple-average) need "
        "no more.",
    )

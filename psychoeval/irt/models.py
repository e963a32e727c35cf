"""What is assumed: item response models, guessing, identification."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import ModelError
from psychoeval.irt.densities import (
    MEAN_LIMIT,
    SD_LIMITS,
    Beta,
    HalfNormal,
    LogitNormal,
    LogNormal,
    Normal,
    density_label,
)
from psychoeval.irt.priors import PRIOR_PRESETS, ItemPopulation, Priors, PriorsLike, resolve_priors

__all__ = [
    "DEFAULT_GUESSING_PRIOR",
    "MEAN_LIMIT",
    "MODEL_NAMES",
    "PRIOR_PRESETS",
    "SD_LIMITS",
    "Beta",
    "Guessing",
    "HalfNormal",
    "ItemModel",
    "ItemPopulation",
    "LogNormal",
    "LogitNormal",
    "ModelName",
    "Normal",
    "Priors",
    "PriorsLike",
    "check_degrees_of_freedom",
    "proper_priors",
    "refuse_population",
    "resolve_priors",
]

ModelName = Literal["Rasch", "1PL", "2PL", "3PL"]
MODEL_NAMES: Final[tuple[str, ...]] = get_args(ModelName)


Guessing: TypeAlias = float | Literal["free"] | Beta | LogitNormal

#: Four-choice items; the SD lets g range from about .11 to .47 (two SDs).
DEFAULT_GUESSING_PRIOR: Final = LogitNormal(-1.1, 0.5)


@dataclass(frozen=True, slots=True)
class ItemModel:
    """An item response model with its priors.

    P(x = 1 | theta) = c + (1 - c) / (1 + exp(-a (theta - b))), D = 1, b = -d / a.

    ====== ================= ============ ================
    name   discrimination a  guessing c   latent distribution
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
                    text += f", c ~ {density_label(self.guessing)}"
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


def refuse_population(model: ItemModel, estimator: str) -> None:
    """Refuse priors whose means and SDs are estimated, for an estimator that takes stated densities only.

    Raises
    ------
    ModelError
        With what to take instead.
    """
    if model.priors is not None and model.priors.population is not None:
        raise ModelError(
            f"{estimator} does not take priors whose means and SDs have densities of their own ({model.label}).",
            'Take priors="weak", whose densities are stated, or an estimator that samples a posterior.',
        )


def proper_priors(model: ItemModel, estimator: str) -> Priors:
    """Return the priors of a model whose posterior can be sampled.

    Raises
    ------
    ModelError
        If some parameter has no density of its own, so that the posterior is none or depends on the scale chosen.
    """
    priors, remedy = model.priors, "Give priors='population' (items drawn from one), or 'weak' (stated densities)."
    if priors is None:
        raise ModelError(f"{estimator} samples a posterior, and the {model.name} here has no priors.", remedy)
    if priors.estimated_means:
        raise ModelError(
            f"{estimator} does not estimate the means of priors that have no density of their own ({priors.label}).",
            remedy,
        )
    if priors.population is None:
        if priors.intercept is None and priors.difficulty is None:
            raise ModelError(f"{estimator} needs a density for difficulties or intercepts ({priors.label}).", remedy)
        if model.name != "Rasch" and not priors.has_slope:
            raise ModelError(f"{estimator} needs a density for slopes ({priors.label}).", remedy)
    if model.guessing == "free":
        raise ModelError(
            f"{estimator} needs a density for guessing, which is free here.",
            "Give one, such as Beta(1, 1), which is flat, or LogitNormal(-1.1, 0.5), the 3PL's default.",
        )
    return priors


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

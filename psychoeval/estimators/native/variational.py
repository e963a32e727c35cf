"""Mean-field variational inference: independent posteriors of abilities and items that maximise a lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from psychoeval.errors import ModelError, SettingsError
from psychoeval.estimators.native.modeled import modeled
from psychoeval.estimators.native.variational_guessing import (
    BetaGuessing,
    FixedGuessing,
    GuessingFactor,
    LogitNormalGuessing,
)
from psychoeval.estimators.native.variational_report import Report
from psychoeval.estimators.native.variational_search import maximize
from psychoeval.estimators.native.variational_steps import MeanField
from psychoeval.irt.models import Beta, ItemModel, LogitNormal, Normal
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

MODELS: Final = ("1PL", "2PL", "3PL")
TAKE_WEAK: Final = 'Give priors="weak", or take an estimator that maximises (mml, mirt-em).'


@dataclass(frozen=True, slots=True, kw_only=True)
class VI:
    """Mean-field variational 1PL, 2PL and 3PL; a relative of py-irt's, deterministic and in closed form.

    Parameters
    ----------
    tolerance : float
        Converged when a sweep over all factors changes no parameter (means, and logs of SDs) by more, nor the last
        iteration the bound.
    max_iterations : int
        Of sweeps.

    Raises
    ------
    SettingsError
        If a setting cannot be taken.
    """

    name: ClassVar[str] = "vi"
    tolerance: float = 1e-10
    max_iterations: int = 1000

    def __post_init__(self) -> None:
        tolerance, most = self.tolerance, self.max_iterations
        if isinstance(tolerance, bool) or not (isinstance(tolerance, (int, float)) and 0 < tolerance < 1):
            raise SettingsError(f"vi: tolerance={tolerance!r}.", "Give a number between 0 and 1, such as 1e-6.")
        if isinstance(most, bool) or not (isinstance(most, int) and most > 0):
            raise SettingsError(f"vi: max_iterations={most!r}.", "Give a positive whole number.")

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit the posterior.

        Parameters
        ----------
        responses : Responses
            Binary or counts, cells may be missing.
        model : ItemModel
            1PL, 2PL or 3PL with priors on slopes and intercepts, and on guessing unless it is fixed.

        Returns
        -------
        FitResult
            `log_likelihood` is the bound, without the binomial constants of counts. `statistics` holds its parts:
            ``expected_log_likelihood`` minus ``ability_divergence`` (from N(0, 1)) and ``item_divergence`` (from the
            priors); for counts also ``overdispersion_ratio``.

        Raises
        ------
        ModelError
            For the Rasch model, or without proper priors of a kind it takes.
        DataError
            If no item was ever run.
        """
        model, slope, intercept, guessing = _checked(model)
        taking = modeled(responses, constant_items=True)
        part = taking.part
        problem = MeanField(
            part.successes, part.trials, slope, intercept, common_slope=model.name == "1PL", guessing=guessing
        )
        optimum = maximize(problem, tolerance=self.tolerance, max_iterations=self.max_iterations)
        return Report(taking, model, problem, optimum).result(self.name, self.tolerance)

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return what would be computed, in words."""
        what = "1PL, 2PL or 3PL" if model is None else model.label
        return (
            f"vi: mean-field variational posterior of {what}; quadratic (Polya-Gamma) bound, closed-form sweeps to a "
            f"change <= {self.tolerance:g}, at most {self.max_iterations}; standard errors are SDs of the independent "
            "factors, which are too small"
        )


def _checked(model: ItemModel | None) -> tuple[ItemModel, Normal, Normal, GuessingFactor | None]:
    """Return the model with the densities of log a, d and c, or refuse it."""
    if model is None or model.name not in MODELS:
        what = "no model" if model is None else f"the {model.name}"
        raise ModelError(f"vi does not fit {what}.", f"It fits {', '.join(MODELS)}.")
    priors = model.priors
    if priors is not None and priors.difficulty is not None:
        raise ModelError(
            f"vi takes a prior on the intercept d, not on the difficulty b = -d / a ({model.label}).", TAKE_WEAK
        )
    if priors is not None and priors.estimated_means:
        raise ModelError(f"vi does not estimate the means of priors ({model.label}).", TAKE_WEAK)
    if priors is None or priors.intercept is None or not priors.has_slope:
        raise ModelError(
            f"vi needs priors on both slopes and intercepts ({model.label}): its bound is a distance from them.",
            TAKE_WEAK,
        )
    slope = priors.log_discrimination
    if priors.discrimination is not None:  # the same law of log a; only modes would differ
        slope = Normal(priors.discrimination.meanlog, priors.discrimination.sdlog)
    assert slope is not None
    return model, slope, priors.intercept, _guessing(model)


def _guessing(model: ItemModel) -> GuessingFactor | None:
    match model.guessing:
        case None | 0:
            return None
        case Beta() as prior:
            return BetaGuessing(prior)
        case LogitNormal() as prior:
            return LogitNormalGuessing(prior)
        case "free":
            raise ModelError(
                'vi needs a prior on a guessing that is estimated (guessing="free").',
                "Leave guessing out (logit-normal(-1.1, .5)), or give a Beta or LogitNormal, or a number.",
            )
        case value:
            return FixedGuessing(float(value))

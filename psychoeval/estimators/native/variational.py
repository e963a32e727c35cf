"""Mean-field variational inference: independent posteriors of abilities and items that maximise a lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from psychoeval.errors import ModelError
from psychoeval.estimators.native.modeled import modeled
from psychoeval.estimators.native.settings import OnInterrupt, check_on_interrupt, check_tolerance, check_whole
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
    """Mean-field variational 1PL, 2PL and 3PL; a relative of py-irt's, deterministic and mostly in closed form.

    The posterior is taken as a product of independent distributions: theta, log a (the 1PL has one, whose prior counts
    once) and d normal, c beta under a beta prior and normal on the logit under a logit-normal one. Theta ~ N(0, 1).
    `log_likelihood` is a lower bound of the log evidence, below that of the best such product (py-irt's aim) because
    two more bounds make it computable without draws: Jaakkola & Jordan's quadratic one of the logistic function,
    which is Polya-Gamma augmentation's (see `variational_steps`), and in the 3PL independent guesses of who guessed
    each success. Sweeps over the distributions raise it; accelerated, they stop when nothing moves.

    Estimates are posterior means, of a as of d and c; standard errors are posterior SDs. Constant items and extreme
    persons are finite, by the priors. Log-normal priors of a and normal ones of log a are the same.

    Parameters
    ----------
    tolerance : float
        Converged when a sweep over all factors changes no parameter (means, and logs of SDs) by more, nor the last
        iteration the bound.
    max_iterations : int
        Of sweeps; one more where the last was refused for lowering the bound.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does: raise, or return where the search stands, with the status ``interrupted``.

    Raises
    ------
    SettingsError
        If a setting cannot be taken.

    Notes
    -----
    Standard errors are too small: items are known where abilities are judged and the reverse, and the quadratic bound
    puts tanh(x/2) / (2 x) where the information is sigma(x) sigma(-x), .15 for .045 at 3 logits. Measured by
    ``benchmarks/vi_recovery.py``, 100 seeds, theta ~ N(0, 1), b ~ N(0, 1.5), log a ~ N(0, .3), priors ``"weak"``,
    estimates and truth both standardised by the sample's mean and SD of theta. Factor: root mean squared error over
    root mean squared standard error (of b the median error's, items with |b| < 4); coverage: of nominal 95 %
    intervals. Monte Carlo errors are below .02 (the common slope's factor: .15, its coverage: .05).

    ===== =============== ==== ==== ==== ================== ==================
    model persons x items tau  r_b  r_a  factor theta, a, b coverage
    ===== =============== ==== ==== ==== ================== ==================
    1PL   30 x 100        .852 .948      1.07, 1.32, 1.15   .93, .73, .91
    1PL   100 x 300       .912 .984      1.13, 1.12, 1.15   .91, .81, .90
    1PL   1000 x 100      .851 .998      1.11, 5.87, 1.31   .92, .00, .86
    1PL   100 x 1000      .950 .983      1.14, 1.19, 1.16   .91, .81, .90
    2PL   30 x 100        .845 .925 .387 1.11, 1.07, 0.94   .92, .93, .96
    2PL   100 x 300       .911 .960 .647 1.18, 1.28, 0.99   .90, .89, .95
    2PL   1000 x 100      .851 .987 .921 1.13, 1.87, 1.17   .92, .78, .92
    2PL   100 x 1000      .951 .959 .653 1.20, 1.28, 1.01   .90, .89, .95
    3PL   30 x 100        .790 .866 .248 1.30, 1.39, 1.27   .87, .84, .91
    3PL   100 x 300       .879 .919 .472 1.47, 1.69, 1.49   .82, .78, .84
    3PL   1000 x 100      .800 .950 .691 1.30, 4.84, 3.27   .87, .37, .45
    3PL   100 x 1000      .934 .920 .472 1.54, 1.68, 1.49   .80, .78, .83
    ===== =============== ==== ==== ==== ================== ==================

    In the 2PL ``mml`` with weak priors on the same data has the same tau, r_b .993 and r_a .939 at 1000 x 100 (.963
    and .668 at 100 x 1000), and factors of theta of 1.0 to 1.06. As uncertain slopes make large abilities costly, the
    SD of the 2PL's abilities is .90, .95, .98 and .94 of the truth's, and of the 3PL's .78, .86, .94 and .85; slopes
    of the 3PL at 1000 x 100 are 13 % low. All fits converged but one 3PL at 1000 x 100, where intercept and guessing of
    one item could hardly be told apart and the bound rose by 3e-7 a sweep.
    """

    name: ClassVar[str] = "vi"
    tolerance: float = 1e-10
    max_iterations: int = 1000
    on_interrupt: OnInterrupt = "raise"

    def __post_init__(self) -> None:
        check_tolerance(self)
        check_whole(self, "max_iterations")
        check_on_interrupt(self)

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
        optimum = maximize(
            problem,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            return_interrupted=self.on_interrupt == "return",
        )
        with np.errstate(over="ignore", invalid="ignore"):  # what has no number is reported
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
    if priors.discrimination is not None:  # the same distribution of log a; only modes would differ
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

"""The joint posterior mode of abilities and items: penalised joint maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, ModelError, SettingsError
from psychoeval.estimators.native.map_objective import JointObjective, Penalty
from psychoeval.estimators.native.map_report import Report
from psychoeval.estimators.native.map_steps import minimize, published_search
from psychoeval.irt.models import ItemModel, Normal
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status
from psychoeval.results.fit_result import FitResult

Stopping = Literal["converged", "published"]
STOPPING: Final[tuple[str, ...]] = ("converged", "published")


@dataclass(frozen=True, slots=True, kw_only=True)
class MAP:
    """Joint maximum a posteriori of abilities and items, for Rasch, 1PL and 2PL.

    Minimises over abilities theta, slopes a = exp(u) and intercepts d

        F = -log L(x | theta, a, d) + sum theta^2 / 2 + priors of log a and of the location,

    L binomial over the observed cells. The 2PL with the priors ``"published"``, log a ~ N(0, .5) and b ~ N(0, 2), is
    the estimator of arXiv:2605.11205. The 1PL has one slope and its prior once. The Rasch model is the 1PL on the
    scale a theta, so that its latent SD is a; a difficulty prior is then about b = -d on that scale, and the slope
    prior about the SD.

    Slopes need a prior: without one, a -> a s, theta -> theta / s always lowers F, and there is no maximum. Constant
    items are estimated if the location has a prior, and left out (NaN) otherwise. Items and persons without responses
    are NaN.

    Standard errors are the inverse observed information at the mode, items' uncertainty included. A joint mode is not
    a marginal one: abilities are optimised, not integrated out, so slopes are overstated and intervals promise no
    coverage (see Notes), and with few items a person (5 items, 1000 persons) single slopes run away: such a fit is
    ``failed_check``.

    Parameters
    ----------
    tolerance : float
        Converged when no element of the gradient (log-likelihood units a logit) and no change of a parameter in the
        last iteration exceeds it.
    max_iterations : int
        Of Newton steps.
    stopping : {"converged", "published"}
        ``"published"`` replicates the rule of arXiv:2605.11205 for the 2PL: L-BFGS-B from zeros, at most 80
        iterations, ftol 1e-7, |theta| <= 4, |b| <= 5, |log a| <= 3. It stops where it stops; the gradient there is
        reported.

    Raises
    ------
    SettingsError
        If a setting cannot be taken.

    Notes
    -----
    Measured by ``benchmarks/map_recovery.py``: 2PL, theta ~ N(0, 1), log a ~ N(0, .5), b ~ N(0, 1), 100 seeds, truth
    standardised by the sample's mean and SD. Coverage of nominal 95 % intervals, as they come / after the estimates
    are standardised the same way (Monte Carlo error at most .02); slope is mean estimate over mean truth:

    =============== ==== ======= ============= =======================
    persons x items tau  slope   abilities     slopes, difficulties
    =============== ==== ======= ============= =======================
    30 x 500        .941 1.08    .78 / .98     .96, .92 / .96, .94
    100 x 100       .866 1.24    .86 / .97     .94, .88 / .96, .96
    100 x 1000      .957 1.09    .82 / .99     .95, .91 / .96, .95
    1000 x 100      .871 2.01    .32 / .96     .01, .17 / .95, .98
    =============== ==== ======= ============= =======================

    The joint mode does not estimate the unit of the scale well; where persons outnumber items it is far off, with a
    warning. Compare with other estimators after alignment, and by ranks. Where persons outnumber items the objective
    can have several minima; the one found is that below smoothed logits of the raw scores.
    """

    name: ClassVar[str] = "map"
    tolerance: float = 1e-6
    max_iterations: int = 200
    stopping: Stopping = "converged"

    def __post_init__(self) -> None:
        if not (isinstance(self.tolerance, (int, float)) and 0 < self.tolerance < 1):
            raise SettingsError(f"map: tolerance={self.tolerance!r}.", "Give a number between 0 and 1, such as 1e-6.")
        if not (isinstance(self.max_iterations, int) and self.max_iterations > 0):
            raise SettingsError(f"map: max_iterations={self.max_iterations!r}.", "Give a positive whole number.")
        if self.stopping not in STOPPING:
            raise SettingsError(f"map: stopping={self.stopping!r} is unknown.", f"Choose one of {', '.join(STOPPING)}.")

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit the joint mode.

        Parameters
        ----------
        responses : Responses
            Binary or counts, cells may be missing.
        model : ItemModel
            Rasch, 1PL or 2PL with a prior on the slopes.

        Returns
        -------
        FitResult
            `statistics` holds ``penalised_log_likelihood`` (-F), ``ability_mean_square`` (of theta^2 + SE^2, on the
            scale of the N(0, 1) prior), ``effective_parameters`` and, for counts, ``overdispersion_ratio``: Pearson's
            chi-squared over cells minus effective parameters.

        Raises
        ------
        ModelError
            For the 3PL, without a prior on the slopes, or the published rule on another model than the 2PL.
        DataError
            If no item can be estimated.
        """
        model, penalty = self._checked(model)
        items, persons = item_status(responses), person_status(responses)
        unusable = {"no_responses"} | (set() if penalty.location is not None else {"constant_all_0", "constant_all_1"})
        kept = np.array([s not in unusable for s in items])
        seen = np.array([s != "no_responses" for s in persons])
        if not kept.any():
            raise DataError(
                f"None of the {len(items)} items can be estimated: all are constant or were never run.",
                'Give the location a prior (priors="published"), or look at the data.',
            )
        objective = _objective(responses, penalty, seen, kept, common_slope=model.name != "2PL")
        if self.stopping == "published":
            optimum = published_search(objective)
        else:
            start = objective.start()
            optimum = minimize(objective, start, tolerance=self.tolerance, max_iterations=self.max_iterations)
        report = Report(responses, model, objective, optimum, items, kept, seen, self.stopping == "published")
        return report.result(self.name, self.tolerance, self.max_iterations)

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return what would be computed, in words."""
        what = "Rasch, 1PL or 2PL" if model is None else model.label
        how = (
            "L-BFGS-B from zeros, maxiter 80, ftol 1e-7, bounds theta +-4, b +-5, log a +-3"
            if self.stopping == "published"
            else f"truncated Newton to gradient and change <= {self.tolerance:g}, at most {self.max_iterations} steps"
        )
        return f"map: joint posterior mode of {what}; {how}; standard errors from the inverse observed information"

    def _checked(self, model: ItemModel | None) -> tuple[ItemModel, Penalty]:
        if model is None or model.name == "3PL":
            what = "no model" if model is None else "the 3PL"
            raise ModelError(f"map does not fit {what}.", "It fits Rasch, 1PL, 2PL.")
        penalty = _penalty(model)
        if self.stopping == "published" and model.name != "2PL":
            raise ModelError(
                f'stopping="published" is a rule for the 2PL, not for the {model.name}.', 'Use stopping="converged".'
            )
        return model, penalty


def _penalty(model: ItemModel) -> Penalty:
    priors = model.priors
    slope = None if priors is None else priors.slope_on_log_scale
    if priors is None or slope is None:
        raise ModelError(
            f"map cannot fit the {model.name} without a prior on the slopes: with theta ~ N(0, 1) alone, larger "
            "slopes and smaller abilities of equal probabilities are always better, so there is no maximum.",
            'Give priors="published" or "weak", or use an estimator that integrates the abilities out (mirt-em).',
        )
    if model.name == "Rasch" and priors.difficulty is not None:
        return Penalty(slope, Normal(-priors.difficulty.mean, priors.difficulty.sd), False)
    return Penalty(slope, priors.difficulty or priors.intercept, priors.difficulty is not None)


def _objective(
    responses: Responses, penalty: Penalty, seen: NDArray[np.bool_], kept: NDArray[np.bool_], *, common_slope: bool
) -> JointObjective:
    successes, trials = responses.successes, responses.trials
    if not (seen.all() and kept.all()):  # an index would copy
        successes, trials = successes[np.ix_(seen, kept)], trials[np.ix_(seen, kept)]
    return JointObjective(successes, trials, penalty, common_slope=common_slope)

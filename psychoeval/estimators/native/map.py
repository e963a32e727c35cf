"""The joint posterior mode of abilities and items: penalised joint maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, ModelError, SettingsError
from psychoeval.estimators.native.map_objective import JointObjective, Slopes
from psychoeval.estimators.native.map_penalty import Penalty
from psychoeval.estimators.native.map_report import Report
from psychoeval.estimators.native.map_steps import minimize, published_search
from psychoeval.estimators.native.settings import (
    OnInterrupt,
    check_choice,
    check_on_interrupt,
    check_tolerance,
    check_whole,
)
from psychoeval.irt.models import SD_LIMITS, ItemModel, Normal, refuse_population
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status
from psychoeval.results.fit_result import FitResult

Stopping = Literal["converged", "published"]
STOPPING: Final[tuple[str, ...]] = ("converged", "published")
SLOPES: Final[dict[str, Slopes]] = {"Rasch": "fixed", "1PL": "common", "2PL": "free"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MAP:
    """Joint maximum a posteriori of abilities and items, for Rasch, 1PL and 2PL.

    Minimises over abilities theta, slopes a = exp(u) and intercepts d

        F = -log L(x | theta, a, d) + sum theta^2 / (2 s^2) + priors of every slope's log a and every item's location,

    L binomial over the observed cells. The 2PL with the priors ``"published"``, log a ~ N(0, .5) and b ~ N(0, 2), is
    the estimator of arXiv:2605.11205. The 1PL has one slope, whose prior counts once; s = 1 in both. The Rasch model
    has a = 1 and s = `ability_sd`, and takes no slope prior. A joint mode cannot estimate the latent SD (with s free,
    larger slopes and smaller abilities always pay): `ability_sd` is a choice, and that of the result is this choice.

    Free slopes need a prior: without one there is no maximum, for the same reason. Constant items are estimated if
    the location has a prior, and left out (NaN) otherwise. Items and persons without responses are NaN.

    Standard errors are the inverse observed information at the mode, items' uncertainty included. A joint mode is not
    a marginal one: abilities are optimised, not integrated out, so slopes are overstated, and intervals promise no
    coverage (see Notes). A joint mode does not determine the unit of the scale, so the common slope of the 1PL is
    mostly the priors' doing; single slopes of the 2PL run away where items are few. A slope above 10 makes a fit
    ``failed_check``, one above 4 is a warning: take the Rasch model, or an estimator that integrates the abilities
    out (``mirt-em``).

    Parameters
    ----------
    tolerance : float
        Converged when no element of the gradient (log-likelihood units a logit) and no change of a parameter in the
        last iteration exceeds it.
    max_iterations : int
        Of Newton steps.
    ability_sd : float
        SD of the abilities' prior in the Rasch model, logits. Where systems saw items of different difficulty, ranks
        depend on it.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does: raise, or return where the search stands, with the status ``interrupted``. Under the
        published rule, a search of SciPy's, it always raises.
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
    Measured by ``benchmarks/map_recovery.py``: theta ~ N(0, 1), b ~ N(0, 1), log a ~ N(0, .5) in the 2PL and else
    a = 1, 100 seeds, truth standardised by the sample's mean and SD. Coverage of nominal 95 % intervals, as they come
    (Rasch: of the truth as drawn, with the right `ability_sd`) / after the estimates are standardised the same way.
    Monte Carlo errors are at most .02; slope is mean estimate over mean truth:

    ===== =============== ==== ======= ============= =======================
    model persons x items tau  slope   abilities     slopes, difficulties
    ===== =============== ==== ======= ============= =======================
    Rasch 30 x 500        .936         .97 / .99     .96 / .96
    Rasch 100 x 100       .855         .95 / .97     .95 / .97
    Rasch 100 x 1000      .953         .97 / .99     .96 / .96
    Rasch 1000 x 100      .859         .95 / .96     .95 / .96
    1PL   30 x 500        .936 5.84    .15 / 1.0     .00, .20 / 1.0, 1.0
    1PL   100 x 100       .855 4.79    .20 / 1.0     .00, .21 / 1.0, 1.0
    1PL   100 x 1000      .953 7.17    .09 / 1.0     .00, .11 / 1.0, 1.0
    1PL   1000 x 100      .859 10.8    .07 / 1.0     .00, .06 / 1.0, 1.0
    2PL   30 x 500        .941 1.08    .78 / .98     .96, .92 / .96, .94
    2PL   100 x 100       .866 1.24    .86 / .97     .94, .88 / .96, .96
    2PL   100 x 1000      .957 1.09    .82 / .99     .95, .91 / .96, .95
    2PL   1000 x 100      .871 2.01    .32 / .96     .01, .17 / .95, .98
    ===== =============== ==== ======= ============= =======================

    The 1PL orders persons as the Rasch model does, on a scale several times too small and, after alignment, with
    intervals too wide; at 1000 x 100 every fit is ``failed_check``. The 2PL's many slope priors hold the unit better;
    where persons outnumber items it is far off, with a warning. Compare with other estimators after alignment, and by
    ranks. At 1000 x 100 every 2PL search reached its minimum, and 8 % of the fits are ``failed_check``: slopes come out
    doubled, so that of an item with a true one of 4 to 7 passes 10, up to 75. There the objective can have several
    minima; the one found is that below smoothed logits of the raw scores.

    More trials a cell make the overstated slopes of the 2PL show more (benchmarks/interval_coverage.py, as they come):
    at 100 x 200 abilities are covered at .84 with one trial and .69 with ten, slopes at .96 and .55; at 400 x 100 at
    .55 and .28, .30 and .00. The Rasch model with the right `ability_sd` has .95-.99 for abilities and .95-1.00 for
    difficulties, which hold the error of the origin.

    Complete data of 6,000 x 28,000 take about a minute of one core and .5 GB beside the data (one byte a cell), four
    fifths of it for the standard errors. Cost and memory of these grow with the square of the smaller of persons and
    twice the items.
    """

    name: ClassVar[str] = "map"
    tolerance: float = 1e-6
    max_iterations: int = 200
    ability_sd: float = 1.0
    on_interrupt: OnInterrupt = "raise"
    stopping: Stopping = "converged"

    def __post_init__(self) -> None:
        check_tolerance(self)
        check_whole(self, "max_iterations")
        check_on_interrupt(self)
        sd, (low, high) = self.ability_sd, SD_LIMITS
        if isinstance(sd, bool) or not (isinstance(sd, (int, float)) and low <= sd <= high):
            raise SettingsError(
                f"map: ability_sd={sd!r}.", f"Give a number of logits from {low:g} to {high:g}, such as 1."
            )
        check_choice(self, "stopping", STOPPING)

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit the joint mode.

        Parameters
        ----------
        responses : Responses
            Binary or counts, cells may be missing.
        model : ItemModel
            Rasch; 1PL or 2PL with a prior on the slopes.

        Returns
        -------
        FitResult
            `statistics` holds ``penalised_log_likelihood`` (-F), ``ability_mean_square`` (of theta^2 + SE^2),
            ``effective_parameters`` and, for counts, ``overdispersion_ratio``: Pearson's chi-squared over cells minus
            effective parameters.

        Raises
        ------
        ModelError
            For the 3PL, a 1PL or 2PL without a prior on the slopes, or the published rule on another model than the
            2PL.
        SettingsError
            If `ability_sd` is set for another model than Rasch.
        DataError
            If no item can be estimated.
        """
        model = self._checked(model)
        has_location = model.priors is not None and (model.priors.difficulty or model.priors.intercept) is not None
        items, persons = item_status(responses), person_status(responses)
        unusable = {"no_responses"} | (set() if has_location else {"constant_all_0", "constant_all_1"})
        kept = np.array([s not in unusable for s in items])
        seen = np.array([s != "no_responses" for s in persons])
        if not kept.any():
            raise DataError(
                f"None of the {len(items)} items can be estimated: all are constant or were never run.",
                'Give the location a prior (priors="published"), or look at the data.',
            )
        objective = self._objective(responses, model, seen, kept)
        if self.stopping == "published":
            optimum = published_search(objective)
        else:
            start = objective.start()
            optimum = minimize(
                objective,
                start,
                tolerance=self.tolerance,
                max_iterations=self.max_iterations,
                return_interrupted=self.on_interrupt == "return",
            )
        report = Report(responses, model, objective, optimum, items, kept, seen, self.stopping == "published")
        return report.result(self.name, self.tolerance)

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return what would be computed, in words."""
        what = "Rasch, 1PL or 2PL" if model is None else model.label
        how = (
            "L-BFGS-B from zeros, maxiter 80, ftol 1e-7, bounds theta +-4, b +-5, log a +-3"
            if self.stopping == "published"
            else f"truncated Newton to gradient and change <= {self.tolerance:g}, at most {self.max_iterations} steps"
        )
        sd = f", ability SD {self.ability_sd:g}" if model is None or model.name == "Rasch" else ""
        return f"map: joint posterior mode of {what}{sd}; {how}; standard errors from the inverse observed information"

    def _checked(self, model: ItemModel | None) -> ItemModel:
        if model is None or model.name == "3PL":
            what = "no model" if model is None else "the 3PL"
            raise ModelError(f"map does not fit {what}.", "It fits Rasch, 1PL, 2PL.")
        if self.stopping == "published" and model.name != "2PL":
            raise ModelError(
                f'stopping="published" is a rule for the 2PL, not for the {model.name}.', 'Use stopping="converged".'
            )
        if model.name != "Rasch" and self.ability_sd != 1:
            raise SettingsError(
                f"map: ability_sd={self.ability_sd:g} with the {model.name}, whose abilities are N(0, 1).",
                "Leave it at 1, or fit the Rasch model.",
            )
        refuse_population(model, self.name)
        if model.name != "Rasch" and (model.priors is None or not model.priors.has_slope):
            raise ModelError(
                f"map cannot fit the {model.name} without a prior on the slopes: with theta ~ N(0, 1) alone, larger "
                "slopes and smaller abilities of equal probabilities are always better, so there is no maximum.",
                'Give priors="published" or "weak", fit the Rasch model, or use an estimator that integrates the '
                "abilities out (mirt-em).",
            )
        return model

    def _objective(
        self, responses: Responses, model: ItemModel, seen: NDArray[np.bool_], kept: NDArray[np.bool_]
    ) -> JointObjective:
        successes, trials = responses.successes, responses.trials
        if not (seen.all() and kept.all()):  # an index would copy
            successes, trials = successes[np.ix_(seen, kept)], trials[np.ix_(seen, kept)]
        return JointObjective(successes, trials, _penalty(model), slopes=SLOPES[model.name], ability_sd=self.ability_sd)


def _penalty(model: ItemModel) -> Penalty:
    priors = model.priors
    if priors is None:
        return Penalty(None, None, False)
    location, slope = priors.difficulty or priors.intercept, priors.slope_on_log_scale
    if model.name == "Rasch":
        if priors.difficulty is not None:  # b = -d
            location = Normal(-priors.difficulty.mean, priors.difficulty.sd)
        return Penalty(None, location, False)
    return Penalty(slope, location, priors.difficulty is not None)

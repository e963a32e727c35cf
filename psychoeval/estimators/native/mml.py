"""Marginal maximum likelihood: abilities integrated out, items estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, cast, get_args

import numpy as np

from psychoeval.errors import ModelError, SettingsError
from psychoeval.estimators.native.mml_abilities import ItemUncertainty, few_persons
from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import make_form
from psychoeval.estimators.native.mml_latent import maximize_with_law
from psychoeval.estimators.native.mml_report import Report
from psychoeval.estimators.native.mml_search import maximize
from psychoeval.estimators.native.modeled import modeled
from psychoeval.estimators.native.settings import (
    OnInterrupt,
    check_choice,
    check_on_interrupt,
    check_tolerance,
    check_whole,
)
from psychoeval.estimators.settings import is_choice, usable_cores
from psychoeval.irt.models import ItemModel, check_degrees_of_freedom
from psychoeval.irt.parameters import AbilityMethod
from psychoeval.responses.connectivity import require_connected
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

Signs = Literal["positive", "free"]
Errors = Literal["auto", "full", "blocks", "none"]
Scoring = Literal["EAP", "MAP", "ML", "WLE"]
Latent = Literal["normal", "empirical"]
Disconnected = Literal["refuse", "one distribution"]
_CHOICES: Final = {
    "slopes": Signs, "latent": Latent, "standard_errors": Errors, "ability_method": Scoring,
    "disconnected": Disconnected,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MML:
    """Marginal maximum likelihood of Rasch, 1PL, 2PL and 3PL items, with or without priors on them.

    Maximises over the items

        sum_i log int prod_j P_j(theta)^x_ij (1 - P_j(theta))^(n_ij - x_ij) phi(theta) dtheta + log prior(items),

    theta ~ N(0, 1); the Rasch model has a = 1 and theta ~ N(0, s^2), s estimated. Cells may be missing or hold counts.

    The integral is a trapezoid sum whose nodes are never farther apart than the smallest posterior SD of a person,
    renewed as the items change: a fixed grid, .2 apart, is coarser than the posteriors of persons with hundreds of
    items, and misreads the likelihood. EM with parameter expansion and Anderson acceleration takes 5 to 20 iterations.
    For the 2PL on complete data a person's weighted score is sufficient, and no product of data and nodes is needed.

    The default priors of 2PL and 3PL, log a ~ N(m, .5) and d ~ N(k + r a, 3) with m, k and r estimated, hold single
    items and leave origin and unit of the scale to the persons, but for r ~ N(0, 2). With few persons on items that are
    too hard for most this prior moves both: at 35 x 390 intervals of ability hold the truth in the frame of the sample
    in .63 (simulated, mean difficulty 2.5, skewed abilities) and .41 (`trust.check_by_refitting` of SWE-bench Verified)
    instead of .95, slopes are up to 1.24 times too large, and ranks are as they were. A weaker one trades this for
    slopes that are too small. `random-item` does not have it (.90). Rasch and 1PL have no priors by default;
    ``priors="none"`` is maximum likelihood.

    Parameters
    ----------
    tolerance : float
        Converged when neither the last change of a parameter (log a, d, logit c) nor the step that EM still asks for
        exceeds it. The gradient there is reported, in log-likelihood units a logit.
    max_iterations : int
        Of EM.
    slopes : {"positive", "free"}
        ``"free"`` estimates a itself, of either sign, which needs ``priors="none"``. The answer is then turned so that
        ability and proportion correct correlate positively (``provenance.details["flipped"]``).
    latent : {"normal", "empirical"}
        ``"empirical"`` estimates the distribution of the abilities with the items, as a smooth histogram of mean 0 and
        SD 1 (Bock and Aitkin 1981): abilities of AI systems are skewed and clustered. Errors then take the distribution
        as known; its weights count as parameters. With few items it can follow chance: compare AIC or BIC with the
        normal distribution.
    standard_errors : {"auto", "full", "blocks", "none"}
        From the observed information (Louis 1982): the whole matrix, or its blocks by item with what all items share,
        the origin and unit of the scale, exactly. ``"auto"`` takes the whole matrix up to 600 parameters. On 100 x 300
        to 1000 x 300 the blocks' errors are .1 % (median) to 1.3 % (largest) too large.
    ability_method : {"EAP", "MAP", "ML", "WLE"}
        Given the estimated items. MAP is for the normal distribution only.
    item_uncertainty : {"auto", True, False}
        Whether standard errors of abilities also hold what the errors of the items add, by the delta method, in the
        frame of these persons (their mean and SD; Rasch: their mean). ``"auto"``: below 100 persons, where it is a
        tenth to a fifth of the variance, and below 200 where guessing is estimated. Without standard errors of the
        items it cannot be; ``statistics`` says what was done, and `Abilities.uncertainty` is "items estimated" or
        "items fixed". `psychoeval.score` with ``item_uncertainty=True`` is about new persons instead, and adds the
        error of origin and unit.
    n_threads : int, optional
        None takes all cores that this process may use.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does: raise, or return where the search stands, with the status ``interrupted``.
    disconnected : {"refuse", "one distribution"}
        What to do with data in groups that share no response: refuse, or let the assumption that all abilities come
        from one distribution link them, with a warning.

    Raises
    ------
    SettingsError
        If a setting cannot be taken.

    Notes
    -----
    Coverage of nominal 95 % intervals by ``benchmarks/interval_coverage.py``, default priors, one trial a cell and ten,
    complete and 30 % missing, 100 seeds (400 x 100: 60), lowest and highest of the four. Abilities in the frame of the
    sample, items (which hold the error of origin and unit) as drawn; Monte Carlo errors at most .01, at ten trials .02
    for items and .05 for latent SDs:

    ========= ===== ========= ========= ========= ========= =========
    size      model abilities a         b         d         c
    ========= ===== ========= ========= ========= ========= =========
    30 x 100  Rasch .953-.957           .946-.959 .946-.959
    30 x 100  2PL   .941-.957 .927-.980 .950-.968 .947-.962
    100 x 200 Rasch .945-.955           .942-.951 .942-.951
    100 x 200 2PL   .931-.948 .922-.964 .948-.953 .940-.954
    100 x 200 3PL   .938-.948 .932-.966 .949-.955 .937-.943 .950-.955
    400 x 100 Rasch .948-.952           .943-.948 .943-.948
    400 x 100 2PL   .943-.951 .941-.959 .948-.957 .945-.950
    400 x 100 3PL   .938-.949 .942-.957 .940-.951 .937-.945 .939-.953
    ========= ===== ========= ========= ========= ========= =========

    These are averages: of slopes, and of c at one trial, the highest third is covered at .87 to .94, which is what
    priors do. Latent SDs (Rasch) and the 1PL's slope, value -+ 1.96 SE, are covered at .90 to .93 with 30 or 100
    persons (200 or 300 seeds, Monte Carlo error .02), .94 to .96 with 400. An interval on the log scale does no better
    (.91 to .93): the SD of few persons, divided by N and not N - 1, is too small on average and not normal. With 35
    persons on 390 items slopes come out 8 % too large and abilities are covered at .936, with the items' errors (.919
    without).

    Slopes of few persons are biased away from 0, as those of any logistic regression are (Firth 1993,
    doi:10.1093/biomet/80.1.27), and more items do not mend it. Median estimate over sample-standardised truth, 2PL of
    1,000 items, and beside it a regression of the items on the true abilities under the same priors: 1.029 and 1.027
    with 100 persons (40 seeds, Monte Carlo error .0016), 1.016 and 1.014 with 200, 1.011 and 1.009 with 400. It is no
    fault of the scale: the mixed posteriors' SD is 1.000. `random-item`, which shrinks log a, has .984 (100 persons,
    20 seeds, .003).
    """

    name: ClassVar[str] = "mml"
    tolerance: float = 1e-5
    max_iterations: int = 500
    slopes: Signs = "positive"
    latent: Latent = "normal"
    standard_errors: Errors = "auto"
    ability_method: Scoring = "EAP"
    item_uncertainty: ItemUncertainty = "auto"
    n_threads: int | None = None
    on_interrupt: OnInterrupt = "raise"
    disconnected: Disconnected = "refuse"

    def __post_init__(self) -> None:
        check_tolerance(self)
        check_whole(self, "max_iterations")
        check_on_interrupt(self)
        if self.n_threads is not None:
            check_whole(self, "n_threads")
        for name, choices in _CHOICES.items():
            check_choice(self, name, get_args(choices))
        if (self.latent, self.ability_method) == ("empirical", "MAP"):
            raise SettingsError(
                "mml: ability_method='MAP' needs a normal latent distribution, and latent='empirical'.",
                "Score by EAP, ML or WLE.",
            )
        self._check_item_uncertainty()

    def _check_item_uncertainty(self) -> None:
        given = self.item_uncertainty
        if not isinstance(given, bool) and not is_choice(given, ("auto",)):
            raise SettingsError(f"mml: item_uncertainty={given!r} is unknown.", "Choose one of auto, True, False.")
        if given is True and self.standard_errors == "none":
            raise SettingsError(
                "mml: item_uncertainty=True needs standard errors of the items, and standard_errors='none'.",
                "Leave standard_errors at 'auto', or item_uncertainty.",
            )

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit the items, and score the persons given them.

        Parameters
        ----------
        responses : Responses
            Binary or counts, cells may be missing.
        model : ItemModel

        Returns
        -------
        FitResult
            The log-likelihood is marginal, without the priors and the binomial constant. `statistics` holds
            ``log_prior`` and ``penalised_log_likelihood`` where there are priors, ``empirical_reliability``
            (var EAP / (var EAP + mean SD^2)), ``marginal_reliability`` (1 - mean SD^2 / latent variance), and for
            counts ``overdispersion_ratio``.

        Raises
        ------
        ModelError
            Without a model, for free signs under priors on log a, or for more parameters than degrees of freedom.
        DataError
            If no item can be estimated.
        DisconnectedDataError
            If the data fall into groups that share no response.
        """
        if model is None:
            raise ModelError("mml needs a model.", "It fits Rasch, 1PL, 2PL, 3PL.")
        form = make_form(model, signed=self.slopes == "free")
        data = modeled(responses, constant_items=form.penalty.location is not None)
        if not model.is_penalised:
            check_degrees_of_freedom(model, data.part.trials.max(axis=0).astype(np.intp))
        cells = Cells(data.part.successes, data.part.trials, self.n_threads or usable_cores())
        if self.disconnected == "refuse" and not cells.equal_trials:
            require_connected(data.part)
        search = maximize if self.latent == "normal" else maximize_with_law
        maximum = search(
            cells,
            form,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            return_interrupted=self.on_interrupt == "return",
        )
        method = cast(AbilityMethod, self.ability_method)
        report = Report(
            data, model, form, cells, maximum, self.standard_errors, method, item_uncertainty=self.item_uncertainty
        )
        return report.result(self.name, self.tolerance)

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return what would be computed, in words."""
        what = "Rasch, 1PL, 2PL or 3PL" if model is None else model.label
        return (
            f"mml: marginal maximum likelihood of {what}, {self.latent} latent distribution; EM with parameter "
            f"expansion and Anderson acceleration to steps <= {self.tolerance:g}, at most {self.max_iterations} "
            "iterations; trapezoid rule no coarser than the smallest posterior SD; standard errors "
            f"{self.standard_errors} from the observed information; abilities {self.ability_method}, "
            f"{self._errors_of_abilities(responses, model)}"
        )

    def _errors_of_abilities(self, responses: Responses | None, model: ItemModel | None) -> str:
        carried = "their errors with the items' carried in"
        if self.item_uncertainty == "auto" and self.standard_errors != "none":
            if responses is None:
                return f"{carried} below {few_persons(model)} persons"
            return carried if responses.n_persons < few_persons(model) else "their errors given the items"
        return carried if self.item_uncertainty is True else "their errors given the items"

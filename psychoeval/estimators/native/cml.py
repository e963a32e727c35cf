"""Conditional maximum likelihood of Rasch items: difficulties without any distribution of the abilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import ModelError, SettingsError
from psychoeval.estimators.native.cml_checks import require_estimable, require_feasible
from psychoeval.estimators.native.cml_search import Optimum, intercept_covariance, maximize
from psychoeval.estimators.native.cml_steps import Units, make_units, pearson
from psychoeval.estimators.native.map_checks import overdispersion_warning
from psychoeval.estimators.native.modeled import Modeled, modeled
from psychoeval.estimators.native.settings import check_tolerance, check_whole
from psychoeval.estimators.settings import is_choice
from psychoeval.irt import scoring
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.data_checks import factor_warning
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import Provenance
from psychoeval.wording import some

FloatArray = NDArray[np.float64]
Scoring = Literal["WLE", "ML"]

#: Items up to which the joint covariance is stored.
MAX_JOINT: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CML:
    """Conditional maximum likelihood of the Rasch model.

    Maximises prod_i P(x_i | raw score of i), which does not hold the abilities: the difficulties are consistent for a
    fixed number of items whatever the abilities' distribution, and systems need not be a sample of anything. Missing
    cells are conditioned on the items seen, cells of several trials on their sum (``cml_steps`` has the formulas).

    Difficulties sum to zero over the estimated items, since only their differences are determined; standard errors
    are the inverse conditional information on that constraint, and the joint covariance is singular accordingly.
    Constant items have no estimate. Data in which a set of items was passed only by those who passed all others have
    no finite maximum and are refused, the items named (Fischer 1981).

    Abilities are scored afterwards, with the difficulties held fixed: no distribution of the abilities is assumed, so
    there is no posterior.

    Coverage of the 95 % intervals by benchmarks/interval_coverage.py (30 x 100, 100 x 200, 400 x 100; one trial a cell
    and ten; complete and 30 % missing at random): difficulties .947-.958, abilities (Warm's) .943-.952; Monte Carlo
    errors at most .005.

    Parameters
    ----------
    ability_method : {"WLE", "ML"}
        Warm's weighted likelihood, finite for every raw score, or maximum likelihood, infinite for none or all right.
    tolerance : float
        Converged when no element of the gradient (log-likelihood units a logit) and no change of a difficulty in the
        last iteration exceeds it.
    max_iterations : int
        Of Newton steps.

    Raises
    ------
    SettingsError
        If a setting cannot be taken.

    References
    ----------
    Andersen (1972), Journal of the Royal Statistical Society B 34, 42-54. Warm (1989), Psychometrika 54, 427-450.
    """

    name: ClassVar[str] = "cml"
    ability_method: Scoring = "WLE"
    tolerance: float = 1e-6
    max_iterations: int = 100

    def __post_init__(self) -> None:
        if not is_choice(self.ability_method, get_args(Scoring)):
            raise SettingsError(
                f"cml: ability_method={self.ability_method!r} is not there: no distribution of abilities is assumed.",
                f"Choose one of {', '.join(get_args(Scoring))}.",
            )
        check_tolerance(self)
        check_whole(self, "max_iterations")

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit the difficulties, then score the persons.

        Parameters
        ----------
        responses : Responses
            Binary or counts, cells may be missing.
        model : ItemModel
            Rasch without priors.

        Returns
        -------
        FitResult
            `log_likelihood` is conditional, without the binomial constants of counts. `statistics` holds
            ``identification``, ``information`` (``exact``, or ``approximate`` where the exact one would take too long)
            ``informative_persons``, with neither none nor all right, and for counts ``overdispersion_ratio``, Pearson's
            chi-squared given raw scores over its degrees of freedom.

        Raises
        ------
        ModelError
            For another model, or with priors.
        DisconnectedDataError
            If persons and items fall into components.
        DataError
            If fewer than two items can be estimated, the difficulties have no finite estimate, or the data need too
            many conditional distributions.
        """
        model = _checked(model)
        taking = modeled(responses, constant_items=False)
        part = taking.part
        require_estimable(part)
        units = make_units(part.successes, part.trials)
        require_feasible(len(units.totals), part.n_items, part.person_label)
        optimum = maximize(units, tolerance=self.tolerance, max_iterations=self.max_iterations)
        covariance, exact = intercept_covariance(units, optimum)
        overdispersion = _overdispersion(part, units, optimum)
        return FitResult(
            estimator=self.name,
            model=model,
            convergence=self._convergence(optimum).judged(warnings=_warnings(taking, exact, overdispersion)),
            provenance=Provenance(engine="numpy"),
            abilities=self._abilities(taking, optimum.intercept),
            item_parameters=_items(taking, optimum.intercept, covariance),
            log_likelihood=optimum.at.log_likelihood,
            log_likelihood_kind="conditional",
            n_parameters=part.n_items - 1,
            statistics={
                "identification": "difficulties sum to 0 over the estimated items",
                "information": "exact" if exact else "approximate",
                "informative_persons": int(units.counts.sum()),
                **({} if np.isnan(overdispersion) else {"overdispersion_ratio": overdispersion}),
            },
        )

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return what would be computed, in words."""
        return (
            "cml: conditional maximum likelihood of Rasch difficulties given raw scores, summing to 0; Newton's method "
            f"to gradient and change <= {self.tolerance:g}, at most {self.max_iterations} steps; standard errors from "
            f"the inverse conditional information; abilities by {self.ability_method}"
        )

    def _convergence(self, found: Optimum) -> Convergence:
        return Convergence(
            "converged" if found.converged else "iteration_limit",
            iterations=found.iterations,
            last_change=found.last_change,
            tolerance=self.tolerance,
            gradient=float(np.abs(found.at.gradient).max()),
        )

    def _abilities(self, taking: Modeled, intercept: FloatArray) -> Abilities:
        part = taking.part
        score = scoring.wle if self.ability_method == "WLE" else scoring.ml
        estimate, error = score(part.successes, part.trials, 1.0, intercept, 0.0)
        return Abilities(
            taking.responses.person_ids,
            taking.fill_persons(estimate),
            taking.fill_persons(error),
            method=self.ability_method,
            status=taking.ability_status(estimate),
        )


def _checked(model: ItemModel | None) -> ItemModel:
    if model is None or model.name != "Rasch":
        raise ModelError(f"cml does not fit {'no model' if model is None else f'the {model.name}'}.", "It fits Rasch.")
    if model.is_penalised:
        raise ModelError(
            "cml takes no priors: it is unpenalised conditional maximum likelihood.",
            'Give priors="none", or take an estimator that takes priors (map).',
        )
    return model


def _items(taking: Modeled, intercept: FloatArray, covariance: FloatArray) -> ItemParameters:
    n = intercept.size
    blocks = np.zeros((n, 3, 3))
    blocks[:, 1, 1] = np.diag(covariance)
    joint: dict[str, Any] = {}
    if n <= MAX_JOINT:
        joint = {"joint_covariance": covariance, "joint_labels": tuple((text, "d") for text in taking.part.item_ids)}
    return ItemParameters(
        taking.responses.item_ids,
        taking.fill_items(np.ones(n)),
        taking.fill_items(intercept),
        taking.fill_items(np.zeros(n)),
        taking.fill_items(blocks),
        taking.item_status,
        **joint,
    )


def _overdispersion(part: Responses, units: Units, optimum: Optimum) -> float:
    """Return Pearson's chi-squared over cells less free difficulties, NaN for binary cells."""
    seen = np.count_nonzero(units.trials, axis=1)
    cells = int(units.counts @ np.where(seen > 1, seen, 0))  # a single item's score is given
    freedom = cells - (part.n_items - 1)
    if part.is_binary or freedom < 1:
        return float("nan")
    return pearson(units, part.successes, optimum.intercept) / freedom


def _warnings(taking: Modeled, exact: bool, overdispersion: float) -> tuple[str, ...]:
    notes = list(factor_warning(taking.part, "equal"))
    responses = taking.responses
    people = f"{responses.person_label}s"
    untold = np.flatnonzero(responses.trials.any(axis=1) & ~taking.persons)
    if untold.size:
        notes.append(
            f"{untold.size} {people} have responses only on constant items, which say nothing about their ability: "
            f"{some([responses.person_ids[i] for i in untold])}."
        )
    notes.extend(overdispersion_warning(overdispersion))
    if not exact:
        notes.append(
            f"The standard errors come from an approximation of the conditional information, right to about "
            f"1 / {taking.part.n_items}: the exact one would take too long."
        )
    return tuple(notes)

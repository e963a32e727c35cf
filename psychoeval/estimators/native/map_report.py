"""From the joint mode to the result: every person and item in place, errors by the delta method, and what to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native import map_checks
from psychoeval.estimators.native.map_covariance import JointCovariance, NotAMinimumError, joint_covariance
from psychoeval.estimators.native.map_hessian import arrow_hessian
from psychoeval.estimators.native.map_objective import FloatArray, JointObjective
from psychoeval.estimators.native.map_steps import PUBLISHED_FTOL, Optimum
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters, ItemStatus
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import person_status
from psychoeval.results.convergence import Convergence
from psychoeval.results.data_checks import factor_warning
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance

NO_ERRORS: Final = "The observed information is not positive definite where the search ended."


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """From the optimum of the seen persons and kept items to the result of all.

    Parameters
    ----------
    responses : Responses
        All N persons and J items.
    model : ItemModel
    objective : JointObjective
        Of the seen persons and kept items.
    optimum : Optimum
    item_status : tuple of str, length J
    kept : (J,) array
    seen : (N,) array
    published : bool
        Whether the published rule stopped the search.
    """

    responses: Responses
    model: ItemModel
    objective: JointObjective
    optimum: Optimum
    item_status: tuple[ItemStatus, ...]
    kept: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    published: bool

    def result(self, estimator: str, tolerance: float) -> FitResult:
        """Return the result under the name `estimator`, judged against the tolerance of the search."""
        theta, u, d = self.objective.split(self.optimum.at.point)
        try:
            covariance = joint_covariance(arrow_hessian(self.objective, self.optimum.at))
        except NotAMinimumError:
            covariance = None
        items = self._items(np.exp(self.objective.log_slopes(u)), d, covariance)
        statistics = self._statistics(theta, covariance)
        failures, warnings = self._findings(items, statistics, saddle=covariance is None)
        return FitResult(
            estimator=estimator,
            model=self.model,
            convergence=self._convergence(tolerance).judged(failures, warnings),
            provenance=Provenance(engine="numpy"),
            abilities=self._abilities(theta, covariance),
            item_parameters=items,
            latent_distribution=LatentDistribution(sd=self.objective.ability_sd),
            log_likelihood=-self.optimum.at.loss,
            log_likelihood_kind="joint",
            n_parameters=self.objective.n_parameters,
            statistics=statistics,
        )

    def _items(self, a: FloatArray, d: FloatArray, covariance: JointCovariance | None) -> ItemParameters:
        j = self.kept.size
        slopes, intercepts = np.full(j, np.nan), np.full(j, np.nan)
        slopes[self.kept], intercepts[self.kept] = a, d
        blocks = None
        if covariance is not None:
            blocks = np.full((j, 3, 3), np.nan)
            scale = np.column_stack([a, np.ones(d.size)])
            inner = np.zeros((d.size, 3, 3))
            inner[:, :2, :2] = covariance.items * scale[:, :, None] * scale[:, None, :]
            blocks[self.kept] = inner
        return ItemParameters(
            self.responses.item_ids, slopes, intercepts, np.where(self.kept, 0.0, np.nan), blocks,
            map_checks.with_runaways(self.item_status, slopes, intercepts),
            "" if covariance is not None else NO_ERRORS,
        )  # fmt: skip

    def _abilities(self, theta: FloatArray, covariance: JointCovariance | None) -> Abilities:
        n = self.seen.size
        estimate, error, full = np.full(n, np.nan), None, None
        estimate[self.seen] = theta
        if covariance is not None:
            error = np.full(n, np.nan)
            error[self.seen] = np.sqrt(covariance.theta)
            if covariance.theta_full is not None:
                full = np.full((n, n), np.nan)
                full[np.ix_(self.seen, self.seen)] = covariance.theta_full
        return Abilities(
            self.responses.person_ids, estimate, error, method="MAP", scale="logit",
            uncertainty="items estimated", status=person_status(self.responses), covariance=full,
        )  # fmt: skip

    def _statistics(self, theta: FloatArray, covariance: JointCovariance | None) -> dict[str, float]:
        out = {"penalised_log_likelihood": -self.optimum.at.value}
        if covariance is None:
            return out
        out["ability_mean_square"] = float(np.mean(theta**2 + covariance.theta))
        effective = self._effective_parameters(covariance)
        out["effective_parameters"] = effective
        observed = int(np.count_nonzero(self.objective.trials))
        if not self.responses.is_binary and observed > effective:
            chi_squared = 0.0
            for _, g, w in self.objective.cell_curvature(self.optimum.at):
                chi_squared += float(np.divide(g**2, w, out=np.zeros_like(g), where=w > 0).sum())
            out["overdispersion_ratio"] = chi_squared / (observed - effective)
        return out

    def _effective_parameters(self, covariance: JointCovariance) -> float:
        """Parameters minus the share the priors supply: P - trace(prior precision x covariance)."""
        _, u, d = self.objective.split(self.optimum.at.point)
        _, _, slope = self.objective.penalty.slope_terms(u)
        _, _, location, _ = self.objective.penalty.location_terms(self.objective.log_slopes(u), d)
        supplied = self.objective.ability_precision * float(covariance.theta.sum())
        supplied += slope * float(covariance.items[: u.size, 0, 0].sum())
        supplied += float(np.einsum("jpq,jpq->", location, covariance.items))
        return self.objective.n_parameters - supplied

    def _convergence(self, tolerance: float) -> Convergence:
        found = self.optimum
        if self.published:
            tolerance = PUBLISHED_FTOL
        return Convergence(
            "converged" if found.converged else "interrupted" if found.interrupted else "iteration_limit",
            iterations=found.iterations,
            last_change=found.last_change,
            tolerance=tolerance,
            gradient=found.gradient,
            messages=(found.message,) if found.message else (),
        )

    def _findings(
        self, items: ItemParameters, statistics: dict[str, float], *, saddle: bool
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        responses, objective = self.responses, self.objective
        failures, warnings = map_checks.slope_findings(responses, items, objective.slopes)
        held = map_checks.HELD if objective.penalty.location is not None else map_checks.LEFT_OUT
        warnings += map_checks.constant_warning(items.status, held)
        warnings += map_checks.link_warning(responses, items, objective)
        if objective.slopes == "free":
            warnings += factor_warning(responses, "positive")
        if self.published:
            warnings += (
                f"The published rule stopped the search at a gradient of {self.optimum.gradient:.3g}: this is where it "
                'stops, not the maximum. stopping="converged" finds the maximum.',
            )
        elif saddle and self.optimum.converged:
            failures += ("The search ended at a saddle point, not at a maximum.",)
        if self.optimum.interrupted:
            warnings += (map_checks.interrupted_warning(self.optimum.iterations),)
        if self.optimum.stood_still:
            failures += (
                f"The search stood still after {self.optimum.iterations} iterations with a gradient of "
                f"{self.optimum.gradient:.3g}: no step along its last direction made progress.",
            )
        if not saddle:
            warnings += map_checks.spread_warning(responses, statistics["ability_mean_square"], objective)
            warnings += map_checks.overdispersion_warning(statistics.get("overdispersion_ratio", 0.0))
        return failures, warnings

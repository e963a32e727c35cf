"""From the joint mode to the result: every person and item in place, errors by the delta method, and what to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native import map_checks
from psychoeval.estimators.native.map_errors import JointCovariance, NotAMinimumError, joint_covariance
from psychoeval.estimators.native.map_hessian import arrow_hessian
from psychoeval.estimators.native.map_objective import FloatArray, JointObjective
from psychoeval.estimators.native.map_steps import PUBLISHED_FTOL, PUBLISHED_ITERATIONS, Optimum
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters, ItemStatus
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import person_status
from psychoeval.results.convergence import Convergence
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

    def result(self, estimator: str, tolerance: float, max_iterations: int) -> FitResult:
        """Return the result under the name `estimator`, judged against the tolerance and limit of the search."""
        theta, u, d = self.objective.split(self.optimum.at.point)
        rasch = self.model.name == "Rasch"
        try:
            covariance = joint_covariance(arrow_hessian(self.objective, self.optimum.at))
        except NotAMinimumError:
            covariance = None
        items = self._items(u, d, covariance, rasch=rasch)
        statistics = self._statistics(theta, covariance)
        common = float(np.exp(u[0])) if self.objective.common_slope else None
        sd_error = None if covariance is None or common is None else common * float(np.sqrt(covariance.items[0, 0, 0]))
        failures, warnings = self._findings(items, statistics, covariance, common)
        return FitResult(
            estimator=estimator,
            model=self.model,
            convergence=self._convergence(tolerance, max_iterations).judged(failures, warnings),
            provenance=Provenance(engine="numpy"),
            abilities=self._abilities(theta, u, covariance, rasch=rasch),
            item_parameters=items,
            latent_distribution=LatentDistribution(
                sd=common if rasch and common is not None else 1.0, sd_standard_error=sd_error if rasch else None
            ),
            log_likelihood=-self.optimum.at.loss,
            log_likelihood_kind="joint",
            n_parameters=self.objective.n_parameters,
            statistics=statistics,
        )

    def _items(
        self, u: FloatArray, d: FloatArray, covariance: JointCovariance | None, *, rasch: bool
    ) -> ItemParameters:
        j = self.kept.size
        a = np.broadcast_to(1.0 if rasch else np.exp(u), d.shape)
        slopes, intercepts = np.full(j, np.nan), np.full(j, np.nan)
        slopes[self.kept], intercepts[self.kept] = a, d
        blocks = None
        if covariance is not None:
            blocks = np.full((j, 3, 3), np.nan)
            scale = np.column_stack([np.zeros(d.size) if rasch else a, np.ones(d.size)])
            inner = np.zeros((d.size, 3, 3))
            inner[:, :2, :2] = covariance.items * scale[:, :, None] * scale[:, None, :]
            blocks[self.kept] = inner
        status = self.item_status
        if not self.objective.common_slope:
            away = map_checks.runaway_items(slopes, intercepts)
            status = tuple("runaway" if r and s == "estimated" else s for r, s in zip(away, status, strict=True))
        guessing = np.where(self.kept, 0.0, np.nan)
        return ItemParameters(
            self.responses.item_ids, slopes, intercepts, guessing, blocks, status,
            "" if covariance is not None else NO_ERRORS,
        )  # fmt: skip

    def _abilities(
        self, theta: FloatArray, u: FloatArray, covariance: JointCovariance | None, *, rasch: bool
    ) -> Abilities:
        n = self.seen.size
        estimate, error, full = np.full(n, np.nan), None, None
        unit = float(np.exp(u[0])) if rasch else 1.0
        estimate[self.seen] = unit * theta
        if covariance is not None:
            variance, kept_full = covariance.theta, covariance.theta_full
            if rasch and covariance.theta_u is not None:  # a theta, delta method in (theta, log a)
                shared, spread = covariance.theta_u, covariance.items[0, 0, 0]
                variance = unit**2 * (variance + 2 * theta * shared + theta**2 * spread)
                if kept_full is not None:
                    outer = np.multiply.outer(theta, shared)
                    kept_full = unit**2 * (kept_full + outer + outer.T + np.multiply.outer(theta, theta) * spread)
            error = np.full(n, np.nan)
            error[self.seen] = np.sqrt(variance)
            if kept_full is not None:
                full = np.full((n, n), np.nan)
                full[np.ix_(self.seen, self.seen)] = kept_full
        return Abilities(
            self.responses.person_ids, estimate, error, method="MAP", scale="logit",
            status=person_status(self.responses), covariance=full,
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
        _, _, location, _ = self.objective.penalty.location_terms(np.broadcast_to(u, d.shape), d)
        supplied = float(covariance.theta.sum()) + slope * float(covariance.items[: u.size, 0, 0].sum())
        supplied += float(np.einsum("jpq,jpq->", location, covariance.items))
        return self.objective.n_parameters - supplied

    def _convergence(self, tolerance: float, max_iterations: int) -> Convergence:
        found = self.optimum
        if self.published:
            tolerance, max_iterations = PUBLISHED_FTOL, PUBLISHED_ITERATIONS
        out = Convergence(
            "converged" if found.converged else "iteration_limit",
            iterations=found.iterations,
            last_change=found.last_change,
            tolerance=tolerance,
            gradient=found.gradient,
            messages=(found.message,) if found.message else (),
        )
        if found.converged or found.iterations >= max_iterations:
            return out
        sentence = (
            f"The search stood still after {found.iterations} iterations with a gradient of {found.gradient:.3g}: the "
            "objective is so steep in some directions that rounding hides all progress."
        )
        return out.judged((sentence,))

    def _findings(
        self, items: ItemParameters, statistics: dict[str, float],
        covariance: JointCovariance | None, common: float | None,
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:  # fmt: skip
        failures: tuple[str, ...] = ()
        warnings = map_checks.constant_warning(
            self.responses, self.item_status, estimated=self.objective.penalty.location is not None
        )
        warnings += map_checks.disconnected_warning(self.responses)
        if common is None:
            failures, remarks = map_checks.slope_findings(self.responses, items.discrimination, items.intercept)
            warnings += remarks + map_checks.factor_warning(self.responses)
        if self.published:
            warnings += (
                f"The published rule stopped the search at a gradient of {self.optimum.gradient:.3g}: this is where it "
                'stops, not the maximum. stopping="converged" finds the maximum.',
            )
        if covariance is None:
            if not self.published and self.optimum.converged:
                failures += ("The search ended at a saddle point, not at a maximum.",)
            return failures, warnings
        warnings += map_checks.spread_warning(
            self.responses, statistics["ability_mean_square"], common, rasch=self.model.name == "Rasch"
        )
        return failures, warnings + map_checks.overdispersion_warning(statistics.get("overdispersion_ratio", 0.0))

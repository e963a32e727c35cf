"""From the maximum of the marginal likelihood to the result: everyone in place, errors, and what to know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.map_checks import interrupted_warning, overdispersion_warning, with_runaways
from psychoeval.estimators.native.mml_abilities import ItemUncertainty, Scorer, few_persons
from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_covariance import NO_MAXIMUM, ItemErrors, item_errors
from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_search import Maximum
from psychoeval.estimators.native.modeled import Modeled
from psychoeval.irt.curves import pearson_chi_squared, probability
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import UNSTABLE_SLOPE, Abilities, AbilityMethod, ItemParameters
from psychoeval.irt.quadrature import Posterior
from psychoeval.irt.score_equations import KnownItems
from psychoeval.results.convergence import Convergence, ConvergenceStatus
from psychoeval.results.data_checks import Slopes, disconnected_warning, factor_warning
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.grid_checks import judge_unit
from psychoeval.results.item_checks import judge_guessing, judge_items
from psychoeval.results.judgement import Judgement
from psychoeval.results.provenance import Provenance

FloatArray = NDArray[np.float64]

STATUS: Final[dict[str, ConvergenceStatus]] = {
    "converged": "converged",
    "iteration_limit": "iteration_limit",
    "interrupted": "interrupted",
    "stood_still": "failed_check",
}
NOT_ASKED: Final = "No standard errors were asked for."
CARRIED: Final = "items' errors carried in, in the frame of these persons (their mean and SD)"
GIVEN: Final = "items held fixed at their estimates"
Errors = Literal["auto", "full", "blocks", "none"]
#: Of a spline of an empirical distribution: fewer than one person in a million.
NO_WEIGHT: Final = 1e-6
AS_IN: Final = "(priors='hierarchical')"
MORE: Final = "allow more (max_iterations=), or hold"
HOLD: Final = f"Hold the items by priors {AS_IN}, or fit a smaller model"
#: Below so many persons a 3PL with free guessing is poorly determined: c runs to 0 or .4 (600 x 15, c = .25).
FREE_GUESSING_MIN_PERSONS: Final = 1000


@dataclass(frozen=True, eq=False)
class Report:
    """From the maximum over the items that take part to the result of all.

    Parameters
    ----------
    data : Modeled
    model : ItemModel
    form : Form
    cells : Cells
    maximum : Maximum
    errors : {"auto", "full", "blocks", "none"}
    ability_method : str
    item_uncertainty : {"auto", True, False}
        Whether errors of abilities hold those of the items.
    """

    data: Modeled
    model: ItemModel
    form: Form
    cells: Cells
    maximum: Maximum
    errors: Errors
    ability_method: AbilityMethod
    item_uncertainty: ItemUncertainty

    @cached_property
    def sign(self) -> float:
        """-1 where the answer is turned so that more ability means more success, else 1."""
        proportion = self.cells.successes.sum(axis=1) / self.cells.trials.sum(axis=1)
        mean = self.maximum.counts.mean
        return -1.0 if self.form.signed and np.dot(mean - mean.mean(), proportion) < 0 else 1.0

    @cached_property
    def unit(self) -> float:
        """The latent SD that is reported: the common slope for the Rasch model, else 1."""
        return float(self._a[0]) if self.model.name == "Rasch" else 1.0

    @cached_property
    def _a(self) -> FloatArray:
        return self.sign * self.form.discrimination(self.maximum.point)

    def result(self, estimator: str, tolerance: float) -> FitResult:
        """Return the result under the name `estimator`, judged against the tolerance of the search."""
        counts = self.maximum.counts
        items, sd_error = self._items()
        return FitResult(
            estimator=estimator,
            model=self.model,
            convergence=self._convergence(tolerance, items),
            provenance=Provenance(engine="numpy", details=self._details()),
            abilities=self._abilities(),
            item_parameters=items,
            latent_distribution=self._law(sd_error),
            log_likelihood=counts.log_likelihood,
            log_likelihood_kind="marginal",
            n_parameters=self.model.n_parameters(self.cells.n_items) + self._law_parameters(),
            n_persons=self.cells.n_persons,
            statistics=self._statistics(),
        )

    def _law(self, sd_error: float | None) -> LatentDistribution:
        law = self.maximum.law
        if law.weights is None:
            return LatentDistribution(sd=self.unit, sd_standard_error=sd_error)
        theta = self.maximum.counts.nodes.theta
        density = np.exp(law.log_density(theta))
        nodes = self.unit * self.sign * theta
        order = np.argsort(nodes)
        return LatentDistribution(0.0, self.unit, nodes[order], (density / density.sum())[order], sd_error)

    def _law_parameters(self) -> int:
        """Splines with weight, less one for their sum and two for origin and unit."""
        weights = self.maximum.law.weights
        return 0 if weights is None else max(0, int(np.count_nonzero(weights > NO_WEIGHT)) - 3)

    def _items(self) -> tuple[ItemParameters, float | None]:
        point = self.maximum.point
        a, d, c = self._a, point[:, 1], self.form.asymptote(point)
        if self.model.name == "Rasch":
            a = np.ones_like(a)
        errors = self._errors
        sd_error = blocks = None
        if errors.blocks is not None:
            blocks = errors.blocks.copy()
            if self.model.name == "Rasch":
                sd_error = float(np.sqrt(blocks[0, 0, 0]))
                blocks[:, 0, :] = blocks[:, :, 0] = 0.0
        fill = self.data.fill_items
        slopes, intercepts = fill(a), fill(d)
        status = with_runaways(self.data.item_status, slopes, intercepts)
        items = ItemParameters(
            self.data.responses.item_ids, slopes, intercepts, fill(c), None if blocks is None else fill(blocks), status,
            errors.because, errors.joint, errors.labels,
        )  # fmt: skip
        return items, sd_error

    @cached_property
    def _errors(self) -> ItemErrors:
        if self.errors == "none":
            return ItemErrors(None, because=NOT_ASKED)
        ids = [i for i, kept in zip(self.data.responses.item_ids, self.data.items, strict=True) if kept]
        return item_errors(self.cells, self.form, self.maximum, self.sign, self.errors, ids)

    @cached_property
    def _carries_items(self) -> bool:
        """Whether errors of abilities hold those of the items."""
        asked = self.item_uncertainty
        asked = self.cells.n_persons < few_persons(self.model) if asked == "auto" else asked
        return asked and self._errors.blocks is not None

    @cached_property
    def _scorer(self) -> Scorer:
        point = self.maximum.point
        items = KnownItems(self._a, point[:, 1], self.form.asymptote(point))
        empirical = self.maximum.law.weights is not None
        return Scorer(self.cells, items, self.maximum.counts, self.sign, self.ability_method, empirical)

    def _abilities(self) -> Abilities:
        estimate, error = self._scorer.scores()
        if self._carries_items:
            error = np.sqrt(error**2 + self._items_share(estimate))
        fill = self.data.fill_persons
        return Abilities(
            self.data.responses.person_ids, fill(self.unit * estimate), fill(self.unit * error),
            method=self.ability_method, scale="logit", status=self.data.ability_status(estimate),
            uncertainty="items estimated" if self._carries_items else "items fixed",
        )  # fmt: skip

    def _items_share(self, estimate: FloatArray) -> FloatArray:
        assert self._errors.blocks is not None
        blocks = np.nan_to_num(self._errors.blocks)  # what stopped at a bound is taken as known
        is_rasch = self.model.name == "Rasch"
        if is_rasch:  # its unit is the logit, and the common slope the latent SD
            blocks[:, 0, :] = blocks[:, :, 0] = 0.0
        return self._scorer.items_share(estimate, blocks, unit_known=is_rasch)

    def _statistics(self) -> dict[str, Any]:
        counts = self.maximum.counts
        error = float(np.mean(counts.sd**2))
        spread = float(np.var(counts.mean, ddof=1)) if counts.mean.size > 1 else 0.0
        out: dict[str, Any] = {
            "empirical_reliability": spread / (spread + error),
            "marginal_reliability": 1.0 - error,
            "standard_errors": f"abilities: {CARRIED if self._carries_items else GIVEN}",
        }
        if self.model.is_penalised:
            out["penalised_log_likelihood"] = self.maximum.objective
            out["log_prior"] = self.maximum.objective - counts.log_likelihood
        if not self.data.responses.is_binary:
            out["overdispersion_ratio"] = self._overdispersion()
        return out

    def _overdispersion(self) -> float:
        """Pearson's chi-squared at the EAPs over cells minus parameters and persons; NaN without freedom."""
        point, cells = self.maximum.point, self.cells
        total, observed = 0.0, 0
        for rows in cells.person_blocks():
            theta = self.sign * self.maximum.counts.mean[rows]
            p = probability(theta, self._a, point[:, 1], self.form.asymptote(point))
            x, n = cells.floats(rows), cells.trials[rows].astype(np.float64)
            total += pearson_chi_squared(x, n, p)
            observed += int(np.count_nonzero(n))
        freedom = observed - self.model.n_parameters(cells.n_items) - cells.n_persons
        return total / freedom if freedom > 0 else float("nan")

    def _convergence(self, tolerance: float, items: ItemParameters) -> Convergence:
        maximum = self.maximum
        gradient = np.where(maximum.pinned, 0.0, maximum.gradient)
        if self.form.slopes == "common":
            gradient = np.append(gradient[:, 0].sum(), gradient[:, 1])
        people = f"{self.data.responses.person_label}s"
        found = judge_items(items, people, penalised=self.model.is_penalised)
        if not self.model.is_penalised:
            found += judge_guessing(items)
        else:
            counts = maximum.counts
            posterior = Posterior(np.zeros(0), counts.mean, counts.sd, np.zeros(0))
            found += judge_unit(posterior, LatentDistribution())
        part = self.data.part
        link = "Only the assumption that all abilities come from one distribution links them"
        found += Judgement(
            self._failures(),
            (
                *factor_warning(part, _slopes(self.form)),
                *(() if self.cells.equal_trials else disconnected_warning(part, link)),
                *self._remarks(items, people),
            ),
        )
        found += self._scorer.judged()
        return Convergence(
            STATUS[maximum.ended],
            iterations=len(maximum.path) - 1,
            last_change=maximum.last_change if np.isfinite(maximum.last_change) else None,
            tolerance=tolerance,
            gradient=float(np.abs(gradient).max()),
        ).judged(found.failures, found.warnings)

    def _failures(self) -> tuple[str, ...]:
        if self.maximum.ended == "stood_still":
            return (
                f"The search stood still after {len(self.maximum.path) - 1} iterations: no step made the likelihood "
                f"larger. {'Fit a smaller model' if self.model.is_penalised else HOLD}.",
            )
        return ()

    def _remarks(self, items: ItemParameters, people: str) -> tuple[str, ...]:
        ended, n = self.maximum.ended, len(self.maximum.path) - 1
        out = []
        if ended == "iteration_limit":
            why = "slopes had run to their bound. Hold" if self.maximum.pinned[:, 0].any() else MORE
            out.append(f"EM stopped after {n} iterations, before it converged: {why} the items by priors {AS_IN}.")
        if ended == "interrupted":
            out.append(interrupted_warning(n))
        if self.model.guessing == "free" and self.cells.n_persons < FREE_GUESSING_MIN_PERSONS:
            out.append(
                f"Free guessing parameters from {self.cells.n_persons} {people} are hardly determined (they run to 0 "
                f"or to .4); below {FREE_GUESSING_MIN_PERSONS} give them a prior (the 3PL's default) or fix them."
            )
        if self.form.slopes == "common" and abs(float(self._a[0])) < UNSTABLE_SLOPE:
            out.append(
                f"The SD of the abilities is {abs(float(self._a[0])):.2g} (in logits of an item): no common factor was "
                f"found, and the {people} do not differ by more than chance. Check for reversed items and wrong keys."
            )
        if items.no_errors_because == NO_MAXIMUM:
            out.append(f"There are no standard errors: {NO_MAXIMUM} The answer may be a saddle point, or hold "
                       "parameters that the data do not determine.")  # fmt: skip
        if not self.data.responses.is_binary:
            out.extend(overdispersion_warning(self._statistics()["overdispersion_ratio"]))
        return tuple(out)

    def _details(self) -> dict[str, Any]:
        nodes = self.maximum.counts.nodes
        return {
            "grid_nodes": int(nodes.theta.size),
            "grid_step": nodes.step,
            "grid_low": float(nodes.theta[0]),
            "grid_high": float(nodes.theta[-1]),
            "threads": self.cells.n_threads,
            "flipped": self.sign < 0,
        }


def _slopes(form: Form) -> Slopes:
    if form.slopes == "common":
        return "equal"
    return "free" if form.signed else "positive"

"""From the variational posterior to the result: everyone in place, its SDs, and what to know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.map_checks import (
    HELD,
    constant_warning,
    interrupted_warning,
    overdispersion_warning,
    with_runaways,
)
from psychoeval.estimators.native.map_objective import row_blocks
from psychoeval.estimators.native.modeled import Modeled
from psychoeval.estimators.native.variational_search import Optimum
from psychoeval.estimators.native.variational_steps import Factors, MeanField
from psychoeval.irt.curves import pearson_chi_squared, probability
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.convergence import Convergence
from psychoeval.results.data_checks import disconnected_warning, factor_warning
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.item_checks import judge_guessing, judge_items
from psychoeval.results.judgement import Judgement
from psychoeval.results.provenance import Provenance

FloatArray = NDArray[np.float64]

#: Root mean squared error over standard error, of benchmarks/vi_recovery.py, 30 x 100 to 1000 x 100.
TOO_SMALL: Final = {
    "1PL": "abilities were off by 1.07 to 1.14 times their standard errors, difficulties by 1.15 to 1.3 times, the "
    "common slope by 1.1 to 5.9 times",
    "2PL": "abilities were off by 1.1 to 1.2 times their standard errors, slopes by 1.07 to 1.9 times, difficulties by "
    ".94 to 1.2 times",
    "3PL": "abilities were off by 1.3 to 1.5 times their standard errors, slopes by 1.4 to 4.8 times, difficulties by "
    "1.3 to 3.3 times",
}
INSTEAD: Final = "Take an estimator whose intervals hold (mml), and this one for ranks."


@dataclass(frozen=True, eq=False)
class Report:
    """From the optimum over those who take part to the result of all.

    Parameters
    ----------
    taking : Modeled
    model : ItemModel
    problem : MeanField
    optimum : Optimum
    """

    taking: Modeled
    model: ItemModel
    problem: MeanField
    optimum: Optimum

    @property
    def _factors(self) -> Factors:
        return self.optimum.sweep.at

    @cached_property
    def _guessing(self) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and variance of c, (J,) each."""
        j, factor = self.problem.n_items, self.problem.guessing
        return (np.zeros(j), np.zeros(j)) if factor is None else factor.moments(self._factors.guessing, j)

    def result(self, estimator: str, tolerance: float) -> FitResult:
        """Return the result under the name `estimator`."""
        sweep, taking = self.optimum.sweep, self.taking
        items = self._items()
        statistics = {
            "expected_log_likelihood": sweep.elbo + sweep.ability_divergence + sweep.item_divergence,
            "ability_divergence": sweep.ability_divergence,
            "item_divergence": sweep.item_divergence,
        }
        if not taking.part.is_binary:
            statistics["overdispersion_ratio"] = self._overdispersion()
        found = self._findings(items, statistics.get("overdispersion_ratio", 0.0))
        return FitResult(
            estimator=estimator,
            model=self.model,
            convergence=self._convergence(tolerance).judged(found.failures, found.warnings),
            provenance=Provenance(engine="numpy"),
            abilities=Abilities(
                taking.responses.person_ids,
                taking.fill_persons(self._factors.theta),
                taking.fill_persons(np.exp(self._factors.theta_log_sd)),
                method="EAP",
                status=taking.person_status,
            ),
            item_parameters=items,
            latent_distribution=LatentDistribution(),
            log_likelihood=sweep.elbo,
            log_likelihood_kind="elbo",
            n_parameters=self.model.n_parameters(self.problem.n_items),
            statistics=statistics,
        )

    def _items(self) -> ItemParameters:
        factors, taking = self._factors, self.taking
        first, second = factors.slope_moments
        c, c_variance = self._guessing
        blocks = np.zeros((first.size, 3, 3))
        blocks[:, 0, 0] = second - first**2
        blocks[:, 1, 1] = np.exp(2 * factors.intercept_log_sd)
        blocks[:, 2, 2] = c_variance
        a, d = taking.fill_items(first), taking.fill_items(factors.intercept)
        return ItemParameters(
            taking.responses.item_ids, a, d, taking.fill_items(c), taking.fill_items(blocks),
            with_runaways(taking.item_status, a, d),
        )  # fmt: skip

    def _overdispersion(self) -> float:
        """Pearson's chi-squared at the posterior means over its degrees of freedom; NaN without any."""
        factors, problem = self._factors, self.problem
        a, (c, _) = factors.slope_moments[0], self._guessing
        chi_squared, observed = 0.0, 0
        for rows in row_blocks(problem.n_persons, problem.n_items):
            x, n = problem.successes[rows].astype(np.float64), problem.trials[rows].astype(np.float64)
            p = probability(factors.theta[rows], a, factors.intercept, c)
            chi_squared += pearson_chi_squared(x, n, p)
            observed += int(np.count_nonzero(n))
        freedom = observed - problem.n_persons - self.model.n_parameters(problem.n_items)
        return chi_squared / freedom if freedom > 0 else float("nan")

    def _convergence(self, tolerance: float) -> Convergence:
        found = self.optimum
        return Convergence(
            "converged" if found.converged else "interrupted" if found.interrupted else "iteration_limit",
            iterations=found.iterations,
            last_change=found.last_change,
            tolerance=tolerance,
        )

    def _findings(self, items: ItemParameters, overdispersion: float) -> Judgement:
        responses, part = self.taking.responses, self.taking.part
        failures: tuple[str, ...] = ()
        if not np.isfinite(self.optimum.sweep.next.vector).all():
            failures = ("The bound overflowed: the priors put slopes where exp(log a) has no number.",)
        too_small = (
            "Standard errors of vi are too small, because its posterior takes abilities and items as independent and "
            f"is bounded once more: on simulated {self.model.name} data {TOO_SMALL[self.model.name]}. {INSTEAD}"
        )
        found = Judgement(failures, (too_small,))
        if self.optimum.interrupted:
            found += Judgement(warnings=(interrupted_warning(self.optimum.iterations),))
        elif not (self.optimum.converged or failures):
            bounds = self.optimum.bounds
            rise = bounds[-1] - bounds[max(-2, -len(bounds))]
            found += Judgement(
                warnings=(
                    f"After {self.optimum.iterations} sweeps one more still moves a parameter by "
                    f"{self.optimum.last_change:.2g}; the bound last rose by {rise:.2g}. "
                    "Raise max_iterations, or accept it where both are small.",
                )
            )
        found += judge_items(items, f"{responses.person_label}s", penalised=True)
        if self.model.guessing_is_estimated:
            found += judge_guessing(items)
        return found + Judgement(
            warnings=constant_warning(items.status, HELD)
            + disconnected_warning(part, "Only the priors link them")
            + factor_warning(part, "equal" if self.model.name == "1PL" else "positive")
            + overdispersion_warning(overdispersion)
        )

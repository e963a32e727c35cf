"""From the item-marginal optimum to the result: everyone in place, errors, and what to know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.map_checks import constant_warning, interrupted_warning, overdispersion_warning
from psychoeval.estimators.native.modeled import Modeled
from psychoeval.estimators.native.random_item_cells import Cells
from psychoeval.estimators.native.random_item_population import LOG_SLOPE_SD, LOGIT_GUESSING, SIZE, SMALLEST_SD
from psychoeval.estimators.native.random_item_search import Optimum
from psychoeval.estimators.native.random_item_steps import Evaluation, Rule, evaluate
from psychoeval.irt.curves import pearson_chi_squared, probability
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.convergence import Convergence, ConvergenceStatus
from psychoeval.results.data_checks import disconnected_warning, factor_warning
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance
from psychoeval.wording import some

FloatArray = NDArray[np.float64]
Sentences = tuple[str, ...]

#: SDs below 0 of an item's posterior mean of log a, over items of the population: reversed items gave 2.8 to 4.4 (60 x
#: 500 to 100 x 300), of 5,000 others the lowest 2.7.
FLAT_ITEM: Final = 3.0
#: Standard error of the logarithm of the slopes' SD from which errors of slopes are too small: with .1 (100 x 300) 95 %
#: intervals are covered at .93, with .15 to .2 at .89 to .92, with .4 and more (30 x 100) at .86.
UNKNOWN_SLOPE_SD: Final = 0.2
#: Standard error of a logarithm from which a quantity is not known at all: without curvature, or where the evidence
#: bends the wrong way, errors are a million.
UNKNOWN: Final = 100.0
HELD_BY_POPULATION: Final = ": their finite parameters come from the population of items."
#: Gradient of the evidence, in log units a logit or unit of a logarithm, from which a search that stands still has
#: failed: below it a tenth of a unit gains less than .001. With guessing, 7 nodes leave 2e-3 open, and one search in
#: eight stood still at 1e-6 to 2e-3 (30 x 100).
NO_MAXIMUM: Final = 1e-2
#: Persons up to which the covariance of all abilities is stored.
MAX_COVARIANCE: Final = 2000


@dataclass(frozen=True, eq=False)
class Report:
    """From the optimum over those who take part to the result of all.

    Parameters
    ----------
    taking : Modeled
    model : ItemModel
    cells : Cells
    optimum : Optimum
    n_free : int
        Parameters of the population and the abilities' distribution.
    points : int
        Nodes a dimension.
    """

    taking: Modeled
    model: ItemModel
    cells: Cells
    optimum: Optimum
    n_free: int
    points: int

    @property
    def _is_rasch(self) -> bool:
        return self.model.name == "Rasch"

    @property
    def _unit(self) -> float:
        """SD of the abilities in the search, and the factor from its slopes to those reported; 1 for Rasch."""
        return 1.0 if self._is_rasch else self.optimum.point.sd

    @cached_property
    def _t(self) -> FloatArray:
        """Posterior means of the abilities given the population, to first order: t - H^-1 (log det H)' / 2, (N,).

        The mode lies below them on the scale's unit by N var(log a) / J, since N abilities shrink at a time: .04 at
        100 x 200, more than their own error where trials are many.
        """
        point = self.optimum.point
        return point.t + 0.5 * point.spread @ point.at.bend[: point.t.size] if point.is_maximum else point.t

    @cached_property
    def _at(self) -> Evaluation:
        """The items' posteriors given these abilities."""
        point = self.optimum.point
        rule = Rule.of(self.points, has_slopes=point.population.has_slopes)
        return evaluate(self.cells, self._t, point.population, rule, point.at.modes)

    def result(self, estimator: str, tolerance: float) -> FitResult:
        """Return the result under the name `estimator`."""
        point = self.optimum.point
        latent = LatentDistribution()
        if self._is_rasch:
            error = float(self._population_errors[SIZE])
            latent = LatentDistribution(sd=point.sd, sd_standard_error=point.sd * error if error < UNKNOWN else None)
        return FitResult(
            estimator=estimator,
            model=self.model,
            convergence=self._convergence(tolerance).judged(*self._findings()),
            provenance=Provenance(engine="numpy"),
            abilities=self._abilities(),
            item_parameters=self._items(),
            latent_distribution=latent,
            log_likelihood=point.at.log_likelihood,
            log_likelihood_kind="item_marginal",
            n_parameters=point.t.size + self.n_free,
            statistics=self.statistics(),
        )

    def statistics(self) -> dict[str, float]:
        """Return the population and the evidence.

        ``log_slope_mean``, ``log_slope_sd``, ``intercept_mean``, ``intercept_sd``, ``slope_intercept_correlation`` (or
        ``difficulty`` for ``intercept``) and ``guessing`` of the population where the model has them;
        ``ability_log_prior``, sum log N(theta; 0, 1); ``log_evidence``: abilities integrated out (Laplace), the k
        parameters of the population charged k/2 log(items) as in BIC: the larger, the better the model, by the
        difference in log units; for counts, ``overdispersion_ratio``, Pearson's chi-squared over its degrees of
        freedom, NaN without any.
        """
        point, population = self.optimum.point, self.optimum.point.population
        covariance = population.covariance
        location, sign, unit = "intercept", 1.0, 1.0
        if population.by_difficulty:
            location, sign, unit = "difficulty", -1.0, self._unit
        out: dict[str, float] = {}
        if population.has_slopes:
            out["log_slope_mean"] = point.log_sd
            out["log_slope_sd"] = float(np.sqrt(covariance[0, 0]))
            correlation = float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))
            out[f"slope_{location}_correlation"] = sign * correlation
        out[f"{location}_mean"] = sign * float(population.mean[1]) / unit
        out[f"{location}_sd"] = float(np.sqrt(covariance[1, 1])) / unit
        if population.has_guessing:
            out["guessing"] = population.guessing
        out["ability_log_prior"] = point.ability_log_density + point.t.size * point.log_sd
        out["log_evidence"] = point.evidence - 0.5 * self.n_free * float(np.log(self.cells.shape[1]))
        if not self.taking.part.is_binary:
            out["overdispersion_ratio"] = self._overdispersion
        return out

    @cached_property
    def _population_errors(self) -> FloatArray:
        """Standard errors of the population parameters and the log SD, (6,), abilities following."""
        point, out = self.optimum.point, np.zeros(SIZE + 1)
        values, vectors = np.linalg.eigh(point.curvature[np.ix_(point.free, point.free)])
        out[point.free] = np.sqrt(vectors**2 @ (1.0 / np.maximum(values, 1e-12)))
        return out

    @cached_property
    def _overdispersion(self) -> float:
        means, t = self._at.means, self._t
        c = self.optimum.point.population.guessing
        chi_squared, observed = 0.0, 0
        for items, x, n in self.cells.blocks(1):
            p = probability(t, np.exp(means[items, 0]), means[items, 1], c)
            chi_squared += pearson_chi_squared(x, n, p)
            observed += int(np.count_nonzero(n))
        persons, items_ = self.cells.shape
        freedom = observed - persons - items_ * (1 if self._is_rasch else 2)
        return chi_squared / freedom if freedom > 0 else float("nan")

    def _items(self) -> ItemParameters:
        at, population = self._at, self.optimum.point.population
        j = at.means.shape[0]
        a = self._unit * np.exp(at.means[:, 0])
        blocks = np.zeros((j, 3, 3))
        blocks[:, :2, :2] = at.covariances
        blocks[:, 0, :] *= a[:, None]
        blocks[:, :, 0] *= a[:, None]
        c = population.guessing
        if population.free[LOGIT_GUESSING]:
            blocks[:, 2, 2] = (c * (1.0 - c) * self._population_errors[LOGIT_GUESSING]) ** 2
        return ItemParameters(
            self.taking.responses.item_ids,
            self.taking.fill_items(a),
            self.taking.fill_items(at.means[:, 1]),
            self.taking.fill_items(np.full(j, c)),
            self.taking.fill_items(blocks),
            self.taking.item_status,
        )

    def _abilities(self) -> Abilities:
        point, taking = self.optimum.point, self.taking
        covariance = self._of_sample(point.spread) / self._unit**2
        if self._frame_is_all:
            covariance = np.full_like(covariance, np.nan)
        full = None
        if point.t.size <= MAX_COVARIANCE:
            n = taking.persons.size
            full = np.full((n, n), np.nan)
            full[np.ix_(taking.persons, taking.persons)] = covariance
        return Abilities(
            taking.responses.person_ids,
            taking.fill_persons(self._t / self._unit),
            taking.fill_persons(np.sqrt(np.maximum(np.diag(covariance), 0.0))),
            method="EAP",
            uncertainty="items estimated",
            status=taking.person_status,
            covariance=full,
        )

    @property
    def _frame_is_all(self) -> bool:
        """Whether the persons' own mean, and SD, are all that there is: one person's ability, or two persons'."""
        has_unit = not self._is_rasch and bool(np.ptp(self._t) > 0)
        return self._t.size <= 1 + has_unit

    def _of_sample(self, covariance: FloatArray) -> FloatArray:
        """Return the covariance (N, N) in the frame of these persons: of what is left beside their mean and SD.

        Where origin and unit of the abilities lie in the population's frame is another matter, and with many trials
        most of what `covariance` holds. The unit of the Rasch model is the logit.
        """
        n = len(covariance)
        z = self._t - self._t.mean()
        common = np.full((n, n), 1.0 / n)
        if not self._is_rasch and z.any():
            common += np.outer(z, z) / (z @ z)
        left = np.eye(n) - common
        return np.asarray(left @ covariance @ left)

    @property
    def _is_near(self) -> bool:
        """Whether the search stood still where nothing is left to gain, but above its tolerance."""
        return self.optimum.stood_still and self.optimum.point.largest_gradient < NO_MAXIMUM

    def _convergence(self, tolerance: float) -> Convergence:
        found = self.optimum
        status: ConvergenceStatus = "interrupted" if found.interrupted else "iteration_limit"
        return Convergence(
            "converged" if found.converged or self._is_near else status,
            iterations=found.iterations,
            last_change=found.last_change,
            tolerance=tolerance,
            gradient=found.point.largest_gradient,
        )

    def _findings(self) -> tuple[Sentences, Sentences]:
        taking, part, point = self.taking, self.taking.part, self.optimum.point
        failures: Sentences = ()
        if self.optimum.stood_still and not self._is_near:
            failures += (
                f"The search stood still after {self.optimum.iterations} iterations with a gradient of "
                f"{point.largest_gradient:.3g}: no step along its last direction made progress.",
            )
        if not point.is_maximum:
            failures += ("The abilities are not at a maximum where the search ended: they have no standard errors.",)
        warnings: Sentences = (interrupted_warning(self.optimum.iterations),) if self.optimum.interrupted else ()
        warnings += factor_warning(part, "equal" if self._is_rasch else "positive")
        if self._is_near:
            warnings += (
                f"The search ended at a gradient of {point.largest_gradient:.2g}, above the tolerance: what "
                f"{self.points} nodes a dimension leave open is more than a step gains. Raise quadrature_points to "
                "come nearer.",
            )
        warnings += disconnected_warning(part, "Only the distributions of abilities and of items link them")
        if self._frame_is_all:
            who = f"{self._t.size} {part.person_label}{'s' * (self._t.size > 1)}"
            warnings += (
                f"Abilities are in the frame of these persons, and of {who} that leaves nothing to have an error: "
                "there are no standard errors of abilities.",
            )
        warnings += self._flat_items() + self._spreads() + constant_warning(taking.item_status, HELD_BY_POPULATION)
        if not part.is_binary:
            warnings += overdispersion_warning(self._overdispersion)
        return failures, warnings

    def _flat_items(self) -> Sentences:
        """Return a warning that names items whose slope lies far below the population's."""
        population, at = self.optimum.point.population, self.optimum.point.at
        if not population.has_slopes:
            return ()
        variance = population.covariance[0, 0] - at.covariances[:, 0, 0]  # of posterior means, over items
        below = -at.means[:, 0] / np.sqrt(np.maximum(variance, SMALLEST_SD**2))
        flat = np.flatnonzero(below > FLAT_ITEM)
        if not flat.size:
            return ()
        flat = flat[np.argsort(-below[flat], kind="stable")]
        return (
            f"{flat.size} of {below.size} items pile up near slope 0, more than {FLAT_ITEM:g} SDs below what the "
            f"others lead to expect: {some([self.taking.part.item_ids[i] for i in flat])}. Slopes are positive because "
            "log a is estimated: look at their keys (a wrong key, reversed scoring), or leave them out.",
        )

    def _spreads(self) -> Sentences:
        population = self.optimum.point.population
        out: Sentences = ()
        sds = np.sqrt(np.diag(population.covariance))
        if population.has_slopes and self._population_errors[LOG_SLOPE_SD] > UNKNOWN_SLOPE_SD:
            out += (
                f"How much slopes differ is hardly determined (the SD of log a is {sds[0]:.2g}, the standard error of "
                f"its logarithm above {UNKNOWN_SLOPE_SD:g}). Errors of slopes take it as known and are too small: with "
                "30 persons on 100 items 95 % intervals of slopes held .86 of the true ones, .85 under the 3PL.",
            )
        if self._is_rasch and not self._population_errors[SIZE] < UNKNOWN:
            out += ("The error of the latent SD is not known: the evidence has no maximum along it.",)
        if sds[1] <= 1.01 * SMALLEST_SD:
            out += ("The locations' SD is estimated as 0: the items do not differ in difficulty.",)
        persons, items = self.cells.shape
        if items < persons:
            out += (
                f"There are fewer items ({items}) than {self.taking.part.person_label}s ({persons}), and "
                "the method is for the opposite: to estimate the population of the items, abilities are integrated out "
                "by Laplace's approximation, which wants many items. Take mml.",
            )
        return out

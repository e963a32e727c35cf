"""From the maximum over items and groups to the result: everyone in place, errors, and what to know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.concurrent_notes import Links, calibration_notes
from psychoeval.agreement.concurrent_result import Concurrent, GroupLaw
from psychoeval.estimators.native.map_checks import with_runaways
from psychoeval.estimators.native.mml_groups import Multigroup
from psychoeval.estimators.native.mml_groups_information import MOST_PARAMETERS, GroupCovariance, group_covariance
from psychoeval.estimators.native.mml_groups_search import GroupMaximum
from psychoeval.estimators.native.modeled import Modeled
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters, ItemStatus
from psychoeval.results.convergence import Convergence, ConvergenceStatus
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.results.item_checks import judge_guessing, judge_items

FloatArray = NDArray[np.float64]

STATUS: Final[dict[str, ConvergenceStatus]] = {
    "converged": "converged",
    "iteration_limit": "iteration_limit",
    "stood_still": "failed_check",
}
NOT_ASKED: Final = "No standard errors were asked for."
NO_MAXIMUM: Final = "The observed information is not positive definite where the search ended."


@dataclass(frozen=True, eq=False)
class Assembly:
    """The parts of a result.

    Parameters
    ----------
    data : Modeled
    model : ItemModel
    names : tuple of str, length G
    codes : (N,) int array
        Group of each person, of those that take no part too.
    problem : Multigroup
    found : GroupMaximum
    fixed : ItemParameters, optional
    at : (J,) int array
        Place of each item in `fixed`, or -1.
    errors : bool
    tolerance : float
    """

    data: Modeled
    model: ItemModel
    names: tuple[str, ...]
    codes: NDArray[np.intp]
    problem: Multigroup
    found: GroupMaximum
    fixed: ItemParameters | None
    at: NDArray[np.intp]
    errors: bool
    tolerance: float

    def result(self) -> Concurrent:
        """Return the result."""
        items, reference = self._items(), self.problem.reference
        responses = self.data.responses
        covariance = self._covariance
        return Concurrent(
            self.model,
            items,
            self._groups(),
            None if reference is None else self.names[reference],
            tuple(i for i, k in zip(responses.item_ids, self.at, strict=True) if k >= 0),
            self._abilities(),
            tuple(self.names[k] for k in self.codes),
            self.found.log_likelihood,
            self.found.objective - self.found.log_likelihood,
            n_parameters(self.problem, self.model),
            self._convergence(items),
            None if covariance is None else covariance.laws,
            self._notes(),
        )

    @cached_property
    def _unit(self) -> float:
        """Logits of the frame in one of the search: the common slope of a Rasch model."""
        where = self.found.where
        return float(np.exp(where.items[0, 0])) if self.model.name == "Rasch" and len(where.items) else 1.0

    @cached_property
    def _covariance(self) -> GroupCovariance | None:
        if not self.errors or self._too_many:
            return None
        return group_covariance(self.problem, self.found, unit_is_logit=self.model.name == "Rasch")

    @property
    def _too_many(self) -> bool:
        return self.problem.vector(self.found.where).size > MOST_PARAMETERS

    @property
    def _why_none(self) -> str:
        if not self.errors:
            return NOT_ASKED
        if self._too_many:
            return f"The information matrix is made for up to {MOST_PARAMETERS} rows: two an item, two a group."
        return NO_MAXIMUM if self._covariance is None else ""

    def _items(self) -> ItemParameters:
        ids, n, form = self.data.responses.item_ids, self.data.responses.n_items, self.problem.form
        taking = np.flatnonzero(self.data.items)
        free = taking[self.problem.free]
        values = np.full((n, 3), np.nan)
        point = self.found.where.items
        a = np.ones(len(point)) if self.model.name == "Rasch" else form.discrimination(point)
        values[free] = np.column_stack([a, point[:, 1], form.asymptote(point)])
        held = self.at >= 0
        if self.fixed is not None:
            given = (self.fixed.discrimination, self.fixed.intercept, self.fixed.guessing)
            values[held] = np.column_stack(given)[self.at[held]]
        found = self._covariance
        blocks = None
        if found is not None:
            blocks = np.full((n, 3, 3), np.nan)
            blocks[held], blocks[free] = 0.0, found.blocks
        labels = () if found is None else tuple((ids[free[j]] if j >= 0 else "", t) for j, t in found.labels)
        joint = None if found is None else found.joint
        return ItemParameters(
            ids, values[:, 0], values[:, 1], values[:, 2], blocks, self._status(values), self._why_none, joint, labels
        )

    def _status(self, values: FloatArray) -> tuple[ItemStatus, ...]:
        """Return the statuses of all items: what is held needs no variation."""
        known: tuple[ItemStatus, ...] = tuple(
            "estimated" if k >= 0 and s != "no_responses" else s
            for k, s in zip(self.at, self.data.item_status, strict=True)
        )
        return with_runaways(known, values[:, 0], values[:, 1])

    def _groups(self) -> tuple[GroupLaw, ...]:
        where, n, covariance = self.found.where, len(self.names), self._covariance
        mean, sd = self._unit * where.mean, self._unit * np.exp(where.log_sd)
        error = np.full(2 * n, np.nan) if covariance is None else np.sqrt(np.diag(covariance.laws))
        out = []
        for k, (name, group) in enumerate(zip(self.names, self.problem.groups, strict=True)):
            of_mean, of_sd = (float(e) if np.isfinite(e) and e > 0 else None for e in (error[k], error[n + k]))
            latent = LatentDistribution(float(mean[k]), float(sd[k]), sd_standard_error=of_sd)
            out.append(GroupLaw(name, group.cells.n_persons, group.columns.size, latent, of_mean))
        return tuple(out)

    def _abilities(self) -> Abilities:
        where, part = self.found.where, self.data.part
        estimate, error = np.empty(part.n_persons), np.empty(part.n_persons)
        for k, (group, counts) in enumerate(zip(self.problem.groups, self.found.counts, strict=True)):
            sd = float(np.exp(where.log_sd[k]))
            estimate[group.rows] = self._unit * (where.mean[k] + sd * counts.mean)
            error[group.rows] = self._unit * sd * counts.sd
        fill = self.data.fill_persons
        return Abilities(
            self.data.responses.person_ids, fill(estimate), fill(error), "EAP", status=self.data.person_status
        )

    def _convergence(self, items: ItemParameters) -> Convergence:
        found = self.found
        judged = judge_items(items, f"{self.data.responses.person_label}s", penalised=self.model.is_penalised)
        if not self.model.is_penalised:
            judged += judge_guessing(items)
        failures, warnings = judged.failures, judged.warnings
        if found.ended == "stood_still":
            failures += (f"The search stood still after {found.iterations} iterations: no step made it better.",)
        if found.ended == "iteration_limit":
            warnings += (f"EM stopped after {found.iterations} iterations, before it converged: allow more.",)
        if any(c.nodes.capped for c in found.counts):
            warnings += ("Steep slopes or many trials ask for more nodes than the limit: decimals may be off.",)
        if self.errors and not self._too_many and self._covariance is None:
            warnings += (f"There are no standard errors: {NO_MAXIMUM} The answer may be a saddle point.",)
        return Convergence(
            STATUS[found.ended], iterations=found.iterations,
            last_change=found.last_change if np.isfinite(found.last_change) else None,
            tolerance=self.tolerance, gradient=found.gradient,
        ).judged(failures, warnings)  # fmt: skip

    def _notes(self) -> tuple[str, ...]:
        groups = self.problem.groups
        runs = np.zeros((len(self.names), self.problem.free.size), dtype=bool)
        for k, group in enumerate(groups):
            runs[k, group.columns] = True
        sizes = [group.cells.n_persons for group in groups]
        links = Links(self.names, sizes, runs, ~self.problem.free, self.problem.reference)
        stopped = [n for n, p in zip(self.names, self.found.pinned_sd, strict=True) if p]
        return calibration_notes(self.data, self.model, links, self.fixed, stopped)


def n_parameters(problem: Multigroup, model: ItemModel) -> int:
    """Return the number of free parameters: of items, and means and SDs of groups."""
    free = int(problem.free.sum())
    # The one slope of fixed items is theirs; otherwise that, or the SD of a Rasch model, is counted with the items.
    own = free if problem.form.slope_is_known else model.n_parameters(free)
    return own + 2 * int(problem.moving.sum())

"""EM over items and the distributions of several groups, accelerated as that of one group is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.mml_form import STEEPEST
from psychoeval.estimators.native.mml_groups import LOG_SD_LIMITS, Multigroup, Where
from psychoeval.estimators.native.mml_newton import expansion, rescaled
from psychoeval.estimators.native.mml_priors import log_prior
from psychoeval.estimators.native.mml_search import (
    FAR,
    HALVINGS,
    PATIENCE,
    ROUNDING,
    Anderson,
    far,
    item_by_item,
    items_step,
)
from psychoeval.estimators.native.mml_steps import Expectation
from psychoeval.estimators.native.mml_terms import complete_terms

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class GroupMaximum:
    """Where a search ended.

    Parameters
    ----------
    where : Where
    counts : list of Expectation
        Of each group on its own scale.
    pinned : (F, p) array of bool
        Parameters of items that stopped at a bound, or are known.
    pinned_sd : (G,) array of bool
        Groups whose SD stopped at a bound.
    gradient : float
        Largest absolute element by what is free.
    objective : float
        The penalised marginal log-likelihood.
    log_likelihood : float
        Without the priors.
    iterations : int
    last_change : float
    ended : {"converged", "iteration_limit", "stood_still"}
    """

    where: Where
    counts: list[Expectation]
    pinned: NDArray[np.bool_]
    pinned_sd: NDArray[np.bool_]
    gradient: float
    objective: float
    log_likelihood: float
    iterations: int
    last_change: float
    ended: str


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    where: Where
    counts: list[Expectation]
    objective: float
    change: float


def maximize_groups(
    data: Multigroup, *, tolerance: float, max_iterations: int, start: Where | None = None
) -> GroupMaximum:
    """Maximise the penalised marginal log-likelihood over items and groups' means and log SDs.

    The reference group's distribution moves with the others in each step (parameter expansion), and all are then
    brought to the scale on which it is N(0, 1). Converged as `mml` is, means and log SDs counted in.
    """
    where = start or data.start()
    counts = data.expect(where)
    at = _State(where, counts, _objective(data, where, counts), np.inf)
    acceleration, ended, steep_since, iteration = Anderson(), "iteration_limit", 0, 0
    for iteration in range(max_iterations + 1):
        target, weight = _em_map(data, at)
        here = data.vector(at.where)
        if np.abs(target - here).max(initial=0.0) <= tolerance and at.change <= tolerance:
            ended = "converged"
            break
        steep_since += bool((np.abs(data.form.discrimination(at.where.items)) >= 0.999 * STEEPEST).any())
        if iteration == max_iterations or steep_since > PATIENCE:
            break
        better = _ascend(data, at, target, acceleration.next(here, target, weight), acceleration)
        if better is None and data.free.any():  # each item by itself, and no expansion
            alone = item_by_item(data.pooled, data.form, at.where.items, data.stacked(at.where, at.counts))
            trial = np.concatenate([alone.ravel(), here[alone.size :]])
            better = _ascend(data, at, trial, trial, acceleration)
        if better is None:
            ended = "stood_still"
            break
        at = better
    return _ended(data, at, iteration, ended, tolerance)


def _objective(data: Multigroup, where: Where, counts: Sequence[Expectation]) -> float:
    prior = log_prior(data.form, where.items).value if len(where.items) else 0.0
    return sum(c.log_likelihood for c in counts) + prior


def _em_map(data: Multigroup, at: _State) -> tuple[FloatArray, FloatArray]:
    """Return the vector to which EM goes, inside the bounds, and the metric of residuals, (P,) each."""
    form, where = data.form, at.where
    items, metric = where.items, np.zeros((0, form.n_columns))
    if len(items):
        items, metric = items_step(data.pooled, form, items, data.stacked(where, at.counts))
    mean, variance = data.moments(where, at.counts)
    log_sd = 0.5 * np.log(np.maximum(variance, 1e-12))
    persons = np.array([g.cells.n_persons for g in data.groups], np.float64)
    precision = persons / np.maximum(variance, 1e-12)
    if data.reference is not None:
        k = data.reference
        m, log_s = expansion(form, items, float(mean[k]), float(variance[k]), data.groups[k].cells.n_persons)
        items = rescaled(form, items, m, log_s)
        mean, log_sd = (mean - m) * np.exp(-log_s), log_sd - log_s
    target = data.vector(data.where(np.concatenate([items.ravel(), mean[data.moving], log_sd[data.moving]])))
    return target, np.concatenate([metric.ravel(), precision[data.moving], 2.0 * persons[data.moving]])


def _ascend(
    data: Multigroup, at: _State, target: FloatArray, trial: FloatArray, acceleration: Anderson
) -> _State | None:
    """Return the accelerated point if it is no lower, else EM's own, else one on the way there; None if all are."""
    here = data.vector(at.where)
    for attempt in range(HALVINGS):
        where = data.where(trial)
        counts = data.expect(where, at.counts)
        objective = _objective(data, where, counts)
        if objective >= at.objective - ROUNDING * abs(at.objective):
            change = float(np.abs(data.vector(where) - here).max(initial=0.0))
            return _State(where, counts, objective, change)
        acceleration.forget()
        trial = target if attempt == 0 else 0.5 * (trial + here)
    return None


def _ended(data: Multigroup, at: _State, iterations: int, ended: str, tolerance: float) -> GroupMaximum:
    form, where = data.form, at.where
    slopes: list[float] = []
    pinned = np.zeros(where.items.shape, dtype=bool)
    if len(where.items):
        gradient, information = complete_terms(data.pooled, form, where.items, data.stacked(where, at.counts))
        gradient = gradient + log_prior(form, where.items).gradient
        pinned = form.pinned(where.items, gradient)
        if ended == "converged" and far(form, gradient, information, pinned) > FAR * tolerance:
            ended = "stood_still"
        free = np.where(pinned, 0.0, gradient)
        slopes = [abs(float(free[:, 0].sum()))] if form.slopes == "common" else np.abs(free[:, 0]).tolist()
        slopes += np.abs(free[:, 1:]).ravel().tolist()
    mean, variance = data.moments(where, at.counts)
    persons = np.array([g.cells.n_persons for g in data.groups])
    spread = variance * np.exp(-2.0 * where.log_sd) - 1.0
    low, high = LOG_SD_LIMITS
    pinned_sd = data.moving & (((where.log_sd <= low) & (spread < 0)) | ((where.log_sd >= high) & (spread > 0)))
    by_law = [persons * (mean - where.mean) * np.exp(-2.0 * where.log_sd), np.where(pinned_sd, 0.0, persons * spread)]
    largest = max([*slopes, *(float(np.abs(v[data.moving]).max(initial=0.0)) for v in by_law)], default=0.0)
    return GroupMaximum(
        where, at.counts, pinned, pinned_sd, largest, at.objective, sum(c.log_likelihood for c in at.counts),
        iterations, at.change, ended,
    )  # fmt: skip

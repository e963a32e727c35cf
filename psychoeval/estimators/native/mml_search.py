"""EM to the maximum: parameter expansion, Anderson acceleration, a grid that follows the posteriors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import STEEPEST, Form
from psychoeval.estimators.native.mml_grid import expect, first_nodes, renewed
from psychoeval.estimators.native.mml_law import Law
from psychoeval.estimators.native.mml_newton import expand, newton_step
from psychoeval.estimators.native.mml_priors import log_prior
from psychoeval.estimators.native.mml_steps import Expectation
from psychoeval.estimators.native.mml_terms import complete_terms

FloatArray = NDArray[np.float64]

#: Iterates that the acceleration looks back on.
MEMORY: Final = 6
#: Newton steps of an M-step while they are longer than this.
LONG_STEP: Final = 0.1
NEWTON_STEPS: Final = 12
#: A new log-likelihood may lie this much, relative, below the last: rounding and a renewed grid.
ROUNDING: Final = 1e-9
HALVINGS: Final = 20
#: Iterations that are spent once a slope has run to its bound: the answer is none, and every one is slow.
PATIENCE: Final = 50
#: A search that rests has converged only if the gradient asks for steps below this times the tolerance.
FAR: Final = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """Where a search ended.

    Parameters
    ----------
    point : (J, p) array
    law : Law
    counts : Expectation
        At `point`.
    gradient : (J, p) array
        Of the penalised marginal log-likelihood.
    pinned : (J, p) array
        Which parameters stopped at a bound that the gradient points out of.
    objective : float
        The penalised marginal log-likelihood.
    path : list of float
        Its values by iteration.
    last_change : float
        Largest change of a parameter in the last iteration.
    ended : {"converged", "iteration_limit", "stood_still", "interrupted"}
    """

    point: FloatArray
    law: Law
    counts: Expectation
    gradient: FloatArray
    pinned: NDArray[np.bool_]
    objective: float
    path: list[float]
    last_change: float
    ended: str


@dataclass(slots=True)
class Anderson:
    """Anderson acceleration of a fixed-point iteration x -> g(x): the mix of the last g whose residuals cancel best.

    Source: Walker and Ni (2011), doi:10.1137/10078356X.
    """

    points: list[FloatArray] = field(default_factory=list)
    targets: list[FloatArray] = field(default_factory=list)

    def next(self, point: FloatArray, target: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the next point; `weight` is the metric in which residuals are measured."""
        self.points = [*self.points[-MEMORY:], point.ravel()]
        self.targets = [*self.targets[-MEMORY:], target.ravel()]
        if len(self.points) == 1:
            return target
        residuals = np.array(self.targets) - np.array(self.points)
        scale = np.sqrt(weight.ravel())
        differences = np.diff(residuals, axis=0) * scale
        mix, *_ = np.linalg.lstsq(differences.T, residuals[-1] * scale, rcond=1e-10)
        mixed = self.targets[-1] - mix @ np.diff(np.array(self.targets), axis=0)
        return np.asarray(mixed, np.float64).reshape(target.shape)

    def forget(self) -> None:
        """Begin anew."""
        self.points, self.targets = [], []


def maximize(
    cells: Cells,
    form: Form,
    *,
    tolerance: float,
    max_iterations: int,
    return_interrupted: bool = False,
    law: Law | None = None,
    point: FloatArray | None = None,
    progress: Callable[[int, float, float], None] | None = None,
) -> Maximum:
    """Maximise the penalised marginal log-likelihood.

    Converged when neither the last change of a parameter nor the EM step that is still asked for exceeds `tolerance`.
    """
    law = law or Law()
    point = start(cells, form) if point is None else point
    nodes = first_nodes(cells, form, point, law)
    counts = expect(cells, form, point, nodes, law)
    at = _State(point, counts, counts.log_likelihood + log_prior(form, point).value, np.inf)
    path, acceleration, ended = [at.objective], Anderson(), "iteration_limit"
    steep_since = 0
    try:
        for iteration in range(max_iterations + 1):
            target, weight = em_map(cells, form, at.point, at.counts, law)
            wanted = float(np.abs(target - at.point).max())
            if progress is not None:
                progress(iteration, at.objective, wanted)
            if wanted <= tolerance and at.change <= tolerance:
                ended = "converged"
                break
            steep_since += bool((np.abs(form.discrimination(at.point)) >= 0.999 * STEEPEST).any())
            if iteration == max_iterations or steep_since > PATIENCE:
                break
            better = _ascend(
                cells, form, at, target, form.held(acceleration.next(at.point, target, weight)), law, acceleration
            )
            if better is None:  # each item by itself, and no expansion
                alone = item_by_item(cells, form, at.point, at.counts)
                better = _ascend(cells, form, at, alone, alone, law, acceleration)
            if better is None:
                ended = "stood_still"
                break
            at = better
            path.append(at.objective)
    except KeyboardInterrupt:
        if not return_interrupted:
            raise
        ended = "interrupted"
    gradient, information = complete_terms(cells, form, at.point, at.counts)
    gradient = gradient + log_prior(form, at.point).gradient
    pinned = form.pinned(at.point, gradient)
    if ended == "converged" and far(form, gradient, information, pinned) > FAR * tolerance:
        ended = "stood_still"
    return Maximum(at.point, law, at.counts, gradient, pinned, at.objective, path, at.change, ended)


def far(form: Form, gradient: FloatArray, information: FloatArray, pinned: NDArray[np.bool_]) -> float:
    """Return the largest step of a slope or an intercept that the gradient alone asks for."""
    diagonal = np.einsum("jpp->jp", information)[:, :2] + 1.0
    free = np.where(pinned, 0.0, gradient)[:, :2]
    if form.slopes == "common":
        return float(max(abs(free[:, 0].sum()) / diagonal[:, 0].sum(), np.abs(free[:, 1] / diagonal[:, 1]).max()))
    return float(np.abs(free / diagonal).max())


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    point: FloatArray
    counts: Expectation
    objective: float
    change: float


def _ascend(
    cells: Cells, form: Form, at: _State, target: FloatArray, trial: FloatArray, law: Law, acceleration: Anderson
) -> _State | None:
    """Return the accelerated point if it is no lower, else EM's own, else one on the way there; None if all are."""
    for attempt in range(HALVINGS):
        counts = expect(cells, form, trial, renewed(cells, form, trial, at.counts, law), law)
        objective = counts.log_likelihood + log_prior(form, trial).value
        if objective >= at.objective - ROUNDING * abs(at.objective):
            return _State(trial, counts, objective, float(np.abs(trial - at.point).max()))
        acceleration.forget()
        trial = target if attempt == 0 else 0.5 * (trial + at.point)
    return None


def em_map(cells: Cells, form: Form, point: FloatArray, counts: Expectation, law: Law) -> tuple[FloatArray, FloatArray]:
    """Return the point to which EM with parameter expansion goes, and the metric of residuals, both (J, p)."""
    target, metric = items_step(cells, form, point, counts)
    if law.weights is not None:
        return form.held(target), metric
    mean = float(counts.mean.mean())
    variance = float(np.mean(counts.sd**2 + (counts.mean - mean) ** 2))
    return form.held(expand(form, target, mean, variance, cells.n_persons)), metric


def items_step(cells: Cells, form: Form, point: FloatArray, counts: Expectation) -> tuple[FloatArray, FloatArray]:
    """Return the point to which the M-step of the items goes, and the metric of residuals, both (J, p)."""
    gradient, information = complete_terms(cells, form, point, counts)
    metric = np.einsum("jpp->jp", information) + 1e-6
    first = gradient + log_prior(form, point).gradient
    target = m_step(cells, form, point, counts, first, newton_step(form, point, gradient, information), coupled=True)
    if form.estimated_means and np.vdot(first, target - point) < 0:
        # Steps shortened item by item need not go up where the estimated means tie the items together.
        target = item_by_item(cells, form, point, counts)
    return target, metric


def item_by_item(cells: Cells, form: Form, point: FloatArray, counts: Expectation) -> FloatArray:
    """Return the M-step's point with the prior means of this one."""
    gradient, information = complete_terms(cells, form, point, counts)
    first = gradient + log_prior(form, point).gradient
    step = newton_step(form, point, gradient, information, coupled=False)
    return form.held(m_step(cells, form, point, counts, first, step, coupled=False))


def m_step(
    cells: Cells, form: Form, point: FloatArray, counts: Expectation, gain: FloatArray, step: FloatArray, *,
    coupled: bool,
) -> FloatArray:  # fmt: skip
    """Return the items that maximise expected complete data and priors, from `point` with its gradient and first step.

    A Newton step of a saturated curve goes too far: such items go back to where the secant of their slope is 0.
    """
    target = point
    for _ in range(NEWTON_STEPS):
        if np.abs(step).max() <= LONG_STEP:
            break
        gradient, information = complete_terms(cells, form, target + step, counts)
        new_gain = gradient + log_prior(form, target + step).gradient
        before, after = _along(form, gain, step), _along(form, new_gain, step)
        beyond = (after < -0.5 * before)[:, None]
        with np.errstate(over="ignore"):  # where nothing changes all is taken, at most .7
            share = np.minimum(np.maximum(before, 0.0) / np.maximum(before - after, 1e-300), 0.7)[:, None]
        onward = newton_step(form, target + step, gradient, information, coupled=coupled)
        gain = np.where(beyond, gain, new_gain)
        target, step = target + np.where(beyond, 0.0, step), np.where(beyond, share * step, onward)
    too_long = np.abs(step).max(axis=1, keepdims=True) / LONG_STEP
    if form.slopes == "common":
        too_long = too_long.max()
    return np.asarray(target + step / np.maximum(1.0, too_long))


def _along(form: Form, gradient: FloatArray, step: FloatArray) -> FloatArray:
    """Return the slope of the objective along `step` for each item, (J,), or for all where they share a parameter."""
    slope: FloatArray = np.einsum("jp,jp->j", gradient, step)
    return np.full(slope.shape, slope.sum()) if form.slopes == "common" else slope


def start(cells: Cells, form: Form) -> FloatArray:
    """Return a start (J, p): one slope, and difficulties by the normal approximation (PROX; Cohen 1979).

    Logits of persons and of items, each corrected in turn for the mean of those they met.
    """
    items = logit((cells.item_successes + 0.5) / (cells.item_trials + 1.0))
    score = cells.successes.sum(axis=1, dtype=np.uint64)
    trials = cells.trials.sum(axis=1, dtype=np.uint64)
    persons = logit((score + 0.5) / (trials + 1.0))
    easiness, ability = items, persons - persons.mean()
    if not cells.equal_trials:
        easiness = items - persons.mean()
        for _ in range(3):
            of_items, of_persons = np.zeros(items.size), np.zeros(persons.size)
            for rows in cells.person_blocks():
                n = cells.float_trials(rows)
                of_persons[rows] = n @ easiness
            ability = persons - of_persons / trials
            ability -= ability.mean()
            for rows in cells.person_blocks():
                of_items += ability[rows] @ cells.float_trials(rows)
            easiness = items - of_items / cells.item_trials
    slope = float(np.clip(ability.std(), 0.3, 2.0))
    if form.penalty.slope is not None:
        slope = float(np.exp(form.penalty.slope.mean))
    point = np.empty((items.size, form.n_columns))
    point[:, 0] = slope if form.signed else np.log(slope)
    point[:, 1] = easiness
    if form.guessing is None:
        point[:, 2] = logit(0.2)
    return form.held(point)

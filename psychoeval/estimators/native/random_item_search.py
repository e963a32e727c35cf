"""The search: abilities at their mode, the population where the evidence with abilities integrated out is largest.

`random_item_point` says what the evidence E is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.random_item_cells import Cells
from psychoeval.estimators.native.random_item_point import Point
from psychoeval.estimators.native.random_item_population import (
    LOCATION_MEAN,
    LOG_LOCATION_SD,
    LOG_SLOPE_SD,
    SIZE,
    Population,
)
from psychoeval.estimators.native.random_item_prior import PopulationPrior
from psychoeval.estimators.native.random_item_steps import Rule, evaluate

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Nodes a dimension to begin with, and the change of a parameter below which more are taken.
STAGES: Final = ((3, 0.1), (5, 1e-3))
MAX_HALVINGS: Final = 20
#: Of a step of the population while nodes are few: where it fails, more nodes are the remedy.
COARSE_HALVINGS: Final = 2
#: Of a population parameter, and of an ability in SDs, in one step.
LARGEST_STEP: Final = 0.7
#: Newton steps of the abilities at one population end when the next is shorter, in SDs, times the last change of the
#: population; what remains is corrected for.
INNER_TOLERANCE: Final = 3e-3
SHORTEST: Final = 1e-10
MAX_INNER: Final = 30
#: Log-likelihood units that the nodes leave open when they move with the items.
SLACK: Final = 1e-2
START_SLOPE_SD: Final = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """Where the search ended; `values` are the evidence before and after each accepted step."""

    point: Point
    iterations: int
    last_change: float
    converged: bool
    stood_still: bool
    values: tuple[tuple[float, float], ...]
    interrupted: bool = False


def start_point(cells: Cells, population: Population, prior: PopulationPrior, rule: Rule) -> Point:
    """Return abilities from smoothed logits of the raw scores, and the population around the items' logits."""
    right, trials = cells.successes, cells.trials
    by_person = _logits(right.sum(axis=1, dtype=np.float64), trials.sum(axis=1, dtype=np.float64))
    by_item = _logits(right.sum(axis=0, dtype=np.float64), trials.sum(axis=0, dtype=np.float64))
    spread = max(0.5, float(by_item.std()))
    t = (by_person - by_person.mean()) * np.sqrt(1.0 + spread**2 / 2.9)  # 1.7^2: averaging over items flattens logits
    values = population.values.copy()
    values[LOCATION_MEAN], values[LOG_LOCATION_SD] = by_item.mean(), np.log(spread)
    if population.has_slopes:
        values[LOG_SLOPE_SD] = np.log(START_SLOPE_SD)
    population = replace(population, values=values)
    log_sd = float(np.log(max(0.3, float(t.std()))))
    return Point(t, log_sd, population, evaluate(cells, t, population, rule), prior)


def _logits(right: FloatArray, trials: FloatArray) -> FloatArray:
    return np.asarray(np.log((right + 0.5) / (trials - right + 0.5)))


def maximize(
    cells: Cells,
    population: Population,
    prior: PopulationPrior,
    *,
    points: int,
    tolerance: float,
    max_iterations: int,
    return_interrupted: bool = False,
) -> Optimum:
    """Return the population of greatest evidence, and the mode of the abilities there.

    Parameters
    ----------
    cells : Cells
    population : Population
        Which parameters are free, and the guessing to start from.
    prior : PopulationPrior
    points : int
        Nodes a dimension.
    tolerance : float
        Converged when neither an element of the gradient nor the last change of a parameter exceeds it.
    max_iterations : int
        Of quasi-Newton (BFGS) steps of the population, each with Newton steps of the abilities.
    return_interrupted : bool
        Whether Ctrl-C ends the search and not the program.
    """
    stages = [(few, near) for few, near in STAGES if few < points] + [(points, 0.0)]
    rules = [(Rule.of(number, has_slopes=population.has_slopes), near) for number, near in stages]
    rule, near = rules.pop(0)
    point = settle(cells, start_point(cells, population, prior, rule), rule, INNER_TOLERANCE)
    inverse = _inverse_curvature(point)
    values: list[tuple[float, float]] = []
    change, is_last_try = 1.0, False
    try:
        for iteration in range(1, max_iterations + 1):
            inner = max(SHORTEST, INNER_TOLERANCE * min(1.0, change))
            new = _line_search(cells, point, inverse, rule, inner, COARSE_HALVINGS if rules else MAX_HALVINGS)
            if new is None:
                if rules:
                    rule, near = rules.pop(0)
                    point = settle(cells, point, rule, inner)
                    inverse = _inverse_curvature(point)
                    continue
                if not is_last_try:  # from the abilities' mode to rounding, and a fresh curvature
                    is_last_try, change = True, 0.0
                    point = settle(cells, point, rule, SHORTEST)
                    inverse = _inverse_curvature(point)
                    continue
                converged = point.largest_gradient <= tolerance
                return Optimum(point, iteration, change, converged, not converged, tuple(values))
            values.append((point.evidence, new.evidence))
            moved = _parameters(new) - _parameters(point)
            change = float(max(np.abs(moved).max(), np.abs(new.t - point.t).max() / new.sd))
            inverse = _updated(inverse, moved, point, new)
            point = new
            if rules and change < near:
                rule, near = rules.pop(0)
                point = settle(cells, point, rule, INNER_TOLERANCE)
            elif not rules and max(change, point.largest_gradient) <= tolerance:
                return Optimum(point, iteration, change, True, False, tuple(values))
    except KeyboardInterrupt:
        if not return_interrupted:
            raise
        return Optimum(point, len(values), change, False, False, tuple(values), interrupted=True)
    return Optimum(point, max_iterations, change, False, False, tuple(values))


def settle(cells: Cells, point: Point, rule: Rule, tolerance: float) -> Point:
    """Return the point with the abilities at their mode, to `tolerance` SDs: Newton steps, halved until F rises."""
    point = _at(cells, point, point.t, rule)
    for _ in range(MAX_INNER):
        step = point.step
        size = float(np.abs(step).max()) / point.sd
        if size <= tolerance:
            break
        step = step * min(1.0, LARGEST_STEP / size)
        for _ in range(MAX_HALVINGS):
            new = _at(cells, point, point.t + step, rule)
            if new.objective >= point.objective - SLACK:
                break
            step = 0.5 * step
        point = new
    return point


def _at(cells: Cells, point: Point, t: FloatArray, rule: Rule) -> Point:
    at = evaluate(cells, t, point.population, rule, point.at.modes, point.spread)
    return replace(point, t=t, at=at)


def _parameters(point: Point) -> FloatArray:
    return np.append(point.population.values, point.log_sd)


def _inverse_curvature(point: Point) -> FloatArray:
    """Return a first inverse Hessian of -E, (6, 6), positive definite."""
    free, out = point.free, np.zeros((SIZE + 1, SIZE + 1))
    values, vectors = np.linalg.eigh(point.curvature[np.ix_(free, free)])
    values = np.maximum(np.abs(values), 1.0)
    out[np.ix_(free, free)] = (vectors / values) @ vectors.T
    return out


def _updated(inverse: FloatArray, moved: FloatArray, point: Point, new: Point) -> FloatArray:
    """Return the inverse Hessian after the BFGS update, or a new one where a parameter came to rest at its bound."""
    if (point.free != new.free).any():
        return _inverse_curvature(new)
    bent = point.gradient - new.gradient
    s, y = np.where(new.free, moved, 0.0), bent
    sy = float(s @ y)
    if sy <= 1e-10 * float(np.linalg.norm(s) * np.linalg.norm(y)):
        return inverse
    left = np.eye(s.size) - np.outer(s, y) / sy
    return np.asarray(left @ inverse @ left.T + np.outer(s, s) / sy)


def _line_search(
    cells: Cells, point: Point, inverse: FloatArray, rule: Rule, inner: float, halvings: int
) -> Point | None:
    direction = inverse @ point.gradient
    gain = float(point.gradient @ direction)
    length = min(1.0, LARGEST_STEP / max(float(np.abs(direction).max()), 1e-300))
    for _ in range(halvings):
        step = length * direction
        t = point.t + point.step + point.spread @ (point.mixed @ step)
        moved = replace(point, population=point.population.moved(step[:SIZE]), log_sd=point.log_sd + float(step[SIZE]))
        new = settle(cells, replace(moved, t=t), rule, inner)
        if new.evidence >= point.evidence + 1e-4 * length * gain:
            return new
        # Close to the maximum a gain drowns in what the nodes leave open; the gradient still sees it.
        if new.evidence >= point.evidence - SLACK and float(new.gradient @ inverse @ new.gradient) < 0.9 * gain:
            return new
        length *= 0.5
    return None

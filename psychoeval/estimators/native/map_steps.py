"""The maximum of the penalised joint likelihood: truncated Newton steps with a line search, and the published rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from psychoeval.estimators.native.map_hessian import ArrowHessian, arrow_hessian, arrow_solve, border_solution
from psychoeval.estimators.native.map_objective import Evaluation, FloatArray, JointObjective

#: Rounding of a sum of this size: values that differ by less are equal.
ROUNDING: Final = 1e-13
MAX_HALVINGS: Final = 40
#: A direction more exact than this gains nothing before Newton's own convergence is quadratic.
LOOSEST_DIRECTION: Final = 0.1
TIGHTEST_DIRECTION: Final = 1e-8
#: The residuals' share of the Hessian helps once a step gains less than this part of the objective, not before.
NEAR: Final = 1e-2
#: Where nodes stand for the cells, products with the residuals are all the cost: without them as long as a step leaves
#: less than this of the gradient.
FAST: Final = 0.1
MAX_RESCALINGS: Final = 20
#: Of log a in one step: a longer one leaps over the minimum nearby into a runaway slope.
LARGEST_SLOPE_STEP: Final = 1.0

#: The rule of arXiv:2605.11205.
PUBLISHED_ITERATIONS: Final = 80
PUBLISHED_FTOL: Final = 1e-7
PUBLISHED_BOUNDS: Final = {"theta": 4.0, "difficulty": 5.0, "log_discrimination": 3.0}


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """Where the search ended.

    Parameters
    ----------
    at : Evaluation
    iterations : int
    last_change : float
        Largest change of a theta, log a or d in the last iteration (nan without one).
    converged : bool
    stood_still : bool
        Whether the search ended before its limit without a step that made progress, short of convergence.
    interrupted : bool
        Whether Ctrl-C ended the search.
    message : str
        Of SciPy, under the published rule.
    values : tuple of float
        The objective at the start and after each iteration, where recorded.
    """

    at: Evaluation
    iterations: int
    last_change: float
    converged: bool
    stood_still: bool = False
    interrupted: bool = False
    message: str = ""
    values: tuple[float, ...] = ()

    @property
    def gradient(self) -> float:
        """Largest absolute element of the gradient."""
        return float(np.abs(self.at.gradient).max())


def minimize(
    objective: JointObjective,
    start: FloatArray,
    *,
    tolerance: float,
    max_iterations: int,
    return_interrupted: bool = False,
) -> Optimum:
    """Return the minimum that truncated Newton steps reach from `start`; F never rises.

    Parameters
    ----------
    objective : JointObjective
    start : (P,) array
    tolerance : float
        Converged when no element of the gradient and no change of a parameter exceeds it.
    max_iterations : int
    return_interrupted : bool
        Whether Ctrl-C ends the search and not the program.

    Notes
    -----
    Each direction solves H p = -F' by conjugate gradients to a precision that follows the gradient (Dembo, Eisenstat
    & Steihaug 1982, doi:10.1137/0719025); where the curvature is negative the direction found so far is taken.
    """
    at = objective.evaluate(rescaled(objective, start))
    values = [at.value]
    first, change, exact = float(np.linalg.norm(at.gradient)), np.nan, False
    try:
        for iteration in range(1, max_iterations + 1):
            looseness = min(LOOSEST_DIRECTION, float(np.linalg.norm(at.gradient)) / first if first > 0 else 0.0)
            hessian = arrow_hessian(objective, at, exact=exact)
            if not hessian.items_are_definite:
                hessian = arrow_hessian(objective, at, exact=False)
            new = _line_search(objective, at, newton_direction(hessian, max(looseness, TIGHTEST_DIRECTION)))
            if new is None:  # no better point along the direction: rounding, or the minimum itself
                converged = bool(np.abs(at.gradient).max() <= tolerance)
                return Optimum(at, iteration, change, converged, not converged, values=tuple(values))
            change = float(np.abs(new.point - at.point).max())
            exact = at.value - new.value < NEAR * abs(new.value)
            if new.curves is not None:
                exact &= float(np.linalg.norm(new.gradient)) > FAST * float(np.linalg.norm(at.gradient))
            at = new
            values.append(at.value)
            if max(change, float(np.abs(at.gradient).max())) <= tolerance:
                return Optimum(at, iteration, change, True, values=tuple(values))
    except KeyboardInterrupt:
        if not return_interrupted:
            raise
        return Optimum(at, len(values) - 1, change, False, interrupted=True, values=tuple(values))
    return Optimum(at, max_iterations, change, False, values=tuple(values))


def newton_direction(hessian: ArrowHessian, precision: float) -> FloatArray:
    """Return a descent direction: the Newton step, solved to a relative `precision`, (P,)."""
    split, gradient = hessian.objective.split, hessian.at.gradient
    by_theta, by_u, by_d = split(-gradient)
    step = np.empty_like(gradient)
    theta, u, d = split(step)
    by_items = np.column_stack([by_u, by_d]) if hessian.has_slopes else by_d[:, None]
    theta[:], items = arrow_solve(hessian, by_theta, by_items, precision)
    if hessian.has_slopes:
        u[:] = items[:, 0]
    elif hessian.border is not None:
        corner, to_theta, to_items = hessian.border
        border_theta, border_items, pivot = border_solution(hessian, precision)
        pull = float(by_u[0] - to_theta @ theta - (to_items * items).sum())
        u[:] = pull / (pivot if pivot > 0 else corner)
        theta -= u[0] * border_theta
        items -= u[0] * border_items
    d[:] = items[:, -1]
    if gradient @ step < 0:
        return step
    return -gradient / _diagonal(hessian)  # an inexact solve can lose descent; this cannot


def rescaled(objective: JointObjective, point: FloatArray) -> FloatArray:
    """Return the point moved to the least penalty that the origin and unit of the scale allow.

    theta -> (theta - m)/s, a -> a s, d -> d + a m leaves every probability as it is; (m, log s) minimise the
    penalties, so the objective never rises. It spares Newton's steps the curved valley of equal likelihoods.
    Where slopes are fixed, s = 1.
    """
    theta, u, d = objective.split(point)
    a = np.exp(objective.log_slopes(u))

    def moved(m: float, log_s: float) -> FloatArray:
        return np.concatenate([(theta - m) * np.exp(-log_s), u + log_s, d + a * m])

    def penalties(at: FloatArray) -> float:
        with np.errstate(over="ignore", invalid="ignore"):  # a step too long: it is halved
            return objective.penalties(moved(*at))

    move, value = np.zeros(2), objective.penalties(point)
    for _ in range(MAX_RESCALINGS):
        gradient, curvature = _scale_derivatives(objective, a, move[1], moved(*move))
        definite = curvature[0, 0] > 0 and np.linalg.det(curvature) > 0
        step = np.linalg.solve(curvature, gradient) if definite else gradient / np.abs(np.diag(curvature))
        length = 1.0
        while length > 1e-6 and not penalties(move - length * step) < value:
            length *= 0.5
        if length <= 1e-6:
            break
        move = move - length * step
        value = penalties(move)
        if np.abs(length * step).max() < 1e-9:
            break
    return moved(*move) if move.any() else point


def _scale_derivatives(
    objective: JointObjective, a: FloatArray, log_s: float, point: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return gradient (2,) and Hessian (2, 2) of the penalties by (m, log s) at the moved point."""
    theta, u, d = objective.split(point)
    _, by_u, slope_curvature = objective.penalty.slope_terms(u)
    _, by_item, item_curvature, _ = objective.penalty.location_terms(objective.log_slopes(u), d)
    unit, precision = float(np.exp(-log_s)), objective.ability_precision
    total, squares = precision * float(theta.sum()), precision * float(theta @ theta)
    by_m = float(a @ by_item[:, 1]) - unit * total
    by_mm = float(a**2 @ item_curvature[:, 1, 1]) + precision * theta.size * unit**2
    if objective.slopes == "fixed":
        return np.array([by_m, 0.0]), np.diag([by_mm, 1.0])
    by_s = float(by_u.sum() + by_item[:, 0].sum()) - squares
    by_ms = float(a @ item_curvature[:, 0, 1]) + 2.0 * unit * total
    by_ss = u.size * slope_curvature + float(item_curvature[:, 0, 0].sum()) + 2.0 * squares
    return np.array([by_m, by_s]), np.array([[by_mm, by_ms], [by_ms, by_ss]])


def _diagonal(hessian: ArrowHessian) -> FloatArray:
    items = np.abs(np.diagonal(hessian.items, axis1=1, axis2=2)) + 1e-8
    if hessian.border is not None:
        return np.concatenate([hessian.theta, [abs(hessian.border[0]) + 1.0], items[:, 0]])
    return np.concatenate([hessian.theta, items.T.ravel()])


def _line_search(objective: JointObjective, at: Evaluation, direction: FloatArray) -> Evaluation | None:
    _, by_u, _ = objective.split(direction)
    slope = float(at.gradient @ direction)
    length = LARGEST_SLOPE_STEP / np.abs(by_u).max(initial=LARGEST_SLOPE_STEP)
    slack = ROUNDING * abs(at.value)
    for _ in range(MAX_HALVINGS):
        new = objective.evaluate(rescaled(objective, at.point + length * direction))
        if new.value <= at.value + 1e-4 * length * slope:
            return new
        # Close to the minimum a gain drowns in rounding; the gradient still sees it.
        if new.value <= at.value + slack and np.linalg.norm(new.gradient) < np.linalg.norm(at.gradient):
            return new
        length *= 0.5
    return None


def published_search(objective: JointObjective) -> Optimum:
    """Run the published rule: L-BFGS-B from zeros in (theta, b, log a), at most 80 iterations, ftol 1e-7, bounds.

    Source: arXiv:2605.11205. What it returns is where the rule stops, not in general the maximum.
    """
    from scipy.optimize import Bounds
    from scipy.optimize import minimize as scipy_minimize

    n, j = objective.n_persons, objective.n_items

    def inner(point: FloatArray) -> FloatArray:
        theta, b, u = np.split(point, [n, n + j])
        return np.concatenate([theta, u, -np.exp(u) * b])

    def value_and_gradient(point: FloatArray) -> tuple[float, FloatArray]:
        at = objective.evaluate(inner(point), curvature=False)
        _, u, d = objective.split(at.point)
        by_theta, by_u, by_d = objective.split(at.gradient)
        return at.value, np.concatenate([by_theta, -np.exp(u) * by_d, by_u + d * by_d])

    limits = np.repeat(list(PUBLISHED_BOUNDS.values()), [n, j, j])
    points: list[FloatArray] = [np.zeros(n + 2 * j)]

    def record(xk: FloatArray) -> None:  # the name SciPy calls it by
        points.append(xk.copy())

    found = scipy_minimize(
        value_and_gradient, points[0], jac=True, method="L-BFGS-B", bounds=Bounds(-limits, limits), callback=record,
        options={"maxiter": PUBLISHED_ITERATIONS, "ftol": PUBLISHED_FTOL},
    )  # fmt: skip
    at = objective.evaluate(inner(np.asarray(found.x)))
    change = float(np.abs(inner(points[-1]) - inner(points[-2])).max()) if len(points) > 1 else np.nan
    stood_still = not found.success and found.nit < PUBLISHED_ITERATIONS
    return Optimum(at, int(found.nit), change, bool(found.success), stood_still, message=str(found.message))

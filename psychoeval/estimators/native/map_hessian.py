"""The Hessian of the penalised joint likelihood, solved by blocks.

Abilities do not meet each other, nor do items: only the block between them is full. It is applied, never stored. A
common slope is a border.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychoeval.estimators.native.map_objective import Evaluation, FloatArray, JointObjective


@dataclass(frozen=True, slots=True, eq=False)
class ArrowHessian:
    """Hessian at one point: [[diag(theta), C], [C', blockdiag(items)]], q parameters an item, and a border.

    An item has the parameters (u, d), q = 2, or d alone, q = 1, where slopes are fixed or common; a common one has a
    `border`: the derivatives by u and (u; theta; items).

    Parameters
    ----------
    objective : JointObjective
    at : Evaluation
    theta : (N,) array
    items : (J, q, q) array
    border : tuple of (float, (N,) array, (J, 1) array), optional
    exact : bool
        Whether the terms with residuals are there; without them it is never indefinite.
    """

    objective: JointObjective
    at: Evaluation
    theta: FloatArray
    items: FloatArray
    border: tuple[float, FloatArray, FloatArray] | None
    exact: bool

    @property
    def has_slopes(self) -> bool:
        """Whether every item has its own slope: q = 2."""
        return self.objective.slopes == "free"

    def to_items(self, v: FloatArray) -> FloatArray:
        """Return C'v, (J, q), for v of shape (N,)."""
        theta, a = self._theta_and_slopes()
        both = np.column_stack([v, v * theta])
        weighted, residual = self.objective.products_to_items(self.at, both, residuals=self.has_slopes and self.exact)
        by_d = a * weighted[:, 0]
        if not self.has_slopes:
            return by_d[:, None]
        return np.column_stack([a**2 * weighted[:, 1] + a * residual, by_d])

    def to_persons(self, y: FloatArray) -> FloatArray:
        """Return C y, (N,), for y of shape (J, q)."""
        theta, a = self._theta_and_slopes()
        if not self.has_slopes:
            return self.objective.products_to_persons(self.at, a[:, None] * y, None)[:, 0]
        both = np.column_stack([a * y[:, 1], a**2 * y[:, 0]])
        out = self.objective.products_to_persons(self.at, both, a * y[:, 0] if self.exact else None)
        return out[:, 0] + theta * out[:, 1]

    def cross_parts(self, rows: slice, columns: slice) -> list[FloatArray]:
        """Return the part of C between some persons and items, (n, j) for each of an item's q parameters."""
        theta, a = self._theta_and_slopes()
        g, by_d = self.objective.residuals_and_weights(self.at.point, rows, columns)
        by_d *= a[columns]
        if not self.has_slopes:
            return [by_d]
        by_u = by_d * theta[rows, None]
        if self.exact:
            by_u += g
        by_u *= a[columns]
        return [by_u, by_d]

    @property
    def items_are_definite(self) -> bool:
        """Whether every item's own block is positive definite."""
        return bool((self.items[:, 0, 0] > 0).all() and (np.linalg.det(self.items) > 0).all())

    @property
    def slopes(self) -> FloatArray:
        """Slope a of every item, (J,)."""
        return self._theta_and_slopes()[1]

    def _theta_and_slopes(self) -> tuple[FloatArray, FloatArray]:
        theta, u, _ = self.objective.split(self.at.point)
        return theta, np.exp(self.objective.log_slopes(u))


def arrow_hessian(objective: JointObjective, at: Evaluation, *, exact: bool = True) -> ArrowHessian:
    """Return the Hessian at a point, or its Gauss-Newton part, which is positive definite.

    Parameters
    ----------
    objective : JointObjective
    at : Evaluation
        With curvature.
    exact : bool
    """
    theta, u, d = objective.split(at.point)
    a = np.exp(objective.log_slopes(u))
    w, w_theta, w_theta2, g_theta = at.item_sums.T
    _, _, slope_curvature = objective.penalty.slope_terms(u)
    _, _, penalty, penalty_safe = objective.penalty.location_terms(np.log(a), d)
    blocks = penalty.copy() if exact else penalty_safe.copy()
    blocks[:, 0, 0] += a**2 * w_theta2 + (a * g_theta if exact else 0.0)
    blocks[:, 0, 1] += a * w_theta
    blocks[:, 1, 0] += a * w_theta
    blocks[:, 1, 1] += w
    diagonal = at.theta_curvature + objective.ability_precision
    if objective.slopes == "free":
        blocks[:, 0, 0] += slope_curvature
        return ArrowHessian(objective, at, diagonal, blocks, None, exact)
    border = None
    if objective.slopes == "common":
        mixed = at.theta_curvature * theta + (at.theta_residual if exact else 0.0)
        border = (float(blocks[:, 0, 0].sum() + slope_curvature), mixed, blocks[:, 0, 1][:, None])
    return ArrowHessian(objective, at, diagonal, blocks[:, 1:, 1:], border, exact)


def border_solution(hessian: ArrowHessian, precision: float) -> tuple[FloatArray, FloatArray, float]:
    """Return M^-1 m for theta (N,) and items (J, 1), M the Hessian without its border m, and the pivot h - m'M^-1 m."""
    assert hessian.border is not None
    corner, to_theta, to_items = hessian.border
    theta, items = arrow_solve(hessian, to_theta, to_items, precision)
    return theta, items, float(corner - to_theta @ theta - (to_items * items).sum())


def arrow_solve(
    hessian: ArrowHessian, by_theta: FloatArray, by_items: FloatArray, precision: float
) -> tuple[FloatArray, FloatArray]:
    """Solve the arrow without its border: the items are eliminated, conjugate gradients solve for the abilities.

    From the right-hand side `by_theta` (N,), `by_items` (J, q) to the same shapes; `precision` is the relative
    reduction of the residual of the reduced system.
    """
    try:
        inverse = np.linalg.inv(hessian.items)
    except np.linalg.LinAlgError:  # flat to rounding along some direction: no step is taken there
        inverse = np.linalg.pinv(hessian.items, hermitian=True)

    def eliminate(v: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("jpq,jq->jp", inverse, v), dtype=np.float64)

    right = by_theta - hessian.to_persons(eliminate(by_items))
    solution, residual = np.zeros_like(right), right.copy()
    scaled = residual / hessian.theta
    search, energy = scaled.copy(), float(residual @ scaled)
    goal = precision**2 * energy
    for _ in range(10 + 2 * right.size):
        if energy <= goal or energy == 0.0:
            break
        image = hessian.theta * search - hessian.to_persons(eliminate(hessian.to_items(search)))
        curvature = float(search @ image)
        if curvature <= 0.0:
            solution = solution if solution.any() else search
            break
        length = energy / curvature
        solution += length * search
        residual -= length * image
        scaled = residual / hessian.theta
        energy, previous = float(residual @ scaled), energy
        search = scaled + (energy / previous) * search
    return solution, eliminate(by_items - hessian.to_items(solution))

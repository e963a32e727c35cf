"""The Hessian of the penalised joint likelihood: two diagonals, a block between them, a border for a common slope.

Abilities do not meet each other, nor do items: only the block between them is full. It is applied, never stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychoeval.estimators.native.map_objective import Evaluation, FloatArray, JointObjective


@dataclass(frozen=True, slots=True, eq=False)
class ArrowHessian:
    """Hessian at one point: [[diag(theta), C], [C', blockdiag(items)]], q parameters an item, and a border.

    An item has the parameters (u, d), q = 2, or d alone, q = 1, where the slope is common; then `border` holds the
    derivatives by u and (u; theta; items).

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

    def to_items(self, v: FloatArray) -> FloatArray:
        """Return C'v, (J, q), for v of shape (N,)."""
        theta, a = self._theta_and_slopes()
        weighted, residual = np.zeros((self.objective.n_items, 2)), np.zeros(self.objective.n_items)
        for rows, g, w in self.objective.cell_curvature(self.at):
            part = v[rows]
            weighted += w.T @ np.column_stack([part, part * theta[rows]])
            if self.border is None and self.exact:
                residual += part @ g
        by_d = a * weighted[:, 0]
        if self.border is not None:
            return by_d[:, None]
        return np.column_stack([a**2 * weighted[:, 1] + a * residual, by_d])

    def to_persons(self, y: FloatArray) -> FloatArray:
        """Return C y, (N,), for y of shape (J, q)."""
        theta, a = self._theta_and_slopes()
        out = np.empty(self.objective.n_persons)
        for rows, g, w in self.objective.cell_curvature(self.at):
            if self.border is not None:
                out[rows] = w @ (a * y[:, 0])
                continue
            both = w @ np.column_stack([a * y[:, 1], a**2 * y[:, 0]])
            out[rows] = both[:, 0] + theta[rows] * both[:, 1]
            if self.exact:
                out[rows] += g @ (a * y[:, 0])
        return out

    def cross_block(self, rows: slice, columns: slice) -> FloatArray:
        """Return the part of C between some persons and items, (n, j, q)."""
        theta, a = self._theta_and_slopes()
        g, w = self.objective.residuals_and_weights(self.at.point, rows, columns)
        by_d = w * a[columns]
        if self.border is not None:
            return by_d[:, :, None]
        by_u = by_d * np.multiply.outer(theta[rows], a[columns])
        return np.stack([by_u + g * a[columns] if self.exact else by_u, by_d], axis=2)

    @property
    def items_are_definite(self) -> bool:
        """Whether every item's own block is positive definite."""
        corner = self.items[:, 0, 0]
        if self.items.shape[1] == 1:
            return bool((corner > 0).all())
        determinant = corner * self.items[:, 1, 1] - self.items[:, 0, 1] ** 2
        return bool(((corner > 0) & (determinant > 0)).all())

    def _theta_and_slopes(self) -> tuple[FloatArray, FloatArray]:
        theta, u, d = self.objective.split(self.at.point)
        return theta, np.broadcast_to(np.exp(u), d.shape)


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
    a = np.broadcast_to(np.exp(u), d.shape)
    w, w_theta, w_theta2, g_theta = at.item_sums.T
    _, _, slope_curvature = objective.penalty.slope_terms(u)
    _, _, penalty, penalty_safe = objective.penalty.location_terms(np.log(a), d)
    blocks = penalty.copy() if exact else penalty_safe.copy()
    blocks[:, 0, 0] += a**2 * w_theta2 + (a * g_theta if exact else 0.0)
    blocks[:, 0, 1] += a * w_theta
    blocks[:, 1, 0] += a * w_theta
    blocks[:, 1, 1] += w
    diagonal = at.theta_curvature + 1.0
    if objective.common_slope:
        mixed = at.theta_curvature * theta + (at.theta_residual if exact else 0.0)
        border = (float(blocks[:, 0, 0].sum() + slope_curvature), mixed, blocks[:, 0, 1][:, None])
        return ArrowHessian(objective, at, diagonal, blocks[:, 1, 1][:, None, None], border, exact)
    blocks[:, 0, 0] += slope_curvature
    return ArrowHessian(objective, at, diagonal, blocks, None, exact)

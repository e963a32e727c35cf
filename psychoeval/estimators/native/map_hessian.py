"""The Hessian of the penalised joint likelihood, solved and inverted by blocks.

Abilities do not meet each other, nor do items: only the block between them is full. It is applied, never stored. A
common slope is a border.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg import blas, lapack

from psychoeval.estimators.native.map_objective import Evaluation, FloatArray, JointObjective, row_blocks

#: Up to this many persons the full covariance of the abilities is kept.
COVARIANCE_PERSONS: Final = 500
#: Cells of the block between persons and items that are held at a time.
CROSS_CELLS: Final = 1_000_000
BORDER_PRECISION: Final = 1e-10


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
        weighted, residual = np.zeros((self.objective.n_items, 2)), np.zeros(self.objective.n_items)
        for rows, g, w in self.objective.cell_curvature(self.at):
            part = v[rows]
            weighted += w.T @ np.column_stack([part, part * theta[rows]])
            if self.has_slopes and self.exact:
                residual += part @ g
        by_d = a * weighted[:, 0]
        if not self.has_slopes:
            return by_d[:, None]
        return np.column_stack([a**2 * weighted[:, 1] + a * residual, by_d])

    def to_persons(self, y: FloatArray) -> FloatArray:
        """Return C y, (N,), for y of shape (J, q)."""
        theta, a = self._theta_and_slopes()
        out = np.empty(self.objective.n_persons)
        for rows, g, w in self.objective.cell_curvature(self.at):
            if not self.has_slopes:
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
        if not self.has_slopes:
            return by_d[:, :, None]
        by_u = by_d * np.multiply.outer(theta[rows], a[columns])
        return np.stack([by_u + g * a[columns] if self.exact else by_u, by_d], axis=2)

    @property
    def items_are_definite(self) -> bool:
        """Whether every item's own block is positive definite."""
        return bool((self.items[:, 0, 0] > 0).all() and (np.linalg.det(self.items) > 0).all())

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
    inverse = np.linalg.inv(hessian.items)

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


class NotAMinimumError(Exception):
    """The observed information is not positive definite: the point is no strict minimum."""


@dataclass(frozen=True, slots=True, eq=False)
class JointCovariance:
    """Blocks of the inverse Hessian in (theta, u = log a, d).

    Parameters
    ----------
    theta : (N,) array
        Variances.
    items : (J, 2, 2) array
        Covariance of (u, d) of each item; 0 for a fixed u.
    theta_full : (N, N) array, optional
        Up to 500 persons.
    """

    theta: FloatArray
    items: FloatArray
    theta_full: FloatArray | None


def joint_covariance(hessian: ArrowHessian) -> JointCovariance:
    """Return the inverse of the observed information, the larger side eliminated.

    With S = T - C I^-1 C' (persons) or I - C' T^-1 C (items), the smaller of the two is inverted; the blocks of the
    other side follow from T^-1 + T^-1 C S^-1 C' T^-1 and its like. A common slope is a border of the matrix.

    Raises
    ------
    NotAMinimumError
        If the information is not positive definite.
    """
    n_persons, n_items, q = hessian.theta.size, *hessian.items.shape[:2]
    if not hessian.items_are_definite or not (hessian.theta > 0).all():
        raise NotAMinimumError
    by_persons = n_persons <= max(COVARIANCE_PERSONS, q * n_items)
    theta, items, full = (_invert_over_persons if by_persons else _invert_over_items)(hessian)
    if hessian.has_slopes:
        return JointCovariance(theta, items, full)
    blocks = np.zeros((n_items, 2, 2))
    blocks[:, 1, 1] = items[:, 0, 0]
    if hessian.border is None:
        return JointCovariance(theta, blocks, full)
    z_theta, z_items, pivot = border_solution(hessian, BORDER_PRECISION)
    if pivot <= 0:
        raise NotAMinimumError
    blocks[:, 0, 0] = 1.0 / pivot
    blocks[:, 0, 1] = blocks[:, 1, 0] = -z_items[:, 0] / pivot
    blocks[:, 1, 1] += z_items[:, 0] ** 2 / pivot
    if full is not None:
        full = full + np.multiply.outer(z_theta, z_theta) / pivot
    return JointCovariance(theta + z_theta**2 / pivot, blocks, full)


def _invert_over_persons(hessian: ArrowHessian) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    n_persons, n_items, q = hessian.theta.size, *hessian.items.shape[:2]
    inverse = np.linalg.inv(hessian.items)
    half = np.linalg.cholesky(inverse)
    reduced = np.asfortranarray(np.diag(hessian.theta))
    blocks = list(row_blocks(n_items, n_persons * q, CROSS_CELLS))
    for columns in blocks:
        part = np.matmul(hessian.cross_block(slice(None), columns).transpose(1, 0, 2), half[columns])
        flat = part.transpose(1, 0, 2).reshape(n_persons, -1)
        reduced = _less_product(reduced, flat.T)
    covariance = _inverse(reduced)
    items = np.asarray(inverse.copy(), dtype=np.float64)
    for columns in blocks:
        cross = hessian.cross_block(slice(None), columns)
        image = (covariance @ cross.reshape(n_persons, -1)).reshape(cross.shape)
        inner = np.matmul(cross.transpose(1, 2, 0), image.transpose(1, 0, 2))
        items[columns] += inverse[columns] @ inner @ inverse[columns]
    return np.diag(covariance).copy(), items, covariance if n_persons <= COVARIANCE_PERSONS else None


def _invert_over_items(hessian: ArrowHessian) -> tuple[FloatArray, FloatArray, None]:
    n_persons, n_items, q = hessian.theta.size, *hessian.items.shape[:2]
    reduced = np.zeros((n_items * q, n_items * q), order="F")
    each = np.arange(n_items)
    for p in range(q):
        for r in range(q):
            reduced[each * q + p, each * q + r] = hessian.items[:, p, r]
    blocks = list(row_blocks(n_persons, n_items * q, CROSS_CELLS))
    for rows in blocks:
        flat = hessian.cross_block(rows, slice(None)).reshape(-1, n_items * q)
        reduced = _less_product(reduced, flat / np.sqrt(hessian.theta[rows, None]))
    covariance = _inverse(reduced)
    theta = 1.0 / hessian.theta
    for rows in blocks:
        flat = hessian.cross_block(rows, slice(None)).reshape(-1, n_items * q)
        theta[rows] += np.einsum("ij,ij->i", flat @ covariance, flat) / hessian.theta[rows] ** 2
    items = np.empty((n_items, q, q))
    for p in range(q):
        for r in range(q):
            items[:, p, r] = covariance[each * q + p, each * q + r]
    return theta, items, None


def _less_product(matrix: FloatArray, factor: FloatArray) -> FloatArray:
    """Return the matrix minus factor'factor in its own memory (Fortran order); only the lower triangle is right."""
    fortran = factor.flags.f_contiguous
    product = blas.dsyrk(
        -1.0, factor if fortran else factor.T, 1.0, matrix, trans=fortran, lower=True, overwrite_c=True
    )  # fmt: skip
    return np.asarray(product, dtype=np.float64)


def _inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a symmetric matrix of which the lower triangle is given, in its own memory."""
    factor, failed = lapack.dpotrf(matrix, lower=True, clean=True, overwrite_a=True)
    if failed:
        raise NotAMinimumError
    inverse, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    for rows in row_blocks(len(inverse), len(inverse)):
        corner = np.tril(inverse[rows, rows])
        inverse[rows, rows] = corner + np.tril(corner, -1).T
        inverse[rows, rows.stop :] = inverse[rows.stop :, rows].T
    return np.asarray(inverse, dtype=np.float64)

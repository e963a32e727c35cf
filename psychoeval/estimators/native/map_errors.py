"""Standard errors of the joint mode: the inverse observed information, by blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg import blas, lapack

from psychoeval.estimators.native.map_hessian import ArrowHessian
from psychoeval.estimators.native.map_objective import FloatArray, row_blocks
from psychoeval.estimators.native.map_steps import border_solution

#: Up to this many persons the full covariance of the abilities is kept.
COVARIANCE_PERSONS: Final = 500
#: Cells of the block between persons and items that are held at a time.
CROSS_CELLS: Final = 1_000_000
BORDER_PRECISION: Final = 1e-10


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
        Covariance of (u, d) of each item.
    theta_full : (N, N) array, optional
        Up to 500 persons.
    theta_u : (N,) array, optional
        Covariance of each ability with a common u.
    """

    theta: FloatArray
    items: FloatArray
    theta_full: FloatArray | None
    theta_u: FloatArray | None


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
    if hessian.border is None:
        return JointCovariance(theta, items, full, None)
    z_theta, z_items, pivot = border_solution(hessian, BORDER_PRECISION)
    if pivot <= 0:
        raise NotAMinimumError
    blocks = np.empty((n_items, 2, 2))
    blocks[:, 0, 0] = 1.0 / pivot
    blocks[:, 0, 1] = blocks[:, 1, 0] = -z_items[:, 0] / pivot
    blocks[:, 1, 1] = items[:, 0, 0] + z_items[:, 0] ** 2 / pivot
    if full is not None:
        full = full + np.multiply.outer(z_theta, z_theta) / pivot
    return JointCovariance(theta + z_theta**2 / pivot, blocks, full, -z_theta / pivot)


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

"""The inverse of the observed information of the joint likelihood, the larger of persons and items eliminated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg import blas, lapack

from psychoeval.estimators.native.map_hessian import ArrowHessian, border_solution
from psychoeval.estimators.native.map_nodes import Curves
from psychoeval.estimators.native.map_objective import PRODUCT_CELLS, FloatArray, row_blocks

#: Up to this many persons the full covariance of the abilities is kept.
COVARIANCE_PERSONS: Final = 500
#: Cells of the block between persons and items that are held at a time.
CROSS_CELLS: Final = 750_000
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
    inverse, curves, a = np.linalg.inv(hessian.items), hessian.at.curves, hessian.slopes
    half = np.linalg.cholesky(inverse)
    rough = q if curves is None else q - 1  # the columns by d alone, the last, are smooth in theta
    smooth = None if curves is None else _smooth_part(curves, a * half[:, -1, -1])
    reduced = np.zeros((n_persons, n_persons), order="F")
    reduced.ravel(order="K")[:: n_persons + 1] = hessian.theta
    blocks = list(row_blocks(n_items, n_persons, CROSS_CELLS))
    for columns in blocks if rough else ():
        parts = _cross(hessian, columns)
        for p in range(rough):
            parts[p] *= half[columns, p, p]
            for r in range(p + 1, q):
                parts[p] += parts[r] * half[columns, r, p]
            reduced = _less_product(reduced, parts[p].T)
    if smooth is not None:
        reduced = _less_product(reduced, smooth.T)
    factor = _inverse_factor(reduced)
    basis = None if curves is None else _image(factor, curves.basis.copy().T)
    items = np.asarray(inverse.copy(), dtype=np.float64)
    for columns in blocks:
        images = [_image(factor, part.T).T for part in (_cross(hessian, columns)[:rough] if rough else ())]
        if curves is None or basis is None:
            inner = _gram(images)
        else:
            inner = _gram_at_nodes(images, basis, curves.weights(columns=columns) * a[columns])
        items[columns] += inverse[columns] @ inner @ inverse[columns]
    full = factor.T @ factor if n_persons <= COVARIANCE_PERSONS else None
    return np.einsum("ij,ij->j", factor, factor), items, full


def _cross(hessian: ArrowHessian, columns: slice) -> list[FloatArray]:
    """Return the part of C between all persons and some items, (N, j) for each of an item's q parameters."""
    n, j = hessian.theta.size, columns.stop - columns.start
    out = [np.empty((n, j)) for _ in range(hessian.items.shape[1])]
    for rows in row_blocks(n, j, PRODUCT_CELLS):
        for whole, part in zip(out, hessian.cross_parts(rows, columns), strict=True):
            whole[rows] = part
    return out


def _smooth_part(curves: Curves, scale: FloatArray) -> FloatArray:
    """Return S, (N, K), with S S' = C C' for C = basis (w scale), (N, J)."""
    product = np.zeros((len(curves.p), len(curves.p)))
    for columns in row_blocks(scale.size, len(curves.p), CROSS_CELLS):
        part = curves.weights(columns=columns) * scale[columns]
        product += part @ part.T
    values, vectors = np.linalg.eigh(product)
    return np.asarray((curves.basis @ vectors) * np.sqrt(np.maximum(values, 0.0)))


def _invert_over_items(hessian: ArrowHessian) -> tuple[FloatArray, FloatArray, None]:
    n_persons, n_items, q = hessian.theta.size, *hessian.items.shape[:2]
    reduced = np.zeros((n_items * q, n_items * q), order="F")
    each = np.arange(n_items)
    for p in range(q):
        for r in range(q):
            reduced[p * n_items + each, r * n_items + each] = hessian.items[:, p, r]
    blocks = list(row_blocks(n_persons, n_items * q, CROSS_CELLS))
    for rows in blocks:
        flat = np.hstack(hessian.cross_parts(rows, slice(None)))
        reduced = _less_product(reduced, flat / np.sqrt(hessian.theta[rows, None]))
    factor = _inverse_factor(reduced)
    theta = 1.0 / hessian.theta
    for rows in blocks:
        image = _image(factor, np.hstack(hessian.cross_parts(rows, slice(None))))
        theta[rows] += np.einsum("ij,ij->i", image, image) / hessian.theta[rows] ** 2
    return theta, _gram([factor[:, p * n_items : (p + 1) * n_items] for p in range(q)]), None


def _gram(columns: list[FloatArray]) -> FloatArray:
    """Return the inner products of the j-th columns of q matrices with each other, (J, q, q)."""
    return np.stack([np.stack([np.einsum("ij,ij->j", x, y) for y in columns], axis=1) for x in columns], axis=1)


def _gram_at_nodes(rough: list[FloatArray], basis: FloatArray, smooth: FloatArray) -> FloatArray:
    """Return the same of columns `rough`, (N, J) each, and of basis' `smooth`, from (K, N) and (K, J)."""
    out = np.empty((smooth.shape[1], len(rough) + 1, len(rough) + 1))
    out[:, :-1, :-1] = _gram(rough) if rough else 0.0
    out[:, -1, -1] = np.einsum("kj,kj->j", smooth, (basis @ basis.T) @ smooth)
    for p, column in enumerate(rough):
        out[:, p, -1] = out[:, -1, p] = np.einsum("kj,kj->j", smooth, basis @ column)
    return out


def _less_product(matrix: FloatArray, factor: FloatArray) -> FloatArray:
    """Return the matrix minus factor'factor in its own memory (Fortran order); only the lower triangle is right."""
    fortran = factor.flags.f_contiguous
    product = blas.dsyrk(
        -1.0, factor if fortran else factor.T, 1.0, matrix, trans=fortran, lower=True, overwrite_c=True
    )  # fmt: skip
    return np.asarray(product, dtype=np.float64)


def _inverse_factor(matrix: FloatArray) -> FloatArray:
    """Return R, lower triangular with R'R the inverse, in the memory of a matrix of which that triangle is given."""
    factor, failed = lapack.dpotrf(matrix, lower=True, clean=True, overwrite_a=True)
    if failed:
        raise NotAMinimumError
    inverse, _ = lapack.dtrtri(factor, lower=True, overwrite_c=True)
    return np.asarray(inverse, dtype=np.float64)


def _image(factor: FloatArray, rows: FloatArray) -> FloatArray:
    """Return rows (m, n) times factor', the lower triangle R of `_inverse_factor`."""
    if rows.flags.f_contiguous:  # the transpose of a block that BLAS may overwrite
        return np.asarray(blas.dtrmm(1.0, factor, rows, side=True, lower=True, trans_a=True, overwrite_b=True))
    return np.asarray(blas.dtrmm(1.0, factor, rows.T, lower=True, overwrite_b=True)).T

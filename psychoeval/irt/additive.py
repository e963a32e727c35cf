"""Least squares of score = person + item over observed cells, exact on the smaller side. Arrays in, arrays out.

With weights w (the trials), the larger side's effects are c = C^-1 (b_c - W' r), C = diag(W' 1), and the smaller
side's solve the Schur complement S r = b_r - W C^-1 b_c, S = R - W C^-1 W', R = diag(W 1): no matrix has more than
smaller x smaller elements, and cells are floating point one block at a time. S is singular along equal shifts; r sums
to 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import inv
from scipy.sparse import csc_array

from psychoeval.irt.classical import BLOCK_CELLS, CountArray, FloatArray, score_blocks

#: Below this share of observed cells blocks are sparse matrices.
SPARSE_DENSITY = 0.1

#: Cells whose leverage is nearer to 1 than this have no residual of their own: they take the pooled variance.
SATURATED = 1e-8

#: A residual variance of a 0-to-1 score at or below this is rounding.
EXACT = 1e-20

#: Above this many persons their N x N covariance is not kept.
COVARIANCE_MAX = 2000


@dataclass(frozen=True, slots=True)
class AdditiveFit:
    """What `fit_additive` found.

    Parameters
    ----------
    score : (N,) array
        Person effect plus mean item effect: the expected score on all items.
    item_score : (J,) array
        Item effect plus mean person effect: the expected score of all persons.
    variance : (N,) array
        Of `score`, heteroskedastic (HC2); NaN where there are no residuals to tell it from: no degrees of freedom, or
        every cell fits exactly.
    covariance : (N, N) array, optional
        Of `score`; None above 2000 persons, or where the variance is unknown.
    residual_variance : float
        Of a single trial, sum w e^2 / degrees of freedom.
    degrees_of_freedom : int
        Cells - N - J + 1.
    overdispersion : float
        Residual over binomial variance in the cells with two or more trials; NaN without any.
    """

    score: FloatArray
    item_score: FloatArray
    variance: FloatArray
    covariance: FloatArray | None
    residual_variance: float
    degrees_of_freedom: int
    overdispersion: float


class _Cells(NamedTuple):
    """Observed cells of a block of columns: positions, trials, scores."""

    columns: slice
    i: NDArray[np.intp]
    j: NDArray[np.intp]
    w: FloatArray
    y: FloatArray


@dataclass(frozen=True, slots=True)
class _Design:
    """Counts with the smaller side as rows; every row and column has trials."""

    successes: CountArray
    trials: CountArray
    rows: FloatArray
    columns: FloatArray
    sparse: bool

    def blocks(self) -> Iterator[_Cells]:
        n, m = self.trials.shape
        # Each block of a sparse design costs an n x n product whatever its width: take fewer, wider ones.
        step = max(1, BLOCK_CELLS * (4 if self.sparse else 1) // n)
        for start in range(0, m, step):
            part = slice(start, min(start + step, m))
            trials = self.trials[:, part]
            i, j = np.nonzero(trials)
            w = trials[i, j].astype(float)
            yield _Cells(part, i, j, w, self.successes[:, part][i, j] / w)

    def matrix(self, values: FloatArray, cells: _Cells) -> Any:
        """Return an n x block matrix of `values` at the cells: dense, or sparse where few are observed."""
        shape = (self.trials.shape[0], cells.columns.stop - cells.columns.start)
        if self.sparse:
            return csc_array((values, (cells.i, cells.j)), shape=shape)
        out = np.zeros(shape)
        out[cells.i, cells.j] = values
        return out


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def fit_additive(successes: CountArray, trials: CountArray) -> AdditiveFit:
    """Fit score = person + item by least squares weighted by trials.

    Errors are the sandwich A diag(e^2 / (1 - h)) A' (HC2; MacKinnon & White 1985, doi
    10.1016/0304-4076(85)90158-7), h the leverage of the cell: every cell has its own variance, trials of one cell
    may depend on each other, cells are independent. Departures from additivity at the cells seen count as error.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
        Every person and item has a trial, and cells connect all persons (not checked here: S would be singular).

    Returns
    -------
    AdditiveFit
    """
    if trials.min() == trials.max():
        return _fit_complete(successes, trials)
    n, m = trials.shape
    swap = n > m
    s, t = (successes.T, trials.T) if swap else (successes, trials)
    design = _Design(
        s,
        t,
        t.sum(axis=1, dtype=float),
        t.sum(axis=0, dtype=float),
        bool(np.count_nonzero(t) < SPARSE_DENSITY * t.size),
    )
    inverse = _schur_inverse(design)
    by_column = s.sum(axis=0, dtype=float) / design.columns
    r, c = _effects(design, inverse, s.sum(axis=1, dtype=float), by_column)
    solution = _Solution(inverse, r, c, *_residual_variance(design, r, c))
    sums = _sums(design, solution)
    variance, covariance = (_larger if swap else _smaller)(design, solution, sums)
    row_score, column_score = r + c.mean(), c
    known = solution.residual_variance > EXACT
    return AdditiveFit(
        column_score if swap else row_score,
        row_score if swap else column_score,
        variance if known else np.full(n, np.nan),
        covariance if known and n <= COVARIANCE_MAX else None,
        solution.residual_variance,
        solution.degrees_of_freedom,
        _ratio(sums.dispersion),
    )


def _ratio(parts: FloatArray) -> float:
    return float(parts[0] / parts[1]) if parts[1] > 0 else float("nan")


def _fit_complete(successes: CountArray, trials: CountArray) -> AdditiveFit:
    """Fit by row and column means, the closed form where every cell has the same trials."""
    (n, m), k = trials.shape, float(trials[0, 0])
    row = successes.sum(axis=1, dtype=float) / (k * m)
    column = successes.sum(axis=0, dtype=float) / (k * n)
    squares, binomial = np.empty(n), 0.0
    for part, scores, _ in score_blocks(successes, trials):
        e = scores - row[part, None] - column + column.mean()
        squares[part] = np.einsum("ij,ij->i", e, e)
        binomial += float((scores * (1 - scores)).sum()) * k / max(k - 1, 1)
    freedom = (n - 1) * (m - 1)
    left = freedom / (n * m)
    residual_variance = k * float(squares.sum()) / freedom if freedom else float("nan")
    known = residual_variance > EXACT
    variance = squares / (left * m**2) if known else np.full(n, np.nan)
    return AdditiveFit(
        row,
        column,
        variance,
        np.diag(variance) if known and n <= COVARIANCE_MAX else None,
        residual_variance,
        freedom,
        _ratio(np.array([k * squares.sum() / left, binomial])) if k > 1 and freedom else float("nan"),
    )


def _schur_inverse(design: _Design) -> FloatArray:
    """Return the pseudo-inverse of S, (n, n)."""
    schur = np.diag(design.rows)
    for cells in design.blocks():
        share = design.matrix(cells.w / design.columns[cells.columns][cells.j], cells)
        schur -= _dense(share @ design.matrix(cells.w, cells).T)
    # Adding a multiple of the null direction makes it regular; the pseudo-inverse takes it away again.
    n = schur.shape[0]
    level = float(np.trace(schur)) / n + float(n == 1)
    return np.asarray(inv(schur + level / n) - 1 / (level * n))


def _effects(
    design: _Design, inverse: FloatArray, by_row: FloatArray, by_column: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return r (n,) with sum 0, and c (m,)."""
    right, c = by_row.copy(), by_column.copy()
    for cells in design.blocks():
        right -= np.bincount(cells.i, cells.w * by_column[cells.columns][cells.j], right.size)
    r = inverse @ right
    for cells in design.blocks():
        width = cells.columns.stop - cells.columns.start
        c[cells.columns] -= np.bincount(cells.j, cells.w * r[cells.i], width) / design.columns[cells.columns]
    return r, c


class _Solution(NamedTuple):
    inverse: FloatArray  # P, pseudo-inverse of S
    r: FloatArray
    c: FloatArray
    residual_variance: float
    degrees_of_freedom: int


class _Sums(NamedTuple):
    covariance: FloatArray  # of r, (n, n)
    share: FloatArray  # mean column of D = W C^-1, (n,)
    with_mean: FloatArray  # covariance of r with mean(b_c / C), (n,)
    mean_variance: float  # of mean(b_c / C)
    dispersion: FloatArray  # residual and binomial sums of squares, (2,)


def _residual_variance(design: _Design, r: FloatArray, c: FloatArray) -> tuple[float, int]:
    squares = sum(float(b.w @ (b.y - r[b.i] - c[b.columns][b.j]) ** 2) for b in design.blocks())
    freedom = int(np.count_nonzero(design.trials)) - r.size - c.size + 1
    return (squares / freedom if freedom > 0 else float("nan")), freedom


class _Weighed(NamedTuple):
    cells: _Cells
    total: FloatArray  # trials of the block's columns
    d: FloatArray  # w / total, by cell
    omega: FloatArray  # w^2 e^2 / (1 - h), by cell
    by_column: FloatArray  # sums of omega
    share: Any  # d as a matrix, n x block
    judged: NDArray[np.bool_]  # cells with a residual of their own


def _weigh(design: _Design, solution: _Solution) -> Iterator[_Weighed]:
    """Yield each block with the variances of its cells; h = w (P_ii - 2 (P D)_ij + (D' P D)_jj + 1 / C_j)."""
    inverse, r, c, residual_variance, _ = solution
    for cells in design.blocks():
        total = design.columns[cells.columns]
        d = cells.w / total[cells.j]
        share = design.matrix(d, cells)
        spread = (share.T @ inverse).T  # P D; P is symmetric
        at = spread[cells.i, cells.j]
        own = np.bincount(cells.j, d * at, total.size) + 1 / total
        left = 1 - cells.w * (inverse[cells.i, cells.i] - 2 * at + own[cells.j])
        e2 = (cells.y - r[cells.i] - c[cells.columns][cells.j]) ** 2
        judged = left > SATURATED
        omega = cells.w**2 * np.where(judged, e2 / np.where(judged, left, 1.0), residual_variance / cells.w)
        yield _Weighed(cells, total, d, omega, np.bincount(cells.j, omega, total.size).astype(float), share, judged)


def _sums(design: _Design, solution: _Solution) -> _Sums:
    n, m = design.trials.shape
    meat, share, with_mean = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    mean_variance, dispersion = 0.0, np.zeros(2)
    for block in _weigh(design, solution):
        cells, total = block.cells, block.total
        column = block.by_column[cells.j]
        # Omega_r - omega D' - D omega' + D Omega_c D', the last shared between the two before it.
        cross = _dense(design.matrix(block.omega - block.d * column / 2, cells) @ block.share.T)
        meat += np.diag(np.bincount(cells.i, block.omega, n)) - cross - cross.T
        share += np.bincount(cells.i, block.d, n) / m
        with_mean += np.bincount(cells.i, (block.omega - block.d * column) / (m * total[cells.j]), n)
        mean_variance += float((block.by_column / (m * total) ** 2).sum())
        several = block.judged & (cells.w > 1)
        w, y = cells.w[several], cells.y[several]
        dispersion += [(block.omega[several] / w).sum(), (y * (1 - y) * w / (w - 1)).sum()]
    inverse = solution.inverse
    return _Sums(inverse @ meat @ inverse, share, inverse @ with_mean, mean_variance, dispersion)


def _smaller(design: _Design, solution: _Solution, sums: _Sums) -> tuple[FloatArray, FloatArray | None]:
    """Covariance of r + mean(c), where mean(c) = mean(b_c / C) - r' (mean column of D)."""
    # (I - 1 d') V (I - 1 d')' and the cross terms, as rank-one changes of V.
    d, v = sums.share, sums.covariance
    common = sums.with_mean - d @ sums.with_mean - v @ d
    covariance = v + common[:, None] + common + (sums.mean_variance + d @ v @ d)
    return np.diag(covariance).copy(), covariance


def _larger(design: _Design, solution: _Solution, sums: _Sums) -> tuple[FloatArray, FloatArray | None]:
    """Covariance of c = b_c / C - D'r; mean(r) is 0."""
    m = design.trials.shape[1]
    variance = np.empty(m)
    keep: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    for block in _weigh(design, solution):
        cells = block.cells
        omega = (block.omega - block.d * block.by_column[cells.j]) / block.total[cells.j]
        # Covariance of r with each column's own mean, n x block.
        cross = solution.inverse @ _dense(design.matrix(omega, cells))
        share, own = _dense(block.share), block.by_column / block.total**2
        variance[cells.columns] = own + np.einsum("ij,ij->j", share, sums.covariance @ share - 2 * cross)
        if m <= COVARIANCE_MAX:
            keep.append((share, cross, own))
    if not keep:
        return variance, None
    shares, crosses, owns = (np.concatenate(parts, axis=-1) for parts in zip(*keep, strict=True))
    mixed = shares.T @ crosses
    return variance, np.diag(owns) + shares.T @ sums.covariance @ shares - mixed - mixed.T

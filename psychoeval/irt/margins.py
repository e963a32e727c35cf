"""Logit margins: how able persons and how hard items look, all cells at once. Arrays in, arrays out.

A description, and no estimator: for screening, where systems that saw other items must be set side by side.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

FloatArray = NDArray[np.float64]

#: SDs of the normal penalties that keep extreme persons and items finite, in logits.
ROW_SD: Final = 2.0
COLUMN_SD: Final = 3.0
_MOST_SWEEPS: Final = 100
_CLOSE_ENOUGH: Final = 1e-4
_BLOCK_CELLS: Final = 1 << 20


class Margins(NamedTuple):
    """Margins in logits: P(x = 1) = expit(row - column).

    `row` is (N,), of mean 0 but for persons without responses (0); `column` is (J,).
    """

    row: FloatArray
    column: FloatArray


def logit_margins(successes: NDArray[np.integer], trials: NDArray[np.integer], start: Margins | None = None) -> Margins:
    """Return the margins that maximise the penalised binomial likelihood.

    sum_ij [k log p + (n - k) log(1 - p)] - sum_i row_i^2 / 2 SD^2 - sum_j (column_j - m)^2 / 2 SD^2, m the mean
    column, by Newton steps on rows and columns in turn, in blocks of rows: no N x J array of floats is kept.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
    start : Margins, optional
        Near the answer: saves sweeps.
    """
    n, j = trials.shape
    row, column = (np.zeros(n), np.zeros(j)) if start is None else (start.row.copy(), start.column.copy())
    step = max(1, _BLOCK_CELLS // j)
    for _ in range(_MOST_SWEEPS):
        before = row.copy(), column.copy()
        gradient, curvature = np.zeros(j), np.zeros(j)
        for first in range(0, n, step):
            at = slice(first, first + step)
            k, t = successes[at].astype(np.float64), trials[at].astype(np.float64)
            p = expit(row[at, None] - column)
            slope = (k - t * p).sum(axis=1) - row[at] / ROW_SD**2
            row[at] += np.clip(slope / ((t * p * (1 - p)).sum(axis=1) + 1 / ROW_SD**2), -1, 1)
            p = expit(row[at, None] - column)
            gradient -= (k - t * p).sum(axis=0)
            curvature += (t * p * (1 - p)).sum(axis=0)
        gradient -= (column - column.mean()) / COLUMN_SD**2
        column += np.clip(gradient / (curvature + 1 / COLUMN_SD**2), -1, 1)
        if max(np.abs(row - before[0]).max(), np.abs(column - before[1]).max()) < _CLOSE_ENOUGH:
            break
    seen = trials.any(axis=1)
    center = row[seen].mean() if seen.any() else 0.0
    return Margins(np.where(seen, row - center, 0.0), column - center)


def slope_free_residuals(
    successes: NDArray[np.integer], trials: NDArray[np.integer], margins: Margins
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return residuals k - n p and variances n p (1 - p) of each cell, (N, J) float32, 0 where there are no trials.

    What one Newton step on a slope of each item would explain is taken out: r_ij - w_ij t_ij (sum_i r_ij t_ij) /
    (sum_i w_ij t_ij^2), with w = n p (1 - p) and t = row_i - sum_i w_ij row_i / sum_i w_ij.
    """
    n, j = trials.shape
    out, variance = np.zeros((n, j), np.float32), np.zeros((n, j), np.float32)
    step = max(1, _BLOCK_CELLS // n)
    for start in range(0, j, step):
        at = slice(start, start + step)
        t = trials[:, at]
        p = expit(margins.row[:, None] - margins.column[at])
        residual, weight = successes[:, at] - t * p, t * p * (1 - p)
        total = np.maximum(weight.sum(axis=0), 1e-12)
        ability = margins.row[:, None] - (weight * margins.row[:, None]).sum(axis=0) / total
        spread = np.maximum((weight * ability**2).sum(axis=0), 1e-12)
        variance[:, at] = weight
        out[:, at] = residual - weight * ability * ((residual * ability).sum(axis=0) / spread)
    return out, variance

"""Scores when each item counts so many times: what a bootstrap over items computes. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from psychoeval.irt.classical import BLOCK_CELLS, CountArray, FloatArray

#: Smallest eigenvalue, as a share of the mean one, at which persons count as connected.
_CONNECTED: Final = 1e-9


def weighted_averages(successes: CountArray, trials: CountArray, weights: FloatArray) -> FloatArray:
    """Return the simple average of each person in each sample, (R, N): sum_j w_j x_ij / sum_j w_j over cells seen.

    NaN where a person saw none of the items drawn.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
    weights : (R, J) array
        How often each item is drawn.
    """
    seen = (trials > 0).astype(float)
    scores = successes / np.maximum(trials, 1)
    count = weights @ seen.T
    out = np.full(count.shape, np.nan)
    np.divide(weights @ scores.T, count, out=out, where=count > 0)
    return out


def weighted_additive(successes: CountArray, trials: CountArray, weights: FloatArray) -> FloatArray:
    """Return the additive score of each person in each sample, (R, N); NaN where the items drawn do not connect all.

    score = person + item by least squares, cells weighted by trials times w_j; the score is the person's effect plus
    the mean item effect of the items drawn. Item effects c_j = (s_j - sum_i t_ij r_i) / t_j do not depend on w_j, so
    that r solves S r = b, S = diag(T w) - T diag(w / t) T', b = sum_j w_j t_ij (x_ij - s_j / t_j).

    Parameters
    ----------
    successes, trials : (N, J) count arrays
        Every item has a trial.
    weights : (R, J) array
    """
    t, s = trials.astype(float), successes.astype(float)
    column, mean = t.sum(axis=0), s.sum(axis=0) / t.sum(axis=0)
    if trials.min() == trials.max():
        return np.asarray(weights @ (s / t).T / weights.sum(axis=1, keepdims=True))
    right = weights @ (s - t * mean).T
    out = np.full(right.shape, np.nan)
    for part, schur in _schur_blocks(t, weights / column, weights @ t.T):
        values = np.linalg.eigvalsh(schur)
        connected = values[:, 0] > _CONNECTED * values.mean(axis=1)
        w = weights[part][connected]
        r = np.linalg.solve(schur[connected], right[part][connected][..., None])[..., 0]
        r -= r.mean(axis=1, keepdims=True)
        items = mean - r @ t / column
        found = r + np.einsum("rj,rj->r", w, items)[:, None] / w.sum(axis=1, keepdims=True)
        out[part][connected] = found
    return out


def _schur_blocks(t: FloatArray, share: FloatArray, row: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of samples with their S, (B, N, N), made regular along equal shifts of all persons."""
    n, j = t.shape
    step = max(1, BLOCK_CELLS // (n * max(n, j)))
    for start in range(0, len(share), step):
        part = slice(start, start + step)
        schur = -np.matmul(t * share[part][:, None, :], t.T)
        schur[:, np.arange(n), np.arange(n)] += row[part]
        schur += np.trace(schur, axis1=1, axis2=2)[:, None, None] / n**2
        yield part, schur

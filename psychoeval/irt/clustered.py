"""Errors of mean scores that know their unit: clusters of items, trials within items. Arrays in, arrays out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from psychoeval.irt.classical import SMALL_CELLS, CountArray, FloatArray, mean_error, row_moments, score_blocks


class ClusteredError(NamedTuple):
    """Standard error of each row's mean (R,), without a small-sample factor, and the number of its clusters (R,)."""

    error: FloatArray
    n_clusters: NDArray[np.intp]


class Grouping:
    """Columns put in the order of their groups, so that sums over groups are one call.

    Parameters
    ----------
    codes : (C,) integer array
        Group of each column, from 0, every code up to the largest used.
    """

    def __init__(self, codes: NDArray[np.intp]) -> None:
        self.order = np.argsort(codes, kind="stable")
        self.starts = np.flatnonzero(np.diff(codes[self.order], prepend=-1))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sums of (R, C) values over the columns of each group, (R, G)."""
        return np.asarray(np.add.reduceat(values[:, self.order], self.starts, axis=1))


def clustered_mean_error(successes: CountArray, trials: CountArray, codes: NDArray[np.intp]) -> ClusteredError:
    """Return the cluster-robust standard error of each row's mean score.

    sqrt(sum over clusters of (sum of residuals)^2) / n, residual = score - mean of the row, n scores of the row:
    Liang & Zeger (1986), doi 10.1093/biomet/73.1.13, for a mean. Multiply by sqrt(G / (G - 1)) for few clusters G.
    Missing cells have no residual. NaN for rows without scores.

    Parameters
    ----------
    successes, trials : (R, C) count arrays
    codes : (C,) integer array
        Cluster of each column, from 0.
    """
    mean, n = row_moments(successes, trials).mean, np.count_nonzero(trials, axis=1)
    groups = Grouping(codes)
    error, clusters = np.full(n.size, np.nan), np.zeros(n.size, dtype=np.intp)
    for part, scores, seen in score_blocks(successes, trials, SMALL_CELLS):
        sums = groups.sums(np.where(seen, scores - mean[part, None], 0.0))
        size = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        np.divide(size, n[part], out=error[part], where=n[part] > 0)
        clusters[part] = np.count_nonzero(groups.sums(seen.astype(float)), axis=1)
    return ClusteredError(error, clusters)


def mean_error_between_clusters(
    successes: CountArray,
    trials: CountArray,
    codes: NDArray[np.intp],
    *,
    small_sample: bool = True,
    level: float = 0.95,
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Return standard error of mean scores between clusters, the n that Wilson's interval takes, and the clusters.

    That n makes Wilson's interval at `level` the one of an effective sample with this standard error, Student's t with
    G - 1 degrees of freedom in place of the normal quantile: n of `mean_error`, times (its error / this error)^2, times
    (z / t)^2. All residuals 0 (a perfect score) show no clustering: then the error is that of `mean_error`, and as many
    independent scores count as there are clusters. NaN for rows with a single cluster.

    Parameters
    ----------
    successes, trials : (R, C) count arrays
    codes : (C,) integer array
        Cluster of each column, from 0.
    small_sample : bool
        Whether the error has the factor sqrt(G / (G - 1)).
    level : float
    """
    moments = row_moments(successes, trials)
    between, worth = mean_error(moments)
    found = clustered_mean_error(successes, trials, codes)
    g = np.maximum(found.n_clusters, 2).astype(float)
    flat, alone = ~(found.error > 1e-12), found.n_clusters < 2
    error = np.where(flat, between, found.error * (np.sqrt(g / (g - 1)) if small_sample else 1.0))
    error[alone] = np.nan
    z, t = float(ndtri(0.5 + level / 2)), np.asarray(stdtrit(g - 1, 0.5 + level / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = worth * np.where(flat, found.n_clusters / moments.n, (between / error) ** 2) * (z / t) ** 2
    return error, np.where(alone, np.nan, worth), found.n_clusters


def trial_mean_error(successes: CountArray, trials: CountArray) -> FloatArray:
    """Return the standard error of each row's mean if only its trials were drawn anew and the items stayed, (R,).

    sqrt(sum over cells of p (1 - p) / (K - 1)) / n: p (1 - p) K / (K - 1) estimates the variance of one trial of a
    cell without bias. NaN where a cell has a single trial, which shows no such variance, and for rows without scores.

    Parameters
    ----------
    successes, trials : (R, C) count arrays
    """
    n = np.count_nonzero(trials, axis=1)
    variance = np.full(n.size, np.nan)
    for part, scores, seen in score_blocks(successes, trials, SMALL_CELLS):
        k = trials[part].astype(float)
        known = (n[part] > 0) & ~(seen & (k < 2)).any(axis=1)
        cells = np.where(seen, scores * (1 - scores) / np.maximum(k - 1, 1), 0.0).sum(axis=1)
        variance[part] = np.where(known, cells / np.maximum(n[part], 1) ** 2, np.nan)
    return np.asarray(np.sqrt(variance))

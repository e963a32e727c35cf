"""What residuals have in common beyond pairs: contrasts of items, and partitions of them. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def leading_contrasts(correlation: FloatArray, tested: BoolArray, most: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a correlation matrix of residuals, falling, (K,), and the first's loadings.

    Loadings, (J,), are the eigenvector times the root of its eigenvalue; the largest of them is positive. They sum to
    the eigenvalue when squared, and eigenvalues of all contrasts to J.

    Parameters
    ----------
    correlation : (J, J) array
    tested : (J, J) array of bool
        Pairs whose correlation is known; others count as 0.
    most : int
        Eigenvalues K at most.
    """
    matrix = np.where(tested, correlation, 0.0)
    np.fill_diagonal(matrix, 1.0)
    j = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(max(0, j - most), j - 1))
    first = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
    return values[::-1], first * np.sign(first[np.argmax(np.abs(first))])


def detect(covariance: FloatArray, tested: BoolArray, cluster: NDArray[np.intp]) -> tuple[float, float]:
    """Return DETECT, 100 times the mean over pairs of +-covariance, and r, its share of the mean |covariance|.

    The sign is + for pairs within a cluster and - for others: large where items of a cluster go together beyond the
    ability and those of different ones do so less. Both are NaN without a pair.

    Parameters
    ----------
    covariance : (J, J) array
        Of residuals at an ability, in place of covariances among persons of the same score.
    tested : (J, J) array of bool
    cluster : (J,) integer array
        -1 for items that are in none.

    Notes
    -----
    Source: Zhang & Stout (1999), Psychometrika 64, 213-249, doi:10.1007/BF02294536.
    """
    at = np.triu(tested & (cluster >= 0)[:, None] & (cluster >= 0), 1)
    if not at.any():
        return float("nan"), float("nan")
    sign = np.where(cluster[:, None] == cluster, 1.0, -1.0)
    signed, size = float((sign * covariance)[at].mean()), float(np.abs(covariance[at]).mean())
    return 100.0 * signed, signed / size if size > 0 else float("nan")


def adjusted_rand(first: NDArray[np.intp], second: NDArray[np.intp]) -> float:
    """Return the adjusted Rand index of two partitions: 1 if they are the same, 0 on average by chance; NaN if trivial.

    Source: Hubert & Arabie (1985), J. Classif. 2, 193-218, doi:10.1007/BF01908075.

    Examples
    --------
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    _, rows = np.unique(first, return_inverse=True)
    _, columns = np.unique(second, return_inverse=True)
    table = np.zeros((rows.max(initial=0) + 1, columns.max(initial=0) + 1))
    np.add.at(table, (rows, columns), 1.0)

    def pairs(counts: FloatArray) -> float:
        return float((counts * (counts - 1.0) / 2.0).sum())

    same, one, two = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    all_pairs = first.size * (first.size - 1) / 2.0
    if not all_pairs:
        return float("nan")
    expected, largest = one * two / all_pairs, (one + two) / 2.0
    return (same - expected) / (largest - expected) if largest > expected else float("nan")

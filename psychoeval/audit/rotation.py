"""Rotation of loadings to simple structure. Arrays in, arrays out."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_MOST_ITERATIONS: Final = 1_000
_CLOSE_ENOUGH: Final = 1e-10


def varimax(loadings: FloatArray, *, normalize: bool = True) -> tuple[FloatArray, FloatArray]:
    """Return loadings rotated to the varimax criterion, and the rotation.

    Maximises sum_k [mean_j l_jk^4 - (mean_j l_jk^2)^2] over orthogonal rotations, by the singular value decomposition
    of its gradient (as R's ``varimax`` does). Source: Kaiser (1958), doi 10.1007/BF02289233.

    Parameters
    ----------
    loadings : (J, K) float array
    normalize : bool
        Give every item equal weight (Kaiser's normalisation); items of length 0 keep it.

    Returns
    -------
    rotated : (J, K) float array
        Columns by falling sum of squares, each with a positive sum of cubes (its large loadings are positive).
    rotation : (K, K) float array
        Orthogonal; ``rotated = loadings @ rotation``.
    """
    j, k = loadings.shape
    if k < 2 or j < 2:
        return _in_order(loadings, np.eye(k))
    length = np.sqrt((loadings**2).sum(axis=1, keepdims=True)) if normalize else np.ones((j, 1))
    scaled = loadings / np.where(length > 0, length, 1)
    rotation, criterion = np.eye(k), 0.0
    for _ in range(_MOST_ITERATIONS):
        rotated = scaled @ rotation
        gradient = scaled.T @ (rotated**3 - rotated * (rotated**2).mean(axis=0))
        u, s, vt = np.linalg.svd(gradient)
        rotation, before, criterion = u @ vt, criterion, float(s.sum())
        if criterion <= before * (1 + _CLOSE_ENOUGH):
            break
    return _in_order(loadings, rotation)


def _in_order(loadings: FloatArray, rotation: FloatArray) -> tuple[FloatArray, FloatArray]:
    rotated = loadings @ rotation
    order = np.argsort(-(rotated**2).sum(axis=0), kind="stable")
    sign = np.where((rotated**3).sum(axis=0) < 0, -1.0, 1.0)
    rotation = (rotation * sign)[:, order]
    return loadings @ rotation, rotation

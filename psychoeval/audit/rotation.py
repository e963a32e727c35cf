"""Rotation of loadings to simple structure. Arrays in, arrays out.

Both are checked against R (``stats::varimax``, ``GPArotation::oblimin``) in tests/parity.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError

FloatArray = NDArray[np.float64]

_MOST_ITERATIONS: Final = 10_000
_CLOSE_ENOUGH: Final = 1e-10
#: Norm of the projected gradient at which oblimin ends.
_STILL: Final = 1e-7
#: It ends too where no step lowers the criterion, for rounding hides what is left to gain; an item adds about 1 to the
#: criterion's scale, so that this norm an item is still that of an end.
_SMALLEST_STEP: Final = 1e-8
_NEARLY_STILL: Final = 1e-7


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
    scaled = loadings / _length(loadings, normalize)
    rotation, criterion = np.eye(k), 0.0
    for _ in range(_MOST_ITERATIONS):
        rotated = scaled @ rotation
        gradient = scaled.T @ (rotated**3 - rotated * (rotated**2).mean(axis=0))
        u, s, vt = np.linalg.svd(gradient)
        rotation, before, criterion = u @ vt, criterion, float(s.sum())
        if criterion <= before * (1 + _CLOSE_ENOUGH):
            break
    return _in_order(loadings, rotation)


def oblimin(loadings: FloatArray, *, normalize: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return loadings rotated to the oblimin criterion with gamma 0, the correlations of factors, and the rotation.

    Minimises sum_(k < m) sum_j l_jk^2 l_jm^2 over oblique rotations, from the varimax solution, by projected gradients
    with halved steps. Source: Bernaards & Jennrich (2005), doi 10.1177/0013164404272507.

    Parameters
    ----------
    loadings : (J, K) float array
    normalize : bool
        As in `varimax`.

    Returns
    -------
    rotated : (J, K) float array
        The pattern; order and signs as in `varimax`.
    correlation : (K, K) float array
        Of the factors, T' T.
    rotation : (K, K) float array
        T; ``rotated = loadings @ inv(T).T``, and scores of the factors are scores @ T.

    Raises
    ------
    DataError
        If the search does not end.
    """
    j, k = loadings.shape
    if k < 2 or j < 2:
        rotated, turn = _in_order(loadings, np.eye(k))
        return rotated, np.eye(k), turn
    scaled = loadings / _length(loadings, normalize)
    turn = varimax(loadings, normalize=normalize)[1]
    step = 1.0
    value, gradient = _oblimin_at(scaled, turn)
    for _ in range(_MOST_ITERATIONS):
        along = gradient - turn * (turn * gradient).sum(axis=0)
        steepness = float((along**2).sum())
        if steepness < _STILL**2:
            break
        step *= 2
        while step > _SMALLEST_STEP:
            moved = turn - step * along
            moved /= np.sqrt((moved**2).sum(axis=0))
            after = _oblimin_at(scaled, moved)
            if value - after[0] > 0.5 * steepness * step:
                break
            step /= 2
        else:
            break
        turn, (value, gradient) = moved, after
    if steepness > (_NEARLY_STILL * len(scaled)) ** 2:
        raise DataError("The oblimin rotation did not converge.", 'Take rotation="varimax", or fewer factors.')
    rotated, arranged = _in_order(loadings @ np.linalg.inv(turn).T, np.eye(k))
    turn = turn @ arranged
    return rotated, turn.T @ turn, turn


def _oblimin_at(scaled: FloatArray, turn: FloatArray) -> tuple[float, FloatArray]:
    """Return the criterion and its gradient with respect to T."""
    inverse = np.linalg.inv(turn)
    pattern = scaled @ inverse.T
    squares = pattern**2
    others = squares.sum(axis=1, keepdims=True) - squares
    return float((squares * others).sum()) / 4, -(pattern.T @ (pattern * others) @ inverse).T


def _length(loadings: FloatArray, normalize: bool) -> FloatArray:
    length = np.sqrt((loadings**2).sum(axis=1, keepdims=True)) if normalize else np.ones((len(loadings), 1))
    return np.where(length > 0, length, 1)


def _in_order(loadings: FloatArray, rotation: FloatArray) -> tuple[FloatArray, FloatArray]:
    rotated = loadings @ rotation
    order = np.argsort(-(rotated**2).sum(axis=0), kind="stable")
    sign = np.where((rotated**3).sum(axis=0) < 0, -1.0, 1.0)
    rotation = (rotation * sign)[:, order]
    return loadings @ rotation, rotation

"""What becomes of items when the scale moves: theta* = A theta + B. Said here alone. Arrays in, arrays out.

P(theta) stays as it is at every theta, c + (1 - c) / (1 + exp(-(a theta + d))), if

    a* = a / A,   d* = d - (B / A) a,   c* = c,   and so b* = A b + B of b = -d / a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def linked(items: FloatArray, scale: float, shift: float) -> FloatArray:
    """Return (a*, d*, c*) of M items, (M, 3).

    Parameters
    ----------
    items : (M, 3) array
        a, d, c.
    scale, shift : float
        A, negative where the direction is turned round, and B.

    Examples
    --------
    >>> linked(np.array([[1.0, -0.5, 0.2]]), 2.0, 1.0).tolist()  # b = .5 becomes 2
    [[0.5, -1.0, 0.2]]
    """
    a, d, c = items.T
    return np.stack([a / scale, d - shift / scale * a, c], axis=1)  # no matrix product: one NaN would spread


def linked_difficulty(b: FloatArray, scale: float, shift: float) -> FloatArray:
    """Return b* = A b + B, which is also theta* of a theta."""
    return np.asarray(scale * b + shift)


def by_items(scale: float, shift: float) -> FloatArray:
    """Return the derivatives of (a*, d*, c*) by (a, d, c), (3, 3): the law is linear in them."""
    return np.array([[1.0 / scale, 0.0, 0.0], [-shift / scale, 1.0, 0.0], [0.0, 0.0, 1.0]])


def by_constants(items: FloatArray, scale: float, shift: float) -> FloatArray:
    """Return the derivatives of (a*, d*) of M items by (A, B), (M, 2, 2)."""
    a, out = items[:, 0], np.zeros((len(items), 2, 2))
    out[:, 0, 0], out[:, 1, 0], out[:, 1, 1] = -a / scale**2, shift * a / scale**2, -a / scale
    return out

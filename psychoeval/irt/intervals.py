"""Confidence intervals from an estimate and its error. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

FloatArray = NDArray[np.float64]


def wald_interval(estimate: FloatArray, error: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return estimate -+ z SE; arrays of one shape in, two of that shape out."""
    z = float(ndtri(0.5 + level / 2))
    with np.errstate(invalid="ignore"):
        return estimate - z * error, estimate + z * error


def wilson_interval(proportion: FloatArray, n: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's score interval of proportions.

    (p + z^2/2n -+ z sqrt(p (1 - p)/n + z^2/4n^2)) / (1 + z^2/n): Wilson (1927), doi 10.1080/01621459.1927.10502953.

    Parameters
    ----------
    proportion, n : arrays of one shape
        n > 0 need not be whole; rows with n = 0 or NaN give NaN.
    level : float

    Examples
    --------
    >>> low, high = wilson_interval(np.array([1.0]), np.array([20.0]))
    >>> round(float(low[0]), 4), float(high[0])
    (0.8389, 1.0)
    """
    z2 = float(ndtri(0.5 + level / 2)) ** 2
    p, n = np.asarray(proportion, float), np.where(np.asarray(n, float) > 0, n, np.nan)
    scale = 1 + z2 / n
    center = (p + z2 / (2 * n)) / scale
    half = np.sqrt(z2 * (p * (1 - p) + z2 / (4 * n)) / n) / scale
    # At p = 0 and 1 the limits are exact; subtraction would leave 1e-17.
    return np.where(p == 0, 0.0, center - half), np.where(p == 1, 1.0, center + half)


def correlation_interval(
    correlation: FloatArray, error: FloatArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return the interval of correlations on Fisher's scale, tanh(atanh r -+ z SE / (1 - r^2)): inside [-1, 1]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = wald_interval(np.arctanh(correlation), error / (1 - correlation**2), level)
    return np.tanh(low), np.tanh(high)

"""P(Z <= z) of a weighted sum of binomial counts, by a saddlepoint. Arrays in, arrays out."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

FloatArray = NDArray[np.float64]

_STEPS: Final = 100
#: Of the saddlepoint, in units of its own.
_FOUND: Final = 1e-9
#: Farther from 0 the sum is at its least or largest value, whose probability the bound gives.
_FARTHEST: Final = 500.0
#: Nearer to 0 the two parts of the formula cancel, and are replaced by their limit.
_NEAR: Final = 1e-3


def p_as_low(z: FloatArray, weights: FloatArray, p: FloatArray, trials: FloatArray) -> FloatArray:
    """Return P(sum_j v_j (X_j - n_j p_j) <= z s) for independent X_j ~ Binomial(n_j, p_j), (N,).

    s is the SD of the sum. Lugannani & Rice (1980): with K the cumulant generating function of the standardized sum and
    K'(t) = z,

        P = Phi(w) + phi(w) (1 / w - 1 / u),  w = sign(t) sqrt(2 (t z - K(t))),  u = t sqrt(K''(t)),

    kept within Chernoff's bound exp(K(t) - t z) of the tail beyond z, which at the least value of all is its
    probability. Of sums of few terms that differ, as here, the error is relative: small p are right too, which those of
    a normal distribution are not.

    Parameters
    ----------
    z : (N,) array
        NaN gives NaN.
    weights, p, trials : (N, J) arrays
        v, not all 0 where n > 0 and z is known; 0 < p < 1; n, 0 for none.

    References
    ----------
    Lugannani & Rice (1980), Advances in Applied Probability 12, 475-490, doi:10.2307/1426607.
    Daniels (1987), International Statistical Review 55, 37-48, doi:10.2307/1403269.
    """
    out = np.full(z.shape, np.nan)
    known = np.flatnonzero(np.isfinite(z))
    n, p, z = trials[known], p[known], z[known]
    v = np.where(n > 0, weights[known], 0.0)
    v = v / np.sqrt((n * p * (1 - p) * v**2).sum(axis=1))[:, None]
    t, spread = _saddlepoint(z, v, p, n)
    exponent = t * z - (n * (_log_mean_exp(v * t[:, None], p) - p * v * t[:, None])).sum(axis=1)
    w, u = np.sign(t) * np.sqrt(2 * np.maximum(exponent, 0)), t * spread
    near = np.abs(w) < _NEAR
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * np.where(near, 0.0, 1 / w - 1 / u)
    third = (n * p * (1 - p) * (1 - 2 * p) * v**3).sum(axis=1)
    at_mean = ndtr(z) + third / 6 * (1 - z**2) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    bound = np.exp(-np.maximum(exponent, 0))
    lower = np.where(near, at_mean, np.clip(ndtr(w) + np.nan_to_num(beyond, posinf=1, neginf=-1), 0, 1))
    out[known] = np.where(t < 0, np.minimum(lower, bound), np.maximum(lower, 1 - bound))
    return out


def _log_mean_exp(h: FloatArray, p: FloatArray) -> FloatArray:
    """Return log(1 - p + p exp(h)) without overflow."""
    return np.logaddexp(np.log1p(-p), np.log(p) + h)


def _saddlepoint(z: FloatArray, v: FloatArray, p: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return t with K'(t) = z, and the root of K''(t): Newton's steps, halved towards the middle where they leave."""
    low, high = np.full(z.size, -_FARTHEST), np.full(z.size, _FARTHEST)
    t, log_odds = z.copy(), np.log(p) - np.log1p(-p)
    for _ in range(_STEPS):
        tilted = expit(log_odds + v * t[:, None])
        slope, curvature = (n * v * (tilted - p)).sum(axis=1), (n * v**2 * tilted * (1 - tilted)).sum(axis=1)
        low, high = np.where(slope < z, t, low), np.where(slope < z, high, t)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = t - (slope - z) / curvature
        after = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        moved, t = np.abs(after - t), after
        if (moved <= _FOUND * (1 + np.abs(t))).all():
            break
    return t, np.sqrt(curvature)

"""Draw responses from known items and abilities. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np

from psychoeval.irt.classical import BLOCK_CELLS, CountArray, FloatArray
from psychoeval.irt.curves import probability


def simulate_counts(
    theta: FloatArray, a: FloatArray, d: FloatArray, c: FloatArray, trials: CountArray, rng: np.random.Generator
) -> CountArray:
    """Return successes of each cell, Binomial(trials, c + (1 - c) / (1 + exp(-(a theta + d)))), (N, J).

    In blocks of persons: no N x J array of floats is held.

    Parameters
    ----------
    theta : (N,) array
    a, d, c : (J,) arrays
        Slope, intercept and lower asymptote.
    trials : (N, J) count array
        0 where a cell is missing.
    rng : Generator

    Returns
    -------
    (N, J) count array
        Of the dtype of `trials`.
    """
    out = np.zeros_like(trials)
    step = max(1, BLOCK_CELLS // max(a.size, 1))
    for start in range(0, theta.size, step):
        part = slice(start, start + step)
        out[part] = rng.binomial(trials[part], probability(theta[part], a, d, c))
    return out

"""Reliability and skewness of estimated abilities: arrays in, numbers out."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.ranks import ROUNDING
from psychoeval.irt.parameters import AbilityMethod
from psychoeval.trust.item_coverage import SHRUNK

FloatArray = NDArray[np.float64]

#: Resampled values held at a time.
_BLOCK_CELLS: Final = 1 << 21


def empirical_reliability(estimate: FloatArray, error: FloatArray, method: AbilityMethod) -> float:
    """Return the share of true variance, from the estimates alone: theirs and that of their errors.

    V / (V + E) for EAP and MAP, whose V is less than that of abilities; 1 - E / V for others, whose V holds the errors.
    V = var(estimates) with n - 1, E = mean(SE^2), both over systems with a finite estimate and error. The first is
    mirt's `empirical_rxx` (1.48), the second the same with T_as_X. NaN for fewer than two systems or without variance.

    Parameters
    ----------
    estimate, error : (N,) arrays
        In the same unit.
    method : str
    """
    known = np.isfinite(estimate) & np.isfinite(error)
    if np.count_nonzero(known) < 2:
        return float("nan")
    spread, noise = float(np.var(estimate[known], ddof=1)), float(np.mean(error[known] ** 2))
    if method in SHRUNK:
        return spread / (spread + noise) if spread + noise > 0 else float("nan")
    return 1 - noise / spread if spread > 0 else float("nan")


def marginal_reliability(error: FloatArray, method: AbilityMethod, latent_sd: float) -> float:
    """Return the share of true variance that the latent distribution implies, s its SD.

    1 - E / s^2 for EAP and MAP, whose errors are posterior SDs; s^2 / (s^2 + E) for others, E = mean(SE^2). Green,
    Bock, Humphreys, Linn & Reckase (1984), doi 10.1111/j.1745-3984.1984.tb01039.x, over these systems and not over the
    distribution. NaN without errors.

    Parameters
    ----------
    error : (N,) array
        In the unit of `latent_sd`.
    method : str
    latent_sd : float
    """
    known = error[np.isfinite(error)]
    if not known.size or not latent_sd > 0:
        return float("nan")
    noise = float(np.mean(known**2)) / latent_sd**2
    return 1 - noise if method in SHRUNK else 1 / (1 + noise)


def skewness(values: FloatArray) -> FloatArray:
    """Return g1 = m3 / m2^1.5 along the last axis, m_k central moments with n; NaN where values vary by rounding alone.

    Parameters
    ----------
    values : (..., N) array
    """
    centered = values - values.mean(axis=-1, keepdims=True)
    m2, m3 = (centered**2).mean(axis=-1), (centered**3).mean(axis=-1)
    # Equal values leave rounding, not 0.
    varies = m2 > np.maximum(1e-9 * np.abs(values).max(axis=-1), ROUNDING) ** 2
    out = np.full(m2.shape, np.nan)
    np.divide(m3, np.where(varies, m2, 1.0) ** 1.5, out=out, where=varies)
    return out


def skewness_interval(
    values: FloatArray, level: float, replications: int, random: np.random.Generator
) -> tuple[float, float]:
    """Return a bootstrap interval of the skewness over systems: quantiles of resamples, in blocks.

    Of few systems it is too narrow: |g1| of N values is at most (N - 2) / root of (N - 1), in resamples as well.

    Parameters
    ----------
    values : (N,) array
        Finite, and not all equal.
    level : float
    replications : int
    random : Generator
    """
    n = values.size
    step = max(1, _BLOCK_CELLS // n)
    parts = [
        skewness(values[random.integers(n, size=(min(step, replications - start), n))])
        for start in range(0, replications, step)
    ]
    found = np.concatenate(parts)
    low, high = np.quantile(found[np.isfinite(found)], [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)

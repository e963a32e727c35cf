"""R-hat, effective sample sizes and Monte Carlo errors of many parameters at once: arrays in, arrays out."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from psychoeval.errors import EngineUnavailableError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: The 90 % of the draws whose two ends the tail ESS is about (Vehtari et al. 2021).
TAILS: Final = (0.05, 0.95)
#: Draws a chain below which nothing can be said: a half chain needs a variance.
FEWEST_DRAWS: Final = 4
#: Range of a constant, in relative units: sums of equal numbers differ by a few roundings.
ROUNDING: Final = 1e-14
#: Parameters taken together, so that ranks of thousands of them need not be held.
_BLOCK: Final = 256


class Figures(NamedTuple):
    """R-hat, bulk ESS, tail ESS and the Monte Carlo standard error of the mean, (P,) each."""

    rhat: FloatArray
    ess_bulk: FloatArray
    ess_tail: FloatArray
    mcse_mean: FloatArray


def array_stats() -> Any:
    """Return ArviZ's array functions.

    Raises
    ------
    EngineUnavailableError
        Without arviz-stats.
    """
    try:
        from arviz_stats.base.array import array_stats
    except ImportError as error:
        raise EngineUnavailableError(
            "Diagnostics of draws need arviz-stats, which is not installed.",
            "pip install psychoeval[bayes]; check with: psychoeval doctor",
        ) from error
    return array_stats


def constant(values: FloatArray) -> BoolArray:
    """Return which parameters are the same number in all draws, (P,), up to rounding; `values` is (C, S, P)."""
    size = np.abs(values).max(axis=(0, 1))
    return np.asarray(np.ptp(values, axis=(0, 1)) <= ROUNDING * size)


def convergence_figures(values: FloatArray) -> Figures:
    """Return the figures of P parameters from C chains of S draws.

    Rank-normalised split R-hat, the larger of that of the values and of their distances from the median; bulk and tail
    ESS; Monte Carlo standard error of the mean: Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021),
    doi:10.1214/20-BA1221. R-hat of one chain compares its halves. The estimators are ArviZ's; the ranks, which two of
    them share, are taken once.

    Parameters
    ----------
    values : (C, S, P) array

    Returns
    -------
    Figures
        NaN where a draw is not finite, or a chain has fewer than four. A constant has no R-hat and no ESS (NaN), and
        Monte Carlo error 0.

    Raises
    ------
    EngineUnavailableError
        Without arviz-stats.
    """
    figures = Figures(*np.full((4, values.shape[2]), np.nan))
    if values.shape[1] < FEWEST_DRAWS:
        return figures
    finite = np.isfinite(values).all(axis=(0, 1))
    fixed = np.zeros_like(finite)
    fixed[finite] = constant(values[:, :, finite])
    figures.mcse_mean[fixed] = 0.0
    moving = np.flatnonzero(finite & ~fixed)
    for start in range(0, moving.size, _BLOCK):
        block = moving[start : start + _BLOCK]
        found = _block_figures(np.ascontiguousarray(values[:, :, block].transpose(2, 0, 1)))
        for target, numbers in zip(figures, found, strict=True):
            target[block] = numbers
    return figures


def _block_figures(values: FloatArray) -> Figures:
    """Return the figures of (P, C, S) values that move."""
    stats, halves = array_stats(), _split(values)
    scaled = _normal_scores(halves)
    folded = _normal_scores(np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True)))
    # Folded values of a variable with two values are constant, and chains that stand still have no variance.
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.fmax(stats.rhat(scaled, method="identity"), stats.rhat(folded, method="identity"))
        return Figures(
            rhat,
            stats.ess(scaled, method="identity"),
            stats.ess(values, method="tail", prob=TAILS),
            stats.mcse(values, method="mean"),
        )


def _split(values: FloatArray) -> FloatArray:
    """Return the halves of chains as chains, (P, 2 C, S // 2); of an odd number of draws the middle is left out."""
    half = values.shape[2] // 2
    return np.concatenate([values[:, :, :half], values[:, :, -half:]], axis=1)


def _normal_scores(values: FloatArray) -> FloatArray:
    """Return z = Phi^-1((r - 3/8) / (n + 1/4)) of the ranks r among all n draws of a parameter."""
    from scipy.stats import rankdata  # scipy.stats takes a second to load: not for every FitResult

    flat = values.reshape(len(values), -1)
    ranks = rankdata(flat, axis=1)
    return np.asarray(ndtri((ranks - 0.375) / (flat.shape[1] + 0.25)).reshape(values.shape))

"""Classical formulas: mean scores and their errors, item-rest correlation. Arrays in, arrays out.

Everywhere a cell's score is its proportion, successes over trials, and cells without trials are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from psychoeval.irt.intervals import wilson_interval

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
CountArray = NDArray[np.unsignedinteger[Any]]

#: Cells that are floating point at a time: 32 MiB an array, whatever the size of the data.
BLOCK_CELLS = 2**22
#: The same where a block is not multiplied by another: about ten such arrays are alive, and they stay in the cache.
SMALL_CELLS = 2**18

#: The level at which a standard error is read off Wilson's interval where the sample has no spread.
WILSON_LEVEL = 0.95


class Moments(NamedTuple):
    """Mean score, variance (n - 1) between scores, number of scores and of trials of each row, (R,) each."""

    mean: FloatArray
    variance: FloatArray
    n: FloatArray
    trials: FloatArray


def score_blocks(
    successes: CountArray, trials: CountArray, cells: int | None = None
) -> Iterator[tuple[slice, FloatArray, BoolArray]]:
    """Yield blocks of rows: the slice, the scores (0 where missing) and which are observed.

    Parameters
    ----------
    successes, trials : (R, C) count arrays
        Give transposed views to go by columns.
    cells : int, optional
        Of a block at most.
    """
    rows, columns = trials.shape
    step = max(1, min(BLOCK_CELLS, cells or BLOCK_CELLS) // max(1, columns))
    for start in range(0, rows, step):
        part = slice(start, min(start + step, rows))
        seen = trials[part] > 0
        scores = np.zeros(seen.shape)
        np.divide(successes[part], trials[part], out=scores, where=seen)
        yield part, scores, seen


def row_moments(successes: CountArray, trials: CountArray) -> Moments:
    """Return the moments of each row's observed scores.

    Parameters
    ----------
    successes, trials : (R, C) count arrays

    Returns
    -------
    Moments
        Mean NaN for rows without scores, variance NaN below two.
    """
    rows = trials.shape[0]
    mean, variance = np.full(rows, np.nan), np.full(rows, np.nan)
    n = np.count_nonzero(trials, axis=1).astype(float)
    for part, scores, seen in score_blocks(successes, trials, SMALL_CELLS):
        count = n[part]
        np.divide(scores.sum(axis=1), count, out=mean[part], where=count > 0)
        deviation = np.where(seen, scores - mean[part, None], 0.0)
        np.divide(np.einsum("ij,ij->i", deviation, deviation), count - 1, out=variance[part], where=count > 1)
    return Moments(mean, variance, n, trials.sum(axis=1, dtype=float))


def mean_error(moments: Moments) -> tuple[FloatArray, FloatArray]:
    """Return standard error and effective n of mean scores; the unit is the score (an item), not the trial.

    SE = s / sqrt(n), s^2 with n - 1. The effective n is the number of independent 0/1 scores with that error,
    n p (1 - p) (n / (n - 1)) / s^2: exactly n for 0/1 scores, more for scores over several trials, at most the
    trials. Where the scores show no spread (all right, all wrong, all equal, a single one) s says nothing: the
    effective n is n (for equal scores strictly between 0 and 1 the trials, for a single one 1) and the SE is half
    of Wilson's 95 % interval over 1.96, so that a perfect score has an error above 0.

    Parameters
    ----------
    moments : Moments

    Returns
    -------
    standard_error, effective_n : (R,) arrays
        NaN for rows without scores.
    """
    p, s2, n, trials = moments
    spread = p * (1 - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.clip(n * spread * (n / (n - 1)) / s2, n, trials)
    # Scores that are equal but for rounding have no spread either.
    flat = ~(s2 > 1e-24)
    inside = (spread > 1e-12) & (n > 1)
    worth = np.where(flat, np.where(inside, trials, n), worth)
    worth = np.where(n > 0, worth, np.nan)
    low, high = wilson_interval(p, worth, WILSON_LEVEL)
    from_wilson = (high - low) / (2 * float(ndtri(0.5 + WILSON_LEVEL / 2)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(flat, from_wilson, np.sqrt(s2 / n)), worth


def mean_of_seen(values: FloatArray, trials: CountArray) -> FloatArray:
    """Return the mean of item `values` (J,) over the items each person saw, (N,); NaN values are left out."""
    known = np.isfinite(values)
    out = np.full(trials.shape[0], np.nan)
    filled = np.where(known, values, 0.0)
    for part, _, seen in score_blocks(trials, trials, SMALL_CELLS):
        count = seen @ known.astype(float)
        np.divide(seen @ filled, count, out=out[part], where=count > 0)
    return out


def item_rest_correlation(successes: CountArray, trials: CountArray) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Return the correlation of each item with the score on a person's other items.

    The rest score is the mean, over the other items the person saw, of score minus item mean: on complete data the
    correlation is that with the sum of the other items; on incomplete data the difficulty of the items seen drops out.
    Standard errors are the distribution-free ones, var(r) = mean((x y - r (x^2 + y^2)/2)^2)/n with x, y standardised
    (influence function of Pearson's r; Devlin, Gnanadesikan & Kettenring 1975, doi 10.1093/biomet/62.3.531), items'
    means taken as known.

    Parameters
    ----------
    successes, trials : (N, J) count arrays

    Returns
    -------
    correlation, standard_error : (J,) arrays
        NaN for constant items, a constant rest score, or fewer than 3 persons.
    n : (J,) array
        Persons behind each correlation: they saw the item and at least one other.
    """
    j = trials.shape[1]
    r, error, n_used = np.full(j, np.nan), np.full(j, np.nan), np.zeros(j, dtype=np.intp)
    for part, x, rest, used in rest_blocks(successes, trials):
        r[part], error[part] = _correlations(x, rest, used)
        n_used[part] = np.count_nonzero(used, axis=1)
    return r, error, n_used


def rest_blocks(successes: CountArray, trials: CountArray) -> Iterator[tuple[slice, FloatArray, FloatArray, BoolArray]]:
    """Yield blocks of B items: the slice, scores less the item's mean, rest scores, and who counts, (B, N) each.

    The rest score is that of `item_rest_correlation`; who saw no other item has none and does not count.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
    """
    item_mean = row_moments(successes.T, trials.T).mean
    item_mean = np.where(np.isfinite(item_mean), item_mean, 0.0)
    total = np.empty(trials.shape[0])
    count = np.count_nonzero(trials, axis=1).astype(float)
    for part, scores, seen in score_blocks(successes, trials, SMALL_CELLS):
        total[part] = scores.sum(axis=1) - seen @ item_mean
    others = np.maximum(count - 1, 1)
    for part, scores, seen in score_blocks(successes.T, trials.T, SMALL_CELLS):
        x = scores - item_mean[part, None]
        yield part, x, (total - x) / others, seen & (count > 1)


def negative_item_rest(successes: CountArray, trials: CountArray) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Return what `item_rest_correlation` does, with standard errors only where the correlation is negative.

    Where every cell has the same trials, one product of the data with the total scores gives all correlations:
    cov(x, t - x) = cov(x, t) - var(x), var(t - x) = var(t) - 2 cov(x, t) + var(x).
    """
    k = int(trials.flat[0])
    n, j = trials.shape
    if n < 3 or j < 2 or not (trials == k).all():
        return item_rest_correlation(successes, trials)
    total = successes.sum(axis=1, dtype=np.float64) / k
    total -= total.mean()
    sums, squares, cross = np.zeros(j), np.zeros(j), np.zeros(j)
    step = max(1, BLOCK_CELLS // j)
    for start in range(0, n, step):
        x = successes[start : start + step] / k
        sums += x.sum(axis=0)
        cross += total[start : start + step] @ x
        squares += np.einsum("ij,ij->j", x, x)
    variance, covariance = squares / n - (sums / n) ** 2, cross / n
    rest = np.mean(total**2) - 2 * covariance + variance
    usable = (variance > 1e-24) & (rest > 1e-24 * j**2)
    r = np.full(j, np.nan)
    np.divide(covariance - variance, np.sqrt(np.where(usable, variance * rest, 1.0)), out=r, where=usable)
    error = np.full(j, np.nan)
    negative = np.flatnonzero(r < 0)
    for chosen in np.array_split(negative, max(1, n * negative.size // BLOCK_CELLS)):
        x = (successes[:, chosen] / k).T
        error[chosen] = _correlations(x, total - x, np.ones(x.shape, dtype=bool))[1]
    return np.clip(r, -1, 1), error, np.full(j, n, dtype=np.intp)


def _correlations(x: FloatArray, y: FloatArray, used: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return Pearson's r and its standard error of each row, over the cells used."""
    n = np.count_nonzero(used, axis=1)
    safe = np.maximum(n, 1)
    x, y = (np.where(used, v - (v.sum(axis=1, where=used) / safe)[:, None], 0.0) for v in (x, y))
    sx, sy = (np.sqrt(np.einsum("ij,ij->i", v, v) / safe) for v in (x, y))
    usable = (sx > 1e-12) & (sy > 1e-12) & (n > 2)
    x /= np.where(usable, sx, 1.0)[:, None]
    y /= np.where(usable, sy, 1.0)[:, None]
    r = np.einsum("ij,ij->i", x, y) / safe
    influence = x * y - (r / 2)[:, None] * (x * x + y * y)
    error = np.sqrt(np.einsum("ij,ij->i", influence, influence)) / safe
    return np.where(usable, np.clip(r, -1, 1), np.nan), np.where(usable, error, np.nan)

"""Item statistics of many weighted samples of the same persons at once: bootstrap, leave-out. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from psychoeval.irt.classical import BLOCK_CELLS, CountArray, FloatArray, row_moments, score_blocks

#: Scores whose variance within a sample is below this do not vary.
_FLAT = 1e-12


class WeightedItems(NamedTuple):
    """Of a block of B items in R samples: the slice, proportions correct and rest correlations, (R, B), NaN if none."""

    part: slice
    proportion: FloatArray
    correlation: FloatArray


def weighted_item_statistics(successes: CountArray, trials: CountArray, weights: FloatArray) -> Iterator[WeightedItems]:
    """Yield proportions correct and rest correlations of every item in every weighted sample, in blocks of items.

    A weight of 2 is a person twice. Each sample's numbers are those of `row_moments` and `item_rest_correlation` of
    its persons, its own item means included, but for correlations of fewer than three different persons: NaN.

    Products of matrices alone: with w weights, A a person's sum of scores less item means over c - 1 and
    u = 1 / (c - 1), c items seen, the rest score is y = A - u (x - m), and the sums of w y, w x y and w y^2 over
    persons are sums of w A, w u, w A^2, w A u and w u^2 against x, x^2 and who saw the item.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
    weights : (R, N) array
        Not negative.
    """
    n_persons = trials.shape[0]
    # About twenty arrays of samples x items are alive in a block.
    cells = n_persons * max(1, BLOCK_CELLS // 16 // max(weights.shape))
    center = row_moments(successes.T, trials.T).mean
    total = np.zeros(weights.shape)
    for _, x, seen in _centered(successes, trials, center, cells):
        mean = _ratio(weights @ x, weights @ seen)
        total += x.sum(axis=1) - np.nan_to_num(mean) @ seen.T
    count = np.count_nonzero(trials, axis=1)
    with_rest = count > 1
    u = np.where(with_rest, 1 / np.maximum(count - 1, 1), 0.0)
    for part, x, seen in _centered(successes, trials, center, cells):
        mean = _ratio(weights @ x, weights @ seen)
        r = _correlation(x, seen * with_rest[:, None], weights, total * u, u, np.nan_to_num(mean))
        yield WeightedItems(part, _inside(mean + center[part]), r)


def _centered(
    successes: CountArray, trials: CountArray, center: FloatArray, cells: int
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield blocks of items: scores less the item's mean, 0 where missing, and who saw the item, (N, B) each."""
    for part, scores, seen in score_blocks(successes.T, trials.T, cells):
        yield part, np.where(seen, scores - center[part, None], 0.0).T, seen.T.astype(float)


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    out = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=out, where=bottom > 0)
    return out


def _inside(proportion: FloatArray) -> FloatArray:
    # Centering leaves rounding at 0 and 1, and those mean something.
    out = np.where(proportion < _FLAT, 0.0, np.where(proportion > 1 - _FLAT, 1.0, proportion))
    return np.where(np.isnan(proportion), np.nan, out)


def _correlation(
    x: FloatArray, seen: FloatArray, w: FloatArray, a: FloatArray, u: FloatArray, mean: FloatArray
) -> FloatArray:
    """Return the correlation of x with y = a - u (x - mean) over persons with weights w, (R, B)."""
    x = x * seen
    xx = x * x
    n = np.maximum(w @ seen, 1e-300)
    wa, wu = w * a, w * u
    u_seen, u_x, uu_seen = wu @ seen, wu @ x, (wu * u) @ seen
    uu_x, uu_xx = (wu * u) @ x, (wu * u) @ xx
    au_seen, au_x = (wa * u) @ seen, (wa * u) @ x
    sx, sxx = w @ x, w @ xx
    sy = wa @ seen - u_x + mean * u_seen
    sxy = wa @ x - wu @ xx + mean * u_x
    aa = (wa * a) @ seen
    syy = aa - 2 * au_x + 2 * mean * au_seen + uu_xx - 2 * mean * uu_x + mean * mean * uu_seen
    rounding = _FLAT * (aa + uu_xx + mean * mean * uu_seen)  # of terms that may cancel
    vx, vy, cov = sxx - sx * sx / n, syy - sy * sy / n, sxy - sx * sy / n
    usable = (vx > _FLAT * n) & (vy > np.maximum(rounding, _FLAT**2)) & ((w > 0).astype(float) @ seen > 2)
    out = np.full(vx.shape, np.nan)
    np.divide(cov, np.sqrt(np.where(usable, vx * vy, 1.0)), out=out, where=usable)
    return np.clip(out, -1, 1, out=out)

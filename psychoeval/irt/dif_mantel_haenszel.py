"""Mantel-Haenszel odds ratios of every item between two groups, within strata of the score. Arrays in, arrays out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

FloatArray = NDArray[np.float64]


class MantelHaenszel(NamedTuple):
    """Of J items, (J,) each: log odds ratio of group 1 against group 0, standard error, chi-squared, and p.

    NaN where no stratum has both groups with right and wrong answers between them.
    """

    log_odds_ratio: FloatArray
    error: FloatArray
    chi_squared: FloatArray
    p: FloatArray


def mantel_haenszel(
    successes: FloatArray, trials: FloatArray, stratum: NDArray[np.intp], group: NDArray[np.intp]
) -> MantelHaenszel:
    """Compare the odds of two groups within strata of persons.

    With right and wrong answers A, B of group 1 and C, D of group 0, T in all: alpha = sum A D / T / sum B C / T, the
    variance of its logarithm by Robins, Breslow & Greenland (1986, doi 10.2307/2531052), and
    (max(|sum A - E A| - .5, 0))^2 / sum V A with the hypergeometric mean and variance. Mantel & Haenszel (1959), doi
    10.1093/jnci/22.4.719; for DIF Holland & Thayer (1988).

    Parameters
    ----------
    successes, trials : (N, J) arrays
        Of one trial a cell, or none.
    stratum : (N, J) int array
        From 0: number right of the anchors and the item.
    group : (N,) array of 0 and 1

    Examples
    --------
    >>> x = np.repeat([1.0, 0, 1, 0], [12, 8, 5, 15])[:, None]
    >>> found = mantel_haenszel(x, np.ones((40, 1)), np.zeros((40, 1), dtype=int), np.repeat([1, 0], 20))
    >>> round(float(np.exp(found.log_odds_ratio[0])), 6)
    4.5
    """
    right, wrong = successes > 0, trials > successes
    n_items, n_strata = right.shape[1], int(stratum.max()) + 1
    place = stratum * n_items + np.arange(n_items)

    def count(which: NDArray[np.bool_]) -> FloatArray:
        return np.bincount(place[which], minlength=n_strata * n_items).reshape(n_strata, n_items).astype(np.float64)

    one = np.broadcast_to((group == 1)[:, None], right.shape)
    a, b, c, d = count(right & one), count(wrong & one), count(right & ~one), count(wrong & ~one)
    total = a + b + c + d
    t = np.maximum(total, 1.0)
    r, s, p, q = a * d / t, b * c / t, (a + d) / t, (b + c) / t
    up, down = r.sum(axis=0), s.sum(axis=0)
    exists = (up > 0) & (down > 0)
    up, down = np.where(exists, up, np.nan), np.where(exists, down, np.nan)
    variance = (p * r).sum(axis=0) / (2 * up**2) + (p * s + q * r).sum(axis=0) / (2 * up * down)
    variance += (q * s).sum(axis=0) / (2 * down**2)
    # The same difference as A - E A, and no stratum of one person has any variance.
    moved = np.abs((r - s).sum(axis=0))
    spread = ((a + b) * (c + d) * (a + c) * (b + d) / (t**2 * np.maximum(total - 1, 1))).sum(axis=0)
    chi_squared = np.where(exists, np.maximum(moved - 0.5, 0) ** 2 / np.where(spread > 0, spread, np.nan), np.nan)
    return MantelHaenszel(np.log(up / down), np.sqrt(variance), chi_squared, np.asarray(chdtrc(1, chi_squared)))

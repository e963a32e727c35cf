"""Statistics of a data set, and where they lie among those of replicated ones. Arrays in, arrays out.

Replications come one at a time: what is kept are sums, of the size of one statistic.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.classical import CountArray

FloatArray = NDArray[np.float64]

#: Cells of a block of persons x items.
_BLOCK_CELLS: Final = 2**20
#: Added to each cell of a two-way table, so that odds ratios of empty cells are finite (Haldane).
_HALF: Final = 0.5


class Check(NamedTuple):
    """An observed statistic among replicated ones; NaN where it cannot be.

    Attributes
    ----------
    observed : array
    expected, sd : arrays
        Mean and SD over the replications.
    z : array
        (observed - expected) / sd.
    ppp : array
        Share of replications above the observed value, those equal to it counted half: near 1 where the data have less
        of it than the model gives, near 0 where they have more.
    error : array
        Monte Carlo standard error of ppp, sqrt(p (1 - p) / (D + 2)) with p = (D ppp + 1) / (D + 2): never 0.
    """

    observed: FloatArray
    expected: FloatArray
    sd: FloatArray
    z: FloatArray
    ppp: FloatArray
    error: FloatArray


class Tally:
    """Counts how many replications of a statistic lie above the observed one.

    Parameters
    ----------
    observed : array
        A statistic of any shape; NaN where it is not defined.
    """

    def __init__(self, observed: FloatArray) -> None:
        self.observed = np.asarray(observed, dtype=np.float64)
        self.n, self.above, self.sum, self.squares = (np.zeros(self.observed.shape) for _ in range(4))

    def add(self, values: FloatArray) -> None:
        """Count one replication; where it is NaN it does not count."""
        known = np.isfinite(values)
        # About the observed value: sums of squares of large numbers would lose their digits.
        difference = np.where(known, values - self.observed, 0.0)
        self.n += known
        # Sums in another order leave equal statistics apart by rounding.
        equal = np.abs(difference) <= 1e-12 * np.maximum(np.abs(self.observed), 1e-300)
        self.above += known * np.where(equal, 0.5, difference > 0)
        self.sum += difference
        self.squares += difference**2

    def check(self) -> Check:
        """Return where the observed values lie."""
        with np.errstate(divide="ignore", invalid="ignore"):
            known = np.isfinite(self.observed) & (self.n > 1)
            n = np.where(known, self.n, np.nan)
            mean = self.sum / n
            sd = np.sqrt(np.maximum(self.squares - n * mean**2, 0.0) / (n - 1))
            share = (self.above + 1.0) / (n + 2.0)
            z = np.where(sd > 1e-12 * np.maximum(np.abs(self.observed), 1e-300), -mean / sd, np.nan)
            error = np.sqrt(share * (1.0 - share) / (n + 2.0))
        return Check(self.observed, self.observed + mean, sd, z, self.above / n, error)


def pair_counts_seen(trials: CountArray) -> FloatArray:
    """Return how many persons saw both items of each pair, (J, J)."""
    j = trials.shape[1]
    out = np.zeros((j, j))
    for rows in _blocks(trials):
        seen = (trials[rows] > 0).astype(np.float32)
        out += seen.T @ seen
    return out


def log_odds_ratios(successes: CountArray, trials: CountArray, seen: FloatArray) -> FloatArray:
    """Return the log odds ratio of each pair of 0/1 items, (J, J), over those who saw both.

    log((n11 + .5) (n00 + .5) / ((n10 + .5) (n01 + .5))); NaN on the diagonal and where fewer than 2 persons saw both.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
    seen : (J, J) array
        Of `pair_counts_seen`.
    """
    j = trials.shape[1]
    both, first = np.zeros((j, j)), np.zeros((j, j))
    complete = bool((trials > 0).all())
    for rows in _blocks(trials):
        x = np.where(trials[rows] > 0, successes[rows], 0).astype(np.float32)  # exact: a block has far below 2^24 rows
        both += x.T @ x
        first += x.sum(axis=0)[:, None] if complete else x.T @ (trials[rows] > 0).astype(np.float32)
    agree = (both + _HALF) * (seen - first - first.T + both + _HALF)
    out = np.log(agree / ((first - both + _HALF) * (first.T - both + _HALF)))
    out[seen < 2] = np.nan
    np.fill_diagonal(out, np.nan)
    return np.asarray(out)


def _blocks(trials: CountArray) -> list[slice]:
    step = max(1, _BLOCK_CELLS // max(1, trials.shape[1]))
    return [slice(start, start + step) for start in range(0, len(trials), step)]


def score_groups(trials: CountArray, most: int) -> NDArray[np.intp]:
    """Return the lower ends of at most `most` groups of raw scores of equal width, from 0, (B,)."""
    highest = int(trials.sum(axis=1, dtype=np.int64).max(initial=0))
    width = -(-(highest + 1) // most)
    return np.arange(0, highest + 1, width, dtype=np.intp)


def distances(counts: FloatArray) -> FloatArray:
    """Return how far each of R distributions of scores is from the mean of all, (R,).

    sum over groups of (n - m)^2 / m, m the mean count over all rows, the observed one among them: were the model true
    the rows could be exchanged.

    Parameters
    ----------
    counts : (R, B) array
        Persons in each group of scores.
    """
    mean = counts.mean(axis=0)
    filled = mean > 0
    return np.asarray(((counts[:, filled] - mean[filled]) ** 2 / mean[filled]).sum(axis=1))

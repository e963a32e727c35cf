"""What pairs of items share beyond the ability: Yen's Q3 and Chen and Thissen's LD-X2. Arrays in, arrays out.

All pairs at once by matrix products over blocks of persons; a pair rests on the persons who saw both items.
Sources: Yen (1984), Appl. Psychol. Meas. 8, 125-145, doi:10.1177/014662168400800201; Chen & Thissen (1997), J. Educ.
Behav. Stat. 22, 265-289, doi:10.3102/10769986022003265; Christensen, Makransky & Horton (2017), Appl. Psychol. Meas.
41, 178-194, doi:10.1177/0146621616677520.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.classical import CountArray, score_blocks
from psychoeval.irt.curves import probability
from psychoeval.irt.score_equations import KnownItems

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Cells of a block of persons x items: about six such arrays are alive.
_BLOCK_CELLS: Final = 2**20


class PairCounts(NamedTuple):
    """Persons of each pair of items, (J, J) each.

    Parameters
    ----------
    seen : persons who saw both items j and k.
    right : of these, those who got j right; k's are its transpose.
    both_right : of these, those who got both right.
    """

    seen: FloatArray
    right: FloatArray
    both_right: FloatArray

    @property
    def varies(self) -> BoolArray:
        """Whether both items of a pair were answered in both ways by the persons who saw both, (J, J)."""
        one = (self.right > 0) & (self.right < self.seen)
        return np.asarray(one & one.T)


class PairChiSquares(NamedTuple):
    """LD-X2 of each pair, (J, J) each, symmetric.

    Parameters
    ----------
    x2 : sum of (O - E)^2 / E over the four cells.
    signed_v : sqrt(x2 / N) with the sign of observed less expected association (log odds ratio).
    smallest_expected : the smallest expected count of the four.
    """

    x2: FloatArray
    signed_v: FloatArray
    smallest_expected: FloatArray


class PairResiduals(NamedTuple):
    """What residuals of pairs of items have in common, (J, J) each.

    Parameters
    ----------
    correlation : Q3.
    seen : persons it rests on.
    covariance : with these as divisor.
    """

    correlation: FloatArray
    seen: FloatArray
    covariance: FloatArray


def residual_correlations(
    successes: CountArray, trials: CountArray, theta: FloatArray, items: KnownItems
) -> PairResiduals:
    """Return Q3, the correlation of residuals of each pair of items, with the persons and covariance it comes from.

    The residual of a cell is its share of successes less P at the person's ability estimate; means and SDs are those
    of the persons who saw both items. NaN where there is nothing to correlate.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
    theta : (N,) array
        Ability estimates, in logits; persons without a finite one take no part.
    items : KnownItems
    """
    j = items.a.size
    n, s, ss, sp = (np.zeros((j, j)) for _ in range(4))
    for score, seen, ability in _blocks(successes, trials, theta):
        mask = seen.astype(np.float64)
        residual = (score - probability(ability, items.a, items.d, items.c)) * mask
        n += mask.T @ mask
        s += residual.T @ mask
        ss += (residual**2).T @ mask
        sp += residual.T @ residual
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = ss - s**2 / n
        # Rounding leaves a little of a residual that does not vary.
        spread[spread <= 1e-12 * ss] = np.nan
        products = sp - s * s.T / n
        r = products / np.sqrt(spread * spread.T)
        return PairResiduals(np.clip(r, -1.0, 1.0), n, products / n)


def pair_counts(successes: CountArray, trials: CountArray) -> PairCounts:
    """Return the two-way tables of all pairs of items with cells of one trial."""
    j = trials.shape[1]
    counts = PairCounts(*(np.zeros((j, j)) for _ in range(3)))
    for score, seen, _ in _blocks(successes, trials, np.zeros(len(trials))):
        mask = seen.astype(np.float64)
        counts.seen[:] += mask.T @ mask
        counts.right[:] += score.T @ mask
        counts.both_right[:] += score.T @ score
    return counts


def chi_squares(counts: PairCounts, mean: FloatArray, both: FloatArray) -> PairChiSquares:
    """Return LD-X2 of all pairs, observed two-way tables against those that the model expects.

    Parameters
    ----------
    counts : PairCounts
    mean : (J,) array
        E(P_j) over the distribution of the abilities.
    both : (J, J) array
        E(P_j P_k); the diagonal is not used.

    Returns
    -------
    PairChiSquares
        NaN on the diagonal, where nobody saw both items, and where an item does not vary among those who did: there
        is no association to compare.
    """
    n = counts.seen
    observed = _table(n, counts.right, counts.right.T, counts.both_right)
    expected = _table(n, n * mean[:, None], n * mean[None, :], n * both)
    usable = counts.varies
    np.fill_diagonal(usable, False)
    with np.errstate(invalid="ignore", divide="ignore"):
        x2 = np.where(usable, sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True)), np.nan)
        # Of Yule's Q, which grows with the odds ratio and is finite at 0 and infinity.
        sign = np.where(_yule(observed) >= _yule(expected), 1.0, -1.0)
        signed = sign * np.sqrt(x2 / n)
    return PairChiSquares(x2, signed, np.where(usable, np.minimum.reduce(expected), np.nan))


def adjusted(correlation: FloatArray, tested: BoolArray) -> tuple[FloatArray, float]:
    """Return Q3 less its mean over the tested pairs, NaN elsewhere, and that mean.

    Ability and items were fitted to these responses, so that residuals of independent items correlate below 0, by
    about 1 / (J - 1) or less: Q3 is read against its mean (Christensen et al., 2017).
    """
    mean = float(correlation[tested].mean()) if tested.any() else float("nan")
    return np.where(tested, correlation - mean, np.nan), mean


def _blocks(
    successes: CountArray, trials: CountArray, theta: FloatArray
) -> Iterator[tuple[FloatArray, BoolArray, FloatArray]]:
    """Yield blocks of persons with finite abilities: scores (0 where missing), what they saw, abilities."""
    for part, score, seen in score_blocks(successes, trials, _BLOCK_CELLS):
        known = np.isfinite(theta[part])
        yield score[known], seen[known], theta[part][known]


Table = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _table(n: FloatArray, first: FloatArray, second: FloatArray, both: FloatArray) -> Table:
    """Return the four cells of two-way tables: both right, first only, second only, neither."""
    return both, first - both, second - both, n - first - second + both


def _yule(table: Table) -> FloatArray:
    both, first, second, neither = table
    agree, differ = both * neither, first * second
    return np.asarray((agree - differ) / (agree + differ))

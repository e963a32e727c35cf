"""Reliability of a whole test: alpha, KR-20, omega, Feldt's interval. Arrays in, arrays out.

A cell's score is its proportion, as in `psychoeval.irt.classical`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from psychoeval.irt.classical import CountArray, FloatArray, row_moments, score_blocks
from psychoeval.irt.clustered import Grouping

#: Above this many items the J x J matrix of pairwise covariances is not formed.
PAIRWISE_MAX_ITEMS = 4000

#: "auto" goes by complete persons where at least this share of the persons with responses is complete.
LISTWISE_SHARE = 0.5

MissingRule = Literal["auto", "listwise", "available"]
TakenRule = Literal["listwise", "available"]


class Reliability(NamedTuple):
    """Alpha, its item count k and person count n, and what it is made of (on the score scale of one item)."""

    alpha: float
    k: int
    n: int
    mean_variance: float
    mean_covariance: float
    pairs_left_out: int = 0

    @property
    def error_variance(self) -> float:
        """Error variance of one item's score: mean variance minus mean covariance."""
        return self.mean_variance - self.mean_covariance


class Covariances(NamedTuple):
    """What alpha needs of the items' covariance matrix.

    Parameters
    ----------
    variance : (k,) array
    others : (k,) array
        Sum of the covariances of each item with the others, over known pairs.
    pairs : (k,) array
        How many known pairs each item is in; k - 1 on complete data.
    n : int
        Persons.
    """

    variance: FloatArray
    others: FloatArray
    pairs: FloatArray
    n: int


def taken_rule(asked: MissingRule, n_complete: int, n_persons: int) -> TakenRule:
    """Return the rule for missing cells: "auto" is listwise where at least half of the persons are complete."""
    if asked != "auto":
        return asked
    return "listwise" if n_complete >= max(2.0, LISTWISE_SHARE * n_persons) else "available"


def alpha_complete(successes: CountArray, trials: CountArray) -> Reliability:
    """Return Cronbach's alpha of complete data: k/(k - 1) (1 - sum of item variances / variance of the total).

    Both variances have n - 1. Cronbach (1951), doi 10.1007/BF02310555. NaN with fewer than 2 items or persons, or
    where totals do not vary.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
        Every cell observed.
    """
    n, k = trials.shape
    if n < 2 or k < 2:
        return Reliability(np.nan, k, n, np.nan, np.nan)
    sum_of_variances = float(row_moments(successes.T, trials.T).variance.sum())
    total = row_moments(successes, trials).mean * k
    return _alpha(sum_of_variances, float(total.var(ddof=1)), k, n)


def alpha_of_clusters(successes: CountArray, trials: CountArray, codes: NDArray[np.intp]) -> float:
    """Return alpha with the clusters' sums of scores as parts, over the persons who took every item.

    G / (G - 1) (1 - sum of variances of the G sums / variance of the total): what items of one cluster share beyond
    the trait counts as error. NaN with fewer than 2 clusters or persons, or where totals do not vary.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
    codes : (J,) intp array
        Cluster of each item, 0 to G - 1.
    """
    used = trials.any(axis=0)
    whole = trials[:, used].all(axis=1)
    names, place = np.unique(codes[used], return_inverse=True)
    n, g = int(np.count_nonzero(whole)), int(names.size)
    if n < 2 or g < 2:
        return float("nan")
    groups, blocks = Grouping(place), score_blocks(successes[whole][:, used], trials[whole][:, used])
    sums = np.concatenate([groups.sums(scores) for _, scores, _ in blocks])
    return _alpha(float(sums.var(axis=0, ddof=1).sum()), float(sums.sum(axis=1).var(ddof=1)), g, n).alpha


def alpha_pairwise(successes: CountArray, trials: CountArray) -> Reliability:
    """Return alpha from pairwise covariances: each pair of items over the persons who took both.

    k/(k - 1) (1 - sum of variances / sum of all covariances), where pairs with fewer than two persons in common count
    with the mean covariance of the others (`Reliability.pairs_left_out` of them). NaN above 4000 items, or without a
    pair, or where an item was seen by fewer than two persons.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
    """
    k = trials.shape[1]
    found = covariances_pairwise(successes, trials)
    if found is None:
        return Reliability(np.nan, k, int(np.count_nonzero(trials.any(axis=1))), np.nan, np.nan)
    known_pairs = float(found.pairs.sum())
    off_diagonal = float(found.others.sum()) / known_pairs * k * (k - 1)
    variances = float(found.variance.sum())
    missing = (k * (k - 1) - int(known_pairs)) // 2
    return _alpha(variances, variances + off_diagonal, k, found.n)._replace(pairs_left_out=missing)


def covariances_complete(successes: CountArray, trials: CountArray) -> Covariances | None:
    """Return variances and sums of covariances of complete data, or None below 2 persons or items.

    cov(x_j, sum of the others) = cov(x_j, total) - var(x_j): no J x J matrix.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
        Every cell observed.
    """
    n, k = trials.shape
    if n < 2 or k < 2:
        return None
    total = row_moments(successes, trials).mean * k
    total -= total.mean()
    variance, others = np.empty(k), np.empty(k)
    for part, scores, _ in score_blocks(successes.T, trials.T):
        deviation = scores - scores.mean(axis=1, keepdims=True)
        variance[part] = np.einsum("ij,ij->i", deviation, deviation) / (n - 1)
        others[part] = deviation @ total / (n - 1) - variance[part]
    return Covariances(variance, others, np.full(k, k - 1.0), n)


def covariances_pairwise(successes: CountArray, trials: CountArray) -> Covariances | None:
    """Return variances and sums of pairwise covariances; pairs with fewer than two persons in common are unknown.

    None with fewer than 2 or more than 4000 items, without a known pair, or where fewer than two persons saw an item.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
    """
    n, k = int(np.count_nonzero(trials.any(axis=1))), trials.shape[1]
    if k < 2 or k > PAIRWISE_MAX_ITEMS:
        return None
    sums = np.zeros((3, k, k))  # products, scores of the row's item, persons in common
    # Centring first changes no covariance and saves digits.
    center = row_moments(successes.T, trials.T).mean
    for _, scores, seen in score_blocks(successes, trials):
        x, m = np.where(seen, scores - center, 0.0), seen.astype(float)
        sums += np.stack((x.T @ x, x.T @ m, m.T @ m))
    products, score, common = sums
    known = common >= 2
    covariance = (products - score * score.T / np.maximum(common, 1)) / np.maximum(common - 1, 1)
    variance = np.diag(covariance).copy()
    if not np.diag(known).all() or int(known.sum()) == k:
        return None
    return Covariances(variance, covariance.sum(axis=1, where=known) - variance, known.sum(axis=1) - 1.0, n)


def alpha_without_each(found: Covariances) -> FloatArray:
    """Return alpha of the test without each item, (k,); NaN with fewer than 3 items or where nothing is left.

    Unknown pairs count with the mean covariance of the known ones among the items left.

    Parameters
    ----------
    found : Covariances
    """
    k = found.variance.size - 1
    if k < 2:
        return np.full(k + 1, np.nan)
    variances = found.variance.sum() - found.variance
    pairs = found.pairs.sum() - 2 * found.pairs
    off_diagonal = np.full(k + 1, np.nan)
    np.divide((found.others.sum() - 2 * found.others) * k * (k - 1), pairs, out=off_diagonal, where=pairs > 0)
    total = variances + off_diagonal
    usable = total > 1e-12 * np.maximum(variances, 1e-300)
    return np.where(usable, k / (k - 1) * (1 - variances / np.where(usable, total, 1.0)), np.nan)


def _alpha(sum_of_variances: float, variance_of_total: float, k: int, n: int) -> Reliability:
    # Totals that do not vary leave rounding, not 0.
    usable = variance_of_total > 1e-12 * max(sum_of_variances, 1e-300)
    alpha = k / (k - 1) * (1 - sum_of_variances / variance_of_total) if usable else np.nan
    covariance = (variance_of_total - sum_of_variances) / (k * (k - 1))
    return Reliability(float(alpha), k, n, sum_of_variances / k, covariance)


def measurement_error(reliability: Reliability, n_items: FloatArray) -> FloatArray:
    """Return the standard error of measurement of mean scores over `n_items` items, NaN where it is unknown.

    sqrt(error variance of an item / items seen), on the scale of one item's score.

    Parameters
    ----------
    reliability : Reliability
    n_items : (N,) array
    """
    out = np.full(n_items.shape, np.nan)
    variance = reliability.error_variance
    if abs(variance) <= 1e-12 * reliability.mean_variance:
        variance = 0.0
    # Pairwise covariances need not be those of any data: a negative variance is no variance. None at all is an error
    # of 0 only where the items agree perfectly (alpha 1), not where nothing varies.
    if variance > 0 or (variance == 0 and not np.isnan(reliability.alpha)):
        np.divide(variance, n_items, out=out, where=n_items > 0)
    return np.asarray(np.sqrt(out))


def why_no_alpha(reliability: Reliability, rule: TakenRule) -> str:
    """Return the reason why an alpha is NaN."""
    k, n = reliability.k, reliability.n
    if k < 2:
        return f"Alpha is not defined for {k} item{'s' * (k != 1)}."
    if rule == "available" and k > PAIRWISE_MAX_ITEMS:
        return f"Alpha from pairwise covariances is not computed above {PAIRWISE_MAX_ITEMS} items; there are {k}."
    if rule == "available" and np.isnan(reliability.mean_variance):
        return "Alpha is not defined: no pair of items was taken by two persons, or an item by fewer than two."
    if n < 2:
        return f"Alpha is not defined: {n} persons saw every item. Use missing='available'."
    return "Alpha is not defined: all total scores are equal."


def kr20(successes: CountArray) -> float:
    """Return Kuder and Richardson's formula 20 of complete 0/1 data, k/(k - 1) (1 - sum p q / variance of the total).

    Both with n: then it equals alpha. Kuder & Richardson (1937), doi 10.1007/BF02288391.

    Parameters
    ----------
    successes : (N, J) array of 0 and 1
    """
    n, k = successes.shape
    if n < 2 or k < 2:
        return float("nan")
    p = successes.mean(axis=0, dtype=float)
    variance = float(successes.sum(axis=1, dtype=float).var())
    return float(k / (k - 1) * (1 - float(p @ (1 - p)) / variance)) if variance > 0 else float("nan")


def feldt_interval(alpha: float, n: int, k: int, level: float = 0.95) -> tuple[float, float]:
    """Return Feldt's interval of alpha: 1 - (1 - alpha) F, F with n - 1 and (n - 1)(k - 1) degrees of freedom.

    Exact for normal scores with equal covariances, approximate otherwise. Feldt (1965), doi 10.1007/BF02289499.

    Parameters
    ----------
    alpha : float
    n, k : int
        Persons and items.
    level : float
    """
    if not np.isfinite(alpha) or n < 2 or k < 2:
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    upper, lower = (fdtri(n - 1, (n - 1) * (k - 1), p) for p in (1 - tail, tail))
    return float(1 - (1 - alpha) * upper), float(1 - (1 - alpha) * lower)

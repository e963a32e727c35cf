"""Two parts of the items, public and held out, set against each other for every person. Arrays in, arrays out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.classical import BoolArray, FloatArray
from psychoeval.irt.clustered import Grouping

#: Values nearer than this are one: sums of fractions in another order differ in the last digits.
_DIGITS = 12
#: Residual variances below this, of scores between 0 and 1, are rounding.
_FLAT = 1e-18


class Contrast(NamedTuple):
    """Of B persons, (B,) each: public less held-out within bands, its error and degrees of freedom, NaN if none.

    Then the items compared, and the units (clusters, else items) among them in each part.
    """

    difference: FloatArray
    error: FloatArray
    df: FloatArray
    n_items: NDArray[np.intp]
    public_units: NDArray[np.intp]
    held_out_units: NDArray[np.intp]


class Pool(NamedTuple):
    """Sums over the pool's persons of their centered scores, and how many of them saw each item, (J,) each."""

    total: FloatArray
    n_seen: FloatArray


def less_pool(
    scores: FloatArray, seen: BoolArray, pool: Pool, own: FloatArray, in_pool: BoolArray
) -> tuple[FloatArray, BoolArray]:
    """Return scores less the mean of the pool's other persons, 0 where either is unknown, and where not, (B, J) each.

    Parameters
    ----------
    scores, seen : (B, J) arrays
        Scores are 0 where not seen.
    pool : Pool
    own : (B,) array
        What each person's scores were centered at in the pool.
    in_pool : (B,) bool array
        Who is left out of it.
    """
    leave = seen & in_pool[:, None]
    count = pool.n_seen - leave
    mean = np.zeros(scores.shape)
    known = seen & (count > 0.5)
    np.divide(pool.total - np.where(leave, scores - own[:, None], 0.0), count, out=mean, where=known)
    return np.where(known, scores - mean, 0.0), known


def bands_of(values: FloatArray, n_bands: int) -> NDArray[np.intp]:
    """Return the band of each value, from 0, of about equal size, equal values in one, (J,); -1 for NaN."""
    known = np.isfinite(values)
    if not known.any():
        return np.full(values.size, -1)
    rounded = values.round(_DIGITS)
    # Cuts are values, and no means between them, so that equal values stay together.
    cuts = np.quantile(rounded[known], np.arange(1, n_bands) / n_bands, method="lower")
    return np.where(known, np.searchsorted(cuts, rounded), -1)


def contrast_parts(
    values: FloatArray, known: BoolArray, bands: NDArray[np.intp], public: BoolArray, groups: Grouping | None
) -> Contrast:
    r"""Return the difference between parts within bands, with an error over items or clusters of items.

    With n_P and n_H public and held-out items of a band and w = n_P n_H / (n_P + n_H), d = sum w (mean_P - mean_H) /
    sum w: the coefficient of "public" in a regression with an intercept for each band. Its variance is the sandwich
    sum (z - zbar)^2 e^2 / (1 - h) / (sum w)^2, z = 1 for public, e residuals, h leverages (HC2: MacKinnon & White
    (1985), doi 10.1016/0304-4076(85)90158-7). With one band that is Welch's s_P^2 / n_P + s_H^2 / n_H. Degrees of
    freedom are Welch's, from both parts' shares of the variance, each part's items less the bands. Of clusters the sums
    of (z - zbar) e are squared, with the factor G / (G - 1) and G - 1 degrees of freedom, G those of the part that has
    fewer.

    Parameters
    ----------
    values, known : (B, J) arrays
        Values are 0 where not known.
    bands : (J,) integer array
        -1 for items that are not compared.
    public : (J,) bool array
    groups : Grouping, optional
        Clusters of the items.
    """
    lever, total = _levers(known, bands, public)
    compared = lever != 0
    safe = np.where(total > 0, total, 1.0)[:, None]
    difference = np.where(total > 0, np.einsum("ij,ij->i", lever, values) / safe[:, 0], np.nan)
    residual = np.where(compared, values - lever * np.nan_to_num(difference)[:, None], 0.0)
    inside = 1 - lever**2 / safe  # 1 - h
    n_bands = np.zeros(len(values))
    for k in range(int(bands.max(initial=-1)) + 1):
        columns = np.flatnonzero(bands == k)
        size = np.maximum(np.count_nonzero(compared[:, columns], axis=1), 1)[:, None]
        residual[:, columns] -= residual[:, columns].sum(axis=1, keepdims=True) / size
        inside[:, columns] -= 1 / size
        n_bands += compared[:, columns].any(axis=1)
    pulls = np.where(compared, lever * residual / safe, 0.0)
    if groups is not None:
        units = [np.count_nonzero(groups.sums((compared & z).astype(float)), axis=1) for z in (public, ~public)]
        variance, df = _between_clusters(pulls, np.minimum(*units), groups)
    else:
        units = [np.count_nonzero(compared & z, axis=1) for z in (public, ~public)]
        variance, df = _between_items(pulls, inside, public, [u - n_bands for u in units])
    usable = (df > 0) & (variance > _FLAT)
    return Contrast(
        difference,
        np.where(usable, np.sqrt(variance), np.nan),
        np.where(df > 0, df, np.nan),
        np.count_nonzero(compared, axis=1),
        units[0],
        units[1],
    )


def _levers(known: BoolArray, bands: NDArray[np.intp], public: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return z - zbar of each item, 0 in bands without both parts, (B, J), and their sum of squares, (B,)."""
    lever, total = np.zeros(known.shape), np.zeros(len(known))
    for k in range(int(bands.max(initial=-1)) + 1):
        columns = np.flatnonzero(bands == k)
        here, z = known[:, columns], public[columns]
        size, of_public = np.count_nonzero(here, axis=1), np.count_nonzero(here & z, axis=1)
        share = of_public / np.maximum(size, 1)
        both = (share > 0) & (share < 1)
        lever[:, columns] = np.where(here & both[:, None], z - share[:, None], 0.0)
        total += np.where(both, size * share * (1 - share), 0.0)
    return lever, total


def _between_items(
    pulls: FloatArray, inside: FloatArray, public: BoolArray, free: list[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return variances and Welch's degrees of freedom, 0 where a part has none."""
    squares = np.where(inside > 1e-9, pulls**2 / np.maximum(inside, 1e-9), 0.0)
    parts = [squares[:, z].sum(axis=1) for z in (public, ~public)]
    variance = np.asarray(parts[0] + parts[1])
    usable = (np.minimum(*free) > 0) & (variance > _FLAT)
    below = [v**2 / np.maximum(f, 1) for v, f in zip(parts, free, strict=True)]
    df = np.where(np.minimum(*free) > 0, 1.0, 0.0)
    np.divide(variance**2, below[0] + below[1], out=df, where=usable)
    return variance, df


def _between_clusters(pulls: FloatArray, fewer: NDArray[np.intp], groups: Grouping) -> tuple[FloatArray, FloatArray]:
    """Return variances and degrees of freedom; `fewer` are the clusters of the part that has fewer."""
    sums = groups.sums(pulls)
    return np.einsum("ij,ij->i", sums, sums) * fewer / np.maximum(fewer - 1, 1), np.maximum(fewer - 1.0, 0.0)

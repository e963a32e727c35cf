"""Which anchors moved between two calibrations, after these were linked: one Wald test and one robust z an anchor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtri

from psychoeval.irt.linking import Constants, times
from psychoeval.irt.linking_law import by_constants, by_items, linked

FloatArray = NDArray[np.float64]

#: The interquartile range of a normal distribution is 1.349 SDs; Huynh and Meyer give its reciprocal as .74.
ROBUST_FACTOR: Final = 0.74
#: Below four anchors quartiles say nothing.
FEWEST_FOR_QUARTILES: Final = 4
#: Shares of its variance before linking below which a difference is one that the linking made 0.
NO_VARIANCE: Final = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """What is left of M anchors' differences, linked first minus second.

    Parameters
    ----------
    values : (M, 2) array
        a1* - a2 and d1* - d2, by `psychoeval.irt.linking_law`.
    covariance : (M, 2, 2) array
        Of each anchor's two, the errors of A and B and their covariance with the anchor's own included.
    before : (M, 2) array
        Variances that they would have if A and B were known.
    """

    values: FloatArray
    covariance: FloatArray
    before: FloatArray


def differences(first: FloatArray, second: FloatArray, scale: float, shift: float) -> FloatArray:
    """Return a1* - a2 and d1* - d2 of M anchors, (M, 2)."""
    return np.asarray((linked(first, scale, shift) - second)[:, :2])


def differences_with_errors(
    first: FloatArray, second: FloatArray, constants: Constants, covariance: tuple[FloatArray, FloatArray]
) -> Differences:
    """Return the differences of M anchors with their covariance by the delta method.

    With D_k an anchor's own derivatives, K those by (A, B), and J_k the derivatives of (A, B) by all anchors, the
    covariance is sum_k D_k S_k D_k' + K V K' + D_k S_k J_k' K' + (...)', where S_k is that of calibration k.

    Parameters
    ----------
    first, second : (M, 3) arrays
        a, d, c.
    constants : Constants
        Their derivatives are 0 for anchors that took no part.
    covariance : (first, second), each (M, 3, 3) or (3 M, 3 M)
    """
    law = constants.scale, constants.shift
    own = by_items(*law)[:2], -np.eye(3)[:2]
    moved = by_constants(first, *law)
    out = np.einsum("mik,kl,mjl->mij", moved, constants.covariance(*covariance), moved)
    before = np.zeros((len(first), 2))
    for k in range(2):
        block = np.einsum("ip,mpq,jq->mij", own[k], _blocks(covariance[k]), own[k])
        with_constants = times(covariance[k], constants.jacobian[:, k])
        shared = np.einsum("ip,mpu,mju->mij", own[k], with_constants, moved)
        out += block + shared + shared.transpose(0, 2, 1)
        before += np.einsum("mii->mi", block)
    return Differences(differences(first, second, *law), out, before)


def _blocks(covariance: FloatArray) -> FloatArray:
    """Return each anchor's own covariance, (M, 3, 3)."""
    if covariance.ndim == 3:
        return covariance
    return np.asarray(np.einsum("mpmq->mpq", covariance.reshape(len(covariance) // 3, 3, -1, 3)))


def wald(found: Differences) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
    """Return chi-squared, degrees of freedom and p of "did not move", (M,) each: Lord's test after linking.

    x' C^-1 x over the directions that have any variance left: a fixed slope, or what the linking itself made equal, is
    no evidence. None left: NaN and 0 degrees of freedom, as of a single anchor. Lord (1980), Applications of item
    response theory, ch. 14; the lower asymptote takes no part.
    """
    has_error = found.before > 0
    unit = np.sqrt(np.where(has_error, found.before, 1.0))
    x = found.values / unit
    scaled = found.covariance / unit[:, :, None] / unit[:, None, :]
    scaled *= np.einsum("mi,mj->mij", has_error, has_error)
    usable: NDArray[np.bool_] = np.isfinite(scaled.sum(axis=(1, 2)) + x.sum(axis=1))
    values, vectors = np.linalg.eigh(np.where(usable[:, None, None], scaled, 0.0))
    along = np.einsum("mij,mi->mj", vectors, np.where(usable[:, None], x, 0.0))
    counts = values > NO_VARIANCE
    squares = np.divide(along**2, values, out=np.zeros_like(along), where=counts)
    df = counts.sum(axis=1)
    statistic = np.where(df > 0, squares.sum(axis=1), np.nan)
    return statistic, df, np.where(df > 0, chdtrc(np.maximum(df, 1), statistic), np.nan)


def robust_z(moved: FloatArray) -> FloatArray:
    """Return (x - median) / (.74 IQR) of anchors' differences, NaN where quartiles say nothing.

    It needs no errors and hardly feels the drifted anchors themselves; among anchors that did not move it is roughly
    standard normal if their errors are alike. Huynh and Meyer (2010), doi 10.7275/ycx6-e864.

    Parameters
    ----------
    moved : (M,) array
        b2 - (A b1 + B), or log |a1 / a2|; NaN where there is none.

    Examples
    --------
    >>> robust_z(np.array([0.1, -0.1, 0.0, 0.05, -0.05, 2.0])).round(1).tolist()
    [0.8, -1.4, -0.3, 0.3, -0.8, 21.4]
    """
    known = np.isfinite(moved)
    if np.count_nonzero(known) < FEWEST_FOR_QUARTILES:
        return np.full(moved.shape, np.nan)
    low, middle, high = np.percentile(moved[known], [25, 50, 75])
    if not high - low > 1e-10 * max(1.0, float(np.abs(moved[known]).max())):
        return np.full(moved.shape, np.nan)
    return np.asarray((moved - middle) / (ROBUST_FACTOR * (high - low)))


def robust_limit(level: float) -> float:
    """Return the size of robust z beyond which an anchor is said to have drifted: the two-sided normal quantile.

    1.96 at .95, as Huynh and Meyer's z is referred to the standard normal distribution; R's irt::ipd does the same.

    Examples
    --------
    >>> round(robust_limit(0.95), 3)
    1.96
    """
    return float(ndtri(0.5 + level / 2))

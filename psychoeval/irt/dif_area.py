"""Areas between an item's curves in two groups, after linking, with their errors. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.linking import Constants, times
from psychoeval.irt.linking_law import by_constants, by_items, linked
from psychoeval.irt.parameters import UNSTABLE_SLOPE

FloatArray = NDArray[np.float64]

#: Relative step of central differences: errors of about its square.
STEP: Final = 1e-5
#: Relative difference of slopes below which the curves do not cross, and the area is that of parallel ones.
PARALLEL: Final = 1e-9


class Areas(NamedTuple):
    """Areas of M items in logits and standard errors, (M,) each; NaN where they do not exist."""

    signed: FloatArray
    signed_error: FloatArray
    unsigned: FloatArray
    unsigned_error: FloatArray


def areas(
    first: FloatArray,
    second: FloatArray,
    constants: Constants,
    covariance: tuple[FloatArray, FloatArray] | None,
) -> Areas:
    """Return the areas between the curves of M items, of the first group linked to the scale of the second.

    Signed: (1 - c)(b1* - b2), positive where the item is harder for the first group. Unsigned:
    (1 - c) |2 (a2 - a1*) / (a1* a2) log(1 + exp(a1* a2 (b2 - b1*) / (a2 - a1*))) - (b2 - b1*)|, which is |b2 - b1*|
    where slopes are equal (Raju 1988, doi 10.1007/BF02294403). With different c the area is infinite, and with a slope
    below .05 or of another sign the curves do not enclose one: NaN. Errors by the delta method (Raju 1990, doi
    10.1177/014662169001400208, who takes A and B as known), those of A and B and their covariance with the items
    counted in.

    Parameters
    ----------
    first, second : (M, 3) arrays
        a, d, c.
    constants : Constants
        A and B, and their derivatives by the items: 0 for items that took no part.
    covariance : (first, second), each (M, 3, 3) or (3 M, 3 M), optional
        None: no errors.

    Examples
    --------
    >>> one, two = np.array([[1.0, -0.5, 0.0], [2.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> found = areas(one, two, Constants(1.0, 0.0, np.zeros((2, 2, 2, 3))), None)
    >>> found.signed.tolist(), found.unsigned.round(6).tolist()
    ([0.5, 0.0], [0.5, 0.693147])
    """
    at, rest = _curves(linked(first, constants.scale, constants.shift), second)
    out = [rest * f(at) for f in (_signed, _unsigned)]
    if covariance is None:
        none = np.full(rest.size, np.nan)
        return Areas(out[0], none, out[1], none)
    errors = [rest * _error(_gradient(f, at), first, constants, covariance) for f in (_signed, _unsigned)]
    return Areas(out[0], errors[0], out[1], errors[1])


def areas_together(first: FloatArray, second: FloatArray, covariance: FloatArray) -> Areas:
    """Return the areas of M items whose parameters for both groups come from one calibration, with errors.

    Parameters
    ----------
    first, second : (M, 3) arrays
        a, d, c on one scale; see `areas`.
    covariance : (M, 6, 6) array
        Of (a, d, c) of the first group, then of the second; NaN where unknown.
    """
    at, rest = _curves(first, second)
    found = []
    for f in (_signed, _unsigned):
        gradient = np.zeros((len(at), 6))
        gradient[:, [0, 1, 3, 4]] = _gradient(f, at)
        variance = np.einsum("mp,mpq,mq->m", gradient, covariance, gradient)
        found += [rest * f(at), rest * np.sqrt(np.maximum(variance, 0.0))]
    return Areas(*found)


def _curves(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (a1, d1, a2, d2), (M, 4), and 1 - c, NaN where there is no area."""
    exists = (np.minimum(first[:, 0], second[:, 0]) >= UNSTABLE_SLOPE) & (first[:, 2] == second[:, 2])
    at = np.concatenate([first[:, :2], second[:, :2]], axis=1)
    at = np.where(exists[:, None], at, np.array([1.0, 0.0, 1.0, 0.0]))
    return at, np.where(exists, 1.0 - second[:, 2], np.nan)


def _signed(at: FloatArray) -> FloatArray:
    a1, d1, a2, d2 = at.T
    return np.asarray(d2 / a2 - d1 / a1)


def _unsigned(at: FloatArray) -> FloatArray:
    a1, _, a2, _ = at.T
    moved, turned = -_signed(at), a2 - a1
    crossing = np.abs(turned) > PARALLEL * a2
    product, turned = a1 * a2, np.where(crossing, turned, 1.0)
    area = 2 * turned / product * np.logaddexp(0.0, product * moved / turned) - moved
    return np.asarray(np.abs(np.where(crossing, area, moved)))


def _gradient(f: Callable[[FloatArray], FloatArray], at: FloatArray) -> FloatArray:
    """Return the derivatives by (a1*, d1*, a2, d2), (M, 4), by central differences."""
    out = np.empty(at.shape)
    for k in range(4):
        step = np.zeros(at.shape)
        step[:, k] = STEP * np.maximum(1.0, np.abs(at[:, k]))
        out[:, k] = (f(at + step) - f(at - step)) / (2 * step[:, k])
    return out


def _error(
    gradient: FloatArray, first: FloatArray, constants: Constants, covariance: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Return standard errors (M,): the items' own part, that of A and B, and twice what they share."""
    law = constants.scale, constants.shift
    own = np.zeros((2, len(first), 3))
    own[0] = gradient[:, :2] @ by_items(*law)[:2]
    own[1, :, :2] = gradient[:, 2:]
    moved = np.einsum("mi,miu->mu", gradient[:, :2], by_constants(first, *law))
    variance = np.einsum("mu,uv,mv->m", moved, constants.covariance(*covariance), moved)
    for k in range(2):
        v = covariance[k]
        blocks = v if v.ndim == 3 else np.einsum("mpmq->mpq", v.reshape(len(first), 3, -1, 3))
        shared = times(v, constants.jacobian[:, k])
        variance += np.einsum("mp,mpq,mq->m", own[k], blocks, own[k])
        variance += 2 * np.einsum("mp,mpu,mu->m", own[k], shared, moved)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

"""Linking: the transformation between two calibrations, estimated from items that both have, with its errors.

theta* = A theta + B takes the scale of the first calibration to that of the second; what becomes of items is said once,
in `psychoeval.irt.linking_law`. The constants of the curve methods are found in
`psychoeval.irt.linking_curves`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import NotComparableError
from psychoeval.irt.linking_curves import Direction, Rival, curve_constants

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LinkingMethod = Literal["mean-mean", "mean-sigma", "haebara", "stocking-lord"]
#: How the unit A is found: by the method, from the slopes alone, or a given number.
Unit = Literal["free", "slopes"] | float

#: Gauss-Hermite nodes of N(0, 1): equateIRT's number.
QUADRATURE_POINTS: Final = 30
#: Relative size below which a spread of difficulties, or a sum of slopes, is what rounding left of 0.
ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """Linking constants and what they hang on.

    Parameters
    ----------
    scale, shift : float
        A, negative where the second scale runs the other way, and B.
    jacobian : (2, 2, M, 3) array
        Derivatives of (A, B) by the parameters (a, d, c) of M anchors, of the first calibration and of the second.
    rival : Rival, optional
        Another minimum of the curves' criterion, where there is one.
    """

    scale: float
    shift: float
    jacobian: FloatArray
    rival: Rival | None = None

    def covariance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the covariance of (A, B), (2, 2), by the delta method: J1 S1 J1' + J2 S2 J2'.

        Parameters
        ----------
        first, second : (M, 3, 3) or (3 M, 3 M) arrays
            Covariance of (a, d, c) of the anchors: of each, or of all, item after item. The calibrations are
            independent of each other.
        """
        pairs = zip((first, second), self.jacobian.transpose(1, 0, 2, 3), strict=True)
        return np.asarray(sum(np.einsum("vmp,mpu->vu", j, times(covariance, j)) for covariance, j in pairs))


def times(covariance: FloatArray, jacobian: FloatArray) -> FloatArray:
    """Return the covariance of M anchors' (a, d, c) with (A, B), (M, 3, 2).

    Parameters
    ----------
    covariance : (M, 3, 3) or (3 M, 3 M) array
    jacobian : (2, M, 3) array
        Derivatives of (A, B).
    """
    if covariance.ndim == 3:
        return np.asarray(np.einsum("mpq,umq->mpu", covariance, jacobian))
    return np.asarray((covariance @ jacobian.reshape(2, -1).T).reshape(-1, 3, 2))


def linking_constants(
    first: FloatArray,
    second: FloatArray,
    method: LinkingMethod,
    *,
    unit: Unit = "free",
    direction: Direction = "forward",
    quadrature: tuple[FloatArray, FloatArray] | None = None,
) -> Constants:
    """Return A and B from M anchors, and their derivatives by the items' parameters.

    mean-mean: A = mean a1 / mean a2, B = mean b2 - A mean b1 (Loyd and Hoover 1980). mean-sigma: A = SD b2 / SD b1,
    and the same B (Marco 1977). Haebara (1980), Stocking and Lord (1983): see `psychoeval.irt.linking_curves`. In
    mean a an anchor with negative slopes counts turned round, so that it does not pull the mean to 0.

    Parameters
    ----------
    first, second : (M, 3) arrays
        a, d and c of the anchors in the two calibrations; finite.
    method : str
    unit : {"free", "slopes"} or float
        How A is found: by the method, as mean a1 / mean a2, or given. The derivatives of B go along.
    direction : {"forward", "backward", "both"}
        On which scale curves are compared: the second's, the first's, or each.
    quadrature : (nodes, weights), each (Q,), optional
        Of the curve methods, on the scale where curves are compared; by default 30 Gauss-Hermite nodes of N(0, 1).

    Raises
    ------
    NotComparableError
        If the anchors do not determine the constants.

    Examples
    --------
    >>> items = np.array([[1.0, 0.5, 0.0], [1.6, -0.8, 0.0]])
    >>> law = np.array([[1 / 2, 0, 0], [-0.25, 1, 0], [0, 0, 1.0]])  # A = 2, B = .5
    >>> found = linking_constants(items, items @ law.T, "mean-mean")
    >>> round(found.scale, 12), round(found.shift, 12)
    (2.0, 0.5)
    """
    scale, by_item = _unit(first, second, method, unit)
    if method in ("haebara", "stocking-lord"):
        nodes, weights = normal_nodes() if quadrature is None else quadrature
        free = unit == "free"
        start = _start(first, second, scale)
        found = curve_constants(
            first, second, method == "stocking-lord", nodes, weights, direction, start if free else (scale, start[1]),
            None if free else by_item,
        )  # fmt: skip
        return Constants(*found)
    shift, jacobian = _mean_shift(first, second, scale, by_item)
    return Constants(scale, shift, jacobian)


def normal_nodes(n: int = QUADRATURE_POINTS) -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Hermite nodes and weights of N(0, 1), (n,) each; the weights sum to 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / weights.sum()


def orientation(first: FloatArray, second: FloatArray) -> float:
    """Return -1.0 where most anchors have slopes of opposite signs, else 1.0: the sign of A."""
    signs = np.sign(first[:, 0] * second[:, 0])
    return -1.0 if signs.sum() < 0 else 1.0


def has_one_slope(slopes: FloatArray) -> bool:
    """Whether all slopes are one number but for rounding, as in a Rasch model or a 1PL."""
    return bool(slopes.size and np.ptp(slopes) <= 1e-12 * np.abs(slopes).max())


def _unit(first: FloatArray, second: FloatArray, method: LinkingMethod, unit: Unit) -> tuple[float, FloatArray]:
    """Return A, or for curves where it starts, and its derivatives (2, M, 3)."""
    by_item = np.zeros((2, *first.shape))
    if not isinstance(unit, str):
        return float(unit), by_item
    if method == "mean-sigma" and unit == "free":
        return _sigma_ratio(first, second)
    turned = np.sign(second[:, 0])
    slopes = first[:, 0], second[:, 0]
    sums = [float(turned @ a) for a in slopes]
    if any(abs(total) <= ROUNDING * np.abs(a).sum() for total, a in zip(sums, slopes, strict=True)):
        raise NotComparableError(
            "The slopes of the anchors have mean 0, and give no unit.", "Take other anchors, or give scale=1."
        )
    scale = float(sums[0] / sums[1])
    by_item[0, :, 0], by_item[1, :, 0] = turned / sums[1], -scale * turned / sums[1]
    return scale, by_item


def _sigma_ratio(first: FloatArray, second: FloatArray) -> tuple[float, FloatArray]:
    b1, b2 = (-items[:, 1] / items[:, 0] for items in (first, second))
    c1, c2 = b1 - b1.mean(), b2 - b2.mean()
    squares = (c1 @ c1, c2 @ c2)
    if not (_differ(first) and _differ(second)):
        raise NotComparableError(
            f"mean-sigma needs difficulties that differ, and those of the {_anchors(b1.size)} do not.",
            "Take mean-mean, haebara or stocking-lord, or more anchors.",
        )
    scale = orientation(first, second) * float(np.sqrt(squares[1] / squares[0]))
    by_item = np.zeros((2, *first.shape))
    by_item[0] = (-scale * c1 / squares[0])[:, None] * _difficulty_jacobian(first)
    by_item[1] = (scale * c2 / squares[1])[:, None] * _difficulty_jacobian(second)
    return scale, by_item


def _differ(items: FloatArray) -> bool:
    """Whether difficulties differ by more than rounding, of their size or of the width 1 / |a| of a curve."""
    b = -items[:, 1] / items[:, 0]
    return bool(b.size > 1 and b.std() > ROUNDING * max(np.abs(b).max(), (1.0 / np.abs(items[:, 0])).min()))


def _anchors(n: int) -> str:
    return "one anchor" if n == 1 else f"{n} anchors"


def _difficulty_jacobian(items: FloatArray) -> FloatArray:
    """Return the derivatives of b = -d / a by (a, d, c), (M, 3)."""
    a, d = items[:, 0], items[:, 1]
    return np.stack([d / a**2, -1.0 / a, np.zeros(a.size)], axis=1)


def _mean_shift(
    first: FloatArray, second: FloatArray, scale: float, scale_by_item: FloatArray
) -> tuple[float, FloatArray]:
    """Return B = mean b2 - A mean b1 and the derivatives of (A, B), (2, 2, M, 3)."""
    m1, m2 = (float(np.mean(-items[:, 1] / items[:, 0])) for items in (first, second))
    shift_by_item = -m1 * scale_by_item
    shift_by_item[0] -= scale * _difficulty_jacobian(first) / len(first)
    shift_by_item[1] += _difficulty_jacobian(second) / len(second)
    return m2 - scale * m1, np.stack([scale_by_item, shift_by_item])


def _start(first: FloatArray, second: FloatArray, scale: float) -> tuple[float, float]:
    """Return where the search for (A, B) begins: medians, which no single anchor moves far."""
    steep = (np.abs(first[:, 0]) > 0) & (np.abs(second[:, 0]) > 0)
    a1, d1, a2, d2 = first[steep, 0], first[steep, 1], second[steep, 0], second[steep, 1]
    if not a1.size:
        return scale, 0.0
    middle = orientation(first, second) * float(np.median(np.abs(a1 / a2)))
    return middle, float(np.median(middle * d1 / a1 - d2 / a2))

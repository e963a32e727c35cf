"""Linking by curves: the A and B under which the anchors' curves of two calibrations lie nearest to each other.

With r_jq = P2_j(x_q) - P1_j((x_q - B) / A; a1, d1, c1) at nodes x_q of the second scale,

    Haebara        F = 1/2 sum_q w_q sum_j r_jq^2
    Stocking-Lord  F = 1/2 sum_q w_q (sum_j r_jq)^2

Programs differ in three things, which change the constants: the direction (this is ``forward``; ``backward`` compares
on the first scale, P1_j(x) - P2_j(A x + B), and ``both`` adds the two, as Haebara's paper does), the nodes and the
weights. equateIRT 2.5.2 goes forward with Gauss-Hermite nodes of N(0, 1).

Sources: Haebara (1980), Japanese Psychological Research 22, 144-149; Stocking and Lord (1983), Applied Psychological
Measurement 7, 201-210, doi 10.1177/014662168300700208. Derivatives by the items: implicit function theorem, as
Ogasawara (2001), Applied Psychological Measurement 25, 53-67.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from psychoeval.errors import NotComparableError

FloatArray = NDArray[np.float64]
Direction = Literal["forward", "backward", "both"]

#: Newton steps after the search, and how small the last must be: then A and B are exact to about its square.
POLISHING: Final = 20
LAST_STEP: Final = 1e-9
#: Ratio of the Hessian's eigenvalues below which a point is no minimum but a flat place.
FLAT: Final = 1e-13
#: Grid on which F is looked at before the search: points of log A and of B, and how far they reach to each side.
GRID_POINTS: Final = (21, 25)
GRID_REACH: Final = (2.5, 5.0)
#: Anchors beyond are thinned out for the grid, which only says where to begin.
MOST_ON_GRID: Final = 60
#: Relative distance of two ends below which they are one minimum.
SAME: Final = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class _Criterion:
    """F and its derivatives by u = (A, B), (2,) and (2, 2)."""

    value: float
    gradient: FloatArray
    hessian: FloatArray


class _Curves:
    """Curves of M items at Q nodes t(u), of which t_u (2, Q) and t_uu (2, 2, Q) are the derivatives; t_uu may be 0."""

    def __init__(self, items: FloatArray, t: FloatArray, t_u: FloatArray, t_uu: FloatArray | None = None) -> None:
        self._a, d, c = items.T
        self._t, self._t_u, self._t_uu, self._k = t[:, None], t_u[:, :, None], t_uu, 1.0 - c
        self._s = expit(self._t * self._a + d)
        self._s1 = self._s * (1.0 - self._s)
        self.value: FloatArray = c + self._k * self._s
        self._steep = self._k * self._s1
        self.by_u: FloatArray = self._steep * self._a * self._t_u

    def by_uu(self) -> FloatArray:
        """Return the second derivatives by u, (2, 2, Q, M)."""
        bent = self._steep * (1.0 - 2.0 * self._s) * self._a**2
        out: FloatArray = bent * self._t_u[:, None] * self._t_u[None, :]
        return out if self._t_uu is None else out + self._steep * self._a * self._t_uu[:, :, :, None]

    def by_item(self) -> FloatArray:
        """Return the derivatives by (a, d, c), (3, Q, M)."""
        return np.stack([self._t * self._steep, self._steep, 1.0 - self._s])

    def by_u_item(self) -> FloatArray:
        """Return the derivatives by the items and by u, (3, 2, Q, M)."""
        bent = self._steep * (1.0 - 2.0 * self._s)
        by_a = (bent * self._t * self._a + self._steep) * self._t_u
        return np.stack([by_a, bent * self._a * self._t_u, -self._s1 * self._a * self._t_u])


class Rival(NamedTuple):
    """The least of the other minima: A, B, and its F over that of the least one."""

    scale: float
    shift: float
    ratio: float


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What the criterion is made of.

    Parameters
    ----------
    first, second : (M, 3) arrays
        a, d, c of the anchors.
    of_sums : bool
        Stocking-Lord: differences are summed over items before they are squared.
    nodes, weights : (Q,) arrays
    direction : {"forward", "backward", "both"}
    """

    first: FloatArray
    second: FloatArray
    of_sums: bool
    nodes: FloatArray
    weights: FloatArray
    direction: Direction

    def at(self, scale: float, shift: float) -> _Criterion:
        """Return the criterion at A, B."""
        value, gradient, hessian = 0.0, np.zeros(2), np.zeros((2, 2))
        for moved, fixed, _ in self._directions(scale, shift):
            r, slope = self._residuals(moved, fixed.value)
            value += 0.5 * float(self.weights @ (r[:, 0] ** 2 if self.of_sums else (r**2).sum(axis=1)))
            weighted = self.weights[:, None] * moved.by_u
            gradient -= np.tensordot(weighted, r, axes=2)
            hessian += np.tensordot(weighted, slope, axes=((1, 2), (1, 2)))
            hessian -= np.tensordot(moved.by_uu(), self.weights[:, None] * r, axes=2)
        return _Criterion(value, gradient, hessian)

    def values(self, scale: float, shifts: FloatArray) -> FloatArray:
        """Return F at A and K values of B, (K,)."""
        b, x, out = shifts[:, None], self.nodes, np.zeros(shifts.size)
        parts = []
        if self.direction != "backward":
            parts.append((self.second, x, self.first, (x - b) / scale))
        if self.direction != "forward":
            parts.append((self.first, x, self.second, scale * x + b))
        for fixed, at, moved, t in parts:
            r = _probability(fixed, at) - _probability(moved, t)
            out += 0.5 * ((r.sum(axis=-1) ** 2 if self.of_sums else (r**2).sum(axis=-1)) @ self.weights)
        return out

    def thinned(self) -> Problem:
        """Return the problem of at most `MOST_ON_GRID` anchors, evenly over the intercepts."""
        m = len(self.first)
        if m <= MOST_ON_GRID:
            return self
        at = np.argsort(self.first[:, 1])[np.linspace(0, m - 1, MOST_ON_GRID).round().astype(np.intp)]
        return replace(self, first=self.first[at], second=self.second[at])

    def mixed(self, scale: float, shift: float) -> FloatArray:
        """Return the derivatives of the gradient by the items of both calibrations, (2, 2, M, 3)."""
        out = np.zeros((2, 2, *self.first.shape))
        for moved, fixed, which in self._directions(scale, shift):
            r, slope = self._residuals(moved, fixed.value)
            out[:, which] += np.einsum("q,pqj,uqj->ujp", self.weights, moved.by_item(), slope)
            out[:, which] -= np.einsum("q,qj,puqj->ujp", self.weights, r, moved.by_u_item())
            out[:, 1 - which] -= np.einsum("q,pqj,uqj->ujp", self.weights, fixed.by_item(), slope)
        return out

    def _directions(self, scale: float, shift: float) -> Iterator[tuple[_Curves, _Curves, int]]:
        """Give the curves that move, those at the nodes, and which calibration it is that moves."""
        x, one, nil = self.nodes, np.ones(self.nodes.size), np.zeros(self.nodes.size)
        still = np.stack([nil, nil])
        if self.direction != "backward":
            t = (x - shift) / scale
            curvature = np.array([[2 * t, one], [one, nil]]) / scale**2
            yield _Curves(self.first, t, -np.stack([t, one]) / scale, curvature), _Curves(self.second, x, still), 0
        if self.direction != "forward":
            yield _Curves(self.second, scale * x + shift, np.stack([x, one])), _Curves(self.first, x, still), 1

    def _residuals(self, moved: _Curves, fixed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return r (Q, M) and the derivatives of minus r by u, (2, Q, M); of sums, the sum in every place."""
        r, slope = fixed - moved.value, moved.by_u
        if not self.of_sums:
            return r, slope
        r = np.broadcast_to(r.sum(axis=1, keepdims=True), r.shape)
        return r, np.broadcast_to(slope.sum(axis=2, keepdims=True), slope.shape)


def _probability(items: FloatArray, t: FloatArray) -> FloatArray:
    """Return the curves of M items at points t, (..., M)."""
    a, d, c = items.T
    return np.asarray(c + (1.0 - c) * expit(t[..., None] * a + d))


def curve_constants(
    first: FloatArray,
    second: FloatArray,
    of_sums: bool,
    nodes: FloatArray,
    weights: FloatArray,
    direction: Direction,
    start: tuple[float, float],
    scale_by_item: FloatArray | None = None,
) -> tuple[float, float, FloatArray, Rival | None]:
    """Return A, B, their derivatives by the items, (2, 2, M, 3), and the minimum next to the least.

    F can have several minima. The least is taken of those reached from `start` and from every point of a grid around it
    that is not above its neighbors. With g the gradient and H the Hessian of F by u = (A, B), and p the
    items' parameters, du/dp = -H^-1 dg/dp; where A is given as a function of p, dB/dp = -(dg_B/dp + H_AB dA/dp) / H_BB.

    Parameters
    ----------
    first, second : (M, 3) arrays
        a, d, c of the anchors.
    of_sums : bool
        Stocking-Lord instead of Haebara.
    nodes, weights : (Q,) arrays
    direction : {"forward", "backward", "both"}
    start : (A, B)
        A has the sign of the answer, and where it is not searched for its value.
    scale_by_item : (2, M, 3) array, optional
        Derivatives of a given A; without them A is searched for.

    Raises
    ------
    NotComparableError
        If no minimum is found: the curves say nothing about A or B.
    """
    problem = Problem(first, second, of_sums, nodes, weights, direction)
    free = scale_by_item is None
    ends = [_search(problem, u, free) for u in (start, *_low_points(problem, start, free))]
    reached = [end for end in ends if end is not None]
    if not reached:
        raise NotComparableError(
            f"The search for A and B found no minimum: the curves of {len(first)} anchors do not determine them.",
            "Take more anchors, or steeper ones near the nodes; mean-mean needs no search.",
        )
    reached.sort(key=lambda u: problem.at(*u).value)
    a, b = reached[0]
    at, mixed = problem.at(a, b), problem.mixed(a, b)
    apart = [u for u in reached if not np.allclose(u, (a, b), rtol=SAME, atol=SAME * abs(a))]
    rival = Rival(*apart[0], problem.at(*apart[0]).value / at.value) if apart and at.value > 0 else None
    if scale_by_item is None:
        return a, b, -np.tensordot(np.linalg.inv(at.hessian), mixed, axes=1), rival
    by_item = -(mixed[1] + at.hessian[0, 1] * scale_by_item) / at.hessian[1, 1]
    return a, b, np.stack([scale_by_item, by_item]), rival


def _low_points(problem: Problem, center: tuple[float, float], free: bool) -> list[tuple[float, float]]:
    """Return the points of a grid around `center` where F is not above that of their neighbors."""
    shape = (GRID_POINTS[0] if free else 1, GRID_POINTS[1])
    scales = center[0] * np.exp(np.linspace(-GRID_REACH[0], GRID_REACH[0], shape[0]) if free else np.zeros(1))
    shifts = center[1] + np.linspace(-GRID_REACH[1], GRID_REACH[1], shape[1])
    thinned = problem.thinned()
    f = np.stack([thinned.values(scale, shifts) for scale in scales])
    around = sliding_window_view(np.pad(f, 1, constant_values=np.inf), (3, 3)).min(axis=(2, 3))
    low = f <= around
    return [(float(scales[i]), float(shifts[j])) for i, j in zip(*np.nonzero(low), strict=True)]


def _search(problem: Problem, start: tuple[float, float], free: bool) -> tuple[float, float] | None:
    """Return a minimum near `start`, None if there is none; A is searched for as log |A|, so that its sign stays."""
    sign, used = np.sign(start[0]), slice(0 if free else 1, 2)
    criterion = lru_cache(maxsize=4)(problem.at)  # the search asks for value, gradient and Hessian one by one

    def full(v: FloatArray) -> tuple[float, float]:
        return (float(sign * np.exp(v[0])), float(v[1])) if free else (start[0], float(v[0]))

    def value(v: FloatArray) -> float:
        return criterion(*full(v)).value

    def gradient(v: FloatArray) -> FloatArray:
        u = full(v)
        return np.asarray((criterion(*u).gradient * (u[0], 1.0))[used])

    def hessian(v: FloatArray) -> FloatArray:
        u = full(v)
        at = criterion(*u)
        out = at.hessian * np.outer((u[0], 1.0), (u[0], 1.0))
        out[0, 0] += u[0] * at.gradient[0]
        return out[used, used]

    begin = np.array([np.log(abs(start[0])), start[1]])[used]
    # Far from any minimum F is flat and its steps leave float64: such an end is no minimum, and is not taken.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = minimize(value, begin, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-8})
        return _polished(problem, full(found.x), used)


def _polished(problem: Problem, u: tuple[float, float], used: slice) -> tuple[float, float] | None:
    """Return the minimum to which Newton's steps lead from nearby, None where they lead to none."""
    at = np.array(u)
    for _ in range(POLISHING):
        here = problem.at(*at)
        h, g = here.hessian[used, used], here.gradient[used]
        if not np.isfinite(h).all():
            return None
        curvature = np.linalg.eigvalsh(h)
        if not curvature[0] > FLAT * curvature[-1] > 0:
            return None
        step = np.linalg.solve(h, g)
        at[used] -= step
        if not np.isfinite(at).all() or at[0] * u[0] <= 0:
            return None
        if np.abs(step).max() <= LAST_STEP * max(1.0, float(np.abs(at).max())):
            return float(at[0]), float(at[1])
    return None

"""The penalised joint likelihood of abilities and items: value, gradient, curvature, a block of persons at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.models import Normal

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.unsignedinteger[Any]]
#: a = 1 (Rasch), one for all items (1PL), or one an item (2PL).
Slopes = Literal["fixed", "common", "free"]

#: Cells worked on at a time: a few such blocks of float64 stay in a core's cache.
BLOCK_CELLS: Final = 32_768
#: Up to here residuals and weights are kept (four arrays of 8 bytes a cell); beyond it they are computed again.
KEPT_CELLS: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Penalty:
    """Negative log prior densities, constants dropped.

    Parameters
    ----------
    slope : Normal, optional
        Density of log a; None where slopes are fixed.
    location : Normal, optional
        Density of the location.
    on_difficulty : bool
        Whether `location` is about b = -d / a; otherwise about the intercept d.
    """

    slope: Normal | None
    location: Normal | None
    on_difficulty: bool

    def slope_terms(self, u: FloatArray) -> tuple[float, FloatArray, float]:
        """Return value, gradient and second derivative of the penalty on u = log a."""
        if self.slope is None:
            return 0.0, np.zeros_like(u), 0.0
        z = (u - self.slope.mean) / self.slope.sd
        return 0.5 * float(z @ z), z / self.slope.sd, self.slope.sd**-2

    def location_terms(self, u: FloatArray, d: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return the penalty on the locations of J items and its derivatives by (u, d).

        Returns
        -------
        value : float
        gradient : (J, 2) array
        hessian : (J, 2, 2) array
        gauss_newton : (J, 2, 2) array
            The part of the Hessian that is never negative.
        """
        j = d.size
        if self.location is None:
            return 0.0, np.zeros((j, 2)), np.zeros((j, 2, 2)), np.zeros((j, 2, 2))
        mean, precision = self.location.mean, self.location.sd**-2
        jacobian, curved = np.zeros((j, 2)), np.zeros((j, 2, 2))
        if self.on_difficulty:
            slope = np.exp(-u)
            value = -d * slope
            jacobian[:, 0], jacobian[:, 1] = -value, -slope
            curved[:, 0, 0], curved[:, 0, 1], curved[:, 1, 0] = value, slope, slope
        else:
            value = d
            jacobian[:, 1] = 1.0
        z = precision * (value - mean)
        gauss_newton = precision * jacobian[:, :, None] * jacobian[:, None, :]
        hessian = gauss_newton + z[:, None, None] * curved
        return 0.5 * float(z @ (value - mean)), z[:, None] * jacobian, hessian, gauss_newton


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The objective F at one point, with the sums of which its Hessian is made.

    With eta = a theta + d, g = n p - x and w = n p (1 - p) in each cell.

    Parameters
    ----------
    point : (P,) array
        (theta, u, d), u = log a: one for each item, a single common one, or none.
    value : float
        F, to be minimised.
    loss : float
        The part of F that comes from the data: minus the joint log-likelihood.
    gradient : (P,) array
    theta_curvature : (N,) array
        sum_j w a^2.
    theta_residual : (N,) array
        sum_j g a.
    item_sums : (J, 4) array
        Columns sum_i w, sum_i w theta, sum_i w theta^2, sum_i g theta.
    residuals, weights : (N, J) arrays, optional
        g and w where they are kept.
    """

    point: FloatArray
    value: float
    loss: float
    gradient: FloatArray
    theta_curvature: FloatArray
    theta_residual: FloatArray
    item_sums: FloatArray
    residuals: FloatArray | None
    weights: FloatArray | None


class JointObjective:
    """F(theta, u, d) = -log L(x | theta, a, d) + theta'theta / (2 s^2) + penalties, for N persons and J items.

    Parameters
    ----------
    successes, trials : (N, J) unsigned integer arrays
    penalty : Penalty
    slopes : {"fixed", "common", "free"}
        The penalty on a common u counts once.
    ability_sd : float
        s.
    """

    def __init__(
        self, successes: CountArray, trials: CountArray, penalty: Penalty, *, slopes: Slopes, ability_sd: float = 1.0
    ) -> None:
        self.successes, self.trials, self.penalty, self.slopes = successes, trials, penalty, slopes
        self.ability_sd, self.ability_precision = ability_sd, ability_sd**-2
        self.n_persons, self.n_items = successes.shape
        self.n_slopes = {"fixed": 0, "common": 1, "free": self.n_items}[slopes]
        self.all_single = bool((trials == 1).all())
        self.keeps_cells = successes.size <= KEPT_CELLS
        if self.keeps_cells:  # converted once instead of at every evaluation
            self._x = successes.astype(np.float64)
            self._n = None if self.all_single else trials.astype(np.float64)

    @property
    def n_parameters(self) -> int:
        """Length P of a point."""
        return int(self.n_persons + self.n_slopes + self.n_items)

    def split(self, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return theta (N,), u (J,), (1,) or (0,), and d (J,) as views of a point or a gradient."""
        n = self.n_persons
        return point[:n], point[n : n + self.n_slopes], point[n + self.n_slopes :]

    def log_slopes(self, u: FloatArray) -> FloatArray:
        """Return log a of every item, (J,)."""
        return np.broadcast_to(u if u.size else np.zeros(1), (self.n_items,))

    def start(self) -> FloatArray:
        """Return smoothed logits of persons and items with slopes at the prior's centre, (P,)."""
        by_person = _logit(self.successes.sum(1, dtype=np.int64), self.trials.sum(1, dtype=np.int64))
        by_item = _logit(self.successes.sum(0, dtype=np.int64), self.trials.sum(0, dtype=np.int64))
        theta = by_person - by_person.mean()
        center = 0.0 if self.penalty.slope is None else self.penalty.slope.mean
        return np.concatenate([theta, np.full(self.n_slopes, center), by_item])

    def cells(
        self, point: FloatArray, rows: slice, columns: slice = slice(None)
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | None, FloatArray]:
        """Return eta, exp(-eta), p, n (None where all are 1) and x of a block of cells."""
        theta, u, d = self.split(point)
        a = np.exp(self.log_slopes(u))[columns]
        eta = np.multiply.outer(theta[rows], a)
        eta += d[columns]
        odds = np.negative(eta)
        np.exp(odds, out=odds)
        p = odds + 1.0
        np.reciprocal(p, out=p)
        if self.keeps_cells:
            return eta, odds, p, None if self._n is None else self._n[rows, columns], self._x[rows, columns]
        n = None if self.all_single else self.trials[rows, columns].astype(np.float64)
        return eta, odds, p, n, self.successes[rows, columns].astype(np.float64)

    def evaluate(self, point: FloatArray, *, curvature: bool = True) -> Evaluation:
        """Return value and gradient, and unless told otherwise what the Hessian needs.

        A value is infinite where a cell's probability underflows (|eta| > 709): no minimum lies there.
        """
        theta, u, _ = self.split(point)
        with np.errstate(over="ignore"):
            a = np.exp(self.log_slopes(u))
        keep = curvature and self.keeps_cells
        kept_g = np.empty(self.successes.shape) if keep else None
        kept_w = np.empty(self.successes.shape) if keep else None
        by_person, by_item = np.zeros((3, self.n_persons)), np.zeros((5, self.n_items))
        loss = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in row_blocks(self.n_persons, self.n_items):
                eta, odds, p, n, x = self.cells(point, rows)
                powers = np.vander(theta[rows], 3, increasing=True)
                loss -= float(np.vdot(x, eta))
                np.log1p(odds, out=odds)
                eta += odds  # log(1 + exp(eta)), the loss of a failure
                loss += float(eta.sum() if n is None else np.vdot(n, eta))
                g = p if n is None else np.multiply(p, n, out=odds)
                g = np.subtract(g, x, out=eta if kept_g is None else kept_g[rows])
                by_person[0, rows] = g @ a
                by_item[:2] += powers[:, :2].T @ g
                if curvature:
                    w = np.subtract(1.0, p, out=odds if kept_w is None else kept_w[rows])
                    w *= p
                    if n is not None:
                        w *= n
                    by_person[1, rows] = w @ a**2
                    by_item[2:] += powers.T @ w
            gradient = self._gradient(point, a, by_person[0], by_item)
            value = loss + self.penalties(point)
        sums = np.column_stack([by_item[2], by_item[3], by_item[4], by_item[1]])
        return Evaluation(point, value, loss, gradient, by_person[1], by_person[0], sums, kept_g, kept_w)

    def penalties(self, point: FloatArray) -> float:
        """Return the part of F that comes from the priors, that of the abilities included."""
        theta, u, d = self.split(point)
        location = self.penalty.location_terms(self.log_slopes(u), d)[0]
        return 0.5 * self.ability_precision * float(theta @ theta) + self.penalty.slope_terms(u)[0] + location

    def _gradient(self, point: FloatArray, a: FloatArray, residual_a: FloatArray, by_item: FloatArray) -> FloatArray:
        theta, u, d = self.split(point)
        by_location = self.penalty.location_terms(self.log_slopes(u), d)[1]
        gradient = np.empty_like(point)
        by_theta, by_u, by_d = self.split(gradient)
        by_theta[:] = residual_a + self.ability_precision * theta
        if self.slopes != "fixed":
            by_slope = a * by_item[1] + by_location[:, 0]
            by_u[:] = (by_slope.sum() if self.slopes == "common" else by_slope) + self.penalty.slope_terms(u)[1]
        by_d[:] = by_item[0] + by_location[:, 1]
        return gradient

    def cell_curvature(self, at: Evaluation) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield rows, residuals g and weights w, block by block; one block where they are kept."""
        if at.residuals is not None and at.weights is not None:
            yield slice(None), at.residuals, at.weights
            return
        for rows in row_blocks(self.n_persons, self.n_items):
            yield rows, *self.residuals_and_weights(at.point, rows)

    def residuals_and_weights(
        self, point: FloatArray, rows: slice, columns: slice = slice(None)
    ) -> tuple[FloatArray, FloatArray]:
        """Return g = n p - x and w = n p (1 - p) of a block of cells."""
        with np.errstate(over="ignore"):
            _, _, p, n, x = self.cells(point, rows, columns)
        count: FloatArray | float = 1.0 if n is None else n
        return count * p - x, count * p * (1.0 - p)


def row_blocks(n_rows: int, n_columns: int, cells: int = BLOCK_CELLS) -> Iterator[slice]:
    """Yield slices of rows with about `cells` cells each."""
    step = max(1, cells // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _logit(successes: NDArray[np.int64], trials: NDArray[np.int64]) -> FloatArray:
    return np.asarray(np.log((successes + 0.5) / (trials - successes + 0.5)), dtype=np.float64)

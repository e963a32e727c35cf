"""The penalised joint likelihood of abilities and items: value, gradient, curvature, a block of persons at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.map_nodes import Curves, curves
from psychoeval.estimators.native.map_penalty import Penalty

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.unsignedinteger[Any]]
#: a = 1 (Rasch), one for all items (1PL), or one an item (2PL).
Slopes = Literal["fixed", "common", "free"]

#: Cells worked on at a time: a few such blocks of float64 stay in a core's cache.
BLOCK_CELLS: Final = 32_768
#: The same where a block only meets two vectors.
PRODUCT_CELLS: Final = 131_072
#: Up to here residuals and weights are kept (four arrays of 8 bytes a cell); beyond it they are computed again.
KEPT_CELLS: Final = 4_000_000
#: Beyond it nodes of ability stand for the cells of complete data (`map_nodes`), if there are fewer nodes than persons.
NODE_CELLS: Final = 500_000


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
    curves : Curves, optional
        Where nodes of ability stand for the cells.
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
    curves: Curves | None = None


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
        self.equal_trials = _equal_trials(trials)
        self.all_single = self.equal_trials == 1
        self.has_nodes = self.equal_trials > 0 and successes.size > NODE_CELLS
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
        theta, u, d = self.split(point)
        with np.errstate(over="ignore"):
            a = np.exp(self.log_slopes(u))
        if self.has_nodes:
            found = curves(theta, a, d, self.equal_trials)
            if found is not None:
                return self._evaluate_at_nodes(point, a, found)
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

    def _evaluate_at_nodes(self, point: FloatArray, a: FloatArray, found: Curves) -> Evaluation:
        theta, _, d = self.split(point)
        powers = np.vander(theta, 3, increasing=True)
        residual = found.expected_to_items(powers[:, :2])
        weight = found.weights_to_items(powers)
        right_a, right_theta = np.empty(self.n_persons), np.zeros(self.n_items)
        for rows, x in self._data_blocks():
            right_a[rows] = x @ a
            right_theta += theta[rows] @ x
        loss = found.loss - float(theta @ right_a) - float(self.item_successes @ d)
        by_person = found.expected_to_persons(a) - right_a
        by_item = np.vstack([residual[:, 0] - self.item_successes, residual[:, 1] - right_theta])
        gradient = self._gradient(point, a, by_person, by_item)
        sums = np.column_stack([weight, by_item[1]])
        curvature = found.weights_to_persons(a**2)
        value = loss + self.penalties(point)
        return Evaluation(point, value, loss, gradient, curvature, by_person, sums, None, None, found)

    @cached_property
    def item_successes(self) -> FloatArray:
        """(J,) successes of each item."""
        return np.asarray(self.successes.sum(axis=0, dtype=np.int64), dtype=np.float64)

    def _data_blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        for rows in row_blocks(self.n_persons, self.n_items, PRODUCT_CELLS):
            yield rows, self._x[rows] if self.keeps_cells else self.successes[rows].astype(np.float64)

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

    def products_to_items(self, at: Evaluation, v: FloatArray, *, residuals: bool) -> tuple[FloatArray, FloatArray]:
        """Return sum_i w_ij v_i, (J, 2), and if asked for sum_i g_ij v_i1, (J,), for v of shape (N, 2)."""
        residual = np.zeros(self.n_items)
        if at.curves is not None:
            if residuals:
                residual += at.curves.expected_to_items(v[:, 0])
                for rows, x in self._data_blocks():
                    residual -= v[rows, 0] @ x
            return at.curves.weights_to_items(v), residual
        weighted = np.zeros((self.n_items, v.shape[1]))
        for rows, g, w in self.cell_curvature(at):
            weighted += w.T @ v[rows]
            if residuals:
                residual += v[rows, 0] @ g
        return weighted, residual

    def products_to_persons(self, at: Evaluation, y: FloatArray, of_residuals: FloatArray | None) -> FloatArray:
        """Return sum_j w_ij y_j, (N, k), for y of shape (J, k), with sum_j g_ij of_residuals_j added to the first."""
        if at.curves is not None:
            out = at.curves.weights_to_persons(y)
            if of_residuals is not None:
                out[:, 0] += at.curves.expected_to_persons(of_residuals)
                for rows, x in self._data_blocks():
                    out[rows, 0] -= x @ of_residuals
            return out
        out = np.empty((self.n_persons, y.shape[1]))
        for rows, g, w in self.cell_curvature(at):
            out[rows] = w @ y
            if of_residuals is not None:
                out[rows, 0] += g @ of_residuals
        return out

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


def _equal_trials(trials: CountArray) -> int:
    """Return the trials of every cell where they are the same, 0 otherwise."""
    first = int(trials.flat[0])
    n, j = trials.shape
    same = all((trials[rows] == first).all() for rows in row_blocks(n, j, PRODUCT_CELLS))
    return first if same else 0


def _logit(successes: NDArray[np.int64], trials: NDArray[np.int64]) -> FloatArray:
    return np.asarray(np.log((successes + 0.5) / (trials - successes + 0.5)), dtype=np.float64)

"""What is known at items' nodes: of the population, and the cells' log-likelihood with its derivatives by ability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.random_item_cells import cell_terms, cell_third
from psychoeval.estimators.native.random_item_population import Population

FloatArray = NDArray[np.float64]

#: Factors of up to 2 whose product is taken before the logarithm: it stays below 2^512.
PRODUCT: Final = 512


class Workspace:
    """Arrays for one block after another: to allocate one costs more than to fill it.

    Parameters
    ----------
    size : int
        Cells of the largest block.
    """

    def __init__(self, size: int) -> None:
        self._arrays: list[FloatArray] = [np.empty(0)] * 3
        self.size = size

    def array(self, number: int, shape: tuple[int, ...]) -> FloatArray:
        """Return array 0 to 2 in this shape; what it holds is lost when it is asked for again."""
        if not self._arrays[number].size:
            self._arrays[number] = np.empty(self.size)
        return self._arrays[number][: math.prod(shape)].reshape(shape)


@dataclass(frozen=True, slots=True, eq=False)
class AtNodes:
    """What is known of J items at their nodes, (J, Q) each: from the population, and what blocks fill in.

    `bend` is what tr(V H) at a node, in the posterior's weight, adds to the derivatives of its posterior mean.
    """

    a: FloatArray
    d: FloatArray
    log_prior: FloatArray
    scores: FloatArray  # (5, J, Q)
    weights: FloatArray
    bend: FloatArray

    @classmethod
    def of(cls, population: Population, nodes: FloatArray, log_weights: FloatArray) -> AtNodes:
        """Return them at nodes of (p, q), (J, 2, Q)."""
        p, q = nodes[:, 0], nodes[:, 1]
        a = np.exp(p)
        log_prior = population.log_density(p, q) + log_weights
        scores = population.scores(p, q)
        return cls(a, population.intercept(a, q), log_prior, scores, np.zeros(p.shape), np.zeros(p.shape))

    def of_items(self, items: slice) -> AtNodes:
        """Return views of some items."""
        parts = (self.a, self.d, self.log_prior, self.scores, self.weights, self.bend)
        return AtNodes(*(part[..., items, :] for part in parts))


class Derivatives(NamedTuple):
    """By ability at nodes: once (N, B, Q); twice, times weights (N, B, Q); three times, summed with weights (N,)."""

    once: FloatArray
    twice: FloatArray
    thrice: FloatArray | None


class LogisticNodes:
    """The logistic curve with c = 0 at B items' nodes, by u = z / 2, z = a t + d, and h = tanh u: P = (1 + h) / 2.

    A cell's log-likelihood is (2 x - n) u - n |u| - n log 2 + n log(1 + |h|), its derivatives by u are 2 x - n - n h,
    n (h^2 - 1) and -2 n h (h^2 - 1). What is linear in u needs no cells, and logarithms of cells with at most one trial
    are one logarithm of a product.

    Parameters
    ----------
    t : (N,) array
    a, d : (B, Q) arrays
    x, n : (N, B) arrays
    space : Workspace
        Arrays 0 and 1 are taken.
    """

    def __init__(
        self, t: FloatArray, a: FloatArray, d: FloatArray, x: FloatArray, n: FloatArray, space: Workspace
    ) -> None:
        self._space, self._n, self._right, self._half = space, n, 2.0 * x - n, 0.5 * a
        shape = (t.size, *a.shape)
        u = space.array(0, shape)
        halves = np.stack([self._half.ravel(), 0.5 * d.ravel()])
        np.matmul(np.stack([t, np.ones_like(t)], axis=1), halves, out=u.reshape(t.size, -1))
        absolute = np.abs(u, out=space.array(1, shape))
        linear = self._half * (t @ self._right)[:, None] + 0.5 * d * self._right.sum(axis=0)[:, None]
        linear -= np.log(2.0) * n.sum(axis=0)[:, None]
        linear -= absolute.sum(axis=0) if (n == 1.0).all() else np.einsum("ib,ibq->bq", n, absolute)
        self._h = np.tanh(u, out=u)
        #: Summed over persons, (B, Q).
        self.log_likelihood = linear + self._logarithms(np.abs(self._h, out=absolute))

    def _logarithms(self, absolute: FloatArray) -> FloatArray:
        """Return sum n log(1 + |h|); |h| is overwritten."""
        if self._n.max() > 1.0:
            return np.asarray(np.einsum("ib,ibq->bq", self._n, np.log1p(absolute, out=absolute)))
        if self._n.min() < 1.0:
            absolute *= self._n[:, :, None]
        absolute += 1.0
        starts = range(0, len(absolute), PRODUCT)
        logarithms = [np.log(np.multiply.reduce(absolute[k : k + PRODUCT], axis=0)) for k in starts]
        return np.asarray(np.sum(logarithms, axis=0))

    def derivatives(self, weights: FloatArray, *, third: bool) -> Derivatives:
        """Return the derivatives by t; weights (B, Q)."""
        h, half, space, persons = self._h, self._half, self._space, len(self._h)
        all_single = bool((self._n == 1.0).all())
        twice = np.multiply(h, h, out=space.array(1, h.shape))
        twice -= 1.0
        scale = half * half * weights
        if not all_single:
            twice *= self._n[:, :, None]
        flat = twice.reshape(persons, -1)
        flat *= scale.ravel()
        thrice = None
        if third:
            thrice = -2.0 * np.einsum("ik,ik,k->i", twice.reshape(persons, -1), h.reshape(persons, -1), half.ravel())
        if not all_single:
            h *= self._n[:, :, None]
        once = np.subtract(self._right[:, :, None], h, out=h)
        flat = once.reshape(persons, -1)
        flat *= half.ravel()
        return Derivatives(once, twice, thrice)


class GuessingNodes:
    """The same for a lower asymptote c > 0."""

    def __init__(self, t: FloatArray, a: FloatArray, d: FloatArray, x: FloatArray, n: FloatArray, c: float) -> None:
        self._a, self._x, self._n, self._c = a, x[:, :, None], n[:, :, None], c
        self._z = np.multiply.outer(t, a)
        self._z += d
        value, self._once, self._twice = cell_terms(self._z, self._x, self._n, c)
        #: Summed over persons, (B, Q).
        self.log_likelihood = value.sum(axis=0)

    def derivatives(self, weights: FloatArray, *, third: bool) -> Derivatives:
        """Return the derivatives by t; weights (B, Q)."""
        a = self._a
        thrice = None
        if third:
            by_logit = cell_third(self._z, self._x, self._n, self._c)
            thrice = by_logit.reshape(len(by_logit), -1) @ (a**3 * weights).ravel()
        return Derivatives(self._once * a, self._twice * (a * a * weights), thrice)

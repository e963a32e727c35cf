"""Complete data too large to keep: the curves of items at nodes of ability stand for the cells of all persons.

Where every cell has the same trials, data enter value, gradient and curvature by two products of the successes with
vectors. The rest are sums of smooth functions of a theta + d, and a polynomial in theta through K Chebyshev nodes gives
them to rounding: K J curves instead of N J.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: What interpolation leaves open, relative.
PRECISION: Final = 1e-14
#: Share of the way to the nearest pole of a curve that is used: at the pole itself nothing bounds the curve.
TO_POLE: Final = 0.9
#: The nodes span more than the abilities: polynomials of degree K magnify rounding K^2 times at the interval's ends.
MARGIN: Final = 1.01
#: Nodes are worth their while up to this many to a person, and up to 64 MiB of curves.
MOST_PER_PERSON: Final = 0.25
MOST_CELLS: Final = 2**23
_BLOCK_CELLS: Final = 2**15


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Probabilities of J items at K nodes, and the way from nodes to N persons.

    Parameters
    ----------
    basis : (N, K) array
        A person's value of a smooth function is the sum of its values at the nodes with this row's factors.
    p : (K, J) array
        Trials times P.
    trials : int
        n of every cell.
    loss : float
        Sum over all cells of n log(1 + exp(a theta + d)).
    """

    basis: FloatArray
    p: FloatArray
    trials: int
    loss: float

    def weights(self, rows: slice = slice(None), columns: slice = slice(None)) -> FloatArray:
        """Return w = n P (1 - P) at some nodes: the whole is as large as `p` and would double what is kept."""
        p = self.p[rows, columns]
        w = p * (-1.0 / self.trials)
        w += 1.0
        w *= p
        return w

    def weights_to_items(self, v: FloatArray) -> FloatArray:
        """Return sum_i w_ij v_i, (J, ...), for v of shape (N, ...)."""
        at_nodes = self.basis.T @ v
        out = np.zeros((self.p.shape[1], *v.shape[1:]))
        for rows in _node_blocks(*self.p.shape):
            out += self.weights(rows).T @ at_nodes[rows]
        return out

    def weights_to_persons(self, y: FloatArray) -> FloatArray:
        """Return sum_j w_ij y_j, (N, ...), for y of shape (J, ...)."""
        return np.asarray(self.basis @ np.concatenate([self.weights(r) @ y for r in _node_blocks(*self.p.shape)]))

    def expected_to_items(self, v: FloatArray) -> FloatArray:
        """Return sum_i n p_ij v_i, (J, ...), for v of shape (N, ...)."""
        return np.asarray(self.p.T @ (self.basis.T @ v))

    def expected_to_persons(self, y: FloatArray) -> FloatArray:
        """Return sum_j n p_ij y_j, (N, ...), for y of shape (J, ...)."""
        return np.asarray(self.basis @ (self.p @ y))


def interpolation(theta: FloatArray, steepest: float) -> tuple[FloatArray, FloatArray] | None:
    """Return nodes (K,) that span the abilities and the basis (N, K); None where there would be too many of them.

    A logistic curve has poles pi / a off the real line. With rho the sum of the semi-axes of the largest ellipse around
    the interval that keeps clear of them, interpolation errs by about rho^-K (Trefethen 2013, Approximation Theory and
    Approximation Practice, theorem 8.2).
    """
    low, high = float(theta.min()), float(theta.max())
    half = max(0.5 * MARGIN * (high - low), 1e-3)
    height = TO_POLE * np.pi / (steepest * half)
    count = np.log(1.0 / PRECISION) / np.arcsinh(height) + 2.0 if height > 0 else np.inf
    if not count <= MOST_PER_PERSON * theta.size:
        return None
    k = int(np.ceil(count))
    middle, unit = 0.5 * (low + high), chebpts1(k)
    to_coefficients = chebvander(unit, k - 1) * (2.0 / k)
    to_coefficients[:, 0] *= 0.5
    return middle + half * unit, chebvander((theta - middle) / half, k - 1) @ to_coefficients.T


def curves(theta: FloatArray, a: FloatArray, d: FloatArray, trials: int) -> Curves | None:
    """Return the curves of items (a, d), (J,) each, for abilities (N,); None where nodes do not pay."""
    found = interpolation(theta, float(a.max()))
    if found is None or found[0].size * a.size > MOST_CELLS:
        return None
    nodes, basis = found
    mass = basis.sum(axis=0)
    p, loss = np.empty((nodes.size, a.size)), 0.0
    for rows in _node_blocks(*p.shape):
        eta = np.multiply.outer(nodes[rows], a)
        eta += d
        odds = np.exp(-np.abs(eta))
        loss += float(mass[rows] @ (np.maximum(eta, 0.0) + np.log1p(odds)).sum(axis=1))
        small = odds / (1.0 + odds)  # the smaller of P and 1 - P
        np.multiply(trials, np.where(eta > 0, 1.0 - small, small), out=p[rows])
    return Curves(basis, p, trials, trials * loss)


def _node_blocks(n_nodes: int, n_items: int) -> Iterator[slice]:
    step = max(1, _BLOCK_CELLS // n_items)
    for start in range(0, n_nodes, step):
        yield slice(start, min(start + step, n_nodes))

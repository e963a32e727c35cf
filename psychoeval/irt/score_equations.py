"""The equations whose roots are abilities under known items, for many persons at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from psychoeval.irt.curves import node_log_likelihood
from psychoeval.irt.quadrature import BLOCK_CELLS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
CountArray = NDArray[np.generic]
#: From abilities (K,) and the positions (K,) of their persons: the function whose root is sought, and minus its slope.
Equation = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]]

#: Of an ability, in logits, relative beyond 1.
_EXACT: Final = 1e-11
_STEPS: Final = 240
#: Doublings of a bracket: beyond them every curve is flat.
_DOUBLINGS: Final = 60
#: Nodes of the search for the highest maximum, at most.
_SEARCH_NODES: Final = 401


@dataclass(frozen=True, slots=True, eq=False)
class KnownItems:
    """Slopes a, intercepts d and lower asymptotes c of J items, (J,) each, all finite."""

    a: FloatArray
    d: FloatArray
    c: FloatArray

    @property
    def guessed(self) -> bool:
        """Whether any item has a lower asymptote."""
        return bool(np.any(self.c))

    def part(self, items: slice) -> KnownItems:
        """Return some of the items."""
        return KnownItems(self.a[items], self.d[items], self.c[items])

    def curves(self, theta: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """Return L = expit(a theta + d), (K, J), and r = L / P = 1 / (1 + c exp(-a theta - d)), 1 without guessing.

        r is the probability that a success was not guessed. d log P / d theta = a r (1 - L) and
        d log(1 - P) / d theta = -a L for every c, so that nothing is divided by P or 1 - P.
        """
        logit = np.multiply.outer(theta, self.a) + self.d
        if not self.guessed:
            return expit(logit), 1.0
        with np.errstate(divide="ignore"):
            return expit(logit), expit(logit - np.log(self.c))


def item_blocks(n_persons: int, n_nodes: int, n_items: int) -> list[slice]:
    """Return slices of items such that blocks persons x items and nodes x items stay below `BLOCK_CELLS`."""
    size = max(1, BLOCK_CELLS // max(1, n_persons, n_nodes))
    return [slice(start, min(start + size, n_items)) for start in range(0, n_items, size)]


def log_likelihood_at(successes: CountArray, trials: CountArray, nodes: FloatArray, items: KnownItems) -> FloatArray:
    """Return each person's log-likelihood at every node, (N, Q), in blocks of items."""
    total = np.zeros((len(trials), nodes.size))
    for block in item_blocks(len(trials), nodes.size, items.a.size):
        p = items.part(block)
        total += node_log_likelihood(successes[:, block], trials[:, block], nodes, p.a, p.d, p.c)
    return total


def sums_at(
    trials: CountArray, nodes: FloatArray, items: KnownItems, table: Callable[[FloatArray, KnownItems], FloatArray]
) -> FloatArray:
    """Return sum_j n_ij table_qj of every person and node, (N, Q), in blocks of items."""
    total = np.zeros((len(trials), nodes.size))
    for block in item_blocks(len(trials), nodes.size, items.a.size):
        total += trials[:, block].astype(np.float64) @ table(nodes, items.part(block)).T
    return total


def information_terms(theta: FloatArray, items: KnownItems) -> FloatArray:
    """Return Fisher's information of one trial of each item, (K, J): a^2 (1 - c) L (1 - L) r."""
    logistic, r = items.curves(theta)
    return np.asarray(items.a**2 * (1.0 - items.c) * logistic * (1.0 - logistic) * r)


def warm_terms(theta: FloatArray, items: KnownItems) -> FloatArray:
    """Return P' P'' / (P (1 - P)) of each item, (K, J): a times its information times 1 - 2 L."""
    return np.asarray(items.a * information_terms(theta, items) * (1.0 - 2.0 * items.curves(theta)[0]))


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """The score equation of a block of persons.

    Parameters
    ----------
    x, n : (B, J) float arrays
        Successes and trials.
    items : KnownItems
    mean, precision : float
        Of a normal prior; a precision of 0 is none.
    weighted : bool
        Whether Warm's correction J / (2 I) is added.
    middle : float
        Where the information of a person underflows, the correction is its limit: towards here by half the
        smallest slope.
    """

    x: FloatArray
    n: FloatArray
    items: KnownItems
    mean: float = 0.0
    precision: float = 0.0
    weighted: bool = False
    middle: float = 0.0

    def __call__(self, theta: FloatArray, who: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return sum_j a (x r - n L), with prior and correction, and minus its derivative."""
        a = self.items.a
        x, n = (self.x, self.n) if who.size == len(self.x) else (self.x[who], self.n[who])
        logistic, r = self.items.curves(theta)
        spread = logistic * (1.0 - logistic)
        value = (x * r - n * logistic) @ a - self.precision * (theta - self.mean)
        slope = (n * spread - x * (r * (1.0 - r))) @ a**2 + self.precision
        if self.weighted:
            correction, change = self._warm(theta, n, logistic, r, spread)
            value, slope = value + correction, slope - change
        return value, slope

    def _warm(
        self, theta: FloatArray, n: FloatArray, logistic: FloatArray, r: FloatArray | float, spread: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return J / (2 I) and its derivative."""
        a, tilt = self.items.a, 1.0 - 2.0 * logistic
        terms = n * (1.0 - self.items.c) * spread * r
        information, bias = terms @ a**2, (terms * tilt) @ a**3
        d_information = (terms * (tilt + 1.0 - r)) @ a**3
        d_bias = (terms * (tilt**2 - 2.0 * spread + tilt * (1.0 - r))) @ a**4
        known = information > np.finfo(float).tiny
        safe = np.where(known, information, 1.0)
        limit = -0.5 * np.sign(theta - self.middle) * np.abs(a[a != 0]).min(initial=np.inf)
        return (
            np.where(known, bias / (2.0 * safe), limit),
            np.where(known, (d_bias / safe - bias * d_information / safe**2) / 2.0, 0.0),
        )


def search_nodes(items: KnownItems, *, mean: float | None = None, sd: float = 1.0) -> FloatArray:
    """Return the nodes (Q,) at which every maximum has a neighbour: half steps of 1 / |a| around the difficulties.

    Parameters
    ----------
    items : KnownItems
    mean, sd : float, optional
        Of a normal prior, which gets nodes of its own.
    """
    sloped = items.a != 0
    b, width = -items.d[sloped] / items.a[sloped], 1.0 / np.abs(items.a[sloped])
    if not b.size:
        b, width = np.zeros(1), np.ones(1)
    step = 0.5 if items.guessed else 3.0  # without guessing there is one maximum: nodes only start the search
    around = np.arange(-6.0, 6.0 + step, step)
    nodes = np.unique(b[:, None] + width[:, None] * around)
    if nodes.size > _SEARCH_NODES:
        nodes = nodes[np.linspace(0, nodes.size - 1, _SEARCH_NODES).round().astype(np.intp)]
    if mean is not None:
        nodes = np.union1d(nodes, mean + sd * np.linspace(-8.0, 8.0, 33))
    return nodes


def solve(equation: Equation, start: FloatArray, gap: FloatArray) -> FloatArray:
    """Return the roots at which the equation's value falls through 0, uphill from each start, (K,).

    Newton's steps inside a bracket, and every fourth step a bisection.

    Parameters
    ----------
    equation : callable
    start : (K,) array
    gap : (K,) array
        First width of the bracket; doubled until the value changes its sign.

    Returns
    -------
    (K,) array
        -inf or +inf where the value never changes its sign.
    """
    value, _ = equation(start, np.arange(start.size))
    uphill = np.where(value > 0, 1.0, -1.0)
    near, far, width = start.copy(), start + uphill * gap, gap.copy()
    open_ = np.flatnonzero(value != 0)
    for _ in range(_DOUBLINGS):
        if not open_.size:
            break
        there, _ = equation(far[open_], open_)
        open_ = open_[there * uphill[open_] > 0]
        near[open_] = far[open_]
        width[open_] *= 2.0
        far[open_] += uphill[open_] * width[open_]
    theta = near.copy()
    low, high = np.minimum(near, far), np.maximum(near, far)
    left = value != 0
    left[open_] = False
    who = np.flatnonzero(left)
    for step in range(1, _STEPS):
        if not who.size:
            break
        at = theta[who]
        value, slope = equation(at, who)
        low[who], high[who] = np.where(value > 0, at, low[who]), np.where(value > 0, high[who], at)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            move = value / slope
        exact = _EXACT * np.maximum(1.0, np.abs(at))
        newton = slope > 0
        done = (newton & (np.abs(move) <= exact)) | (high[who] - low[who] <= exact) | (value == 0)
        aim = at + move
        middle = 0.5 * (low[who] + high[who])
        newton &= (aim > low[who]) & (aim < high[who]) & (step % 4 != 0)
        theta[who] = np.where(done, np.where(slope > 0, np.clip(aim, low[who], high[who]), at),
                              np.where(newton, aim, middle))  # fmt: skip
        who = who[~done]
    theta[open_] = uphill[open_] * np.inf
    return theta

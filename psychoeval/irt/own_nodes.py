"""Nodes for posteriors that are too narrow, or too far apart, to share them: each group of persons gets its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from psychoeval.irt.quadrature import Grid, person_blocks
from psychoeval.irt.score_equations import KnownItems, log_likelihood_at, sums_at

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
CountArray = NDArray[np.generic]

#: Of one grid. One person's posterior passes it only where the distribution of abilities is a thousand times as wide as
#: the items, and is then off by some 1e-4 of its SD.
MOST_NODES: Final = 40001
#: exp of minus this is no weight.
NEGLIGIBLE: Final = 45.0
#: Half-width, in latent SDs, where the search for the posteriors begins: a normal tail is negligible there.
FIRST_LIMIT: Final = 12.0
_COARSE_CELLS: Final = 200
#: A step of the search that leaves more than this of the interval is the last.
_SHRINKS: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """The distribution of the abilities.

    Parameters
    ----------
    log : function from (Q,) abilities to (Q,) log densities, up to a constant
    low, high : float
        Where the search begins.
    corners : (K,) array
        Between which the density neither turns nor bends: nodes of the search.
    precision : float
        Largest curvature of the log density.
    bounded : bool
        Whether it is 0 beyond `low` and `high`.
    """

    log: Callable[[FloatArray], FloatArray]
    low: float
    high: float
    corners: FloatArray
    precision: float
    bounded: bool

    @classmethod
    def normal(cls, mean: float, sd: float) -> Density:
        """Return N(mean, sd)."""
        reach = FIRST_LIMIT * sd
        return cls(
            lambda theta: -0.5 * ((theta - mean) / sd) ** 2,
            mean - reach,
            mean + reach,
            np.array([mean]),
            sd**-2.0,
            False,
        )

    @classmethod
    def histogram(cls, grid: Grid) -> Density:
        """Return the density that is linear between the nodes of a histogram and 0 beyond."""
        low, high = float(grid.nodes[0]), float(grid.nodes[-1])
        return cls(lambda theta: log_linear(theta, grid), low, high, grid.nodes, (6.0 / (high - low)) ** 2, True)

    def grid(self, low: float, high: float, n_nodes: int) -> Grid:
        """Return equally spaced nodes with the density's log weights."""
        nodes = np.linspace(low, high, min(max(n_nodes, 3), MOST_NODES))
        log_density = self.log(nodes)
        return Grid(nodes, log_density - logsumexp(log_density))


def log_linear(theta: FloatArray, grid: Grid) -> FloatArray:
    """Return the log of the density that is linear between nodes with weights, up to a constant."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.interp(theta, grid.nodes, np.exp(grid.log_weights))))


def own_nodes(
    successes: CountArray, trials: CountArray, items: KnownItems, density: Density, per_sd: int
) -> Iterator[tuple[IntArray, Grid]]:
    """Yield positions of persons, and nodes that are fine enough for the posteriors of these.

    A group of persons whose posteriors are too far apart for one grid is halved, by where they lie.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
        Persons without trials are left out.
    items : KnownItems
    density : Density
    per_sd : int
        Nodes to the smallest posterior SD.
    """
    someone = np.flatnonzero(trials.any(axis=1))
    todo = []
    for rows in person_blocks(someone.size, _COARSE_CELLS):
        who = someone[rows]
        todo.append((who, *_start(successes[who], trials[who], items, density)))
    while todo:
        who, low, high = todo.pop()
        found, n_nodes = _zoomed(successes[who], trials[who], items, density, low, high, per_sd)
        if n_nodes <= MOST_NODES or who.size == 1:
            yield who, density.grid(found.low, found.high, n_nodes)
        else:
            order = who[np.argsort(found.place, kind="stable")]
            todo += [(half, found.low, found.high) for half in np.array_split(order, 2)]


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """The cells from `low` to `high` in which any posterior can have weight.

    `inside`: whether that ends before the interval does; `place` (N,): each person's best node; `sharpest`: a bound of
    the curvature of log posteriors there.
    """

    low: float
    high: float
    inside: bool
    place: FloatArray
    sharpest: float


def _window(
    successes: CountArray, trials: CountArray, items: KnownItems, density: Density, low: float, high: float
) -> _Window:
    corners = density.corners[(density.corners > low) & (density.corners < high)]
    nodes = np.union1d(np.linspace(low, high, _COARSE_CELLS + 1), corners)
    likelihood, log_density = log_likelihood_at(successes, trials, nodes, items), density.log(nodes)
    curvature = sums_at(trials, nodes[:-1], items, lambda _, part: _steepest(nodes, part))
    joint = likelihood + log_density
    # Between two nodes h apart a log-likelihood exceeds the higher of them by K h^2 / 8 at most, the density neither.
    most = np.maximum(likelihood[:, 1:], likelihood[:, :-1]) + np.maximum(log_density[1:], log_density[:-1])
    most += curvature * (np.diff(nodes) ** 2 / 8.0)
    used = (most >= joint.max(axis=1, keepdims=True) - NEGLIGIBLE).any(axis=0)
    first, last = int(used.argmax()), int(used.size - used[::-1].argmax())
    return _Window(
        float(nodes[first]),
        float(nodes[last]),
        first > 0 and last < used.size,
        nodes[joint.argmax(axis=1)],
        float(curvature[:, first:last].max()) + density.precision,
    )


def _steepest(nodes: FloatArray, items: KnownItems) -> FloatArray:
    """Return the largest a^2 L (1 - L) of each item between neighboring nodes, (Q - 1, J)."""
    logit = np.multiply.outer(nodes, items.a) + items.d
    spread = expit(logit) * expit(-logit)
    turns = (logit[1:] > 0) != (logit[:-1] > 0)
    return np.asarray(items.a**2 * np.where(turns, 0.25, np.maximum(spread[1:], spread[:-1])))


def _start(successes: CountArray, trials: CountArray, items: KnownItems, density: Density) -> tuple[float, float]:
    """Return an interval that holds all posteriors."""
    low, high = density.low, density.high
    while not density.bounded and not _window(successes, trials, items, density, low, high).inside:
        width = high - low
        low, high = low - 0.5 * width, high + 0.5 * width
    return low, high


def _zoomed(
    successes: CountArray, trials: CountArray, items: KnownItems, density: Density, low: float, high: float, per_sd: int
) -> tuple[_Window, int]:
    """Return where the posteriors are, from an interval that holds them, and the number of nodes that they ask for."""
    while True:
        found = _window(successes, trials, items, density, low, high)
        before, low, high = high - low, found.low, found.high
        wanted = (high - low) * np.sqrt(found.sharpest) * per_sd
        if wanted < MOST_NODES or high - low > _SHRINKS * before:
            return found, int(np.ceil(min(wanted, 1e15))) + 1

"""Posteriors of abilities under known items, on nodes that follow them: moments and draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from psychoeval.irt.own_nodes import FIRST_LIMIT, MOST_NODES, NEGLIGIBLE, Density, log_linear, own_nodes
from psychoeval.irt.quadrature import Grid, person_blocks, posterior, posterior_weights
from psychoeval.irt.score_equations import KnownItems, log_likelihood_at, sums_at

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
CountArray = NDArray[np.generic]

#: Nodes within one SD of the narrowest posterior: the trapezoid rule then errs by exp(-8 pi^2).
PER_SD: Final = 2
#: The same where the distribution has corners, and for draws.
PER_SD_FINE: Final = 8
_COARSE_NODES: Final = 201
#: How far a log posterior may rise between two coarse nodes, and how many of these there are at most.
_BETWEEN: Final = 10.0
_MOST_COARSE: Final = 4001


def posterior_moments(
    successes: CountArray,
    trials: CountArray,
    items: KnownItems,
    *,
    mean: float = 0.0,
    sd: float = 1.0,
    law: Grid | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return posterior means and SDs, (N,) each; NaN for persons without trials. See `psychoeval.irt.scoring.eap`."""
    estimate, error = np.full(len(trials), np.nan), np.full(len(trials), np.nan)
    for who, grid, joint in posteriors(successes, trials, items, mean=mean, sd=sd, law=law):
        found = posterior(joint, Grid(grid.nodes, np.zeros(grid.nodes.size)))
        estimate[who], error[who] = found.mean, found.sd
    return estimate, error


def posteriors(
    successes: CountArray,
    trials: CountArray,
    items: KnownItems,
    *,
    mean: float = 0.0,
    sd: float = 1.0,
    law: Grid | None = None,
    per_sd: int = PER_SD,
) -> Iterator[tuple[IntArray, Grid, FloatArray]]:
    """Yield persons in blocks: positions (B,) of those with trials, nodes, and log(likelihood x weight) there, (B, Q).

    No posterior SD is below 1 / sqrt(K) with K the largest curvature of a log posterior, and guessing only lowers it.
    All persons share their nodes unless these get too many, as with millions of trials: `own_nodes` then.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
    items : KnownItems
    mean, sd : float
        Of the normal distribution.
    law : Grid, optional
        Equally spaced nodes and log weights, instead; the density is linear between them and 0 beyond.
    per_sd : int
        Nodes to the smallest posterior SD.
    """
    if law is None:
        density, shared = Density.normal(mean, sd), _shared(successes, trials, items, mean, sd, per_sd)
    else:
        per_sd = max(per_sd, PER_SD_FINE)
        density, shared = Density.histogram(law), _shared_histogram(trials, items, law, per_sd)
    if shared is not None:
        for who, joint in joint_blocks(successes, trials, items, shared):
            yield who, shared, joint
        return
    for rows, grid in own_nodes(successes, trials, items, density, per_sd):
        for who, joint in joint_blocks(successes[rows], trials[rows], items, grid):
            yield rows[who], grid, joint


def _shared(
    successes: CountArray, trials: CountArray, items: KnownItems, mean: float, sd: float, per_sd: int
) -> Grid | None:
    """Return nodes that span all posteriors under a normal distribution; None where these are too many.

    Between two coarse nodes h apart a log posterior exceeds the higher of its values there by K h^2 / 8 at most, and
    cells that stay 45 below everybody's peak are left out.
    """
    limit = FIRST_LIMIT * sd
    while True:
        most = _largest_curvature(trials, items, np.linspace(mean - limit, mean + limit, _COARSE_NODES)) + sd**-2.0
        n_coarse = max(_COARSE_NODES, int(np.ceil(2.0 * limit * np.sqrt(most / (8.0 * _BETWEEN)))) + 1)
        if n_coarse > _MOST_COARSE:
            return None
        coarse = np.linspace(mean - limit, mean + limit, n_coarse)
        low, high = _reach(successes, trials, items, _normal(coarse, mean, sd), most)
        if coarse[0] < low and high < coarse[-1]:
            break
        limit *= 2.0
    n_nodes = int(np.ceil((high - low) * np.sqrt(most) * per_sd)) + 1
    return _normal(np.linspace(low, high, max(n_nodes, 3)), mean, sd) if n_nodes <= MOST_NODES else None


def _normal(nodes: FloatArray, mean: float, sd: float) -> Grid:
    log_density = -0.5 * ((nodes - mean) / sd) ** 2
    return Grid(nodes, log_density - logsumexp(log_density))


def _shared_histogram(trials: CountArray, items: KnownItems, law: Grid, per_sd: int) -> Grid | None:
    low, high = law.nodes[0], law.nodes[-1]
    coarse = np.linspace(low, high, _COARSE_NODES)
    steps = (high - low) * np.sqrt(_largest_curvature(trials, items, coarse) + (6.0 / (high - low)) ** 2) * per_sd
    cells = law.nodes.size - 1
    inner = max(1, int(np.ceil(steps / cells)))
    if cells * inner >= MOST_NODES:
        return None
    nodes = np.linspace(low, high, cells * inner + 1)  # the corners of the density are nodes
    log_density = log_linear(nodes, law)
    return Grid(nodes, log_density - logsumexp(log_density))


def _largest_curvature(trials: CountArray, items: KnownItems, nodes: FloatArray) -> float:
    steep = np.argsort(-np.abs(items.a), kind="stable")[:_COARSE_NODES]  # a peak may stand between two nodes
    steep = steep[items.a[steep] != 0]
    peaks = -items.d[steep] / items.a[steep]
    nodes = np.union1d(nodes, peaks[(peaks > nodes[0]) & (peaks < nodes[-1])])
    largest = 0.0
    for rows in person_blocks(len(trials), nodes.size):
        largest = max(largest, float(sums_at(trials[rows], nodes, items, _curvature).max(initial=0.0)))
    return largest


def _curvature(theta: FloatArray, items: KnownItems) -> FloatArray:
    logistic, _ = items.curves(theta)
    return np.asarray(items.a**2 * logistic * (1.0 - logistic))


def _reach(
    successes: CountArray, trials: CountArray, items: KnownItems, coarse: Grid, curvature: float
) -> tuple[float, float]:
    """Return the ends of the coarse cells that any posterior can have weight in."""
    used = np.zeros(coarse.nodes.size - 1, dtype=bool)
    below = NEGLIGIBLE + curvature * coarse.step**2 / 8.0
    for _, joint in joint_blocks(successes, trials, items, coarse):
        near = joint >= joint.max(axis=1, keepdims=True) - below
        used |= (near[:, 1:] | near[:, :-1]).any(axis=0)
    cells = np.flatnonzero(used)
    if not cells.size:
        return float(coarse.nodes[1]), float(coarse.nodes[-2])
    return float(coarse.nodes[cells[0]]), float(coarse.nodes[cells[-1] + 1])


def joint_blocks(
    successes: CountArray, trials: CountArray, items: KnownItems, grid: Grid
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield positions (B,) of persons with trials, and log(likelihood x weight) of theirs at the nodes, (B, Q)."""
    for rows in person_blocks(len(trials), grid.nodes.size):
        seen = np.asarray(trials[rows].any(axis=1))
        if seen.any():
            who = np.flatnonzero(seen) + rows.start
            yield who, log_likelihood_at(successes[who], trials[who], grid.nodes, items) + grid.log_weights


def draw(
    successes: CountArray,
    trials: CountArray,
    items: KnownItems,
    n_draws: int,
    rng: np.random.Generator,
    *,
    mean: float = 0.0,
    sd: float = 1.0,
    law: Grid | None = None,
) -> FloatArray:
    """Return draws from every person's posterior, (n_draws, N): plausible values. NaN for persons without trials.

    `at_quantiles` at random.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
    items : KnownItems
    n_draws : int
    rng : Generator
    mean, sd : float
        Of the normal distribution.
    law : Grid, optional
        A histogram instead.
    """
    return at_quantiles(successes, trials, items, rng.random((len(trials), n_draws)), mean=mean, sd=sd, law=law)


def at_quantiles(
    successes: CountArray,
    trials: CountArray,
    items: KnownItems,
    uniform: FloatArray,
    *,
    mean: float = 0.0,
    sd: float = 1.0,
    law: Grid | None = None,
) -> FloatArray:
    """Return abilities at D quantiles of every person's posterior, (D, N); NaN for persons without trials.

    The inverse of the distribution function on nodes an eighth of the narrowest posterior SD or less apart, linear
    between the middles of the nodes' cells, then shrunk towards the posterior mean so that the variance is exact.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
    items : KnownItems
    uniform : (N, D) array
        Quantiles, from 0 to 1.
    mean, sd : float
        Of the normal distribution.
    law : Grid, optional
        A histogram instead.
    """
    out = np.full(uniform.shape, np.nan)
    for who, grid, joint in posteriors(successes, trials, items, mean=mean, sd=sd, law=law, per_sd=PER_SD_FINE):
        out[who] = _inverse(posterior_weights(joint)[0], grid, uniform[who])
    return np.ascontiguousarray(out.T)


def _inverse(weights: FloatArray, grid: Grid, uniform: FloatArray) -> FloatArray:
    below = np.cumsum(weights, axis=1)
    u = uniform * below[:, -1:]
    row = np.arange(len(weights))[:, None]
    # Rows one above the other, each a unit higher than the last, make one sorted array for all persons.
    found = np.searchsorted(
        (np.minimum(below / below[:, -1:], 1.0) + row).ravel(), (uniform + row).ravel(), side="right"
    )
    cell = np.minimum(found.reshape(uniform.shape) - row * weights.shape[1], weights.shape[1] - 1)
    cell = np.maximum(cell, 0)
    mass = np.take_along_axis(weights, cell, axis=1)
    above = np.take_along_axis(below, cell, axis=1)
    share = np.divide(u - (above - mass), mass, out=np.full_like(u, 0.5), where=mass > 0)
    values = grid.nodes[cell] + grid.step * (np.clip(share, 0.0, 1.0) - 0.5)
    mean = (weights @ grid.nodes)[:, None]
    variance = np.einsum("nq,nq->n", weights, (grid.nodes - mean) ** 2)[:, None]
    return np.asarray(mean + (values - mean) * np.sqrt(variance / (variance + grid.step**2 / 12.0)))

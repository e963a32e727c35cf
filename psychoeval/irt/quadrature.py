"""Integration over the latent distribution on uniform grids, fixed and following the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from psychoeval.irt.curves import node_log_likelihood

FloatArray = NDArray[np.float64]

#: Cells of a persons x nodes block: 32 MiB of float64.
BLOCK_CELLS = 2**22
#: Half-width of `posterior_grid` to begin with, in latent SDs; doubled while any posterior reaches its edge.
FIRST_LIMIT = 10.0
#: Posterior weight allowed on the outermost nodes of `posterior_grid`.
EDGE_MASS = 1e-10
#: Most nodes of `posterior_grid`; reached only where slopes have run away.
MAX_NODES = 4001


@dataclass(frozen=True, slots=True)
class Grid:
    """Nodes (Q,), in logits, and log weights (Q,) that sum to 1 as weights."""

    nodes: FloatArray
    log_weights: FloatArray

    @property
    def step(self) -> float:
        """Distance between neighbouring nodes."""
        return float(self.nodes[1] - self.nodes[0])


def normal_grid(n_nodes: int = 61, limit: float = 6.0, *, mean: float = 0.0, sd: float = 1.0) -> Grid:
    """Return equally spaced nodes on [-limit, limit] with normal weights, normalised to 1.

    Parameters
    ----------
    n_nodes : int
        61 is mirt's number for one dimension.
    limit : float
        Edge of the grid, in logits; not scaled by `sd` (mirt's rule).
    mean, sd : float
        Of the latent distribution.

    Returns
    -------
    Grid
        log w_q = log phi((t_q - mean) / sd) - log sum.
    """
    nodes = np.linspace(-limit, limit, n_nodes)
    log_density = -0.5 * ((nodes - mean) / sd) ** 2
    return Grid(nodes, log_density - logsumexp(log_density))


@dataclass(frozen=True, slots=True)
class Posterior:
    """Posterior of every person on a grid.

    Attributes
    ----------
    log_marginal : (N,) array
        log of the likelihood of each person's responses, the ability integrated out.
    mean, sd : (N,) arrays
        Of the posterior, in logits.
    edge_mass : (N,) array
        Posterior weight on the two outermost nodes: mass there is mass the grid cuts off.
    """

    log_marginal: FloatArray
    mean: FloatArray
    sd: FloatArray
    edge_mass: FloatArray


def posterior_weights(joint: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return posterior weights (N, Q), which sum to 1, and log marginal likelihoods (N,).

    Parameters
    ----------
    joint : (N, Q) array
        log(likelihood x weight) at the nodes. With a billion trials its rounding, and that of its logsumexp, is 1e-7:
        weights are divided by their own sum.
    """
    highest = joint.max(axis=1)
    weights = np.exp(joint - highest[:, None])
    total = weights.sum(axis=1)
    weights /= total[:, None]
    return weights, np.asarray(highest + np.log(total))


def posterior(log_likelihood: FloatArray, grid: Grid) -> Posterior:
    """Return the marginal likelihoods and posterior moments of N persons.

    Parameters
    ----------
    log_likelihood : (N, Q) array
        From `psychoeval.irt.curves.node_log_likelihood`.
    grid : Grid

    Returns
    -------
    Posterior
    """
    joint = log_likelihood + grid.log_weights
    weights, log_marginal = posterior_weights(joint)
    mean = weights @ grid.nodes
    variance = np.einsum("nq,nq->n", weights, (grid.nodes[None, :] - mean[:, None]) ** 2)
    return Posterior(log_marginal, mean, np.sqrt(variance), weights[:, 0] + weights[:, -1])


def person_blocks(n_persons: int, n_nodes: int) -> list[slice]:
    """Return slices of persons such that a persons x nodes block stays below `BLOCK_CELLS`."""
    size = max(1, BLOCK_CELLS // max(1, n_nodes))
    return [slice(start, min(start + size, n_persons)) for start in range(0, n_persons, size)]


def marginal_posterior(
    successes: NDArray[np.generic],
    trials: NDArray[np.generic],
    discrimination: FloatArray,
    intercept: FloatArray,
    guessing: FloatArray,
    grid: Grid,
) -> Posterior:
    """Return the marginal likelihood and posterior of every person under known items, in blocks of persons.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
        Trials of 0 are cells that were not administered.
    discrimination, intercept, guessing : (J,) arrays
    grid : Grid

    Returns
    -------
    Posterior
        Sum of `log_marginal` is the marginal log-likelihood, without the binomial constant.
    """
    parts = []
    for rows in person_blocks(len(successes), len(grid.nodes)):
        table = node_log_likelihood(successes[rows], trials[rows], grid.nodes, discrimination, intercept, guessing)
        parts.append(posterior(table, grid))
    return Posterior(
        *(np.concatenate([getattr(p, name) for p in parts]) for name in ("log_marginal", "mean", "sd", "edge_mass"))
    )


def smallest_posterior_sd(
    trials: NDArray[np.generic],
    discrimination: FloatArray,
    intercept: FloatArray,
    *,
    limit: float,
    mean: float = 0.0,
    sd: float = 1.0,
) -> float:
    """Return a lower bound of the posterior SDs of all persons, in logits.

    The curvature of a person's log posterior is at most sum_j n_ij a_j^2 P (1 - P) + 1 / sd^2 with P the logistic
    curve (guessing only lowers it), and a posterior SD at least 1 / sqrt(largest curvature).
    """
    nodes = np.linspace(mean - limit, mean + limit, 401)
    p = expit(np.multiply.outer(nodes, discrimination) + intercept)
    curvature = discrimination**2 * p * (1.0 - p)
    largest = max(
        float((trials[rows].astype(np.float64) @ curvature.T).max()) for rows in person_blocks(len(trials), len(nodes))
    )
    return float(1.0 / np.sqrt(largest + 1.0 / sd**2))


def posterior_grid(
    successes: NDArray[np.generic],
    trials: NDArray[np.generic],
    discrimination: FloatArray,
    intercept: FloatArray,
    guessing: FloatArray,
    *,
    mean: float = 0.0,
    sd: float = 1.0,
) -> tuple[Grid, Posterior]:
    """Return a grid fine and wide enough for every posterior, and the posteriors on it.

    The step h is half the smallest posterior SD. The trapezoid rule then errs by 2 exp(-8 pi^2) of the value of a
    normal density, and by exp(-2 pi^2 / (a h)) for a logistic curve, whose poles lie pi / a off the real line:
    3e-9 at most, because one item alone keeps h below 1 / a. The width grows until no posterior reaches the edge.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
    discrimination, intercept, guessing : (J,) arrays
    mean, sd : float
        Of the normal latent distribution.

    Returns
    -------
    Grid, Posterior
    """
    items = (discrimination, intercept, guessing)
    limit = FIRST_LIMIT * sd
    while True:
        step = 0.5 * smallest_posterior_sd(trials, discrimination, intercept, limit=limit, mean=mean, sd=sd)
        n_nodes = min(2 * int(np.ceil(limit / step)) + 1, MAX_NODES)
        nodes = np.linspace(mean - limit, mean + limit, n_nodes)
        log_density = -0.5 * ((nodes - mean) / sd) ** 2
        grid = Grid(nodes, log_density - logsumexp(log_density))
        found = marginal_posterior(successes, trials, *items, grid)
        if found.edge_mass.max() < EDGE_MASS or n_nodes == MAX_NODES:
            return grid, found
        limit *= 2.0

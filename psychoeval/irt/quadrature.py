"""Integration over the latent law on uniform grids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

FloatArray = NDArray[np.float64]


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
        Of the latent law.

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
    log_marginal = logsumexp(joint, axis=1)
    weights = np.exp(joint - log_marginal[:, None])
    mean = weights @ grid.nodes
    variance = np.einsum("nq,nq->n", weights, (grid.nodes[None, :] - mean[:, None]) ** 2)
    return Posterior(np.asarray(log_marginal), mean, np.sqrt(variance), weights[:, 0] + weights[:, -1])

"""What draws of items and abilities say of the responses: marginal likelihoods and replicated scores, draw by draw."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from psychoeval.irt.own_nodes import Density, own_nodes
from psychoeval.irt.quadrature import BLOCK_CELLS, EDGE_MASS, FIRST_LIMIT, MAX_NODES, posterior_weights
from psychoeval.irt.score_equations import KnownItems, log_likelihood_at
from psychoeval.irt.score_posteriors import PER_SD

FloatArray = NDArray[np.float64]


def marginal_log_likelihoods(
    successes: NDArray[np.integer],
    trials: NDArray[np.integer],
    discrimination: FloatArray,
    intercept: FloatArray,
    guessing: FloatArray,
    latent_sd: FloatArray,
) -> FloatArray:
    """Return the log-likelihood of each person's responses under each draw of the items, the ability integrated out.

    log integral of prod_j P_j(t)^x_j (1 - P_j(t))^(n_j - x_j) N(t; 0, sd) dt, without the binomial constant, by the
    trapezoidal rule. Its step is half of what no posterior SD can be below, 1 / sqrt(1 / sd^2 + max_i sum_j n_ij
    a_j^2 / 4), which `psychoeval.irt.quadrature.posterior_grid` shows to be enough; its width grows until no posterior
    reaches the edge; where that is too many nodes, as with thousands of trials a cell, persons have nodes of their own.
    Persons with equal responses are computed once. Blocks of draws: no array of persons x nodes x
    draws above 32 MiB (of one draw, where that alone is larger).

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
        Trials of 0 are cells that were not administered.
    discrimination, intercept, guessing : (D, J) arrays
        Of each draw; arrays that are the same for all draws or items may be broadcast.
    latent_sd : (D,) array
        Of the abilities, in logits.

    Returns
    -------
    (D, N) array
    """
    kinds, kind = np.unique(np.concatenate([successes, trials], axis=1), axis=0, return_inverse=True)
    x, n = np.split(kinds.astype(np.float64), 2, axis=1)
    # In units of the latent SD the nodes are the same for all draws of a block.
    slope = discrimination * latent_sd[:, None]
    steepest = np.sqrt(1.0 + (n @ (slope**2).T / 4.0).max(axis=0))
    out = np.empty((len(slope), len(x)))
    many = np.array([_nodes(FIRST_LIMIT, s) == MAX_NODES for s in steepest], dtype=bool)
    for draw in np.flatnonzero(many):
        out[draw] = _of_many_trials(x, n, KnownItems(slope[draw], intercept[draw], guessing[draw]))
    some = np.flatnonzero(~many)
    for part in _blocks(steepest[some], max(x.shape)):
        draws = some[part]
        out[draws] = _marginals(x, n - x, slope[draws], intercept[draws], guessing[draws], steepest[draws[0]])
    return np.asarray(out[:, kind.reshape(-1)])


def replicated_scores(
    trials: NDArray[np.integer],
    ability: FloatArray,
    discrimination: FloatArray,
    intercept: FloatArray,
    guessing: FloatArray,
    seed: int,
) -> NDArray[np.integer]:
    """Return raw scores of the same persons on the items they took, drawn anew under each draw.

    sum_j Binomial(n_ij, P_j(theta_i)): for a posterior predictive check.

    Parameters
    ----------
    trials : (N, J) integer array
    ability : (D, N) array
    discrimination, intercept, guessing : (D, J) arrays
    seed : int

    Returns
    -------
    (D, N) integer array
        int32, int64 where somebody's trials do not fit.
    """
    rng = np.random.default_rng(seed)
    # What is assigned wraps without a word.
    highest = int(trials.sum(axis=1, dtype=np.int64).max(initial=0))
    out = np.empty(ability.shape, dtype=np.int32 if highest <= np.iinfo(np.int32).max else np.int64)
    size = max(1, BLOCK_CELLS // max(1, trials.size))
    for start in range(0, len(ability), size):
        at = slice(start, start + size)
        logit = ability[at, :, None] * discrimination[at, None, :] + intercept[at, None, :]
        c = guessing[at, None, :]
        p = c + (1.0 - c) * expit(logit)
        out[at] = rng.binomial(trials, p).sum(axis=2)
    return out


def _nodes(limit: float, steepest: float) -> int:
    """Return an odd number of nodes on [-limit, limit] for a curvature of steepest^2."""
    return min(2 * int(np.ceil(2.0 * limit * steepest)) + 1, MAX_NODES)


def _blocks(steepest: FloatArray, width: int) -> Iterator[NDArray[np.intp]]:
    """Yield the draws, those that need the finest grids first, as many at once as a block of width x nodes allows."""
    order, start = np.argsort(-steepest), 0
    while start < len(order):
        cells = _nodes(FIRST_LIMIT, float(steepest[order[start]])) * width
        stop = start + max(1, BLOCK_CELLS // cells)
        yield order[start:stop]
        start = stop


def _of_many_trials(x: FloatArray, n: FloatArray, items: KnownItems) -> FloatArray:
    """Return (N,) log-likelihoods under one draw, on nodes that follow each person's posterior."""
    out = np.zeros(len(x))
    for rows, grid in own_nodes(x, n, items, Density.normal(0.0, 1.0), PER_SD):
        joint = log_likelihood_at(x[rows], n[rows], grid.nodes, items) - 0.5 * grid.nodes**2
        out[rows] = posterior_weights(joint)[1] + np.log(grid.step) - 0.5 * np.log(2.0 * np.pi)
    return out


def _marginals(
    successes: FloatArray,
    failures: FloatArray,
    slope: FloatArray,
    intercept: FloatArray,
    guessing: FloatArray,
    steepest: float,
) -> FloatArray:
    """Return (B, N) log-likelihoods of B draws on a grid wide enough for all of them."""
    limit = FIRST_LIMIT
    while True:
        nodes = np.linspace(-limit, limit, _nodes(limit, steepest))
        log_density = -0.5 * nodes**2
        joint = _node_log_likelihood(successes, failures, nodes, slope, intercept, guessing)
        joint += (log_density - logsumexp(log_density))[:, None]
        highest = joint.max(axis=1, keepdims=True)
        weights = np.exp(joint - highest)
        total = weights.sum(axis=1)
        edges = ((weights[:, 0] + weights[:, -1]) / total).max()
        if edges < EDGE_MASS or len(nodes) == MAX_NODES:
            return np.asarray(np.log(total) + highest[:, 0])
        limit *= 2.0


def _node_log_likelihood(
    successes: FloatArray,
    failures: FloatArray,
    nodes: FloatArray,
    slope: FloatArray,
    intercept: FloatArray,
    guessing: FloatArray,
) -> FloatArray:
    """Return (B, Q, N) log-likelihoods of the persons at every node under each draw of the items, (B, J) each."""
    logit = nodes[None, :, None] * slope[:, None, :] + intercept[:, None, :]
    softplus = np.maximum(logit, 0.0) + np.log1p(np.exp(-np.abs(logit)))  # -log(1 - L), a seventh of log_expit's time
    if not guessing.any():
        # log P - log(1 - P) is the logit itself, and linear in the nodes.
        linear = nodes[None, :, None] * (slope @ successes.T)[:, None, :] + (intercept @ successes.T)[:, None, :]
        return np.asarray(linear - _product(softplus, successes + failures))
    c = guessing[:, None, :]
    if guessing.all():
        log_success = np.log(c + (1.0 - c) * expit(logit))  # at least log c
    else:
        with np.errstate(divide="ignore"):
            log_success = np.logaddexp(np.log(c), np.log1p(-c) + logit - softplus)
    return np.asarray(_product(log_success, successes) + _product(np.log1p(-c) - softplus, failures))


def _product(table: FloatArray, counts: FloatArray) -> FloatArray:
    """Return (B, Q, N), table (B, Q, J) times counts (N, J) transposed: as one product of matrices, 20 times faster."""
    return np.asarray((table.reshape(-1, table.shape[2]) @ counts.T).reshape(*table.shape[:2], -1))

"""The item-marginal likelihood: items integrated out by adaptive Gauss-Hermite nodes, with exact derivatives.

For abilities t (N,) and a population of items (p, q), log slope and location (see `Population`),

    log L(t, population) = sum_j log integral prod_i P(x_ij | exp(p) t_i + d) f(p, q) dp dq, d = q or exp(p) q.

Each item has its own nodes around the mode of its posterior, scaled by the Cholesky factor of its inverse Hessian.
Derivatives are those of Louis (1982, JRSS B 44, 226): posterior means of the complete-data ones, and for the Hessian
the posterior covariance of the scores. Items are taken in blocks that fit a processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.random_item_cells import (
    Cells,
    GuessingTerms,
    cell_terms,
    guessing_terms,
)
from psychoeval.estimators.native.random_item_nodes import AtNodes, GuessingNodes, LogisticNodes, Workspace
from psychoeval.estimators.native.random_item_population import LOGIT_GUESSING, SIZE, Population

FloatArray = NDArray[np.float64]

MODE_STEPS: Final = 60
MODE_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Gauss-Hermite nodes z (2, Q) of a standard normal pair, and log weights plus |z|^2 / 2 (Q,)."""

    z: FloatArray
    log_weights: FloatArray

    @classmethod
    def of(cls, points: int, *, has_slopes: bool) -> Rule:
        """Return the product rule of `points` a dimension; the first dimension stays at 0 without slopes."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(points)
        log_weights = np.log(weights) - 0.5 * np.log(2.0 * np.pi) + 0.5 * nodes**2
        if not has_slopes:
            return cls(np.stack([np.zeros(points), nodes]), log_weights)
        first, second = np.meshgrid(nodes, nodes, indexing="ij")
        return cls(np.stack([first.ravel(), second.ravel()]), np.add.outer(log_weights, log_weights).ravel())


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The item-marginal log-likelihood at abilities and a population.

    Parameters
    ----------
    by_item : (J,) array
        Its terms.
    gradient : (N + 5,) array
        By abilities and population parameters.
    hessian : (N + 5, N + 5) array
    bend : (N + 5,) array
        Derivatives of tr(V H) by abilities and population parameters, H the Hessian by abilities and V the matrix that
        `evaluate` was given; 0 without it.
    modes : (J, 2) array
        Of (p, q), given the abilities and the population.
    means, covariances : (J, 2) and (J, 2, 2) arrays
        Posterior moments of (p, d).
    """

    by_item: FloatArray
    gradient: FloatArray
    hessian: FloatArray
    bend: FloatArray
    modes: FloatArray
    means: FloatArray
    covariances: FloatArray

    @property
    def log_likelihood(self) -> float:
        """Sum over items."""
        return float(self.by_item.sum())


def posterior_modes(
    cells: Cells, t: FloatArray, population: Population, start: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the modes of every item's posterior of (p, q), (J, 2), and the observed information there, (J, 2, 2).

    Newton's method, with the expected information where the observed one is not positive definite. Without slopes the
    information of p is 1, and p stays at 0.
    """
    j = cells.shape[1]
    modes, information = np.empty((j, 2)), np.empty((j, 2, 2))
    for items, x, n in cells.blocks(1):
        first = np.tile(population.mean, (x.shape[1], 1)) if start is None else start[items].copy()
        modes[items], information[items] = _block_modes(x, n, t, population, first)
    return modes, information


def _block_modes(
    x: FloatArray, n: FloatArray, t: FloatArray, population: Population, at: FloatArray
) -> tuple[FloatArray, FloatArray]:
    c, prior, mean = population.guessing, population.precision, population.mean
    tt = t[:, None]
    for step_number in range(MODE_STEPS):
        a = np.exp(at[:, 0])
        d = population.intercept(a, at[:, 1])
        _, r, h = cell_terms(a * tt + d, x, n, c, log_likelihood=False)
        by_p, by_q = (d, a) if population.by_difficulty else (np.zeros_like(d), np.ones_like(d))  # of d
        total, moment = r.sum(axis=0), a * (t @ r)
        gradient = np.column_stack([moment + by_p * total, by_q * total]) - (at - mean) @ prior
        h0, h1, h2 = -h.sum(axis=0), -a * (t @ h), -(a**2) * (t**2 @ h)
        information = np.empty((at.shape[0], 2, 2))
        information[:, 0, 0] = h2 + 2.0 * by_p * h1 + by_p**2 * h0
        information[:, 0, 1] = information[:, 1, 0] = by_q * (h1 + by_p * h0)
        information[:, 1, 1] = by_q**2 * h0
        information += prior
        if population.has_slopes:
            observed = information.copy()
            observed[:, 0, 0] -= moment + by_p * total
            if population.by_difficulty:
                observed[:, 0, 1] -= a * total
                observed[:, 1, 0] -= a * total
            square = observed[:, 0, 1] ** 2
            definite = (observed[:, 0, 0] > 0) & (observed[:, 0, 0] * observed[:, 1, 1] > 1.01 * square)
            information[definite] = observed[definite]
        else:
            gradient[:, 0] = 0.0
            information[:, 0, :] = information[:, :, 0] = 0.0
            information[:, 0, 0] = 1.0
        information = _definite(information, prior, has_slopes=population.has_slopes)
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        if np.abs(step).max() <= MODE_TOLERANCE or step_number == MODE_STEPS - 1:
            break
        at = at + step * np.minimum(1.0, 1.0 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
    return at, information


def _definite(information: FloatArray, prior: FloatArray, *, has_slopes: bool) -> FloatArray:
    """Return the information, with the population's alone where it is not positive definite (guessing can do that)."""
    determinant = information[:, 0, 0] * information[:, 1, 1] - information[:, 0, 1] ** 2
    bad = (determinant <= 0) | (information[:, 1, 1] <= 0)
    if bad.any():
        information[bad] = prior if has_slopes else np.diag([1.0, prior[1, 1]])
    return information


def evaluate(
    cells: Cells,
    t: FloatArray,
    population: Population,
    rule: Rule,
    start: FloatArray | None = None,
    spread: FloatArray | None = None,
) -> Evaluation:
    """Return the item-marginal log-likelihood with its derivatives.

    Parameters
    ----------
    cells : Cells
    t : (N,) array
        Abilities, in the unit in which the mean log slope is 0.
    population : Population
    rule : Rule
    start : (J, 2) array, optional
        Where to look for the items' modes.
    spread : (N, N) array, optional
        Covariance V of the abilities, for `Evaluation.bend`.
    """
    persons = t.size
    modes, information = posterior_modes(cells, t, population, start)
    factor = np.linalg.cholesky(np.linalg.inv(information))
    if not population.has_slopes:
        factor[:, 0, :] = 0.0
    nodes = modes[:, :, None] + factor @ rule.z
    at = AtNodes.of(population, nodes, rule.log_weights)
    sums = Sums.zeros(persons, spread)
    by_item = -0.5 * np.log(np.linalg.det(information))
    space = Workspace(cells.block_items(rule.log_weights.size) * persons * rule.log_weights.size)
    for items, x, n in cells.blocks(rule.log_weights.size):
        by_item[items] += _add_block(x, n, t, population, at.of_items(items), sums, space)
    gradient, hessian, bend = _assembled(population, nodes, at, sums)
    nodes[:, 1] = at.d
    means = np.einsum("jkq,jq->jk", nodes, at.weights)
    nodes -= means[:, :, None]
    covariances = np.matmul(nodes * at.weights[:, None], nodes.transpose(0, 2, 1))
    return Evaluation(by_item, gradient, hessian, bend, modes, means, covariances)


@dataclass(slots=True, eq=False)
class Sums:
    """What blocks add to: derivatives by abilities, mixed with those by the population, and by g = logit c twice."""

    gradient: FloatArray
    hessian: FloatArray
    diagonal: FloatArray
    mixed: FloatArray
    by_guessing: float
    bend: FloatArray
    bend_by_guessing: float
    spread: FloatArray | None

    @classmethod
    def zeros(cls, persons: int, spread: FloatArray | None) -> Sums:
        """Return sums to begin with."""
        one, two, three = (np.zeros(persons) for _ in range(3))
        return cls(one, np.zeros((persons, persons)), two, np.zeros((persons, SIZE)), 0.0, three, 0.0, spread)


def _add_block(
    x: FloatArray, n: FloatArray, t: FloatArray, population: Population, at: AtNodes, sums: Sums, space: Workspace
) -> FloatArray:
    """Add a block's derivatives, fill in its weights, and return its log-likelihoods (B,), without the nodes' unit."""
    persons, c = t.size, population.guessing
    curves = GuessingNodes(t, at.a, at.d, x, n, c) if c else LogisticNodes(t, at.a, at.d, x, n, space)
    joint = curves.log_likelihood + at.log_prior
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top, out=at.weights)
    norm = weights.sum(axis=1, keepdims=True)
    weights /= norm

    once, twice, thrice = curves.derivatives(weights, third=sums.spread is not None)
    mean = np.einsum("ibq,bq->ib", once, weights)
    once -= mean[:, :, None]
    r, curvature, flat = once.reshape(persons, -1), twice.reshape(persons, -1), weights.ravel()
    mixed = None
    if population.free[LOGIT_GUESSING]:
        mixed = guessing_terms(np.multiply.outer(t, at.a) + at.d, x[:, :, None], n[:, :, None], at.a, c)
        at.scores[LOGIT_GUESSING] = mixed.score
        sums.mixed[:, LOGIT_GUESSING] += mixed.by_ability @ flat
        sums.by_guessing += float(flat @ mixed.curvature)
    if thrice is not None:
        _add_bend(r, curvature, thrice, at, sums, mixed, space)
    sums.gradient += mean.sum(axis=1)
    sums.diagonal += curvature.sum(axis=1)
    root = np.sqrt(flat)
    r *= root
    sums.hessian += r @ r.T
    sums.mixed += r @ (at.scores.reshape(SIZE, -1) * root).T
    return np.asarray((top + np.log(norm))[:, 0])


def _add_bend(
    r: FloatArray,
    curvature: FloatArray,
    third: FloatArray,
    at: AtNodes,
    sums: Sums,
    mixed: GuessingTerms | None,
    space: Workspace,
) -> None:
    """Add the derivatives of tr(V H) by abilities, and fill in what those by the population need.

    `r` (N, BQ) is centered, `curvature` (N, BQ) is weighted and `third` (N,) summed so.
    """
    if sums.spread is None:
        return
    variances, weights = np.diag(sums.spread), at.weights.ravel()
    pulled = np.matmul(sums.spread, r, out=space.array(2, r.shape))
    at_node = variances @ curvature + np.einsum("iq,iq->q", pulled, r) * weights
    at.bend[:] = at_node.reshape(at.bend.shape)
    sums.bend += r @ at_node + variances * third + 2.0 * np.einsum("iq,iq->i", pulled, curvature)
    if mixed is not None:
        by_both = variances @ mixed.by_ability_twice + 2.0 * np.einsum("iq,iq->q", pulled, mixed.by_ability)
        sums.bend_by_guessing += float(by_both @ weights)


def _assembled(
    population: Population, nodes: FloatArray, at: AtNodes, sums: Sums
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return gradient, Hessian and bend by abilities and population together, (N + 5,) and (N + 5, N + 5)."""
    scores = at.scores
    mean = np.einsum("kjq,jq->kj", scores, at.weights)
    scores -= mean[:, :, None]
    flat = scores.reshape(SIZE, -1)
    by_population = (flat * at.weights.ravel()) @ flat.T
    by_population += population.expected_curvature(population.curvature_moments(nodes[:, 0], nodes[:, 1], at.weights))
    by_population[LOGIT_GUESSING, LOGIT_GUESSING] += sums.by_guessing
    by_ability = sums.hessian + np.diag(sums.diagonal)
    of_population = flat @ at.bend.ravel()
    of_population[LOGIT_GUESSING] += sums.bend_by_guessing
    return (
        np.concatenate([sums.gradient, mean.sum(axis=1)]),
        np.block([[by_ability, sums.mixed], [sums.mixed.T, by_population]]),
        np.concatenate([sums.bend, of_population]),
    )

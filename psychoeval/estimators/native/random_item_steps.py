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
    Workspace,
    cell_terms,
    guessing_terms,
    node_terms,
)
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
    persons, j = cells.shape
    modes, information = posterior_modes(cells, t, population, start)
    factor = np.linalg.cholesky(np.linalg.inv(information))
    if not population.has_slopes:
        factor[:, 0, :] = 0.0
    log_size = -0.5 * np.log(np.linalg.det(information))
    total = persons + SIZE
    by_item, means, covariances = np.empty(j), np.empty((j, 2)), np.empty((j, 2, 2))
    sums = Sums(np.zeros(total), np.zeros((total, total)), np.zeros(total), np.zeros((3, 3)), spread)
    space = Workspace(cells.block_items(rule.log_weights.size) * persons * rule.log_weights.size)
    for items, x, n in cells.blocks(rule.log_weights.size):
        nodes = modes[items, :, None] + factor[items] @ rule.z
        value, weights = _block(x, n, t, population, nodes, rule.log_weights, sums, space)
        by_item[items] = value + log_size[items]
        nodes[:, 1] = population.intercept(np.exp(nodes[:, 0]), nodes[:, 1])
        means[items] = np.einsum("bkq,bq->bk", nodes, weights)
        centered = nodes - means[items, :, None]
        covariances[items] = np.einsum("bkq,blq,bq->bkl", centered, centered, weights)
    sums.hessian[persons:, persons:] += population.expected_curvature(sums.moments)
    return Evaluation(by_item, sums.gradient, sums.hessian, sums.bend, modes, means, covariances)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What blocks add to; see `Evaluation`."""

    gradient: FloatArray
    hessian: FloatArray
    bend: FloatArray
    moments: FloatArray
    spread: FloatArray | None


def _block(
    x: FloatArray,
    n: FloatArray,
    t: FloatArray,
    population: Population,
    nodes: FloatArray,
    log_weights: FloatArray,
    sums: Sums,
    space: Workspace,
) -> tuple[FloatArray, FloatArray]:
    """Add a block's derivatives, and return its log-likelihoods (B,) and posterior weights (B, Q)."""
    persons = t.size
    p, q = nodes[:, 0], nodes[:, 1]
    a = np.exp(p)
    d, c = population.intercept(a, q), population.guessing
    value, r, h, third = node_terms(t, a, d, x, n, c, space, third=sums.spread is not None)
    joint = value + population.log_density(p, q) + log_weights
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top)
    norm = weights.sum(axis=1, keepdims=True)
    weights /= norm

    flat, root = weights.ravel(), np.sqrt(weights)
    r *= a
    mean = np.einsum("ibq,bq->ib", r, weights)
    r -= mean[:, :, None]
    h *= a * a * weights
    curvature = h.reshape(persons, -1)
    scores = population.scores(p, q)
    mixed = None
    if population.free[LOGIT_GUESSING]:
        z = np.multiply.outer(t, a) + d
        mixed = guessing_terms(z, x[:, :, None], n[:, :, None], a, c)
        scores[LOGIT_GUESSING] = mixed.score
        place = persons + LOGIT_GUESSING
        by_both = mixed.by_ability @ flat
        sums.hessian[:persons, place] += by_both
        sums.hessian[place, :persons] += by_both
        sums.hessian[place, place] += float(flat @ mixed.curvature)
    score_mean = np.einsum("kbq,bq->kb", scores, weights)
    scores -= score_mean[:, :, None]
    if third is not None:
        by_third = third.reshape(persons, -1) @ (a**3 * weights).ravel()
        _add_bend(r.reshape(persons, -1), curvature, by_third, scores, flat, sums, mixed, space)
    r *= root
    scores *= root
    by_person, by_population = r.reshape(persons, -1), scores.reshape(SIZE, -1)
    sums.gradient[:persons] += mean.sum(axis=1)
    sums.gradient[persons:] += score_mean.sum(axis=1)
    sums.hessian[:persons, :persons] += by_person @ by_person.T
    sums.hessian[np.arange(persons), np.arange(persons)] += curvature.sum(axis=1)
    cross = by_person @ by_population.T
    sums.hessian[:persons, persons:] += cross
    sums.hessian[persons:, :persons] += cross.T
    sums.hessian[persons:, persons:] += by_population @ by_population.T
    sums.moments[:] += population.curvature_moments(p, q, weights)
    return (top + np.log(norm))[:, 0], weights


def _add_bend(
    r: FloatArray,
    curvature: FloatArray,
    third: FloatArray,
    scores: FloatArray,
    weights: FloatArray,
    sums: Sums,
    mixed: GuessingTerms | None,
    space: Workspace,
) -> None:
    """Add the derivatives of tr(V H): posterior third cumulants of the scores with V.

    `r` (N, BQ) and `scores` (5, B, Q) are centered, `curvature` (N, BQ) is weighted and `third` (N,) summed so.
    """
    if sums.spread is None:
        return
    persons = r.shape[0]
    pulled = np.matmul(sums.spread, r, out=space.array(3, r.shape))
    variances = np.diag(sums.spread)
    at_node = variances @ curvature + np.einsum("iq,iq->q", pulled, r) * weights
    sums.bend[:persons] += r @ at_node + variances * third + 2.0 * np.einsum("iq,iq->i", pulled, curvature)
    sums.bend[persons:] += scores.reshape(SIZE, -1) @ at_node
    if mixed is not None:
        by_both = variances @ mixed.by_ability_twice + 2.0 * np.einsum("iq,iq->q", pulled, mixed.by_ability)
        sums.bend[persons + LOGIT_GUESSING] += float(by_both @ weights)

"""Observed information of the marginal likelihood (Louis 1982), whole or by item, and the covariance of the items."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_law import Law, Nodes
from psychoeval.estimators.native.mml_newton import rescaled, unpinned
from psychoeval.estimators.native.mml_priors import log_prior, taken_by_means
from psychoeval.estimators.native.mml_steps import Block, Expectation, item_blocks, posteriors
from psychoeval.estimators.native.mml_terms import complete_terms, curves, observed_curvature

FloatArray = NDArray[np.float64]

#: Up to so many parameters the whole matrix is made and inverted.
FULL_PARAMETERS: Final = 600
#: Terms of a posterior's expansion; and the share of the information below which a term ends it.
MOST_TERMS: Final = 40
NEGLIGIBLE: Final = 1e-7
#: Of a posterior on one node, in logits: rounding and no spread.
SMALLEST: Final = 1e-12
#: Posterior weight of a node that adds nothing to any sum.
NO_WEIGHT: Final = 1e-200
NORMAL: Final = Law()
#: Of differences by origin and log unit: far above rounding, and the error is about its square.
STEP: Final = 1e-3
PLACES: Final = tuple(
    (STEP * m, STEP * s) for m, s in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
)


def observed_information(cells: Cells, form: Form, point: FloatArray, counts: Expectation) -> FloatArray:
    """Return minus the Hessian of the penalised marginal log-likelihood, (J p, J p), items after one another.

    Louis (1982): the expected complete-data information minus sum_i Cov_i(s_i), s_i(theta) the score of person i's
    responses at ability theta and Cov_i its covariance over the posterior. With phi_im the polynomials orthonormal
    under the posterior of person i, Cov_i(s_i) = sum_m E(s_i phi_im) E(s_i phi_im)', which is a matrix product for
    each m; the series ends when a term adds less than `NEGLIGIBLE` of every diagonal element.
    """
    j, p = point.shape
    blocks = complete_curvature(cells, form, point, counts)
    out = np.zeros((j * p, j * p))
    index = np.arange(j * p).reshape(j, p)
    out[index[:, :, None], index[:, None, :]] = blocks
    enough = NEGLIGIBLE * np.einsum("jpp->jp", blocks).ravel()
    of_block = posteriors(cells, form, point, counts.nodes)
    table = _ScoreTable(form, point, counts.nodes.theta)
    for rows in cells.person_blocks():
        block = of_block(rows)
        for basis in _polynomials(block.weights, counts.nodes.theta):
            scores = table.scores(block, basis).reshape(len(basis), -1)
            term = scores.T @ scores
            out -= term
            if (np.diag(term) <= enough * len(basis) / cells.n_persons).all():
                break
    if form.estimated_means:
        out -= taken_by_means(log_prior(form, point))
    return out


def complete_curvature(cells: Cells, form: Form, point: FloatArray, counts: Expectation) -> FloatArray:
    """Return minus the Hessian of expected complete data and priors, (J, p, p)."""
    gradient, curvature = complete_terms(cells, form, point, counts)
    if not form.is_linear:
        curvature = _curved_hessian(cells, form, point, counts)
    if not form.signed:
        curvature[:, 0, 0] -= gradient[:, 0]
    return curvature + log_prior(form, point).curvature


def _curved_hessian(cells: Cells, form: Form, point: FloatArray, counts: Expectation) -> FloatArray:
    """Minus the second derivatives of r log P + (n - r) log(1 - P) for a lower asymptote, without d^2 a / du^2."""
    theta = counts.nodes.theta
    powers = np.vander(theta, 3, increasing=True)
    out = np.zeros((*point.shape, point.shape[1]))
    assert counts.node_successes is not None
    r_all, n_all = counts.node_successes, counts.node_trials

    def work(b: slice) -> None:
        jacobian = form.slope_jacobian(point[b])
        s, p, c = curves(form, point[b], theta)
        r, n = r_all[b], n_all if n_all.ndim == 1 else n_all[b]
        share, slope = s / p, (1.0 - c) * s * (1.0 - s) / p  # slope: d log P / dz
        moments = observed_curvature(r, n, s, p, c) @ powers
        out[b, 0, 0], out[b, 1, 1] = jacobian**2 * moments[:, 2], moments[:, 0]
        out[b, 0, 1] = out[b, 1, 0] = jacobian * moments[:, 1]
        if form.guessing is None:
            by_c = (1.0 - s) * c * (1.0 - c) / p  # d log P / d logit c
            out[b, 2, 2] = ((n - r) * c * (1.0 - c) - r * (by_c * (1.0 - 2.0 * c) - by_c**2)).sum(axis=1)
            cross = (r * (c * (1.0 - c) * share * (1.0 - s) + by_c * slope)) @ powers[:, :2]
            out[b, 0, 2] = out[b, 2, 0] = jacobian * cross[:, 1]
            out[b, 1, 2] = out[b, 2, 1] = cross[:, 0]

    cells.each(work, item_blocks(len(point), theta.size))
    return out


class _ScoreTable:
    """E(s_i phi) of blocks of persons: the scores of x and n at the nodes, as products with the curves."""

    def __init__(self, form: Form, point: FloatArray, theta: FloatArray) -> None:
        self.form, self.theta = form, theta
        self.jacobian = form.slope_jacobian(point)
        self.c = form.asymptote(point)
        s, p, _ = curves(form, point, theta)
        self.s, self.p = s.T, p.T
        self.share = None if form.is_linear else self.s / self.p

    def scores(self, block: Block, basis: FloatArray) -> FloatArray:
        """Return E(s_ij phi_i), (n, J, p); `basis` (n, Q) holds weights times phi."""
        x, n = block.successes, block.trials
        by_theta = basis * self.theta
        out = np.empty((*x.shape, 3 if self.form.guessing is None else 2))
        if self.share is None:
            slope_x: FloatArray = by_theta.sum(axis=1, keepdims=True)
            intercept_x: FloatArray = basis.sum(axis=1, keepdims=True)
        else:
            slope_x, intercept_x = by_theta @ self.share, basis @ self.share
        out[:, :, 0] = self.jacobian * (x * slope_x - n * (by_theta @ self.s))
        out[:, :, 1] = x * intercept_x - n * (basis @ self.s)
        if self.form.guessing is None:
            out[:, :, 2] = x * (basis @ (self.c / self.p)) - n * self.c * basis.sum(axis=1, keepdims=True)
        return out


def _polynomials(weights: FloatArray, theta: FloatArray) -> list[FloatArray]:
    """Return weights times the orthonormal polynomials of degree 1, 2, ... under each row of weights, (n, Q) each.

    By Stieltjes' recurrence; a posterior on fewer nodes than the degree has zeros.
    """
    out = []
    seen = weights > NO_WEIGHT  # a polynomial is at most 1 / sqrt(weight), which overflows
    before, here, beta = np.zeros_like(weights), np.ones_like(weights), np.zeros((len(weights), 1))
    spread = None
    for _ in range(MOST_TERMS):
        alpha = np.einsum("nq,q,nq,nq->n", weights, theta, here, here)[:, None]
        after = (theta - alpha) * here - beta * before
        beta = np.sqrt(np.einsum("nq,nq,nq->n", weights, after, after))[:, None]
        spread = beta if spread is None else spread
        fine = (beta > np.maximum(1e-7 * spread, SMALLEST)) & seen
        after = np.where(fine, after / np.where(fine, beta, 1.0), 0.0)
        before, here = here, after
        out.append(weights * after)
    return out


def block_covariance(
    cells: Cells,
    form: Form,
    point: FloatArray,
    counts: Expectation,
    pinned: NDArray[np.bool_] | None = None,
    law: Law = NORMAL,
) -> FloatArray:
    """Return the covariance of each item's parameters, (J, p, p), for tests of many items.

    Of the missing information only what is within items is kept, with each posterior narrow enough for
    Cov_i(s_ij) = sd_i^2 (ds_ij / dtheta)(ds_ij / dtheta)' in expectation over responses; and what all items share, the
    origin and unit of the scale, exactly. Rescaling all items by (m, s) is giving the abilities a latent distribution
    moved by m and scaled by s, so the information about these two is that of the latent distribution, for N(0, 1)
    G = sum_i E([1, 2 theta; 2 theta, 2 theta^2]) - Cov_i(theta, theta^2), plus the priors'. With A the blocks, T their
    derivatives by (m, log s) and K = T' A T, the covariance is A^-1 + T (G^-1 - K^-1) T', whose inverse agrees with A
    but for T' (.) T = G. Pinned parameters are taken as known, with a covariance of 1 in their place.
    """
    curvature = complete_curvature(cells, form, point, counts) - _missing_within(form, point, counts, cells)
    j, p = point.shape
    if pinned is not None and pinned.any():
        curvature = unpinned(curvature, pinned)
    directions = np.zeros((j, p, 2))
    directions[:, 1, 0] = form.discrimination(point)
    directions[:, 0, 1] = point[:, 0] if form.signed else 1.0
    if pinned is not None:
        directions[pinned] = 0.0
    shared = np.linalg.inv(_scale_information(cells, form, point, counts, law))
    shared -= np.linalg.inv(np.einsum("jpk,jpq,jql->kl", directions, curvature, directions))
    inverse = _arrow_inverse(curvature) if form.slopes == "common" else np.linalg.inv(curvature)
    out: FloatArray = inverse + np.einsum("jpk,kl,jql->jpq", directions, shared, directions)
    return out


def _missing_within(form: Form, point: FloatArray, counts: Expectation, cells: Cells) -> FloatArray:
    theta = counts.nodes.theta
    variance = _variance_at_nodes(counts)
    out = np.zeros((*point.shape, point.shape[1]))
    trials_ratio = _trials_ratio(cells)

    def work(b: slice) -> None:
        a = form.discrimination(point[b])[:, None]
        s, p, c = curves(form, point[b], theta)
        share = s / p
        n = (counts.node_trials if counts.node_trials.ndim == 1 else counts.node_trials[b]) * variance
        w = p * (1.0 - p)
        vector = [share * theta * form.slope_jacobian(point[b])[:, None], share]
        if form.guessing is None:
            vector.append(c / p)
        base = n * trials_ratio[b, None] * (a * w * share) ** 2
        for k, first in enumerate(vector):
            for m, second in enumerate(vector[: k + 1]):
                out[b, k, m] = out[b, m, k] = (base * first * second).sum(axis=1)
        out[b, 0, 0] += form.slope_jacobian(point[b]) ** 2 * (n * w * share**2).sum(axis=1)

    cells.each(work, item_blocks(len(point), theta.size))
    return out


def _variance_at_nodes(counts: Expectation) -> FloatArray:
    """Return the posterior variance of persons whose ability is at each node, (Q,), interpolated."""
    order = np.argsort(counts.mean)
    return np.interp(counts.nodes.theta, counts.mean[order], counts.sd[order] ** 2)


def _trials_ratio(cells: Cells) -> FloatArray:
    """Return sum_i n^2 / sum_i n of each item, (J,)."""
    if cells.equal_trials or cells.most_trials == 1:
        return np.full(cells.n_items, float(cells.most_trials))
    squares = np.zeros(cells.n_items)
    for rows in cells.person_blocks():
        squares += np.square(cells.float_trials(rows)).sum(axis=0)
    return squares / cells.item_trials


def _scale_information(cells: Cells, form: Form, point: FloatArray, counts: Expectation, law: Law) -> FloatArray:
    """Return the information about origin and log unit of the scale, (2, 2): the latent distribution's, the priors'."""
    prior = [log_prior(form, rescaled(form, point, m, log_s)).value for m, log_s in PLACES]
    return _of_latent(cells, form, point, counts, law) - second_differences(np.array(prior))


def _of_latent(cells: Cells, form: Form, point: FloatArray, counts: Expectation, law: Law) -> FloatArray:
    """Return minus the second derivatives of the log-likelihood by mean and log SD of the latent distribution, (2, 2).

    In closed form for the normal distribution, else by differences, of a distribution that is moved and scaled.
    """
    theta = counts.nodes.theta
    if law.weights is None:
        second = counts.sd**2 + counts.mean**2
        third, fourth = counts.mass @ theta**3, counts.mass @ theta**4
        cross = 2.0 * counts.mean.sum() - (third - counts.mean @ second)
        by_mean = cells.n_persons - float(np.sum(counts.sd**2))
        return np.array([[by_mean, cross], [cross, 2.0 * second.sum() - (fourth - second @ second)]])
    moved = [np.exp(law.log_density((theta - m) * np.exp(-log_s)) - log_s) for m, log_s in PLACES]
    densities, of_block = np.column_stack(moved), posteriors(cells, form, point, Nodes(theta, np.zeros_like(theta)))
    parts = cells.each(lambda rows: np.log(of_block(rows).weights @ densities).sum(axis=0), cells.person_blocks())
    return -second_differences(np.sum(parts, axis=0))


def second_differences(values: FloatArray) -> FloatArray:
    """Return the second derivatives (2, 2) of a function of two numbers from its values at `PLACES`."""
    at, up, down, right, left, *corners = values
    mixed = (corners[0] - corners[1] - corners[2] + corners[3]) / 4.0
    return np.array([[up - 2.0 * at + down, mixed], [mixed, right - 2.0 * at + left]]) / STEP**2


def _arrow_inverse(curvature: FloatArray) -> FloatArray:
    """Return the blocks (u, d_j) of the inverse where all items share u, (J, 2, 2)."""
    own, cross = curvature[:, 1, 1], curvature[:, 0, 1]
    ratio = cross / own
    common = 1.0 / float((curvature[:, 0, 0] - ratio * cross).sum())
    out = np.empty_like(curvature)
    out[:, 0, 0] = common
    out[:, 0, 1] = out[:, 1, 0] = -ratio * common
    out[:, 1, 1] = 1.0 / own + ratio**2 * common
    return out

"""Gradient and information of the expected complete data: what the M-step and the observed information are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_steps import Expectation, item_blocks

FloatArray = NDArray[np.float64]


def complete_terms(cells: Cells, form: Form, point: FloatArray, counts: Expectation) -> tuple[FloatArray, FloatArray]:
    """Return gradient (J, p) and information (J, p, p) of the expected complete-data log-likelihood at `point`.

    At the point of the E-step the gradient is that of the marginal log-likelihood (Fisher's identity). With S the
    logistic curve and W = P (1 - P), the score of z = a theta + d is sum_q (r - n P) S / P and that of logit c is
    sum_q (r - n P) c / P; the information sum_q n W (S / P, c / P)(S / P, c / P)'.
    """
    gradient = np.empty(point.shape)
    information = np.empty((*point.shape, point.shape[1]))
    work = _linear_work if form.is_linear else _curved_work
    theta = counts.nodes.theta
    blocks = item_blocks(len(point), theta.size)
    cells.each(lambda b: work(cells, form, point, theta, counts, b, gradient, information), blocks)
    return gradient, information


def _linear_work(
    cells: Cells, form: Form, point: FloatArray, theta: FloatArray, counts: Expectation, block: slice,
    gradient: FloatArray, information: FloatArray,
) -> None:  # fmt: skip
    jacobian = form.slope_jacobian(point[block])
    p = np.multiply.outer(0.5 * form.discrimination(point[block]), theta)
    p += 0.5 * point[block, 1, None]
    np.tanh(p, out=p)  # P = (1 + t) / 2, P (1 - P) = (1 - t^2) / 4
    n = counts.node_trials if counts.node_trials.ndim == 1 else counts.node_trials[block]
    powers = np.vander(theta, 3, increasing=True)
    shared = n.ndim == 1
    by_power = n[:, None] * powers if shared else powers
    total = by_power[:, :2].sum(axis=0) if shared else n @ powers[:, :2]
    expected = 0.5 * (total + (p if shared else n * p) @ by_power[:, :2])
    np.square(p, out=p)
    np.subtract(0.25, np.multiply(p, 0.25, out=p), out=p)
    weight = (p if shared else n * p) @ by_power
    assert counts.slope_successes is not None
    gradient[block, 0] = jacobian * (counts.slope_successes[block] - expected[:, 1])
    gradient[block, 1] = cells.item_successes[block] - expected[:, 0]
    information[block, 0, 0] = jacobian**2 * weight[:, 2]
    information[block, 0, 1] = information[block, 1, 0] = jacobian * weight[:, 1]
    information[block, 1, 1] = weight[:, 0]


def curves(form: Form, point: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the logistic curves S and the probabilities P at the nodes, (J, Q), and the asymptotes c, (J, 1)."""
    c = form.asymptote(point)[:, None]
    s = 0.5 + 0.5 * np.tanh(0.5 * (np.multiply.outer(form.discrimination(point), theta) + point[:, 1, None]))
    return s, np.maximum(c + (1.0 - c) * s, np.finfo(float).tiny), c


def observed_curvature(r: FloatArray, n: FloatArray, s: FloatArray, p: FloatArray, c: FloatArray) -> FloatArray:
    """Return minus the second derivative of r log P + (n - r) log(1 - P) by z = a theta + d."""
    slope = (1.0 - c) * s * (1.0 - s) / p
    return (n - r) * s * (1.0 - s) - r * (slope * (1.0 - 2.0 * s) - slope**2)


def _curved_work(
    cells: Cells, form: Form, point: FloatArray, theta: FloatArray, counts: Expectation, block: slice,
    gradient: FloatArray, information: FloatArray,
) -> None:  # fmt: skip
    jacobian = form.slope_jacobian(point[block])
    s, p, c = curves(form, point[block], theta)
    assert counts.node_successes is not None
    n = counts.node_trials if counts.node_trials.ndim == 1 else counts.node_trials[block]
    residual = (counts.node_successes[block] - n * p) / p
    weight = n * (1.0 - p) / p
    powers = np.vander(theta, 3, increasing=True)
    scores = (residual * s) @ powers[:, :2]
    # Near the asymptote expected curvature is far below the observed one: the larger of the two takes no step too far.
    observed = observed_curvature(counts.node_successes[block], n, s, p, c)
    curvature = np.maximum(weight * s**2, observed) @ powers
    gradient[block, 0], gradient[block, 1] = jacobian * scores[:, 1], scores[:, 0]
    information[block, 0, 0] = jacobian**2 * curvature[:, 2]
    information[block, 0, 1] = information[block, 1, 0] = jacobian * curvature[:, 1]
    information[block, 1, 1] = curvature[:, 0]
    if form.guessing is None:
        gradient[block, 2] = (residual * c).sum(axis=1)
        cross = (weight * s * c) @ powers[:, :2]
        information[block, 0, 2] = information[block, 2, 0] = jacobian * cross[:, 1]
        information[block, 1, 2] = information[block, 2, 1] = cross[:, 0]
        information[block, 2, 2] = (weight * c**2).sum(axis=1)

"""Marginal maximum likelihood under a latent distribution that is estimated: a smoothed histogram."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_law import Law, Nodes
from psychoeval.estimators.native.mml_newton import rescaled
from psychoeval.estimators.native.mml_search import Maximum, maximize
from psychoeval.estimators.native.mml_steps import posteriors

FloatArray = NDArray[np.float64]

#: Centers of the splines to begin with: from -6 to 6, half a latent SD apart.
CENTERS: Final = np.linspace(-6.0, 6.0, 25)
#: EM steps on the weights for each refit of the items, and refits.
UPDATES: Final = 1000
MOST_REFITS: Final = 40
#: Gain of log-likelihood of a whole refit below which the distribution is done: AIC charges 1 for a parameter.
ENOUGH: Final = 1e-2


def maximize_with_law(
    cells: Cells, form: Form, *, tolerance: float, max_iterations: int, return_interrupted: bool = False
) -> Maximum:
    """Maximise over items and distribution in turn, from the normal distribution.

    The distribution is a mixture of cubic B-splines (Bock and Aitkin's 1981 histogram, smoothed so that the trapezoid
    rule stays exact), its weights the best for the items, and is brought to mean 0 and SD 1
    with them: the log-likelihood does not know of the scale. Source: doi:10.1007/BF02293801.
    """
    found = maximize(
        cells, form, tolerance=tolerance, max_iterations=max_iterations, return_interrupted=return_interrupted
    )
    if found.ended == "interrupted":
        return found
    law = normal_law()
    last, path = -np.inf, found.path
    for _ in range(MOST_REFITS):
        try:
            law = fitted_law(cells, form, found.point, found.counts.nodes, law)
        except KeyboardInterrupt:
            if not return_interrupted:
                raise
            found = replace(found, ended="interrupted")
            break
        point = found.point
        m, s = law.mean, law.sd
        law, point = law.standardized(), form.held(rescaled(form, point, m, float(np.log(s))))
        found = maximize(
            cells, form, tolerance=tolerance, max_iterations=max_iterations, return_interrupted=return_interrupted,
            law=law, point=point,
        )  # fmt: skip
        path = [*path, *found.path]
        if found.ended != "converged" or found.objective - last < ENOUGH:
            break
        last = found.objective
    else:
        found = replace(found, ended="iteration_limit")
    return replace(found, path=path)


def normal_law() -> Law:
    """Return the spline distribution nearest to the normal one in the weights of its bins."""
    half = 0.5 * (CENTERS[1] - CENTERS[0])
    weights = ndtr(CENTERS + half) - ndtr(CENTERS - half)
    return Law(CENTERS, weights / weights.sum()).standardized()


def fitted_law(cells: Cells, form: Form, point: FloatArray, nodes: Nodes, law: Law) -> Law:
    """Return the distribution whose weights maximise the likelihood under given items, by EM.

    A person enters by int f_i B_k, f_i the likelihood of the responses: (N, K), and no more nodes.
    """
    assert law.weights is not None
    flat = Nodes(nodes.theta, np.zeros_like(nodes.theta))
    of_block, basis = posteriors(cells, form, point, flat), law.basis(nodes.theta).T
    under = np.concatenate(cells.each(lambda rows: of_block(rows).weights @ basis, cells.person_blocks()))
    weights = law.weights
    for _ in range(UPDATES):
        weights = weights * (under.T @ (1.0 / np.maximum(under @ weights, np.finfo(float).tiny))) / len(under)
    return Law(law.centers, weights / weights.sum())

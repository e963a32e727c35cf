"""The grid of a search: as wide and as fine as the posteriors of the moment ask for."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_law import REACH, Law, Nodes, fitting_step, make_nodes
from psychoeval.estimators.native.mml_steps import Expectation, e_step

FloatArray = NDArray[np.float64]

#: Posterior weight of a person on an outermost node above which the grid is made wider.
EDGE: Final = 1e-9
#: The grid is renewed when its step should be this much finer or coarser.
RENEW: Final = (0.95, 1.3)


def expect(cells: Cells, form: Form, point: FloatArray, nodes: Nodes, law: Law) -> Expectation:
    """Return the E-step, on a grid made wider while a posterior reaches its edge."""
    while True:
        counts = e_step(cells, form, point, nodes)
        if counts.edge <= EDGE or nodes.capped:
            return counts
        more = max(1.0, 0.25 * float(nodes.theta[-1] - nodes.theta[0]))
        nodes = make_nodes(law, nodes.theta[0] - more, nodes.theta[-1] + more, nodes.step)


def renewed(cells: Cells, form: Form, point: FloatArray, counts: Expectation, law: Law) -> Nodes:
    """Return a grid for the next iteration: as wide and as fine as the posteriors ask for."""
    nodes = counts.nodes
    low = float((counts.mean - REACH * counts.sd).min())
    high = float((counts.mean + REACH * counts.sd).max())
    step = fitting_step(smallest_sd(cells, form, point, low, high), form.discrimination(point), law)
    ratio = step / nodes.step
    if RENEW[0] <= ratio <= RENEW[1] and nodes.theta[0] <= low and nodes.theta[-1] >= high:
        return nodes
    return make_nodes(law, low - 2 * step, high + 2 * step, step)


def smallest_sd(cells: Cells, form: Form, point: FloatArray, low: float, high: float) -> float:
    """Return a lower bound of the posterior SDs: 1 / sqrt(1 + most information that a person can have)."""
    a, d = form.discrimination(point), point[:, 1]
    theta = np.linspace(low, high, int(np.clip((high - low) * np.abs(a).max(), 41, 1001)))  # sees every item's peak
    t = np.tanh(0.5 * (np.multiply.outer(a, theta) + d[:, None]))
    curvature = 0.25 * a[:, None] ** 2 * (1.0 - t**2)
    if cells.equal_trials:
        return float(1.0 / np.sqrt(1.0 + cells.equal_trials * curvature.sum(axis=0).max()))
    most = max(float((cells.float_trials(rows) @ curvature).max()) for rows in cells.person_blocks())
    return float(1.0 / np.sqrt(1.0 + most))


def first_nodes(cells: Cells, form: Form, point: FloatArray, law: Law) -> Nodes:
    """Return a grid from -6 to 6, fine enough for the start."""
    step = fitting_step(smallest_sd(cells, form, point, -4.0, 4.0), form.discrimination(point), law)
    return make_nodes(law, -6.0, 6.0, step)

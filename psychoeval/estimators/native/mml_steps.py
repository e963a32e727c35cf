"""E-step of marginal maximum likelihood, as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas
from scipy.special import log_expit

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_law import Nodes

FloatArray = NDArray[np.float64]

#: Cells of an items x nodes block: 1 MiB of float64, so that its temporaries stay in a core's cache.
BLOCK_CELLS: Final = 2**17
#: Factors of up to 2 whose product is taken before the logarithm: it stays below 2^512.
PRODUCT: Final = 512
#: Log weight, beside the largest, that counts as none: numbers near the smallest there are make products slow.
NEGLIGIBLE: Final = -200.0


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """What an E-step says about persons and items.

    Parameters
    ----------
    nodes : Nodes
        On which it was taken.
    log_likelihood : float
        Marginal, without the binomial constant.
    mean, sd : (N,) arrays
        Of the posteriors.
    edge : float
        Largest posterior weight of a person on an outermost node.
    mass : (Q,) array
        Posterior weight of all persons at each node.
    node_trials : (Q,) or (J, Q) array
        Expected trials of an item at each node; one row where all items have the same.
    slope_successes : (J,) array
        sum_i x_ij E(theta_i), for linear forms.
    node_successes : (J, Q) array
        Expected successes, for the others.
    """

    nodes: Nodes
    log_likelihood: float
    mean: FloatArray
    sd: FloatArray
    edge: float
    mass: FloatArray
    node_trials: FloatArray
    slope_successes: FloatArray | None
    node_successes: FloatArray | None


def item_blocks(n_items: int, n_nodes: int) -> list[slice]:
    """Return slices of items such that an items x nodes block has `BLOCK_CELLS` cells."""
    size = max(1, BLOCK_CELLS // n_nodes)
    return [slice(s, min(s + size, n_items)) for s in range(0, n_items, size)]


def failure_baseline(cells: Cells, a: FloatArray, d: FloatArray, theta: FloatArray) -> FloatArray:
    """Return sum_j log(1 + exp(a_j theta + d_j)), (Q,).

    With t = tanh(z / 2): log(1 + exp z) = max(z, 0) + log 2 - log(1 + |t|); the logarithms of many items are one
    logarithm of a product.
    """

    def work(block: slice) -> FloatArray:
        z = np.multiply.outer(a[block], theta)
        z += d[block, None]
        absolute = np.abs(z)
        linear = absolute.sum(axis=0)
        np.tanh(np.multiply(absolute, 0.5, out=absolute), out=absolute)
        absolute += 1.0
        logs = np.zeros(theta.size)
        for start in range(0, len(z), PRODUCT):
            logs += np.log(np.multiply.reduce(absolute[start : start + PRODUCT], axis=0))
        linear += a[block].sum() * theta + d[block].sum()
        return np.asarray(0.5 * linear + len(z) * np.log(2.0) - logs)

    return np.asarray(np.sum(cells.each(work, item_blocks(a.size, theta.size)), axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some persons at the nodes.

    Parameters
    ----------
    rows : slice
    successes : (n, J) array
    trials : (n, J) array or int
        The number where it is the same in all cells of the data.
    weights : (n, Q) array
        Posterior weights.
    mean, sd, log_marginal : (n,) arrays
    """

    rows: slice
    successes: FloatArray
    trials: FloatArray | int
    weights: FloatArray
    mean: FloatArray
    sd: FloatArray
    log_marginal: FloatArray


def posteriors(cells: Cells, form: Form, point: FloatArray, nodes: Nodes) -> Callable[[slice], Block]:
    """Return a function that gives the posteriors of a block of persons under `point`.

    With linear log odds and equal trials K everywhere, a person's log-likelihood is theta A_i + D_i - K sum_j
    log(1 + exp(a_j theta + d_j)) with A_i = sum_j x_ij a_j and D_i = sum_j x_ij d_j: no product of data and nodes.
    Otherwise it is a product of successes with log odds and one of trials with log(1 - P), as far as needed.
    """
    a, d = form.discrimination(point), point[:, 1]
    k, theta = cells.equal_trials, nodes.theta
    parameters = np.column_stack([a, d])
    log_odds = log_failure = None
    at_nodes = nodes.log_weights
    if form.is_linear and k:
        at_nodes = at_nodes - k * failure_baseline(cells, a, d, theta)
    else:
        log_odds, log_failure = _tables(cells, a, d, form.asymptote(point), theta, linear=form.is_linear)
        if k:
            at_nodes = at_nodes + k * log_failure.sum(axis=0)

    def of_block(rows: slice) -> Block:
        x = cells.floats(rows)
        n = k or cells.float_trials(rows)
        constant: FloatArray | float = 0.0
        if log_odds is None:
            score, constant = (x @ parameters).T
            joint = np.multiply.outer(score, theta)
        else:
            joint = x @ log_odds
        joint += at_nodes
        if log_failure is not None and not isinstance(n, int):
            joint += n @ log_failure
        log_marginal, mean, sd = _normalize(joint, theta)
        return Block(rows, x, n, joint, mean, sd, log_marginal + constant)

    return of_block


def e_step(cells: Cells, form: Form, point: FloatArray, nodes: Nodes) -> Expectation:
    """Return the posteriors under `point` and the expected counts."""
    shape = (cells.n_items, nodes.theta.size)
    mean, sd, log_marginal = (np.empty(cells.n_persons) for _ in range(3))
    of_block = posteriors(cells, form, point, nodes)

    def work(group: list[slice]) -> _Sums:
        sums = _Sums(np.zeros(nodes.theta.size), np.zeros(cells.n_items), 0.0, None, None)
        if not cells.equal_trials:
            sums.trials = np.zeros(shape)
        if not form.is_linear:
            sums.successes = np.zeros(shape)
        for rows in group:
            block = of_block(rows)
            mean[rows], sd[rows], log_marginal[rows] = block.mean, block.sd, block.log_marginal
            sums.add(block)
        return sums

    found = cells.each(work, cells.person_groups())
    mass = _added([f.mass for f in found])
    return Expectation(
        nodes,
        float(log_marginal.sum()),
        mean,
        sd,
        max(f.edge for f in found),
        mass,
        cells.equal_trials * mass if cells.equal_trials else _added([f.trials for f in found]),
        _added([f.slope_successes for f in found]) if form.is_linear else None,
        None if form.is_linear else _added([f.successes for f in found]),
    )


@dataclass(slots=True, eq=False)
class _Sums:
    """What an E-step adds up over persons."""

    mass: FloatArray
    slope_successes: FloatArray
    edge: float
    trials: FloatArray | None
    successes: FloatArray | None

    def add(self, block: Block) -> None:
        w = block.weights
        self.mass += w.sum(axis=0)
        self.slope_successes += block.mean @ block.successes
        self.edge = max(self.edge, float(w[:, 0].max()), float(w[:, -1].max()))
        if self.trials is not None:
            _add_product(self.trials, np.asarray(block.trials), w)
        if self.successes is not None:
            _add_product(self.successes, block.successes, w)


def _add_product(total: FloatArray, x: FloatArray, w: FloatArray) -> None:
    """Add x'w to `total`, (J, Q), in its memory; both are in C order."""
    blas.dgemm(1.0, w.T, x.T, beta=1.0, c=total.T, trans_b=True, overwrite_c=True)


def _added(parts: list[Any]) -> FloatArray:
    out: FloatArray = parts[0]
    for part in parts[1:]:
        out += part
    return out


def _normalize(joint: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Turn log joint densities (n, Q) into posterior weights in place; return log marginals, means and SDs."""
    top = joint.max(axis=1)
    joint -= top[:, None]
    joint[joint < NEGLIGIBLE] = -np.inf
    np.exp(joint, out=joint)
    total = joint.sum(axis=1)
    joint /= total[:, None]
    mean, second = (joint @ np.column_stack([theta, theta**2])).T
    return top + np.log(total), mean, np.sqrt(np.maximum(second - mean**2, 0.0))


def _tables(
    cells: Cells, a: FloatArray, d: FloatArray, c: FloatArray, theta: FloatArray, *, linear: bool
) -> tuple[FloatArray | None, FloatArray]:
    """Return the log odds (None where linear) and log(1 - P) of J items at Q nodes, (J, Q)."""
    log_failure = np.empty((a.size, theta.size))
    log_odds = None if linear else np.empty_like(log_failure)

    def work(block: slice) -> None:
        z = np.multiply.outer(a[block], theta) + d[block, None]
        failure = log_expit(-z) + np.log1p(-c[block, None])
        log_failure[block] = failure
        if log_odds is not None:
            with np.errstate(divide="ignore"):
                log_c = np.log(c[block, None])
            log_odds[block] = np.logaddexp(log_c, np.log1p(-c[block, None]) + log_expit(z)) - failure

    cells.each(work, item_blocks(a.size, theta.size))
    return log_odds, log_failure

"""E-step and M-step of marginal maximum likelihood, as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_law import Nodes
from psychoeval.estimators.native.mml_priors import LogPrior, log_prior

FloatArray = NDArray[np.float64]

#: Cells of an items x nodes block: 1 MiB of float64, so that its temporaries stay in a core's cache.
BLOCK_CELLS: Final = 2**17
#: Factors of up to 2 whose product is taken before the logarithm: it stays below 2^512.
PRODUCT: Final = 512
#: Longest Newton step of log a or logit c, and of an intercept.
LONGEST: Final = np.array([0.7, 1.5, 1.0])
#: Of an expansion; log s stays between -2 and 2.
FARTHEST_ORIGIN: Final = 5.0


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
            self.trials += np.asarray(block.trials).T @ w
        if self.successes is not None:
            self.successes += block.successes.T @ w


def _added(parts: list[Any]) -> FloatArray:
    out: FloatArray = parts[0]
    for part in parts[1:]:
        out += part
    return out


def _normalize(joint: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Turn log joint densities (n, Q) into posterior weights in place; return log marginals, means and SDs."""
    top = joint.max(axis=1)
    joint -= top[:, None]
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


def _curved_work(
    cells: Cells, form: Form, point: FloatArray, theta: FloatArray, counts: Expectation, block: slice,
    gradient: FloatArray, information: FloatArray,
) -> None:  # fmt: skip
    jacobian, c = form.slope_jacobian(point[block]), form.asymptote(point[block])[:, None]
    z = np.multiply.outer(form.discrimination(point[block]), theta) + point[block, 1, None]
    s = 0.5 + 0.5 * np.tanh(0.5 * z)
    p = np.maximum(c + (1.0 - c) * s, np.finfo(float).tiny)
    assert counts.node_successes is not None
    n = counts.node_trials if counts.node_trials.ndim == 1 else counts.node_trials[block]
    residual = (counts.node_successes[block] - n * p) / p
    weight = n * (1.0 - p) / p
    powers = np.vander(theta, 3, increasing=True)
    scores = (residual * s) @ powers[:, :2]
    # Near the asymptote expected curvature is far below the observed one: the larger of the two takes no step too far.
    r, slope = counts.node_successes[block], (1.0 - c) * s * (1.0 - s) / p
    observed = (n - r) * s * (1.0 - s) - r * (slope * (1.0 - 2.0 * s) - slope**2)
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


def newton_step(
    form: Form, point: FloatArray, gradient: FloatArray, information: FloatArray, *, coupled: bool = True
) -> FloatArray:
    """Return the step (J, p) that maximises the quadratic model of complete data and priors, shortened by item.

    The curvature of log a's own scale, a dQ/da, is added where it leaves the model well concave; with a lower asymptote
    expected curvature stands for the observed one, which need not be positive. `coupled` steps know that estimated
    prior means follow the items.
    """
    prior = log_prior(form, point)
    slope = gradient + prior.gradient
    curvature = information + prior.positive
    if not form.signed and form.n_columns == 2:
        own = curvature[:, 0, 1] ** 2 / np.maximum(curvature[:, 1, 1], np.finfo(float).tiny)
        bent = curvature[:, 0, 0] - gradient[:, 0]
        curvature[:, 0, 0] = np.where(bent - own > 0.3 * (curvature[:, 0, 0] - own), bent, curvature[:, 0, 0])
    pinned = form.pinned(point, slope)
    if pinned.any():
        slope = np.where(pinned, 0.0, slope)
        curvature = unpinned(curvature, pinned)
    step = (
        _common_step(slope, curvature)
        if form.slopes == "common"
        else _free_step(slope, curvature, prior if coupled else None)
    )
    limit = LONGEST[: step.shape[1]]
    step /= np.maximum(1.0, (np.abs(step) / limit).max(axis=1, keepdims=True))
    if form.slopes == "common":
        step[:, 0] = step[np.argmin(np.abs(step[:, 0])), 0]
    return form.held(point + step) - point


def unpinned(curvature: FloatArray, pinned: NDArray[np.bool_]) -> FloatArray:
    """Return blocks (J, p, p) in which pinned parameters have curvature 1 and nothing to do with the others."""
    both = pinned[:, :, None] | pinned[:, None, :]
    return np.where(both, np.eye(pinned.shape[1]), curvature)


def _free_step(slope: FloatArray, curvature: FloatArray, prior: LogPrior | None) -> FloatArray:
    """Newton step of items that share nothing but the estimated means of their priors (Woodbury's identity)."""
    diagonal = np.einsum("jpp->jp", curvature)
    diagonal += 1e-10 * (1.0 + diagonal.max(axis=1, keepdims=True))  # items whose curve is flat where the persons are
    if prior is None:
        return _solve(curvature, slope[:, :, None])[:, :, 0]
    sides = np.concatenate([slope[:, :, None], prior.by_means], axis=2)
    solved = _solve(curvature, sides)
    step, toward = solved[:, :, 0], solved[:, :, 1:]
    if not toward.shape[2]:
        return step
    inner = prior.of_means - np.einsum("jpm,jpn->mn", prior.by_means, toward)
    if np.linalg.eigvalsh(inner)[0] <= 1e-8 * np.trace(prior.of_means):
        return step
    return step + toward @ np.linalg.solve(inner, np.einsum("jpm,jp->m", prior.by_means, step))


def _solve(blocks: FloatArray, sides: FloatArray) -> FloatArray:
    if blocks.shape[1] == 3:
        return np.asarray(np.linalg.solve(blocks, sides), np.float64)
    a, b, c = blocks[:, 0, 0, None], blocks[:, 0, 1, None], blocks[:, 1, 1, None]
    determinant = np.maximum(a * c - b**2, 1e-12 * a * c)
    first, second = c * sides[:, 0] - b * sides[:, 1], a * sides[:, 1] - b * sides[:, 0]
    return np.stack([first, second], axis=1) / determinant[:, None]


def _common_step(slope: FloatArray, curvature: FloatArray) -> FloatArray:
    """Newton step where all rows share the first parameter: J intercepts are eliminated."""
    own = curvature[:, 1, 1] + 1e-10
    ratio = curvature[:, 0, 1] / own
    pivot = float((curvature[:, 0, 0] - ratio * curvature[:, 0, 1]).sum())
    common = float((slope[:, 0] - ratio * slope[:, 1]).sum()) / max(pivot, 1e-10)
    return np.column_stack([np.full(len(slope), common), (slope[:, 1] - curvature[:, 0, 1] * common) / own])


def expand(form: Form, point: FloatArray, mean: float, variance: float, n_persons: int) -> FloatArray:
    """Return `point` on the scale that the posteriors ask for: parameter expansion (Liu, Rubin and Wu 1998).

    The items meet abilities of law N(m, s^2), where m and log s maximise the expected log density of the abilities,
    n (-log s - (v + (mean - m)^2) / (2 s^2)), plus the log prior of the items that have the same curves under N(0, 1),
    a s and d + a m. Without priors m and s are the mean and SD of all posteriors together. Never lowers the penalised
    marginal log-likelihood, because the priors are in what is maximised.
    Source: doi:10.1093/biomet/85.4.755.
    """
    m, log_s = mean, 0.5 * float(np.log(max(variance, 1e-12)))
    if form.penalty.slope is not None or form.penalty.location is not None:
        m, log_s = _penalised_scale(form, point, mean, variance, n_persons)
    return rescaled(form, point, float(np.clip(m, -FARTHEST_ORIGIN, FARTHEST_ORIGIN)), float(np.clip(log_s, -2.0, 2.0)))


def rescaled(form: Form, point: FloatArray, m: float, log_s: float) -> FloatArray:
    """Return the items that have under N(0, 1) the curves which `point` has under N(m, s^2): a s and d + a m."""
    out = point.copy()
    out[:, 1] += form.discrimination(point) * m
    out[:, 0] = out[:, 0] * np.exp(log_s) if form.signed else out[:, 0] + log_s
    return out


def _penalised_scale(
    form: Form, point: FloatArray, mean: float, variance: float, n_persons: int
) -> tuple[float, float]:
    def objective(m: float, log_s: float) -> float:
        persons = -log_s - (variance + (mean - m) ** 2) / (2.0 * np.exp(2.0 * log_s))
        return float(n_persons * persons) + log_prior(form, rescaled(form, point, m, log_s)).value

    m, log_s = 0.0, 0.0
    at = objective(m, log_s)
    for _ in range(20):
        here = rescaled(form, point, m, log_s)
        a = form.discrimination(here)
        prior = log_prior(form, here)
        # m moves d by a(1) dm, which in the rescaled a = a(1) s is a / s.
        shift = a * np.exp(-log_s)
        precision = np.exp(-2.0 * log_s)
        spread = variance + (mean - m) ** 2
        gradient = np.array([
            n_persons * (mean - m) * precision + prior.gradient[:, 1] @ shift,
            n_persons * (spread * precision - 1.0) + prior.gradient[:, 0].sum(),
        ])  # fmt: skip
        information = n_persons * precision * np.array([1.0, 2.0 * spread])
        if not form.estimated_means:  # which are all but indifferent to origin and unit
            information += [prior.positive[:, 1, 1] @ shift**2, prior.positive[:, 0, 0].sum()]
        step = np.clip(gradient / information, -1.0, 1.0)
        for _ in range(30):
            trial = (m + step[0], log_s + step[1])
            value = objective(*trial)
            if value >= at:
                break
            step *= 0.5
        else:
            return m, log_s
        m, log_s, at = *trial, value
        if np.abs(step).max() < 1e-9:
            break
    return m, log_s

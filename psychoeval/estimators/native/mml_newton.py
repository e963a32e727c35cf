"""Newton step of the items, and the expansion that moves origin and unit of the scale."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_priors import LogPrior, log_prior

FloatArray = NDArray[np.float64]

#: Longest Newton step of log a or logit c, and of an intercept.
LONGEST: Final = np.array([0.7, 1.5, 1.0])
#: Of an expansion; log s stays between -2 and 2.
FARTHEST_ORIGIN: Final = 5.0


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

    The items meet abilities of distribution N(m, s^2), where m and log s maximise the expected log density of the
    abilities, n (-log s - (v + (mean - m)^2) / (2 s^2)), plus the log prior of the items that have the same curves
    under N(0, 1), a s and d + a m. Without priors m and s are the mean and SD of all posteriors together. Never lowers
    the penalised marginal log-likelihood, because the priors are in what is maximised.
    Source: doi:10.1093/biomet/85.4.755.
    """
    return rescaled(form, point, *expansion(form, point, mean, variance, n_persons))


def expansion(form: Form, point: FloatArray, mean: float, variance: float, n_persons: int) -> tuple[float, float]:
    """Return the mean m and log SD log s of the abilities that `expand` puts into the items."""
    m, log_s = mean, 0.5 * float(np.log(max(variance, 1e-12)))
    if form.penalty.slope is not None or form.penalty.location is not None:
        m, log_s = _penalised_scale(form, point, mean, variance, n_persons)
    return float(np.clip(m, -FARTHEST_ORIGIN, FARTHEST_ORIGIN)), float(np.clip(log_s, -2.0, 2.0))


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

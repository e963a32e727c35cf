"""Log prior density of the items of a form, with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from psychoeval.estimators.native.map_penalty import Penalty
from psychoeval.estimators.native.mml_form import Form
from psychoeval.irt.models import Beta, LogitNormal, Normal

FloatArray = NDArray[np.float64]
#: Of minus the mean difficulty, in latent SDs.
MEAN_DIFFICULTY_SD: Final = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class LogPrior:
    """The log prior density at a point, without constants; estimated means are at their best for it.

    Parameters
    ----------
    value : float
    gradient : (J, p) array
        A common slope's prior counts once, in the first row.
    curvature : (J, p, p) array
        Minus the Hessian, stated means.
    positive : (J, p, p) array
        The part of `curvature` that is never negative.
    by_means : (J, p, m) array
        Second derivatives of minus the log density by the parameters and m estimated means.
    of_means : (m, m) array
        The same by the means alone.
    """

    value: float
    gradient: FloatArray
    curvature: FloatArray
    positive: FloatArray
    by_means: FloatArray
    of_means: FloatArray


def log_prior(form: Form, point: FloatArray) -> LogPrior:
    """Return the log prior density of `point`.

    With estimated means log a ~ N(m, s^2) and d ~ N(k + r a, t^2), m, k and r at their best: an item of difficulty b
    has d = -a b, so that r is minus the mean difficulty. Moving the origin of the abilities changes d by a multiple of
    a, and their unit changes log a by a constant: these priors are indifferent to both, but for r ~ N(0, 2^2), without
    which slopes that hardly differ could stand for any d.
    """
    j, p = point.shape
    penalty = form.penalty
    gradient, curvature = np.zeros((j, p)), np.zeros((j, p, p))
    means: list[FloatArray] = []
    of_means: list[FloatArray] = []
    value = 0.0
    own = slice(0, 1) if form.slopes == "common" else slice(None)
    if penalty.slope is not None:
        center = float(point[own, 0].mean()) if form.estimated_means else penalty.slope.mean
        slope = Penalty(Normal(center, penalty.slope.sd), None, False)
        value, by_slope, precision = slope.slope_terms(point[own, 0])
        gradient[own, 0], curvature[own, 0, 0] = -by_slope, precision
        if form.estimated_means:
            by_mean = np.zeros((j, p, 1))
            by_mean[own, 0, 0] = -precision
            means.append(by_mean)
            of_means.append(np.array([[precision * by_slope.size]]))
    positive = curvature.copy()
    if penalty.location is not None and form.estimated_means:
        loss, by_location, hessian, definite, by_mean, of_mean = _around_regression(form, point)
        means.append(by_mean)
        of_means.append(of_mean)
    elif penalty.location is not None:
        loss, by_location, hessian, definite = penalty.location_terms(point[:, 0], point[:, 1])
    if penalty.location is not None:
        value += loss
        gradient[:, :2] -= by_location
        curvature[:, :2, :2] += hessian
        positive[:, :2, :2] += definite
    if form.guessing_prior is not None:
        loss, by_guessing, curved = _guessing_terms(form.guessing_prior, point[:, 2])
        value += loss
        gradient[:, 2] -= by_guessing
        curvature[:, 2, 2] += curved
        positive[:, 2, 2] += np.maximum(curved, 0.0)
    sizes = [m.shape[2] for m in means]
    joined = np.zeros((sum(sizes), sum(sizes)))
    for start, block in zip(np.cumsum([0, *sizes[:-1]]), of_means, strict=False):
        joined[start : start + len(block), start : start + len(block)] = block
    return LogPrior(
        -value, gradient, curvature, positive,
        np.concatenate(means, axis=2) if means else np.zeros((j, p, 0)), joined,
    )  # fmt: skip


def taken_by_means(prior: LogPrior) -> FloatArray:
    """Return what estimating the means takes from the curvature, (J p, J p)."""
    j, p, m = prior.by_means.shape
    cross = prior.by_means.reshape(j * p, m)
    return np.asarray(cross @ np.linalg.pinv(prior.of_means) @ cross.T) if m else np.zeros((j * p, j * p))


def _around_regression(
    form: Form, point: FloatArray
) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Minus the log density of locations around k + r a (difficulties: around k), and its derivatives.

    Returns value, gradient (J, 2), Hessian and its positive part (J, 2, 2), and the second derivatives by the
    parameters and (k, r), (J, p, m), and by (k, r) alone.
    """
    assert form.penalty.location is not None
    precision = form.penalty.location.sd**-2
    j = len(point)
    a, by_a = form.discrimination(point), form.slope_jacobian(point)
    jacobian, curved = np.zeros((j, 2)), np.zeros((j, 2, 2))
    columns = [np.ones(j)]
    if form.penalty.on_difficulty:
        inverse = np.exp(-point[:, 0])
        value = -point[:, 1] * inverse
        jacobian[:, 0], jacobian[:, 1] = -value, -inverse
        curved[:, 0, 0], curved[:, 0, 1], curved[:, 1, 0] = value, inverse, inverse
    else:
        value = point[:, 1]
        jacobian[:, 1] = 1.0
        if form.slopes == "free":
            columns.append(a)
    design = np.column_stack(columns)
    of_means = precision * design.T @ design
    if len(columns) == 2:
        of_means[1, 1] += MEAN_DIFFICULTY_SD**-2
    coefficients = np.linalg.solve(of_means, precision * design.T @ value)
    residual = value - design @ coefficients
    if len(columns) == 2:
        jacobian[:, 0] -= coefficients[1] * by_a
        if not form.signed:
            curved[:, 0, 0] -= coefficients[1] * a
    definite = precision * jacobian[:, :, None] * jacobian[:, None, :]
    by_means = np.zeros((j, point.shape[1], len(columns)))
    by_means[:, :2] = -precision * jacobian[:, :, None] * design[:, None, :]
    if len(columns) == 2:
        by_means[:, 0, 1] -= precision * residual * by_a
    loss = 0.5 * precision * float(residual @ residual)
    if len(columns) == 2:
        loss += 0.5 * float(coefficients[1] / MEAN_DIFFICULTY_SD) ** 2
    return (
        loss,
        precision * residual[:, None] * jacobian,
        definite + precision * residual[:, None, None] * curved,
        definite,
        by_means,
        of_means,
    )


def _guessing_terms(prior: LogitNormal | Beta, g: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Minus the log density, with its derivatives by g = logit c; a Beta density is that of c itself."""
    if isinstance(prior, LogitNormal):
        z = (g - prior.mean) / prior.sd
        return 0.5 * float(z @ z), z / prior.sd, np.full(g.size, prior.sd**-2)
    c = expit(g)
    above, below = prior.alpha - 1.0, prior.beta - 1.0
    value = -above * np.log(c) - below * np.log1p(-c)
    return float(value.sum()), -above * (1 - c) + below * c, (above + below) * c * (1 - c)

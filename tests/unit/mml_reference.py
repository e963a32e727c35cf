"""An independent statement of the penalised marginal likelihood: a dense fixed grid and SciPy's densities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from scipy.stats import beta, norm

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_law import Law, make_nodes
from psychoeval.estimators.native.mml_priors import log_prior
from psychoeval.estimators.native.mml_steps import Expectation, e_step
from psychoeval.estimators.native.mml_terms import complete_terms
from psychoeval.irt.models import ItemModel

FloatArray = NDArray[np.float64]

#: 2001 nodes, .012 apart: where posteriors have SDs above .05 the trapezoid rule is exact to rounding.
THETA = np.linspace(-12.0, 12.0, 2001)
LOG_WEIGHT = norm.logpdf(THETA) + np.log(THETA[1] - THETA[0])


@dataclass(frozen=True)
class Dense:
    """Posteriors on the dense grid."""

    log_marginal: FloatArray
    weights: FloatArray

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self.weights @ THETA)

    @property
    def sd(self) -> FloatArray:
        return np.asarray(np.sqrt(np.sum(self.weights * (THETA - self.mean[:, None]) ** 2, axis=1)))


def dense(x: NDArray[Any], n: NDArray[Any], a: FloatArray, d: FloatArray, c: FloatArray | float = 0.0) -> Dense:
    """Return posteriors by direct sums over cells and nodes."""
    p = np.asarray(c)[..., None] + (1 - np.asarray(c)[..., None]) * expit(np.outer(a, THETA) + d[:, None])
    q = (1 - np.asarray(c)[..., None]) * expit(-(np.outer(a, THETA) + d[:, None]))
    x, n = x.astype(float), n.astype(float)
    joint = x @ np.log(p) + (n - x) @ np.log(q) + LOG_WEIGHT
    log_marginal = logsumexp(joint, axis=1)
    return Dense(log_marginal, np.exp(joint - log_marginal[:, None]))


def reference_log_prior(model: ItemModel, u: FloatArray, d: FloatArray, g: FloatArray | None = None) -> float:
    """Return the log prior density of slopes log a (one if common), intercepts and logit c, normalising constants in.

    Estimated means maximise it.
    """
    a, total = np.exp(u), 0.0
    if model.guessing_is_estimated and g is not None and model.guessing != "free":
        prior: Any = model.guessing
        if hasattr(prior, "alpha"):
            total += float(beta.logpdf(expit(g), prior.alpha, prior.beta).sum())
        else:
            total += float(norm.logpdf(g, prior.mean, prior.sd).sum())
    priors = model.priors
    if priors is None:
        return total
    if priors.log_discrimination is not None and model.name != "Rasch":
        m: Any = u.mean() if priors.estimated_means else priors.log_discrimination.mean
        total += float(np.sum(norm.logpdf(u, m, priors.log_discrimination.sd)))
    if priors.discrimination is not None and model.name != "Rasch":
        m, s = priors.discrimination.meanlog, priors.discrimination.sdlog
        total += float(np.sum(norm.logpdf(u, m, s) - u))  # density of a itself
    place = priors.intercept or priors.difficulty
    if place is not None:
        values: FloatArray = d
        if priors.difficulty is not None:
            values = -d if model.name == "Rasch" else -d / a
        center: Any = place.mean
        if priors.estimated_means:
            center = float(values.mean())
            if priors.intercept is not None and model.name in ("2PL", "3PL"):
                # k flat and r ~ N(0, 2): least squares with a row r / 2 = 0, weighed against residuals / sd.
                design = np.vstack([np.column_stack([np.ones(d.size), a]) / place.sd, [0.0, 0.5]])
                k, r = np.linalg.lstsq(design, np.append(d / place.sd, 0.0), rcond=None)[0]
                center = k + r * a
                total += -0.5 * (r / 2.0) ** 2
        total += float(norm.logpdf(values, center, place.sd).sum())
    return total


def reference_objective(
    x: NDArray[Any], n: NDArray[Any], model: ItemModel, *, signed: bool = False
) -> Callable[[FloatArray], float]:
    """Return the penalised marginal log-likelihood of a point (J, p) with columns log a (or a), d, logit c."""
    given = model.guessing
    fixed = float(given) if isinstance(given, (int, float)) else 0.0

    def objective(point: FloatArray) -> float:
        a = point[:, 0] if signed else np.exp(point[:, 0])
        c = expit(point[:, 2]) if point.shape[1] == 3 else np.full(len(a), fixed)
        u = point[:1, 0] if model.name in ("Rasch", "1PL") else point[:, 0]
        g = point[:, 2] if point.shape[1] == 3 else None
        prior = 0.0 if signed and model.priors is None else reference_log_prior(model, u, point[:, 1], g)
        return float(dense(x, n, a, point[:, 1], c).log_marginal.sum() + prior)

    return objective


def expectation(cells: Cells, form: Form, point: FloatArray, step: float = 0.05) -> Expectation:
    """Return the E-step under test on a fixed grid."""
    return e_step(cells, form, point, make_nodes(Law(), -12.0, 12.0, step))


def gradient(cells: Cells, form: Form, point: FloatArray) -> FloatArray:
    """Return the gradient under test, (J, p): Fisher's identity plus the priors'."""
    terms = complete_terms(cells, form, point, expectation(cells, form, point))[0]
    return np.asarray(terms + log_prior(form, point).gradient)


def spread(form: Form, n_items: int) -> FloatArray:
    """Return the (J p, F) matrix that spreads free parameters over a point: a common slope is one of them."""
    p = form.n_columns
    if form.slopes == "free":
        return np.eye(n_items * p)
    out = np.zeros((n_items * p, 1 + n_items))
    out[::p, 0] = 1.0
    out[np.arange(n_items) * p + 1, 1 + np.arange(n_items)] = 1.0
    return out


def differences(function: Callable[[FloatArray], Any], at: FloatArray, h: float = 1e-5) -> FloatArray:
    """Return central differences of a function of a vector, (F, ...)."""
    return np.array([(function(at + s) - function(at - s)) / (2 * h) for s in h * np.eye(at.size)])


def simulated(
    n: int, j: int, *, trials: int = 1, missing: float = 0.0, guessing: float = 0.0, slope_sd: float = 0.4,
    seed: int = 0,
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:  # fmt: skip
    """Return successes and trials, (n, j): 1 to `trials` trials a cell, a share `missing` of cells empty."""
    rng = np.random.default_rng(seed)
    theta, a, b = rng.normal(size=n), np.exp(rng.normal(0, slope_sd, j)), rng.normal(size=j)
    p = guessing + (1 - guessing) * expit(a * (theta[:, None] - b))
    counts = rng.integers(1, trials + 1, (n, j))
    counts = np.where(rng.random((n, j)) < missing, 0, counts)
    return rng.binomial(counts, p).astype(np.uint8), counts.astype(np.uint8)

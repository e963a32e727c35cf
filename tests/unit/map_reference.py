"""An independent statement of the penalised joint likelihood: a list of cells, and derivatives by differences only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psychoeval import item_model
from psychoeval.estimators.native.map import MAP
from psychoeval.estimators.native.map_objective import Slopes
from psychoeval.estimators.native.map_penalty import Penalty
from psychoeval.irt.models import Normal, PriorsLike
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]

PUBLISHED = Penalty(Normal(0.0, 0.5), Normal(0.0, 2.0), True)
WEAK = Penalty(Normal(0.0, 0.5), Normal(0.0, 3.0), False)
SLOPE_ONLY = Penalty(Normal(0.2, 0.4), None, False)
PENALTIES = {"published": PUBLISHED, "weak": WEAK, "slope only": SLOPE_ONLY}


def reference_objective(
    successes: NDArray[Any], trials: NDArray[Any], penalty: Penalty, *, slopes: Slopes, ability_sd: float = 1.0
) -> Callable[[FloatArray], float]:
    """Return F(theta, u, d) summed over the administered cells, one by one."""
    rows, columns = np.nonzero(trials)
    x, n = successes[rows, columns].astype(float), trials[rows, columns].astype(float)
    n_persons, n_items = trials.shape
    n_slopes = {"fixed": 0, "common": 1, "free": n_items}[slopes]

    def objective(point: FloatArray) -> float:
        theta, u, d = np.split(point, [n_persons, n_persons + n_slopes])
        a = np.exp(u) * np.ones(n_items) if n_slopes else np.ones(n_items)
        eta = a[columns] * theta[rows] + d[columns]
        loss = np.sum(x * np.logaddexp(0, -eta) + (n - x) * np.logaddexp(0, eta))
        prior = np.sum(theta**2) / (2 * ability_sd**2)
        if penalty.slope is not None:
            prior += np.sum((u - penalty.slope.mean) ** 2) / (2 * penalty.slope.sd**2)
        if penalty.location is not None:
            location = -d / a if penalty.on_difficulty else d
            prior += np.sum((location - penalty.location.mean) ** 2) / (2 * penalty.location.sd**2)
        return float(loss + prior)

    return objective


def difference_gradient(function: Callable[[FloatArray], float], point: FloatArray, h: float = 1e-6) -> FloatArray:
    """Return the gradient by central differences."""
    steps = h * np.eye(point.size)
    return np.array([(function(point + s) - function(point - s)) / (2 * h) for s in steps])


def difference_hessian(gradient: Callable[[FloatArray], FloatArray], point: FloatArray, h: float = 1e-5) -> FloatArray:
    """Return the symmetric part of the Jacobian of `gradient` by central differences."""
    rows = np.array([(gradient(point + s) - gradient(point - s)) / (2 * h) for s in h * np.eye(point.size)])
    return (rows + rows.T) / 2


def simulated(
    n: int, j: int, *, trials: int = 1, missing: float = 0.0, seed: int = 0
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return successes and trials of a 2PL, (n, j) each, with about a share `missing` of cells not administered."""
    rng = np.random.default_rng(seed)
    theta, a, b = rng.normal(size=n), np.exp(rng.normal(0, 0.4, j)), rng.normal(size=j)
    p = 1 / (1 + np.exp(-a * (theta[:, None] - b)))
    counts = np.where(rng.random((n, j)) < missing, 0, rng.integers(1, trials + 1, (n, j)))
    return rng.binomial(counts, p).astype(np.uint8), counts.astype(np.uint8)


def responses(n: int, j: int, **options: Any) -> Responses:
    """Return simulated responses; options are those of `simulated`."""
    x, trials = simulated(n, j, **options)
    return Responses.from_array(x, trials)


def fit(data: Responses, model: str = "2PL", priors: PriorsLike = "published", **settings: Any) -> FitResult:
    """Return the fit of `map`, without the warnings of `psychoeval.fit`."""
    return MAP(**settings).fit(data, item_model(model, priors))

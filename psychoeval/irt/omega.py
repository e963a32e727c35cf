"""McDonald's omega: reliability of a total under one factor with unequal loadings. Arrays in, arrays out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from psychoeval.irt.classical import CountArray, FloatArray, score_blocks
from psychoeval.irt.reliability import PAIRWISE_MAX_ITEMS

_MAX_ITERATIONS = 2000


class Omega(NamedTuple):
    """Omega, or NaN with the reason; persons n, items k; loadings (k,) on the standardized items."""

    value: float
    n: int
    k: int
    loadings: FloatArray
    reason: str = ""


def omega_one_factor(successes: CountArray, trials: CountArray) -> Omega:
    """Return omega of complete data: (sum s l)^2 / ((sum s l)^2 + sum s^2 (1 - l^2)), loadings l, deviations s.

    One factor is fitted to the correlations by least squares over the off-diagonal cells (minres; Harman & Jones 1966,
    doi 10.1007/BF02289468), which needs no inverse and so takes more items than persons too. McDonald (1999), *Test
    Theory*, ch. 6. Pearson correlations of 0/1 scores shrink with unequal difficulties: this is the reliability of
    the sum, not of a continuous variable behind it. Constant items add nothing to either sum. Not defined with fewer
    than 3 varying items or 3 persons, with a loading of 1 or more (Heywood case), or above 4000 items.

    Parameters
    ----------
    successes, trials : (N, J) count arrays
        Every cell observed.
    """
    n, k = trials.shape
    nothing = np.empty(0)
    if k > PAIRWISE_MAX_ITEMS:
        return Omega(np.nan, n, k, nothing, f"it is not computed above {PAIRWISE_MAX_ITEMS} items")
    if n < 3:
        return Omega(np.nan, n, k, nothing, f"{n} persons saw every item")
    x = np.empty((k, n))
    for part, scores, _ in score_blocks(successes.T, trials.T):
        x[part] = scores
    x -= x.mean(axis=1, keepdims=True)
    s = np.sqrt(np.einsum("ij,ij->i", x, x) / (n - 1))
    varying = s > 1e-12
    x, s = x[varying] / s[varying, None], s[varying]
    if s.size < 3:
        return Omega(np.nan, n, s.size, nothing, f"{s.size} items vary, and a factor needs three")
    loadings = minres_loadings(x @ x.T / (n - 1))
    if loadings is None:
        return Omega(np.nan, n, s.size, nothing, "the factor's least squares did not converge")
    if np.abs(loadings).max() >= 1:
        return Omega(np.nan, n, s.size, loadings, "an item has a loading of 1 or more (Heywood case)")
    common = float(s @ loadings) ** 2
    unique = float((s * s) @ (1 - loadings**2))
    return Omega(common / (common + unique), n, s.size, loadings)


def minres_loadings(correlation: FloatArray) -> FloatArray | None:
    """Return loadings (k,) of one factor that minimize the squared off-diagonal residuals, or None.

    Parameters
    ----------
    correlation : (k, k) array
        With ones on the diagonal.
    """
    off = correlation - np.eye(len(correlation))
    start = np.ones(len(off))
    for _ in range(30):  # near the first principal axis: a start, not an answer
        start = correlation @ start
        start /= max(float(np.linalg.norm(start)), 1e-300)

    def objective(loadings: FloatArray) -> tuple[float, FloatArray]:
        # Sum over i != j of (r_ij - l_i l_j)^2, but for the constant sum of r_ij^2.
        image, size = off @ loadings, float(loadings @ loadings)
        value = size**2 - float(np.sum(loadings**4)) - 2 * float(loadings @ image)
        return value, 4 * (size * loadings - loadings**3 - image)

    start *= np.sqrt(max(float(start @ off @ start), 1e-4))
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B",
        options={"maxiter": _MAX_ITERATIONS, "maxfun": 2 * _MAX_ITERATIONS, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    loadings: FloatArray = np.asarray(found.x)
    gradient = np.abs(objective(loadings)[1]).max()
    if not gradient < 1e-5 * max(1.0, float(loadings @ loadings)):
        return None
    return loadings * (1.0 if loadings.sum() >= 0 else -1.0)

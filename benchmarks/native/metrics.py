"""How good a fit is, from its arrays and the truth alone: the same for every program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from scipy.stats import kendalltau, t

from benchmarks.native.data import MISSING, Simulated, Truth
from psychoeval.irt.quadrature import posterior_grid

FloatArray = NDArray[np.float64]
#: Of a 95 % interval estimate -+ z SE.
Z95 = 1.959963984540054
_BLOCK_CELLS = 1 << 21


@dataclass(frozen=True, slots=True)
class Estimates:
    """What a program returned, in its own frame: theta (N,); a, d (J,) with logit P = a theta + d; errors where given.

    Errors are None where the program has none.
    """

    theta: FloatArray
    a: FloatArray
    d: FloatArray
    theta_se: FloatArray | None = None
    a_se: FloatArray | None = None
    b_se: FloatArray | None = None

    @property
    def b(self) -> FloatArray:
        """Difficulties -d / a, (J,)."""
        return -self.d / self.a


@dataclass(frozen=True, slots=True)
class Clustered:
    """Mean over seeds, and its 95 % Monte Carlo interval with the seed as the unit; NaN limits for one seed."""

    mean: float
    low: float
    high: float
    seeds: int


def clustered(values: list[float]) -> Clustered:
    """Return the mean of one value a seed with mean -+ t(S - 1) SD / sqrt(S).

    Persons (or items) of one seed share their items' (or persons') errors: S x N of them are not independent.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.size < 2:
        return Clustered(float(x.mean()) if x.size else np.nan, np.nan, np.nan, x.size)
    half = float(t.ppf(0.975, x.size - 1) * x.std(ddof=1) / np.sqrt(x.size))
    return Clustered(float(x.mean()), float(x.mean()) - half, float(x.mean()) + half, x.size)


def correlation(x: FloatArray, y: FloatArray) -> float:
    """Return Pearson's r over the places where both are finite."""
    both = np.isfinite(x) & np.isfinite(y)
    with np.errstate(invalid="ignore", divide="ignore"):  # of a constant
        return float(np.corrcoef(x[both], y[both])[0, 1]) if both.sum() > 1 else np.nan


def coverage(estimate: FloatArray, error: FloatArray | None, truth: FloatArray) -> float:
    """Return the share of estimate -+ 1.96 error that hold the truth, over those that are finite."""
    if error is None:
        return np.nan
    known = np.isfinite(estimate) & np.isfinite(error)
    inside = np.abs(estimate[known] - truth[known]) <= Z95 * error[known]
    return float(inside.mean()) if known.any() else np.nan


def held_out_loss(found: Estimates, truth: Truth, observed: NDArray[np.bool_] | None = None) -> float:
    """Return the expected loss of log-likelihood per 1,000 new responses of the same cells, against the truth.

    1000 mean_ij [P log(P / Phat) + (1 - P) log((1 - P) / (1 - Phat))], Phat at the point estimates: the exact
    expectation over the new responses, with no draw. NaN if an estimate is missing.

    Parameters
    ----------
    found : Estimates
    truth : Truth
        In the frame it was drawn in: the loss does not depend on the frame.
    observed : (N, J) array of bool, optional
        The cells it is averaged over; default all.
    """
    total, step = 0.0, max(1, _BLOCK_CELLS // truth.a.size)
    for start in range(0, truth.theta.size, step):
        rows = slice(start, start + step)
        true = truth.a * (truth.theta[rows, None] - truth.b)
        p = expit(true)
        # log P - log(1 - P) is the logit, so that KL = P (logit - logit_hat) + log(1 - P) - log(1 - Phat).
        fitted = found.theta[rows, None] * found.a + found.d
        loss = p * (true - fitted) + log_expit(-true) - log_expit(-fitted)
        total += float(loss.sum() if observed is None else loss[observed[rows]].sum())
    cells = truth.theta.size * truth.a.size if observed is None else int(np.count_nonzero(observed))
    return 1000.0 * total / cells


def expected_loss(n_persons: int, n_items: int, cells: int) -> float:
    """Return the loss that maximum likelihood is expected to have, per 1,000 responses: 1000 p / (2 n).

    p = 2 J + N - 2 parameters (slopes, intercepts and abilities, less the origin and unit of the scale) estimated
    from n cells: half a unit of log-likelihood each. What priors hold counts for less, so a shrunken fit can do better.
    """
    return 1000.0 * (2 * n_items + n_persons - 2) / (2 * cells)


def marginal_log_likelihood(cells: NDArray[np.uint8], a: FloatArray, d: FloatArray) -> float:
    """Return the marginal log-likelihood under N(0, 1) on a grid fine enough for every posterior."""
    trials = (cells != MISSING).astype(np.uint8)
    successes = np.where(trials, cells, 0).astype(np.uint8)
    return float(posterior_grid(successes, trials, a, d, np.zeros_like(a))[1].log_marginal.sum())


def recovery(found: Estimates, data: Simulated) -> dict[str, float]:
    """Return every metric that needs the truth, under the names of the table.

    Slopes, difficulties, abilities and intervals are judged as they came, against the sample-standardised truth; items
    with a slope of 0 or below have no log a.
    """
    truth = data.truth.standardised()
    with np.errstate(invalid="ignore", divide="ignore"):
        log_a = np.where(found.a > 0, np.log(found.a), np.nan)
        b = found.b
    observed = data.cells != MISSING
    finite = np.isfinite(found.theta)
    return {
        "tau": float(kendalltau(found.theta[finite], truth.theta[finite]).statistic) if finite.sum() > 1 else np.nan,
        "r_b": correlation(b, truth.b),
        "r_log_a": correlation(log_a, np.log(truth.a)),
        "slope_ratio": float(np.nanmedian(found.a / truth.a)) if np.isfinite(found.a).any() else np.nan,
        "cover_theta": coverage(found.theta, found.theta_se, truth.theta),
        "cover_a": coverage(found.a, found.a_se, truth.a),
        "cover_b": coverage(b, found.b_se, truth.b),
        "loss": held_out_loss(found, data.truth, None if observed.all() else observed),
        "expected_loss": expected_loss(data.truth.theta.size, data.truth.a.size, int(np.count_nonzero(observed))),
    }

"""Rasch abilities from raw scores, with the difficulties held fixed."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.unsignedinteger]

_BLOCK: Final = 1 << 20
#: Of an ability, logits.
_EXACT: Final = 1e-12
_STEPS: Final = 200


def ml(successes: CountArray, trials: CountArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return maximum likelihood abilities and standard errors, (N,) each; infinite for none or all right.

    Parameters
    ----------
    successes, trials : (N, J) arrays
        Everybody with at least one trial.
    intercept : (J,) array
    """
    return _score(successes, trials, intercept, weight=0.0)


def wle(successes: CountArray, trials: CountArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Warm's weighted likelihood abilities and standard errors 1 / sqrt(information), (N,) each.

    The root of r - sum k p + sum k p (1 - p) (1 - 2 p) / (2 sum k p (1 - p)). Parameters are those of `ml`.
    Source: Warm (1989), Psychometrika 54, eq. 10.
    """
    return _score(successes, trials, intercept, weight=0.5)


def _score(
    successes: CountArray, trials: CountArray, intercept: FloatArray, weight: float
) -> tuple[FloatArray, FloatArray]:
    estimate, error = np.empty(len(trials)), np.empty(len(trials))
    step = max(1, _BLOCK // intercept.size)
    for at in range(0, len(trials), step):
        part = slice(at, at + step)
        totals = successes[part].sum(axis=1, dtype=np.float64)
        estimate[part], error[part] = _roots(totals, trials[part].astype(np.float64), intercept, weight)
    return estimate, error


def _roots(
    totals: FloatArray, trials: FloatArray, intercept: FloatArray, weight: float
) -> tuple[FloatArray, FloatArray]:
    most = trials.sum(axis=1)
    extreme = (totals == 0) | (totals == most) if weight == 0 else np.zeros(totals.shape, bool)
    far = np.abs(intercept).max() + np.log(most) + 10
    low, high = -far, far.copy()
    theta = np.log((totals + 0.5) / (most - totals + 0.5)) - (trials @ intercept) / most
    for _ in range(_STEPS):
        p = expit(intercept + theta[:, None])
        v = trials * p * (1 - p)
        information = v.sum(axis=1)
        score = totals - (trials * p).sum(axis=1) + weight * (v * (1 - 2 * p)).sum(axis=1) / information
        low, high = np.where(score > 0, theta, low), np.where(score < 0, theta, high)
        new = theta + score / information
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        change, theta = np.abs(new - theta), np.where(score == 0, theta, new)
        if (change <= _EXACT * (1 + np.abs(theta)))[~extreme].all():
            break
    p = expit(intercept + theta[:, None])
    error = 1 / np.sqrt((trials * p * (1 - p)).sum(axis=1))
    return np.where(extreme, np.where(totals == 0, -np.inf, np.inf), theta), np.where(extreme, np.inf, error)

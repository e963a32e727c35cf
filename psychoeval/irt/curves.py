"""Item response curves and likelihoods of the logistic models."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

FloatArray = NDArray[np.float64]


def probability(
    theta: ArrayLike, discrimination: ArrayLike, intercept: ArrayLike, guessing: ArrayLike = 0.0
) -> FloatArray:
    """Return the probability of success, P = c + (1 - c) / (1 + exp(-(a theta + d))).

    Parameters
    ----------
    theta : (N,) array-like
        Abilities or nodes, in logits.
    discrimination, intercept, guessing : (J,) array-like or scalar
        a, d = -a b, and c.

    Returns
    -------
    (N, J) array

    Examples
    --------
    >>> probability([0.0], [1.0, 2.0], [0.0, 0.0], [0.0, 0.2])
    array([[0.5, 0.6]])
    """
    c = np.asarray(guessing, float)
    logit = np.multiply.outer(np.asarray(theta, float), np.asarray(discrimination, float)) + np.asarray(intercept)
    return np.asarray(c + (1.0 - c) * expit(logit), dtype=np.float64)


def log_probabilities(
    theta: ArrayLike, discrimination: ArrayLike, intercept: ArrayLike, guessing: ArrayLike = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Return log P and log(1 - P), each (N, J), without underflow at any logit.

    Parameters are those of `probability`. log(1 - P) = log(1 - c) + log(1 - expit(logit)).
    """
    c = np.asarray(guessing, float)
    logit = np.multiply.outer(np.asarray(theta, float), np.asarray(discrimination, float)) + np.asarray(intercept)
    log_failure = log_expit(-logit) + np.log1p(-c)
    if not np.any(c):
        return log_expit(logit), log_failure
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(c), np.log1p(-c) + log_expit(logit)), log_failure


def information(
    theta: ArrayLike, discrimination: ArrayLike, intercept: ArrayLike, guessing: ArrayLike = 0.0
) -> FloatArray:
    """Return Fisher's item information, (N, J): a^2 ((P - c) / (1 - c))^2 (1 - P) / P.

    Parameters are those of `probability`; with c = 0 this is a^2 P (1 - P).
    Source: Lord (1980), Applications of item response theory, eq. 5-9.
    """
    a, c = np.asarray(discrimination, float), np.asarray(guessing, float)
    p = probability(theta, a, intercept, c)
    return np.asarray(a**2 * ((p - c) / (1.0 - c)) ** 2 * (1.0 - p) / p, dtype=np.float64)


def pearson_chi_squared(successes: FloatArray, trials: FloatArray, p: FloatArray) -> float:
    """Return the sum of (x - n p)^2 / (n p (1 - p)) over cells; those without variance add nothing."""
    variance = trials * p * (1.0 - p)
    square = (successes - trials * p) ** 2
    return float(np.divide(square, variance, out=np.zeros_like(square), where=variance > 0).sum())


def node_log_likelihood(
    successes: NDArray[np.generic],
    trials: NDArray[np.generic],
    nodes: ArrayLike,
    discrimination: ArrayLike,
    intercept: ArrayLike,
    guessing: ArrayLike = 0.0,
) -> FloatArray:
    """Return each person's log-likelihood at every node, without the binomial constant.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
        Trials of 0 are cells that were not administered.
    nodes : (Q,) array-like
        Abilities, in logits.
    discrimination, intercept, guessing : (J,) array-like

    Returns
    -------
    (N, Q) array
        sum_j x_ij log P_jq + (n_ij - x_ij) log(1 - P_jq): two matrix products.
    """
    log_success, log_failure = log_probabilities(nodes, discrimination, intercept, guessing)
    x = np.asarray(successes, dtype=np.float64)
    failures = np.asarray(trials, dtype=np.float64) - x
    return np.asarray(x @ log_success.T + failures @ log_failure.T, dtype=np.float64)

"""Posterior of abilities from scores on few items: errors made regular, then shrinkage. Arrays in, arrays out."""

from __future__ import annotations

from typing import Final

import numpy as np

from psychoeval.irt.classical import FloatArray
from psychoeval.irt.ranking import NormalPosterior, shrink

#: Variance of a system beside the others', as a share of the mean one, at least.
_LEAST: Final = 0.05


def items_sampled_posterior(
    estimate: FloatArray, covariance: FloatArray, n_items: FloatArray, df: float
) -> NormalPosterior:
    """Return the posterior of N abilities given scores on one sample of items, differences only.

    `shrink` with errors made regular in two ways. A covariance estimated with df degrees of freedom has no more than df
    directions with any error, and with N systems the rest look known for certain: it is drawn toward that of errors
    independent but for the items in common (Schäfer & Strimmer 2005, doi 10.2202/1544-6115.1175, their target D), by

        lambda = sum over i != j of (s_ij^2 + s_ii s_jj) / df  /  sum over i != j of (s_ij - t_ij)^2,  at most 1,

    the share that sampling errors have in what tells the two apart (normal theory). And a score near 0 or 1 shows less
    spread than it has on other items: the independent errors are kappa m (1 - m) / n at the shrunken score m of n
    items, kappa such that their sum is the observed one. An ability that all share is left out: it moves no rank.

    Parameters
    ----------
    estimate : (N,) array
        Scores on the proportion scale.
    covariance : (N, N) array
        Of their errors, which items are drawn; from `df` degrees of freedom.
    n_items : (N,) array
        Items that each score rests on.
    df : float
    """
    n = estimate.size
    contrast = np.eye(n) - 1 / n
    seen = contrast @ covariance @ contrast
    mean = float(np.trace(seen)) / (n - 1)
    if not mean > 0:
        return shrink(estimate, seen)
    own = (np.diag(seen) - mean / n) / (1 - 2 / n) if n > 2 else np.full(n, mean)
    own = np.maximum(own, _LEAST * mean)
    target = contrast @ np.diag(own) @ contrast
    weight = _weight_of_target(seen, target, df)
    middle = shrink(estimate, (1 - weight) * seen + weight * target).mean
    smooth = _variance_at(middle, estimate, own, n_items)
    return shrink(estimate, (1 - weight) * seen + weight * (contrast @ np.diag(smooth) @ contrast))


def _weight_of_target(seen: FloatArray, target: FloatArray, df: float) -> float:
    variance, off = np.diag(seen), ~np.eye(len(seen), dtype=bool)
    apart = float(np.sum((seen - target)[off] ** 2))
    by_chance = float(np.sum((seen**2 + np.outer(variance, variance))[off])) / df
    return 1.0 if by_chance >= apart else by_chance / apart


def proportions_posterior(estimate: FloatArray, covariance: FloatArray, n_units: FloatArray) -> NormalPosterior:
    """Return the posterior of N abilities given proportions with known errors.

    `shrink`, with variances kappa m (1 - m) / n at the shrunken score m as in `items_sampled_posterior`, and the
    correlations as they are: few items tell little of their own spread, and none at a perfect score.

    Parameters
    ----------
    estimate : (N,) array
    covariance : (N, N) array
    n_units : (N,) array
        Items, or clusters of items, that each score rests on.
    """
    own = np.diag(covariance)
    if not (own > 0).all():
        return shrink(estimate, covariance)
    middle = shrink(estimate, covariance).mean
    scale = np.sqrt(_variance_at(middle, estimate, own, n_units) / own)
    return shrink(estimate, covariance * np.outer(scale, scale))


def _variance_at(middle: FloatArray, estimate: FloatArray, variance: FloatArray, n: FloatArray) -> FloatArray:
    """Return kappa m (1 - m) / n at scores `middle`; kappa gives the sum of `variance` at the scores `estimate`."""
    at, seen = (p * (1 - p) / n for p in (_inside(middle, n), _inside(estimate, n)))
    return np.asarray(at * (variance.sum() / seen.sum()))


def _inside(score: FloatArray, n_items: FloatArray) -> FloatArray:
    """Return scores at least half an item from 0 and 1."""
    return np.clip(score, 0.5 / n_items, 1 - 0.5 / n_items)

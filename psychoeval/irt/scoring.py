"""Abilities of persons under known items: EAP, MAP, maximum likelihood, Warm's estimate.

The model is P = c + (1 - c) L with L = expit(a theta + d); slopes may be of both signs. Successes are binomial counts.
Everybody without trials gets NaN.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psychoeval.irt.curves import log_probabilities
from psychoeval.irt.quadrature import Grid, person_blocks
from psychoeval.irt.score_equations import (
    KnownItems,
    Score,
    information_terms,
    log_likelihood_at,
    search_nodes,
    solve,
    sums_at,
    warm_terms,
)
from psychoeval.irt.score_posteriors import posterior_moments

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.generic]
Kind = Literal["MAP", "ML", "WLE"]

#: As good as infinite: a times it exceeds every logit, and sums over items and trials stay finite.
_FAR: Final = 1e200
#: A maximum inside counts as one if it exceeds the limits by more than rounding, relative to their size.
_ROUNDING: Final = 1e-11


def known_items(a: ArrayLike, d: ArrayLike, c: ArrayLike) -> KnownItems:
    """Return items from slopes, intercepts and lower asymptotes, (J,) each or scalars that are repeated."""
    a, d, c = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (a, d, c)))
    return KnownItems(np.atleast_1d(a), np.atleast_1d(d), np.atleast_1d(c))


def eap(
    successes: CountArray,
    trials: CountArray,
    a: ArrayLike,
    d: ArrayLike,
    c: ArrayLike,
    *,
    mean: float = 0.0,
    sd: float = 1.0,
    law: Grid | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return posterior means and SDs of N persons.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
        Trials of 0 are cells that were not administered.
    a, d, c : (J,) arrays
        Slopes, intercepts, lower asymptotes.
    mean, sd : float
        Of the normal distribution of the abilities.
    law : Grid, optional
        A histogram instead: its density is linear between its nodes and 0 beyond.

    Returns
    -------
    estimate, standard_error : (N,) arrays
        In logits, by the trapezoid rule on nodes as fine as the narrowest posterior asks, in log space.
    """
    return posterior_moments(successes, trials, known_items(a, d, c), mean=mean, sd=sd, law=law)


def map_(
    successes: CountArray,
    trials: CountArray,
    a: ArrayLike,
    d: ArrayLike,
    c: ArrayLike,
    *,
    mean: float = 0.0,
    sd: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Return posterior modes under a normal distribution, and standard errors 1 / sqrt(I + 1 / sd^2), (N,) each.

    I is Fisher's expected information of the test at the mode; without guessing it is the observed one. With guessing
    the posterior may have several modes: the highest is taken. Parameters are those of `eap`.
    """
    return _roots(successes, trials, known_items(a, d, c), "MAP", mean, sd)


def ml(
    successes: CountArray, trials: CountArray, a: ArrayLike, d: ArrayLike, c: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return maximum likelihood abilities and standard errors 1 / sqrt(I), (N,) each.

    An estimate is -inf or +inf, with an error of inf, where the likelihood is highest in that limit: without guessing
    where the score function sum_j a (x - n P) has no root, with guessing also where the limit exceeds the highest
    maximum inside. NaN where no administered item has a slope. Parameters are those of `eap`.
    """
    return _roots(successes, trials, known_items(a, d, c), "ML")


def wle(
    successes: CountArray, trials: CountArray, a: ArrayLike, d: ArrayLike, c: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return Warm's weighted likelihood abilities and standard errors 1 / sqrt(I), (N,) each.

    The root of s + J / (2 I) with the score s, I = sum n P'^2 / (P (1 - P)) and J = sum n P' P'' / (P (1 - P)), which
    takes off the bias -J / (2 I^2) of maximum likelihood, for guessing too. Among several roots the one of the largest
    weighted likelihood, whose log weight is the integral of J / (2 I). Finite for every pattern; NaN where no
    administered item has a slope. Parameters are those of `eap`.
    Source: Warm (1989), Psychometrika 54, 427-450, doi:10.1007/BF02294627.
    """
    return _roots(successes, trials, known_items(a, d, c), "WLE")


def information(trials: CountArray, theta: FloatArray, items: KnownItems) -> FloatArray:
    """Return Fisher's expected information of each person's test at his ability, (N,); 0 at an infinite one."""
    out = np.zeros(theta.size)
    for rows in person_blocks(theta.size, items.a.size):
        finite = np.isfinite(theta[rows])
        terms = information_terms(np.where(finite, theta[rows], 0.0), items)
        out[rows] = np.where(finite, np.einsum("nj,nj->n", trials[rows].astype(np.float64), terms), 0.0)
    return out


def _roots(
    successes: CountArray, trials: CountArray, items: KnownItems, kind: Kind, mean: float = 0.0, sd: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    precision = sd**-2.0 if kind == "MAP" else 0.0
    nodes = search_nodes(items, mean=mean if kind == "MAP" else None, sd=sd)
    estimate = np.full(len(trials), np.nan)
    asked = np.asarray(trials.any(axis=1) if kind == "MAP" else trials[:, items.a != 0].any(axis=1))
    for rows in person_blocks(len(trials), nodes.size + 2):
        x, n = successes[rows][asked[rows]], trials[rows][asked[rows]]
        if len(n):
            place = np.flatnonzero(asked[rows]) + rows.start
            estimate[place] = _block(x, n, items, nodes, kind, mean, precision)
    with np.errstate(divide="ignore"):
        error = 1.0 / np.sqrt(information(trials, estimate, items) + precision)
    return estimate, np.where(np.isnan(estimate), np.nan, error)


def _block(
    x: CountArray, n: CountArray, items: KnownItems, nodes: FloatArray, kind: Kind, mean: float, precision: float
) -> FloatArray:
    """Return the estimates of a block: the best node, then the root that it belongs to, then the limits."""
    table = log_likelihood_at(x, n, np.concatenate(([-_FAR], nodes, [_FAR])), items)
    limits, inside = table[:, [0, -1]], table[:, 1:-1]
    if kind == "WLE":
        inside = inside + _log_weight(n, nodes, items)
    inside = inside - 0.5 * precision * (nodes - mean) ** 2
    best = np.argmax(inside, axis=1)
    gaps = np.diff(nodes)
    gap = np.maximum(gaps[np.clip(best - 1, 0, gaps.size - 1)], gaps[np.clip(best, 0, gaps.size - 1)])
    certain = np.zeros(len(n), dtype=bool)
    if kind == "ML" and not items.guessed:  # concave: a finite limit is the supremum
        certain = limits.max(axis=1) > -np.sqrt(_FAR)
    theta = np.full(len(n), np.nan)
    todo = np.flatnonzero(~certain)
    for part in person_blocks(todo.size, items.a.size):
        who = todo[part]
        equation = Score(
            x[who].astype(np.float64), n[who].astype(np.float64), items, mean, precision, kind == "WLE",
            float(nodes.mean()),
        )  # fmt: skip
        theta[who] = solve(equation, nodes[best[who]], gap[who])
    if kind != "ML":
        return theta
    highest = _log_likelihood(x, n, theta, items)
    top = limits.max(axis=1)
    infinite = certain | np.isinf(theta) | ((top > -np.sqrt(_FAR)) & (top >= highest - _ROUNDING * (1 + np.abs(top))))
    return np.where(infinite, np.where(limits[:, 1] >= limits[:, 0], np.inf, -np.inf), theta)


def _log_weight(n: CountArray, nodes: FloatArray, items: KnownItems) -> FloatArray:
    """Return the log of Warm's weight at the nodes, (N, Q): the integral of J / (2 I); log(I) / 2 without guessing."""
    info = sums_at(n, nodes, items, information_terms)
    if not items.guessed:
        return np.asarray(0.5 * np.log(np.maximum(info, np.finfo(float).tiny)))
    bias = sums_at(n, nodes, items, warm_terms)
    known = info > np.finfo(float).tiny
    ratio = np.divide(bias, 2.0 * info, out=np.zeros_like(info), where=known)
    pieces = 0.5 * (ratio[:, 1:] + ratio[:, :-1]) * np.diff(nodes)
    return np.concatenate((np.zeros((len(n), 1)), np.cumsum(pieces, axis=1)), axis=1)


def _log_likelihood(x: CountArray, n: CountArray, theta: FloatArray, items: KnownItems) -> FloatArray:
    """Return each person's log-likelihood at his own ability, (N,); NaN where it is not finite."""
    out = np.full(theta.size, np.nan)
    finite = np.flatnonzero(np.isfinite(theta))
    for part in person_blocks(finite.size, items.a.size):
        who = finite[part]
        success, failure = log_probabilities(theta[who], items.a, items.d, items.c)
        right, tried = x[who].astype(np.float64), n[who].astype(np.float64)
        out[who] = np.einsum("nj,nj->n", right, success) + np.einsum("nj,nj->n", tried - right, failure)
    return out

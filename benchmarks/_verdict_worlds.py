"""Worlds whose truth is known, for the calibration of the verdict: also those that break what a fit takes for granted.

A system answers item j with P = c_j + (1 - c_j) expit(a_j (theta_d(j) - b_j) + u_f(j)), b ~ N(0, 1.5), a ~ LN(0, .3):

- independent: one ability, N(0, 1) or skewed (skewness -1.41), c = 0, u = 0;
- relatives, clones: families of ten systems with abilities within .3 of the family's (SD), which also share what they
  know of each item: u ~ N(0, 1) or N(0, 2), drawn for each family and item;
- at random, by ability: cells not run at random, or the rarer the harder the item is for the system;
- two abilities: a half of the items asks for one, the others for another, correlation .6;
- guessing: c of each item from the default prior of the 3PL (median .25).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from benchmarks._interval_worlds import SD_B, SD_LOG_A, FloatArray
from psychoeval.irt.models import DEFAULT_GUESSING_PRIOR, LogitNormal
from psychoeval.responses.matrix import Responses

#: Correlation of two abilities; SD of abilities within a family; logits by which a cell is run more rarely, a logit.
CORRELATION: Final = 0.6
WITHIN: Final = 0.3
BY_ABILITY: Final = 1.5


@dataclass(frozen=True, slots=True)
class Design:
    """A kind of world: N systems, J items, and what it breaks."""

    persons: int
    items: int
    skewed: bool = False
    families: int = 0
    shared: float = 0.0
    missing: float = 0.0
    by_ability: bool = False
    two_abilities: bool = False
    guessing: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class VerdictWorld:
    """Responses, and what is true of them.

    Parameters
    ----------
    responses : Responses
    expected : (N,) array
        Expected score on items like these, all drawn anew: the order that a ranking is about.
    on_these : (N,) array
        Expected score on these items.
    center, unit : float
        Mean and SD of these systems' abilities; of two abilities, of their sum with variance 1.
    a, b : (J,) arrays
        Of the 2PL curve nearest to each item's curve over a normal population (`nearest_curves`); where a 2PL is true,
        its own.
    """

    responses: Responses
    expected: FloatArray
    on_these: FloatArray
    center: float
    unit: float
    a: FloatArray
    b: FloatArray


def draw(design: Design, seed: int) -> VerdictWorld:
    """Draw a world of a design."""
    rng = np.random.default_rng(seed)
    n, j = design.persons, design.items
    family = np.arange(n) % max(design.families, 1)
    theta = _abilities(design, family, rng)
    a, b = rng.lognormal(0, SD_LOG_A, j), rng.normal(0, SD_B, j)
    c = np.zeros(j)
    if design.guessing:
        assert isinstance(DEFAULT_GUESSING_PRIOR, LogitNormal)
        c = expit(rng.normal(DEFAULT_GUESSING_PRIOR.mean, DEFAULT_GUESSING_PRIOR.sd, j))
    known = design.shared * rng.normal(size=(max(design.families, 1), j))
    asks = np.arange(j) % theta.shape[1]
    distance = theta[:, asks] - b
    p = c + (1 - c) * expit(a * distance + known[family])
    x = (rng.random((n, j)) < p).astype(np.int64)
    run = (rng.random((n, j)) >= _not_run(design, distance)).astype(np.int64)
    along, beside = (np.sqrt((1 + CORRELATION) / 2), np.sqrt((1 - CORRELATION) / 2)) if design.two_abilities else (1, 0)
    one = theta.mean(axis=1) / along  # of two abilities with correlation r, the mean has the variance (1 + r) / 2
    nearest = nearest_curves(a * along, -a * b, c, np.hypot(a * beside, design.shared))
    return VerdictWorld(
        Responses.from_array(x * run, trials=run, person_label="system"),
        _score(theta, design.shared).mean(axis=1),
        p.mean(axis=1),
        float(one.mean()),
        float(one.std()),
        nearest[0],
        -nearest[1] / nearest[0],
    )


def _abilities(design: Design, family: np.ndarray, rng: np.random.Generator) -> FloatArray:
    """Return the abilities (N, 1), or (N, 2) of two, each with mean 0 and variance 1 in the population."""
    n = design.persons
    if design.skewed:
        return np.asarray((2 - rng.gamma(2, size=(n, 1))) / np.sqrt(2))
    if design.families:
        of_family = rng.normal(size=(design.families, 1))[family]
        return np.asarray(np.sqrt(1 - WITHIN**2) * of_family + WITHIN * rng.normal(size=(n, 1)))
    first = rng.normal(size=(n, 1))
    if not design.two_abilities:
        return first
    second = CORRELATION * first + np.sqrt(1 - CORRELATION**2) * rng.normal(size=(n, 1))
    return np.hstack([first, second])


def _not_run(design: Design, distance: FloatArray) -> FloatArray | float:
    """Return the probability that a cell is not run, `missing` on average."""
    if not design.by_ability:
        return design.missing

    def chance(shift: float) -> FloatArray:
        return np.asarray(expit(shift - BY_ABILITY * distance))

    return chance(float(brentq(lambda shift: float(chance(shift).mean()) - design.missing, -30.0, 30.0)))


def _score(theta: FloatArray, shared: float) -> FloatArray:
    """Return the expected score on items drawn anew, of abilities of any shape (chance, which adds the same, left out).

    a theta - a b + u is normal given a: its mean a theta, its variance a^2 1.5^2 + shared^2.
    """
    (z, by_z), (v, by_v) = _normal_nodes(41), _normal_nodes(15)
    a = np.exp(SD_LOG_A * v)[:, None]
    spread = np.hypot(a * SD_B, shared) * z
    return np.asarray(np.einsum("...vz,v,z", expit(a * theta[..., None, None] + spread), by_v, by_z))


def nearest_curves(slope: FloatArray, intercept: FloatArray, c: FloatArray, noise: FloatArray) -> FloatArray:
    """Return slope and intercept (2, J) of the logistic curve nearest to each item's over a standard normal ability t.

    The item's curve is P(t) = c + (1 - c) E expit(slope t + intercept + e), e ~ N(0, noise^2); nearest in
    Kullback-Leibler divergence: what maximum likelihood of ever more systems comes to where abilities are known
    (White 1982, doi 10.2307/1912526). Newton's method, steps halved: the divergence is convex.
    """
    (t, by_t), (e, by_e) = _normal_nodes(61), _normal_nodes(21)
    logits = slope * t[:, None] + intercept
    p = c + (1 - c) * np.tensordot(expit(logits[..., None] + noise[:, None] * e), by_e, axes=1)
    x = np.stack([t, np.ones(t.size)])
    found = np.stack([slope, intercept])

    def divergence(at: FloatArray) -> FloatArray:
        logits = x.T @ at
        return np.asarray(by_t @ (np.logaddexp(0, logits) - p * logits))

    for _ in range(100):
        q = expit(x.T @ found)
        gradient = x @ (by_t[:, None] * (p - q))
        if np.abs(gradient).max() < 1e-10:
            return found
        hessian = np.einsum("kt,lt,tj->jkl", x, x, by_t[:, None] * q * (1 - q))
        step = np.linalg.solve(hessian, gradient.T[..., None])[..., 0].T
        for _ in range(30):
            step = np.where(divergence(found + step) > divergence(found) + 1e-12, step / 2, step)
        found = found + step
    raise RuntimeError("Newton's method did not converge.")


def _normal_nodes(k: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(k)
    return nodes, weights / weights.sum()

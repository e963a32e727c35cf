"""Simulated worlds, the intervals that a fit prints, and what each of them is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom

from psychoeval.irt.intervals import wald_interval
from psychoeval.irt.models import DEFAULT_GUESSING_PRIOR, LogitNormal
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]
SD_B, SD_LOG_A = 1.5, 0.3


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Responses and what is behind them: theta (N,); a, b, c (J,); trials a cell and share of cells missing."""

    responses: Responses
    theta: FloatArray
    a: FloatArray
    b: FloatArray
    c: FloatArray
    trials: int
    missing: float

    def probability(self, theta: FloatArray) -> FloatArray:
        """Return P at given abilities, (K, J)."""
        return np.asarray(self.c + (1 - self.c) * expit(self.a * (theta[:, None] - self.b)))


def simulate(
    n: int,
    j: int,
    seed: int,
    *,
    trials: int = 1,
    missing: float = 0.0,
    slopes: bool = True,
    guessing: str = "none",
    skewed: bool = False,
) -> World:
    """Draw theta ~ N(0, 1), b ~ N(0, 1.5), a ~ LN(0, .3) or 1, in this order from ``default_rng(seed)``; then cells.

    Parameters
    ----------
    n, j, seed : int
    trials : int
        Of every cell that is run, binomial.
    missing : float
        Share of cells not run, at random.
    slopes : bool
        Whether slopes differ; otherwise they are 1.
    guessing : {"none", "common", "own"}
        One c for all items, or one an item, from the default prior of the 3PL.
    skewed : bool
        Abilities (2 - g) / sqrt(2), g ~ Gamma(2), instead: mean 0, SD 1, skewness -1.41, most of them strong.
    """
    rng = np.random.default_rng(seed)
    theta = (2 - rng.gamma(2, size=n)) / np.sqrt(2) if skewed else rng.normal(0, 1, n)
    b, a = rng.normal(0, SD_B, j), rng.lognormal(0, SD_LOG_A, j)
    a = a if slopes else np.ones(j)
    c = np.zeros(j)
    if guessing != "none":
        assert isinstance(DEFAULT_GUESSING_PRIOR, LogitNormal)
        drawn = rng.normal(DEFAULT_GUESSING_PRIOR.mean, DEFAULT_GUESSING_PRIOR.sd, 1 if guessing == "common" else j)
        c = np.broadcast_to(expit(drawn), (j,)).copy()
    p = c + (1 - c) * expit(a * (theta[:, None] - b))
    # rng.random < P, so that complete binary data are those of the other benchmarks.
    x = (rng.random((n, j)) < p).astype(np.int64) if trials == 1 else rng.binomial(trials, p)
    run = np.where(rng.random((n, j)) < missing, 0, trials) if missing else np.full((n, j), trials)
    return World(Responses.from_array(np.where(run > 0, x, 0), trials=run), theta, a, b, c, trials, missing)


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Limits of one kind of interval (M,), and the truth in the frame that it is about, and in others."""

    name: str
    low: FloatArray
    high: FloatArray
    truths: dict[str, FloatArray]

    def coverage(self, frame: str, which: slice | FloatArray = slice(None)) -> float:
        """Return the share of the intervals with finite limits that hold the truth of a frame."""
        low, high, truth = self.low[which], self.high[which], self.truths[frame][which]
        known = np.isfinite(low) & np.isfinite(high) & np.isfinite(truth)
        return float(np.mean(((low <= truth) & (truth <= high))[known])) if known.any() else np.nan

    def thirds(self, frame: str) -> list[float]:
        """Return the coverage in the lowest, middle and highest third of the truth, where there are enough."""
        order = np.argsort(self.truths[frame], kind="stable")
        return [self.coverage(frame, part) for part in np.array_split(order, 3)] if order.size > 8 else []


def intervals(world: World, fit: FitResult) -> Iterator[Interval]:
    """Yield every interval that a fit prints, with its truth in the frames ``sample``, ``drawn`` or the only one."""
    assert fit.abilities is not None
    if fit.abilities.scale == "proportion":
        yield Interval("score", *fit.abilities.interval(), {"only": _score_truth(world, fit.estimator)})
        if fit.estimator == "ctt":
            yield from _classical(world, fit)
        return
    truths = _frames(world, fit)
    yield Interval("ability", *fit.abilities.interval(), {f: t["ability"] for f, t in truths.items()})
    items = fit.item_parameters
    assert items is not None
    errors = items.standard_errors or {}
    for term, name in (("discrimination", "a"), ("difficulty", "b"), ("intercept", "d"), ("guessing", "c")):
        if term in errors and (errors[term] > 0).any():
            error = np.where(errors[term] > 0, errors[term], np.nan)
            limits = wald_interval(getattr(items, term), error)
            if fit.model is not None and fit.model.name == "1PL" and term == "discrimination":
                one = np.flatnonzero(np.isfinite(error))[:1]  # one parameter
                limits = (limits[0][one], limits[1][one])
            yield Interval(name, *limits, {f: t[name][: limits[0].size] for f, t in truths.items()})
    law = fit.latent_distribution
    if law is not None and law.sd_standard_error is not None:
        limits = wald_interval(np.array([law.sd]), np.array([law.sd_standard_error]))
        yield Interval("latent SD", *limits, {f: t["latent SD"] for f, t in truths.items()})


def _frames(world: World, fit: FitResult) -> dict[str, dict[str, FloatArray]]:
    """Return the truth of every term: as drawn; and in the frame of these persons, or, for cml, of these items."""
    assert fit.model is not None
    assert fit.item_parameters is not None
    if fit.estimator == "cml":
        origin = world.b[fit.item_parameters.estimated].mean()
        return {"only": _moved(world, origin, 1.0)}
    unit = 1.0 if fit.model.name == "Rasch" else world.theta.std()
    sample = _moved(world, world.theta.mean(), unit)
    return {"sample": sample | {"latent SD": world.theta.std()[None]}, "drawn": _moved(world, 0.0, 1.0)}


def _moved(world: World, m: float, s: float) -> dict[str, FloatArray]:
    return {
        "ability": (world.theta - m) / s,
        "a": world.a * s,
        "b": (world.b - m) / s,
        "d": world.a * (m - world.b),
        "c": world.c,
        "latent SD": np.ones(1),
    }


def _score_truth(world: World, estimator: str) -> FloatArray:
    """Return the expected score on these items, or for simple-average on all items like these, (N,)."""
    if estimator != "simple-average":
        return world.probability(world.theta).mean(axis=1)
    (b, by_b), (u, by_u) = (_normal_nodes(k) for k in (61, 15))
    slope, location = np.exp(SD_LOG_A * u)[:, None], SD_B * b
    return np.array([by_u @ expit(slope * (t - location)) @ by_b for t in world.theta])


def _normal_nodes(k: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(k)
    return nodes, weights / weights.sum()


def _classical(world: World, fit: FitResult) -> Iterator[Interval]:
    """Yield intervals of item statistics and alpha, about all persons like these on these items."""
    found = fit.item_statistics
    assert found is not None
    assert fit.statistics is not None
    theta, weights = _normal_nodes(81)
    p = world.probability(theta)
    mean = weights @ p
    covariance = (p - mean).T @ (weights[:, None] * (p - mean))
    within = weights @ (p * (1 - p)) / world.trials  # variance of a score beyond the ability's
    j = mean.size
    variance = np.diag(covariance) + within
    yield Interval("proportion", *found.interval("proportion_correct"), {"only": mean})
    # The rest is the mean over m other items, a random subset where cells are missing: its variance is
    # mean covariance + (mean variance - mean covariance) E(1 / m).
    others = j - 1
    total, trace = covariance.sum(), np.trace(covariance)
    pairs = (total - trace - 2 * (covariance.sum(axis=1) - np.diag(covariance))) / (others * (others - 1))
    own = (variance.sum() - variance) / others
    m = np.arange(1, others + 1)
    inverse = float(np.average(1 / m, weights=binom.pmf(m, others, 1 - world.missing)))
    rest = pairs + (own - pairs) * inverse
    with_rest = (covariance.sum(axis=1) - np.diag(covariance)) / others
    truth = with_rest / np.sqrt(variance * rest)
    yield Interval("item-rest r", *found.interval("item_rest_correlation"), {"only": truth})
    if fit.statistics["alpha_low"] is not None:
        total_variance = total + within.sum()
        alpha = j / (j - 1) * (1 - variance.sum() / total_variance)
        limits = (np.array([fit.statistics[k]]) for k in ("alpha_low", "alpha_high"))
        yield Interval("alpha", *limits, {"only": np.array([alpha])})

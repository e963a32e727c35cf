"""Simulation-based calibration of the Stan programs: worlds drawn from the priors, ranks of the truth, tests of them.

If parameters are drawn from the prior and responses from the model, the parameters are one more draw from the
posterior: the rank of a true value among L independent posterior draws is uniform on 0 .. L, over worlds.
Source: Talts, Betancourt, Simpson, Vehtari and Gelman (2018), arXiv:1804.06788.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import chi2

from benchmarks._stan_variants import with_lines
from psychoeval.estimators.stan.data import program, stan_data
from psychoeval.estimators.stan.source import program_source
from psychoeval.estimators.stan.starts import initial_values
from psychoeval.irt.models import Beta, ItemModel, ItemPopulation, LogitNormal, Priors
from psychoeval.responses.matrix import Responses

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Values = dict[str, Any]

#: Polynomials whose means over ranks are tested: location, spread, skew.
MOMENTS = 3
#: What is ranked. The log-likelihood is one number of all parameters and the responses together, and sees faults that
#: no single parameter's rank shows. Source: Modrak et al. (2023), Bayesian Analysis, doi:10.1214/23-BA1404.
QUANTITIES = ("sigma", "theta", "mu_b", "sd_b", "b", "mu_log_a", "sd_log_a", "a", "c", "log_likelihood")


def draw_truth(model: ItemModel, n: int, j: int, rng: np.random.Generator) -> Values:
    """Return parameters drawn from the model's priors, by the names that the programs give them.

    Written from the words of `Priors`, not from the programs or their data.
    """
    priors = model.priors
    assert priors is not None
    out: Values = {}
    population = priors.population
    if model.name == "Rasch":
        out["sigma"] = abs(rng.normal(0, (population or ItemPopulation()).latent_sd.sd))
    out["theta"] = rng.normal(0, out.get("sigma", 1.0), n)
    if population is not None:
        out["mu_b"] = rng.normal(population.mean_difficulty.mean, population.mean_difficulty.sd)
        out["sd_b"] = abs(rng.normal(0, population.sd_difficulty.sd))
    out |= _draw_slopes(model, priors, j, rng)
    if priors.intercept is not None:
        out["d"] = rng.normal(priors.intercept.mean, priors.intercept.sd, j)
        out["b"] = -out["d"] / out.get("a", 1.0)
    else:
        law = priors.difficulty
        mean, sd = (out["mu_b"], out["sd_b"]) if law is None else (law.mean, law.sd)
        out["b"] = rng.normal(mean, sd, j)
    match model.guessing:
        case Beta(alpha, beta):
            out["c"] = rng.beta(alpha, beta, j)
        case LogitNormal(mean, sd):
            out["c"] = expit(rng.normal(mean, sd, j))
        case float() | int():
            out["c"] = np.full(j, float(model.guessing))
    return out


def _draw_slopes(model: ItemModel, priors: Priors, j: int, rng: np.random.Generator) -> Values:
    if model.name == "Rasch":
        return {}
    population = priors.population
    if population is not None:
        law = population.mean_log_discrimination
        mean = rng.normal(law.mean, law.sd)
        if model.name == "1PL":
            return {"a": np.full(j, np.exp(mean))}
        sd = abs(rng.normal(0, population.sd_log_discrimination.sd))
        return {"mu_log_a": mean, "sd_log_a": sd, "a": np.exp(rng.normal(mean, sd, j))}
    if priors.log_discrimination is not None:
        mean, sd = priors.log_discrimination.mean, priors.log_discrimination.sd
    else:
        assert priors.discrimination is not None
        mean, sd = priors.discrimination.meanlog, priors.discrimination.sdlog
    return {"a": np.exp(rng.normal(mean, sd, 1 if model.name == "1PL" else j)) * np.ones(j)}


def log_likelihood(responses: Responses, v: Mapping[str, Any]) -> FloatArray:
    """Return log p(responses | parameters) of each of (..., N) and (..., J) parameters, without binomial constants."""
    a, c = v.get("a", 1.0), v.get("c", 0.0)
    logits = np.asarray(a * np.ones_like(v["b"]))[..., None, :] * (v["theta"][..., :, None] - v["b"][..., None, :])
    c = np.asarray(c * np.ones_like(v["b"]))[..., None, :]
    # log of 1 - P = (1 - c) / (1 + e^x); of P = (c + e^x) / (1 + e^x)
    log_failure = np.log1p(-c) - np.logaddexp(0.0, logits)
    with np.errstate(divide="ignore"):
        log_success = np.logaddexp(np.log(c), logits) - np.logaddexp(0.0, logits)
    x, k = responses.successes, responses.trials
    return np.asarray((x * log_success + (k - x.astype(float)) * log_failure).sum(axis=(-2, -1)))


def draw_responses(truth: Values, n: int, j: int, most_trials: int, rng: np.random.Generator) -> Responses:
    """Return counts of 0 to `most_trials` trials a cell, no person and no item without any."""
    trials = rng.integers(0, most_trials + 1, (n, j))
    trials[np.arange(n), rng.integers(0, j, n)] = most_trials
    trials[rng.integers(0, n, j), np.arange(j)] = most_trials
    p = expit(truth.get("a", 1.0) * (truth["theta"][:, None] - truth["b"]))
    c = truth.get("c", 0.0)
    return Responses.from_array(rng.binomial(trials, c + (1 - c) * p), trials=trials)


@dataclass(frozen=True)
class Calibration:
    """What is calibrated and how.

    Parameters
    ----------
    model : ItemModel
        Truth is drawn from its priors.
    n_persons, n_items, most_trials : int
    fitted : ItemModel, optional
        What is fitted, if not the model itself: what happens when the prior is wrong.
    lines : mapping
        Lines of the program that are replaced: what happens when the program is wrong.
    draws, thin, warmup : int
        Draws kept of each fit, L, one of how many, so that they are nearly independent; and iterations before.
    """

    model: ItemModel
    n_persons: int = 8
    n_items: int = 6
    most_trials: int = 3
    fitted: ItemModel | None = None
    lines: Mapping[str, str] = field(default_factory=dict)
    draws: int = 63
    thin: int = 8
    warmup: int = 300

    def ranks(self, worlds: int, seed: int) -> dict[str, IntArray]:
        """Return, of each quantity, the ranks of the truth and of L draws among these L + 1, (worlds, L + 1, elements).

        The truth is the first.
        """
        import stanli

        model = self.fitted or self.model
        compiled = stanli.stan_to_mir(with_lines(program_source(program(model)), self.lines))
        streams = np.random.SeedSequence(seed).spawn(worlds)
        rows = [self._world(compiled, model, np.random.default_rng(stream)) for stream in streams]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def _world(self, compiled: Any, model: ItemModel, rng: np.random.Generator) -> dict[str, IntArray]:
        truth = draw_truth(self.model, self.n_persons, self.n_items, rng)
        responses = draw_responses(truth, self.n_persons, self.n_items, self.most_trials, rng)
        import stanli

        data = stan_data(responses, model)
        fitted = stanli.Model(mir=compiled, data=data)
        start = initial_values(responses, model, data, chains=1, seed=int(rng.integers(2**31)))
        fit = fitted.sample(
            chains=1, seed=int(rng.integers(1, 2**31)), warmup=self.warmup, samples=self.draws * self.thin, refresh=0,
            thin=self.thin, delta=0.95, inits=[fitted.unconstrain(start[0])],
        )  # fmt: skip
        pool = {}  # the truth, then the draws
        for name in truth.keys() & fit.variables:
            draws = np.asarray(fit.draws(name))[0].reshape(self.draws, -1)
            pool[name] = np.concatenate([np.reshape(truth[name], (1, -1)), draws])
        pool["log_likelihood"] = log_likelihood(responses, pool)[:, None]
        if self.model.name == "1PL":
            pool["a"] = pool["a"][:, :1]
        if not self.model.guessing_is_estimated:
            pool.pop("c", None)
        return {name: pool[name].argsort(axis=0).argsort(axis=0) for name in QUANTITIES if name in pool}


def uniformity(ranks: IntArray) -> tuple[float, FloatArray]:
    """Return the p-value that the truth is like the draws, and z of its location, spread and skew among them.

    Neyman's smooth test: means over worlds of the first Legendre polynomials of ranks. The world is the unit: elements
    of a world (persons, items) are averaged, as they are not independent. If all is right the truth is any one of the
    L + 1, and so mean and covariance of a world's average are those over the L + 1: they are known, not estimated, and
    p is right to a fifth at .001 from 40 worlds on (measured). Spread above 0: truths lie at the ends, posteriors are
    too narrow.

    Parameters
    ----------
    ranks : (worlds, L + 1, elements) array
    """
    x = 2 * (ranks + 0.5) / ranks.shape[1] - 1
    means = np.stack([legendre.legval(x, np.eye(MOMENTS + 1)[k]).mean(axis=2) for k in range(1, MOMENTS + 1)], axis=2)
    means -= means.mean(axis=1, keepdims=True)
    total = means[:, 0].sum(axis=0)
    covariance = np.einsum("wlk,wlm->km", means, means) / ranks.shape[1]
    p = chi2.sf(total @ np.linalg.solve(covariance, total), MOMENTS)
    return float(p), total / np.sqrt(np.diag(covariance))


def chi_square(ranks: IntArray, bins: int) -> float:
    """Return the p-value of the chi-square test that the truth's ranks fill equal bins equally, of the first element.

    The other elements of a world are not independent of it.
    """
    counts = np.bincount(ranks[:, 0, 0] * bins // ranks.shape[1], minlength=bins)
    expected = len(ranks) / bins
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), bins - 1))

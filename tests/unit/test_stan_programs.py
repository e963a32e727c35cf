"""What the Stan programs sample is the model, said plainly in `tests.unit.stan_density`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

from psychoeval.estimators.stan.data import program, stan_data
from psychoeval.estimators.stan.source import program_source
from psychoeval.estimators.stan.starts import initial_values
from psychoeval.irt.curves import node_log_likelihood
from psychoeval.irt.models import (
    Beta,
    HalfNormal,
    ItemModel,
    ItemPopulation,
    LogitNormal,
    LogNormal,
    Normal,
    Priors,
    resolve_priors,
)
from psychoeval.responses.matrix import Responses
from tests.gates import needs
from tests.parity import tolerances
from tests.unit.stan_density import program_log_density, random_parameters
from tests.unit.test_stan_likelihood import TOLERANCE as LIKELIHOOD_TOLERANCE

pytestmark = needs("stanli")

POPULATION = Priors(
    population=ItemPopulation(
        mean_difficulty=Normal(0.5, 1.2),
        sd_difficulty=HalfNormal(0.8),
        mean_log_discrimination=Normal(-0.3, 0.6),
        sd_log_discrimination=HalfNormal(0.7),
        latent_sd=HalfNormal(1.5),
    )
)
ON_D = Priors(log_discrimination=Normal(-0.2, 0.6), intercept=Normal(0.4, 1.5))
ON_B = Priors(discrimination=LogNormal(0.1, 0.4), difficulty=Normal(-0.4, 1.3))

MODELS = [
    *(ItemModel(name, priors) for name in ("Rasch", "1PL", "2PL") for priors in (POPULATION, ON_D, ON_B)),
    ItemModel("2PL", resolve_priors("published")),
    ItemModel("3PL", POPULATION, LogitNormal(-1.1, 0.5)),
    ItemModel("3PL", ON_D, Beta(5, 17)),
    ItemModel("3PL", ON_B, 0.2),
    ItemModel("3PL", ON_B, 0),
]


def some_responses(kind: str) -> Responses:
    rng = np.random.default_rng(3)
    n, j = (6, 4) if "tall" in kind else (4, 6)
    trials = rng.integers(0, 4, (n, j)) if "counts" in kind else (rng.random((n, j)) < 0.8).astype(int)
    trials[0], trials[:, 0] = 1, 1
    return Responses.from_array(rng.binomial(trials, 0.6), trials=trials)


def built(model: ItemModel, data: dict[str, Any]) -> Any:
    import stanli

    return stanli.Model(stan_code=program_source(program(model)), data=data)


@pytest.mark.parametrize("kind", ["tall", "wide", "wide counts"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.label)
def test_a_program_has_the_density_of_its_model(model: ItemModel, kind: str) -> None:
    # N = 4 or 6: the Jacobian is that of all N + 2 parameters of the abilities, by complex steps.
    responses, rng = some_responses(kind), np.random.default_rng(11)
    data = stan_data(responses, model)
    compiled = built(model, data)
    differences = []
    for _ in range(8):
        p = random_parameters(model, data, rng)
        found, _ = compiled.log_prob_grad(compiled.unconstrain(p))
        differences.append(found - program_log_density(model, responses, data, p))
    assert np.ptp(differences) < 1e-9 * max(1, np.abs(differences).max())


def draws_of(
    model: ItemModel, responses: Responses, *, chains: int = 1, warmup: int, samples: int, **asked: bool
) -> Any:
    data = stan_data(responses, model, **asked)
    compiled = built(model, data)
    starts = [compiled.unconstrain(s) for s in initial_values(responses, model, data, chains=chains, seed=1)]
    return compiled.sample(chains=chains, seed=5, warmup=warmup, samples=samples, refresh=0, inits=starts)


def simulated(n: int, j: int, *, trials: int = 1, missing: float = 0.0) -> Responses:
    rng = np.random.default_rng(8)
    p = expit(np.exp(rng.normal(0, 0.4, j)) * (rng.normal(size=(n, 1)) - rng.normal(size=j)))
    n_ij = np.where(rng.random((n, j)) < missing, 0, trials)
    n_ij[0] = n_ij[:, 0] = trials
    return Responses.from_array(rng.binomial(n_ij, p), trials=n_ij)


@pytest.mark.parametrize(
    ("model", "responses"),
    [
        (ItemModel("Rasch", POPULATION), simulated(30, 12)),
        (ItemModel("1PL", ON_B), simulated(30, 12, missing=0.3)),
        (ItemModel("2PL", ON_D), simulated(30, 5)),
        (ItemModel("2PL", POPULATION), simulated(20, 150)),
        (ItemModel("2PL", POPULATION), simulated(20, 30, trials=8, missing=0.3)),
        (ItemModel("3PL", POPULATION, 0), simulated(30, 5)),
        (ItemModel("3PL", POPULATION, 0.2), simulated(20, 150, missing=0.2)),
        (ItemModel("3PL", ON_D, Beta(5, 17)), simulated(30, 5)),
    ],
    ids=lambda value: value.label if isinstance(value, ItemModel) else "x".join(map(str, value.successes.shape)),
)
def test_the_marginal_log_likelihood_is_the_integral(model: ItemModel, responses: Responses) -> None:
    fit = draws_of(model, responses, warmup=150, samples=20, log_likelihood=True)
    nodes = np.linspace(-12, 12, 4801)
    for k in range(0, 20, 5):
        sd = fit["sigma"][k] if model.name == "Rasch" else 1.0
        a = fit["a"][k] if model.name != "Rasch" else np.ones(responses.n_items)
        c = fit["c"][k] if "c" in fit.variables else 0.0
        at_nodes = node_log_likelihood(responses.successes, responses.trials, nodes * sd, a, fit["d"][k], c)
        dense = logsumexp(at_nodes + stats.norm.logpdf(nodes) + np.log(nodes[1] - nodes[0]), axis=1)
        np.testing.assert_allclose(fit["log_lik"][k], dense, rtol=0, atol=LIKELIHOOD_TOLERANCE)


@pytest.mark.parametrize("model", [ItemModel("Rasch", ON_D), ItemModel("3PL", POPULATION)], ids=lambda m: m.name)
def test_replicated_scores_are_drawn_from_the_model_on_the_items_taken(model: ItemModel) -> None:
    responses = simulated(25, 10, trials=3, missing=0.4)
    fit = draws_of(model, responses, warmup=200, samples=400, replicated_scores=True)
    a = fit["a"] if model.name != "Rasch" else np.ones((400, 10))
    c = fit["c"][:, None] if "c" in fit.variables else 0.0
    p = c + (1 - c) * expit(fit["theta"][:, :, None] * a[:, None] + fit["d"][:, None])
    mean, variance = (responses.trials * p).sum(2), (responses.trials * p * (1 - p)).sum(2)
    score = fit["score_rep"]
    assert (score == np.round(score)).all()
    z = (score - mean).sum(0) / np.sqrt(variance.sum(0))
    assert stats.kstest(z, "norm").pvalue > 1e-3  # their seed is fixed
    assert stats.chi2.sf(((score - mean) ** 2 / variance).sum() / score.size * 1e4, 1e4) > 1e-3


@pytest.mark.parametrize(
    ("model", "shape"),
    [(ItemModel(name, POPULATION), (50, 40)) for name in ("Rasch", "1PL", "2PL")]
    + [(ItemModel("2PL", ON_D), (40, 60)), (ItemModel("2PL", ON_B), (200, 12))],
    ids=lambda value: value.label if isinstance(value, ItemModel) else "x".join(map(str, value)),
)
def test_sampling_begins_in_about_the_right_units(model: ItemModel, shape: tuple[int, int]) -> None:
    responses = simulated(*shape)
    fit = draws_of(model, responses, warmup=200, samples=300)
    data = stan_data(responses, model)
    units = {"z": data["width"], "location_raw": data["scale_location"], "slope_raw": data.get("scale_slope")}
    units |= {"log_slope": data.get("scale_common"), "log_s": data.get("scale_common")}
    units |= dict.fromkeys(("mu_slope", "log_sd_slope", "mu_place", "log_sd_place"), shape[1] ** -0.5)
    for name, unit in units.items():
        if name in fit.variables and fit[name].size:
            ratio = np.median(fit[name].std(axis=0) / unit)
            assert 0.4 < ratio < 2.5, (name, ratio)


PLAIN = """
data { int N; int J; array[N, J] int trials; array[N, J] int successes; }
parameters {
  vector[N] theta; vector[J] za; vector[J] zb;
  real mu_log_a; real<lower=0> sd_log_a; real mu_b; real<lower=0> sd_b;
}
transformed parameters { vector[J] a = exp(mu_log_a + sd_log_a * za); vector[J] b = mu_b + sd_b * zb; }
model {
  theta ~ std_normal(); za ~ std_normal(); zb ~ std_normal();
  mu_log_a ~ normal(-0.3, 0.6); sd_log_a ~ normal(0, 0.7); mu_b ~ normal(0.5, 1.2); sd_b ~ normal(0, 0.8);
  for (i in 1:N) successes[i] ~ binomial_logit(trials[i], a .* (theta[i] - b));
}
"""


def test_the_posterior_is_that_of_a_plain_program() -> None:
    import stanli

    responses, model = simulated(20, 8, trials=2, missing=0.1), ItemModel("2PL", POPULATION)
    ours = draws_of(model, responses, chains=2, warmup=500, samples=2000)
    known = {"N": 20, "J": 8, "trials": responses.trials, "successes": responses.successes}
    plain = stanli.Model(stan_code=PLAIN, data=known).sample(
        chains=2, seed=3, warmup=500, samples=2000, delta=0.95, refresh=0
    )
    for name in ("theta", "a", "b", "mu_log_a", "sd_log_a", "mu_b", "sd_b"):
        one, two = (np.log(f.draws(name)) if name == "a" else f.draws(name) for f in (ours, plain))
        one, two = (draws.reshape(2, 2000, -1) for draws in (one, two))
        errors = [np.array([_mcse(draws[..., k]) for k in range(draws.shape[2])]) for draws in (one, two)]
        off = (one.mean((0, 1)) - two.mean((0, 1))) / np.hypot(*errors)
        assert np.abs(off).max() < tolerances.POSTERIOR_MCSE, name
        ratio = np.log(one.std((0, 1)) / two.std((0, 1)))
        assert np.abs(ratio).max() < 0.2, name


def _mcse(draws: np.ndarray) -> float:
    """Return the Monte Carlo error of the mean of (chains, draws), from ArviZ's effective sample size."""
    from arviz_stats.base import array_stats

    return float(draws.std() / np.sqrt(array_stats.ess(draws, chain_axis=0, draw_axis=1, method="mean")))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.label)
def test_stan_can_start_anywhere_it_is_told_to(model: ItemModel) -> None:
    responses = some_responses("tall")
    data = stan_data(responses, model)
    compiled = built(model, data)
    for start in initial_values(responses, model, data, chains=3, seed=2):
        density, gradient = compiled.log_prob_grad(compiled.unconstrain(start))
        assert np.isfinite(density)
        assert np.isfinite(gradient).all()

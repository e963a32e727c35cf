"""How the 2PL of stan/ mixes beside the same posterior written plainly: ESS, R-hat and seconds, in stanli.

    python benchmarks/stan_mixing.py [--persons 100] [--items 1000] [--warmup 500] [--samples 500] [--delta .9]
                                     [--only ours]

Both have the priors "population" and the fastest likelihood; the plain program samples theta, standard scores of log a
and b, and the population's means and SDs. One run, two chains, a core each; seconds of the wall and of the processor,
which differ on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import stanli
from arviz_stats.base import array_stats

from psychoeval.estimators.stan.data import program, stan_data
from psychoeval.estimators.stan.source import program_source
from psychoeval.estimators.stan.starts import initial_values
from psychoeval.irt.models import ItemModel, resolve_priors
from psychoeval.responses.matrix import Responses

QUANTITIES = ("theta", "a", "b", "mu_log_a", "sd_log_a", "mu_b", "sd_b")

PLAIN = """
data {
  int N; int J; array[N, J] int successes;
  array[2] real slope_prior; real sd_slope_prior; array[2] real location_prior; real sd_location_prior;
}
parameters {
  vector[N] theta; vector[J] za; vector[J] zb;
  real mu_log_a; real<lower=0> sd_log_a; real mu_b; real<lower=0> sd_b;
}
transformed parameters { vector[J] a = exp(mu_log_a + sd_log_a * za); vector[J] b = mu_b + sd_b * zb; }
model {
  theta ~ std_normal(); za ~ std_normal(); zb ~ std_normal();
  mu_log_a ~ normal(slope_prior[1], slope_prior[2]); sd_log_a ~ normal(0, sd_slope_prior);
  mu_b ~ normal(location_prior[1], location_prior[2]); sd_b ~ normal(0, sd_location_prior);
  matrix[J, 1] x = to_matrix(a, J, 1);
  for (i in 1:N) successes[i] ~ bernoulli_logit_glm(x, -a .* b, rep_vector(theta[i], 1));
}
"""


def simulate(n: int, j: int, seed: int = 1) -> Responses:
    rng = np.random.default_rng(seed)
    theta, log_a, b = rng.normal(size=n), rng.normal(-0.2, 0.5, j), rng.normal(0.3, 1.3, j)
    p = 1 / (1 + np.exp(-np.exp(log_a) * (theta[:, None] - b)))
    return Responses.from_array((rng.random((n, j)) < p).astype(int))


def effective(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bulk ESS and R-hat of each quantity in (chains, draws, ...)."""
    flat = draws.reshape(*draws.shape[:2], -1)
    axes = {"chain_axis": 0, "draw_axis": 1}
    return (
        np.array([array_stats.ess(x, method="bulk", **axes) for x in np.moveaxis(flat, 2, 0)]),
        np.array([array_stats.rhat(x, **axes) for x in np.moveaxis(flat, 2, 0)]),
    )


def measure(name: str, model: Any, starts: Any, options: argparse.Namespace) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    fit = model.sample(
        chains=2, parallel_chains=2, seed=options.seed, warmup=options.warmup, samples=options.samples,
        delta=options.delta, refresh=0, inits=starts,
    )  # fmt: skip
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    leapfrogs = fit.sampler_stats[..., stanli.SAMPLER_COLUMNS.index("n_leapfrog__")].mean()
    print(f"{name}: {wall:.0f} s, {cpu:.0f} s of processor; {leapfrogs:.0f} gradients a draw, "
          f"{int(np.sum(fit.divergences))} divergences", flush=True)  # fmt: skip
    print(f"  {'':10}{'least bulk ESS':>15}{'median':>8}{'ESS/s':>8}{'largest R-hat':>15}")
    for quantity in QUANTITIES:
        ess, rhat = effective(fit.draws(quantity))
        print(f"  {quantity:10}{ess.min():15.0f}{np.median(ess):8.0f}{ess.min() / wall:8.2f}{rhat.max():15.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("persons", 100), ("items", 1000), ("warmup", 500), ("samples", 500)):
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delta", type=float, default=0.9)
    parser.add_argument("--only", choices=("plain", "ours"))
    options = parser.parse_args()
    responses, item_model = simulate(options.persons, options.items), ItemModel("2PL", resolve_priors("population"))
    data = stan_data(responses, item_model)
    print(f"{options.persons} persons x {options.items} items, 2 x ({options.warmup} + {options.samples}) draws")
    if options.only != "plain":
        ours = stanli.Model(stan_code=program_source(program(item_model)), data=data)
        starts = [ours.unconstrain(s) for s in initial_values(responses, item_model, data, chains=2, seed=options.seed)]
        measure("ours", ours, starts, options)
    if options.only != "ours":
        known = ("N", "J", "successes", "slope_prior", "sd_slope_prior", "location_prior", "sd_location_prior")
        measure("plain", stanli.Model(stan_code=PLAIN, data={k: data[k] for k in known}), None, options)


if __name__ == "__main__":
    main()

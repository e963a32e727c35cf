"""Data, and the plain programs that `stan_mixing.py` sets beside ours."""

from __future__ import annotations

from typing import Final

import numpy as np

from psychoeval.responses.matrix import Responses

PLAIN: Final = """
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
NORMALS: Final = "data { int P; } parameters { vector[P] x; } model { x ~ std_normal(); }"


def simulate(persons: int, items: int, seed: int) -> Responses:
    rng = np.random.default_rng(seed)
    theta, log_a, b = rng.normal(size=persons), rng.normal(-0.2, 0.5, items), rng.normal(0.3, 1.3, items)
    p = 1 / (1 + np.exp(-np.exp(log_a) * (theta[:, None] - b)))
    return Responses.from_array((rng.random((persons, items)) < p).astype(int))

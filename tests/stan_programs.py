"""Small Stan programs whose answers are known, for tests of what runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from psychoeval.estimators.stan.backend import SamplingJob

#: Posterior of mu: normal, precision N + 1/s^2, mean sum(y) / precision.
NORMAL = """
data {
  int<lower=0> N;
  vector[N] y;
  real<lower=0> s;
}
parameters {
  real mu;
}
model {
  mu ~ normal(0, s);
  y ~ normal(mu, 1);
}
generated quantities {
  matrix[2, 3] cells;
  vector[0] nothing;
  for (i in 1:2) for (j in 1:3) cells[i, j] = 10 * i + j;
}
"""
NORMAL_DATA: dict[str, Any] = {"N": 4, "y": [1.0, 2.0, 4.0, 0.5], "s": 3.0}

#: Rubin (1981), not centered.
EIGHT_SCHOOLS = """
data {
  int<lower=0> J;
  vector[J] y;
  vector<lower=0>[J] sigma;
}
parameters {
  real mu;
  real<lower=0> tau;
  vector[J] z;
}
transformed parameters {
  vector[J] theta = mu + tau * z;
}
model {
  mu ~ normal(0, 5);
  tau ~ cauchy(0, 5);
  z ~ std_normal();
  y ~ normal(theta, sigma);
}
"""
EIGHT_SCHOOLS_DATA: dict[str, Any] = {
    "J": 8,
    "y": [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0],
    "sigma": [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0],
}

#: No chain gets from one maximum to the other.
TWO_MAXIMA = """
parameters {
  real x;
}
model {
  target += log_mix(0.5, normal_lpdf(x | 100, 1), normal_lpdf(x | -100, 1));
}
"""


def job(folder: Path, source: str = NORMAL, name: str = "normal", **settings: Any) -> SamplingJob:
    """Return a small job of a program that is written to `folder`."""
    program = folder / f"{name}.stan"
    program.write_text(source)
    default: dict[str, Any] = {"data": NORMAL_DATA if source == NORMAL else {}, "chains": 2, "warmup": 100}
    default |= {"samples": 50, "seed": 4, "adapt_delta": 0.8, "max_treedepth": 10, "n_jobs": 2}
    return SamplingJob(program=program, **(default | settings))


def endless(folder: Path, **settings: Any) -> SamplingJob:
    """Return a job that takes hours."""
    return job(folder, EIGHT_SCHOOLS, "schools", data=EIGHT_SCHOOLS_DATA, warmup=100_000_000, **settings)

"""Gradients per second of ways to write the likelihood of a 2PL in Stan, complete binary data, in stanli.

    python benchmarks/stan_likelihoods.py [--persons 100] [--items 1000] [--seconds 3]

All have one and the same density, which is checked; the priors are standard normal and cost next to nothing. The last
row is the function that the programs in stan/ use, which takes missing cells and counts as well.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import stanli

from psychoeval.estimators.stan.cells import Groups
from psychoeval.resources import resource

LIKELIHOODS = {
    "long form, bernoulli_logit": "target += bernoulli_logit_lupmf(yy | a[jj] .* u[ii] + d[jj]);",
    "long form, binomial_logit": "target += binomial_logit_lupmf(yy | ones, a[jj] .* u[ii] + d[jj]);",
    "bernoulli_logit by person": "for (i in 1:N) target += bernoulli_logit_lupmf(y[i] | a * u[i] + d);",
    "bernoulli_logit by item": "for (j in 1:J) target += bernoulli_logit_lupmf(yt[j] | a[j] * u + d[j]);",
    "matrix, bernoulli_logit": "target += bernoulli_logit_lupmf(yy | to_vector((u * a' + rep_matrix(d', N))'));",
    "matrix, inv_logit": "matrix[N, J] p = inv_logit(u * a' + rep_matrix(d', N));"
    " target += sum(Y .* log(p) + (1 - Y) .* log1m(p));",
    "matrix, sufficient statistics": "target += dot_product(u, Y * a) + dot_product(score, d)"
    " - sum(log1p_exp(u * a' + rep_matrix(d', N)));",
    "GLM by person": "matrix[J, 1] x = to_matrix(a, J, 1);"
    " for (i in 1:N) target += bernoulli_logit_glm_lupmf(y[i] | x, d, [u[i]]');",
    "GLM by item": "matrix[N, 1] x = to_matrix(u, N, 1);"
    " for (j in 1:J) target += bernoulli_logit_glm_lupmf(yt[j] | x, d[j], [a[j]]');",
    "ours: GLM of failures, grouped": "target += dot_product(u, Y * a) + dot_product(score, d)"
    " - sum_softplus(u, a, d, by_person, group, trials, first, member, zeros);",
}

PROGRAM = """
functions {{ {functions} }}
data {{
  int N; int J; array[N, J] int y; matrix[N, J] Y;
  int by_person; int G; array[G] int group; array[G] int trials; array[G + 1] int first; array[N * J] int member;
}}
transformed data {{
  array[max(N, J)] int zeros = rep_array(0, max(N, J));
  vector[J] score = (rep_row_vector(1, N) * Y)';
  array[N * J] int ones = rep_array(1, N * J);
  array[N * J] int yy; array[N * J] int ii; array[N * J] int jj; array[J, N] int yt;
  for (i in 1:N) for (j in 1:J) {{
    yy[(i - 1) * J + j] = y[i, j]; ii[(i - 1) * J + j] = i; jj[(i - 1) * J + j] = j; yt[j, i] = y[i, j];
  }}
}}
parameters {{ vector[N] u; vector[J] la; vector[J] d; }}
model {{ u ~ std_normal(); la ~ std_normal(); d ~ std_normal(); vector[J] a = exp(la); {{ {likelihood} }} }}
"""


def simulate(n: int, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return responses and an unconstrained point near their posterior."""
    rng = np.random.default_rng(1)
    u, la, d = rng.normal(size=n), rng.normal(0, 0.4, j), rng.normal(size=j)
    y = (rng.random((n, j)) < 1 / (1 + np.exp(-np.exp(la) * u[:, None] - d))).astype(int)
    return y, np.concatenate([u, la, d])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--persons", type=int, default=100)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    y, point = simulate(options.persons, options.items)
    by_person = options.persons <= options.items
    cells = Groups.of(np.ones_like(y), by_person=by_person)
    data = {
        "N": y.shape[0], "J": y.shape[1], "y": y, "Y": y, "by_person": int(by_person), "G": cells.group.size,
        "group": cells.group, "trials": cells.count, "first": cells.first, "member": cells.member,
    }  # fmt: skip
    functions = resource("stan", "include/irt.stanfunctions").read_text(encoding="utf-8")
    print(f"{options.persons} persons x {options.items} items; stanli {stanli.__version__}")
    print(f"{'':34}{'gradients/s':>12}{'ms, fastest':>13}{'ms, median':>12}")
    densities = []
    for name, likelihood in LIKELIHOODS.items():
        model = stanli.Model(stan_code=PROGRAM.format(functions=functions, likelihood=likelihood), data=data)
        seconds: list[float] = []
        while sum(seconds) < options.seconds:
            start = time.perf_counter()
            density, _ = model.log_prob_grad(point)
            seconds.append(time.perf_counter() - start)
        densities.append(density)
        fastest, median = np.min(seconds), np.median(seconds)
        print(f"{name:34}{1 / median:12.0f}{1e3 * fastest:13.2f}{1e3 * median:12.2f}", flush=True)
    if np.ptp(densities) > 1e-8 * abs(densities[0]):
        raise SystemExit(f"The densities differ: {densities}")


if __name__ == "__main__":
    main()

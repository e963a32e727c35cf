"""A published posterior of a hierarchical 2PL: SAT12, 600 persons x 32 items, beside two_pl.stan with its priors.

    python benchmarks/sat12_by_hand.py [responses.csv] [published.csv]

By hand, because the data are not shipped. responses.csv (default ``../shared/data/classic/sat12/data.csv``) has the
scored responses, a column an item; published.csv (default ``../shared/data/stan_education_refs/
hierarchical_2pl__1_hierarchical_2pl.csv``) the table that the Stan case study "Hierarchical two-parameter logistic item
response model" (D. C. Furr, 2016, stan-dev/example-models) prints: mean, SD, n_eff of 69 parameters. Without them, this
says so and ends.

The study's model is that of two_pl.stan but for three things, which are put into the program in place of its lines: log
slopes and difficulties are correlated (Omega[1,2] = rho ~ LKJ(4)), tau ~ exponential(.1), and mu_2 ~ N(0, 5). Data,
starts, parametrization, likelihood and back end are those of `stan-hmc`. The table has two decimals and a few hundred
effective draws: a mean's error is hypot(sd / sqrt(n_eff), ours, .01 / sqrt(12)). Ends with 1 if one is 4 of these off.
Measured: largest 2.9 of 69, root mean square 1.13; SDs 2.6 and 1.17 (38 s on two cores).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks._stan_variants import mean_and_sd, sample_variant
from psychoeval.estimators.stan.backend import Sampled
from psychoeval.irt.models import ItemModel, resolve_priors
from psychoeval.responses.matrix import Responses
from psychoeval.results.sampling_figures import convergence_figures

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DEFAULTS = (
    SHARED / "classic" / "sat12" / "data.csv",
    SHARED / "stan_education_refs" / "hierarchical_2pl__1_hierarchical_2pl.csv",
)
LARGEST = 4.0

#: Lines of two_pl.stan -> what stands there instead. Given log a, b is normal about its regression on it.
LINES = {
    "parameters {": "parameters {\n  real<lower=-1, upper=1> rho;",
    "mu_log_a ~ normal(slope_prior[1], slope_prior[2]);": "mu_log_a ~ normal(0, 1);",
    "sd_log_a ~ normal(0, sd_slope_prior);": "sd_log_a ~ exponential(0.1);",
    "mu_b ~ normal(location_prior[1], location_prior[2]);": "mu_b ~ normal(0, 5);",
    "sd_b ~ normal(0, sd_location_prior);": "sd_b ~ exponential(0.1); target += 3 * log1m(square(rho));",
    "log_a ~ normal(slope_mean, slope_sd);": """log_a ~ normal(slope_mean, slope_sd);
  vector[J] located = -d ./ a;
  vector[J] regression = location_mean + rho * location_sd * (log_a - slope_mean) / slope_sd;
  target += normal_lpdf(located | regression, location_sd * sqrt(1 - square(rho)))
            - normal_lpdf(located | location_mean, location_sd);""",
}
OURS = {"alpha": "a", "beta": "b", "mu[1]": "mu_log_a", "mu[2]": "mu_b", "tau[1]": "sd_log_a", "tau[2]": "sd_b"}


def draws_by_name(sampled: Sampled) -> dict[str, np.ndarray]:
    """Return draws (C, S) by the names of the table."""
    out = {}
    for theirs, ours in {**OURS, "Omega[1,2]": "rho"}.items():
        values = sampled.values[ours]
        values = values.reshape(*values.shape[:2], -1)
        many = theirs in ("alpha", "beta")
        out |= {f"{theirs}[{k + 1}]" if many else theirs: values[..., k] for k in range(values.shape[2])}
    return out


def report(table: pd.DataFrame, draws: np.ndarray) -> bool:
    """Print where the table and the draws (C, S, P) differ most; return whether all means agree."""
    mean, sd, mean_error, _ = mean_and_sd(draws)
    error = np.sqrt(table["sd"] ** 2 / table["n_eff"] + mean_error**2 + 0.01**2 / 12)
    z = ((mean - table["mean"]) / error).to_numpy()
    # Of a SD from n effective draws, sd / sqrt(2 n) if normal.
    of_sd = ((sd - table["sd"]) / np.sqrt(table["sd"] ** 2 / (2 * table["n_eff"]) + 0.01**2 / 12)).to_numpy()
    figures = convergence_figures(draws)
    print(f"largest R-hat {figures.rhat.max():.3f}, least bulk ESS {figures.ess_bulk.min():.0f}")
    print(f"{'':12}{'published':>10}{'SD':>7}{'n_eff':>7}{'ours':>9}{'SD':>7}{'off by':>8} errors")
    for k in np.argsort(-np.abs(z))[:8]:
        row = table.iloc[k]
        print(f"{table.index[k]:12}{row['mean']:10.2f}{row['sd']:7.2f}{row['n_eff']:7.0f}{mean[k]:9.3f}{sd[k]:7.3f}"
              f"{z[k]:8.2f}")  # fmt: skip
    print(f"{len(z)} means: largest {np.abs(z).max():.2f} errors off, root mean square {np.sqrt(np.mean(z**2)):.2f}")
    print(f"{len(z)} SDs: largest {np.abs(of_sd).max():.2f}, root mean square {np.sqrt(np.mean(of_sd**2)):.2f}")
    return bool(np.abs(z).max() < LARGEST)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("responses", nargs="?", type=Path, default=DEFAULTS[0])
    parser.add_argument("published", nargs="?", type=Path, default=DEFAULTS[1])
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--samples", type=int, default=1000)
    options = parser.parse_args()
    for path in (options.responses, options.published):
        if not path.is_file():
            print(f"There is no {path}: the data are not shipped. Give the files that hold them.")
            return 0
    table = pd.read_csv(options.published).set_index("par")
    responses = Responses.from_array(pd.read_csv(options.responses).to_numpy())
    seconds = time.perf_counter()
    sampled = sample_variant(
        LINES, responses, ItemModel("2PL", resolve_priors("population")), chains=4, warmup=options.warmup,
        samples=options.samples, adapt_delta=0.9, more_starts={"rho": 0.0},
    )  # fmt: skip
    seconds = time.perf_counter() - seconds
    print(f"{responses.n_persons} x {responses.n_items}, 4 x ({options.warmup} + {options.samples}) draws: "
          f"{seconds:.0f} s, {int(sampled.sample_stats['diverging'].sum())} divergences")  # fmt: skip
    draws = draws_by_name(sampled)
    return int(not report(table, np.stack([draws[name] for name in table.index], axis=2)))


if __name__ == "__main__":
    sys.exit(main())

"""Recovery of `vi` and how much too small its standard errors are, against the sample-standardised truth.

    python benchmarks/vi_recovery.py [--model 2PL] [--seeds 50] [--shapes 30x100,100x300] [--beside mirt-em,map]

Truth: theta ~ N(0, 1), b ~ N(0, 1.5), log a ~ N(0, .3) (1PL: a = 1), c = 0 (3PL: logit c ~ N(-1.1, .5)), one trial a
cell; then theta_s = (theta - m)/s, a_s = a s, b_s = (b - m)/s with the sample's mean and SD. Estimates are standardised
in the same way. Factor: root mean squared error over root mean squared standard error; coverage of nominal 95 %
intervals. Difficulties are means over items whose true |b| < 4, and factors of b by medians (errors of b have no mean).
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.stats import kendalltau

import psychoeval as pe
from psychoeval.irt.curves import probability

Row = dict[str, float]
#: Median of |z| for a standard normal z.
MEDIAN_ERROR = 0.6745


def simulate(n: int, j: int, seed: int, model: str) -> tuple[pe.Responses, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    theta, b, a = rng.normal(size=n), rng.normal(0.0, 1.5, j), rng.lognormal(0.0, 0.3, j)
    a = np.ones(j) if model == "1PL" else a
    c = 1.0 / (1.0 + np.exp(1.1 - 0.5 * rng.normal(size=j))) if model == "3PL" else np.zeros(j)
    x = rng.random((n, j)) < probability(theta, a, -a * b, c)
    return pe.Responses.from_array(x.astype(float)), theta, a, b


def measure(n: int, j: int, seed: int, model: str, estimator: str = "vi") -> Row:
    responses, theta, a, b = simulate(n, j, seed, model)
    center, spread = theta.mean(), theta.std()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = pe.fit(responses, estimator, model=model, priors="weak")
    out: Row = {"cpu_s": time.process_time() - start, "converged": float(fit.convergence.status == "converged")}
    items, abilities = fit.item_parameters, fit.abilities
    out["tau"] = kendalltau(abilities.estimate, theta).statistic
    out["r_b"] = np.corrcoef(items.difficulty, b)[0, 1]
    if model != "1PL":
        out["r_a"] = np.corrcoef(items.discrimination, a)[0, 1]
    m, s = abilities.estimate.mean(), abilities.estimate.std()
    out["ability_sd"] = s / spread
    out["slope_ratio"] = float(np.median(items.discrimination / (a * spread)))
    if abilities.standard_error is None or items.standard_errors is None:
        return out
    se, common = items.standard_errors, np.abs(b) < 4
    slopes = slice(0, 1) if model == "1PL" else common
    for what, estimate, error, truth in (
        ("theta", (abilities.estimate - m) / s, abilities.standard_error / s, (theta - center) / spread),
        ("a", items.discrimination[slopes] * s, se["discrimination"][slopes] * s, a[slopes] * spread),
        ("b", (items.difficulty[common] - m) / s, se["difficulty"][common] / s, (b[common] - center) / spread),
    ):
        z = (estimate - truth) / error
        factor = np.sqrt(np.mean((estimate - truth) ** 2) / np.mean(error**2))
        out[f"factor_{what}"] = float(np.median(np.abs(z)) / MEDIAN_ERROR if what == "b" else factor)
        out[f"cover_{what}"] = float(np.mean(np.abs(z) <= 1.96))
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--model", choices=("1PL", "2PL", "3PL"), default="2PL")
    parser.add_argument("--shapes", default="30x100,100x300,1000x100,100x1000")
    parser.add_argument("--beside", default="", help="other estimators, on the same data")
    args = parser.parse_args()
    for shape in args.shapes.split(","):
        n, j = (int(k) for k in shape.split("x"))
        for estimator in ["vi", *filter(None, args.beside.split(","))]:
            rows = [measure(n, j, seed, args.model, estimator) for seed in range(args.seeds)]
            print(f"{estimator} {args.model} {n} x {j}, {args.seeds} seeds: mean (Monte Carlo error)")
            for key in max(rows, key=len):
                values = np.array([row[key] for row in rows if key in row])
                print(f"  {key:14s} {values.mean():8.3f} ({values.std(ddof=1) / np.sqrt(len(values)):.3f})")


if __name__ == "__main__":
    main()

"""Recovery and coverage of `map` on simulated data, against the sample-standardised truth.

    python benchmarks/map_recovery.py [--model 2PL] [--seeds 100]

Truth: theta ~ N(0, 1), b ~ N(0, 1), log a ~ N(0, .5) (2PL) or a = 1, one trial a cell; then theta_s = (theta - m)/s,
a_s = a s, b_s = (b - m)/s with the sample's mean and SD. Estimates are judged as they come (own frame; the Rasch
model's, with a = 1, against the truth as drawn), and after the same standardisation of the estimates (aligned).
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.stats import kendalltau

import psychoeval as pe

SHAPES = ((30, 500), (100, 100), (100, 1000), (1000, 100))


def simulate(n: int, j: int, seed: int, model: str = "2PL") -> tuple[pe.Responses, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    theta, a, b = rng.normal(size=n), np.exp(rng.normal(0.0, 0.5, j)), rng.normal(size=j)
    a = a if model == "2PL" else np.ones(j)
    x = rng.random((n, j)) < 1.0 / (1.0 + np.exp(-a * (theta[:, None] - b)))
    return pe.Responses.from_array(x.astype(float)), theta, a, b


def measure(n: int, j: int, seed: int, model: str) -> dict[str, float]:
    responses, theta, a, b = simulate(n, j, seed, model)
    center, spread = theta.mean(), theta.std()
    standard = (theta - center) / spread, a * spread, (b - center) / spread
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = pe.fit(responses, "map", model=model)
    seconds = time.process_time() - start
    items, abilities = fit.item_parameters, fit.abilities
    out = {"cpu_s": seconds, "converged": float(fit.convergence.status == "converged")}
    out["tau"] = kendalltau(abilities.estimate, theta).statistic
    out["slope_ratio"] = float(items.discrimination.mean() / standard[1].mean())
    out["r_b"] = np.corrcoef(items.difficulty, b)[0, 1]
    if model == "2PL":
        out["r_a"] = np.corrcoef(items.discrimination, a)[0, 1]
    out["sd_ratio"] = float(abilities.estimate.std() / theta.std())
    if abilities.standard_error is None or items.standard_errors is None:
        return out
    m, s = abilities.estimate.mean(), abilities.estimate.std()
    se = items.standard_errors
    own = (theta, a, b) if model == "Rasch" else standard
    for frame, origin, unit, (true_theta, true_a, true_b) in (("own", 0.0, 1.0, own), ("aligned", m, s, standard)):
        for what, estimate, error, truth in (
            ("theta", (abilities.estimate - origin) / unit, abilities.standard_error / unit, true_theta),
            ("a", items.discrimination * unit, se["discrimination"] * unit, true_a),
            ("b", (items.difficulty - origin) / unit, se["difficulty"] / unit, true_b),
        ):
            if what == "a" and model == "Rasch":
                continue  # fixed, not estimated
            out[f"cover_{what}_{frame}"] = float(np.mean(np.abs(estimate - truth) <= 1.96 * error))
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--model", choices=("Rasch", "1PL", "2PL"), default="2PL")
    args = parser.parse_args()
    seeds = args.seeds
    for n, j in SHAPES:
        rows = [measure(n, j, seed, args.model) for seed in range(seeds)]
        print(f"{args.model} {n} x {j}, {seeds} seeds: mean (Monte Carlo error clustered by seed)")
        for key in max(rows, key=len):
            values = np.array([row[key] for row in rows if key in row])
            print(
                f"  {key:22s} {values.mean():8.4f} ({values.std(ddof=1) / np.sqrt(len(values)):.4f})  n={len(values)}"
            )


if __name__ == "__main__":
    main()

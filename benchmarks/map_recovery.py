"""Recovery and coverage of `map` on simulated 2PL data, against the sample-standardised truth.

    python benchmarks/map_recovery.py [--seeds 100]

Truth: theta ~ N(0, 1), log a ~ N(0, .5), b ~ N(0, 1), one trial a cell; then theta_s = (theta - m)/s, a_s = a s,
b_s = (b - m)/s with the sample's mean and SD. Estimates are judged as they come (own frame), and after the same
standardisation of the estimates (aligned).
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.stats import kendalltau

import psychoeval as pe

SHAPES = ((30, 500), (100, 100), (100, 1000), (1000, 100))


def simulate(n: int, j: int, seed: int) -> tuple[pe.Responses, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    theta, a, b = rng.normal(size=n), np.exp(rng.normal(0.0, 0.5, j)), rng.normal(size=j)
    x = rng.random((n, j)) < 1.0 / (1.0 + np.exp(-a * (theta[:, None] - b)))
    m, s = theta.mean(), theta.std()
    return pe.Responses.from_array(x.astype(float)), (theta - m) / s, a * s, (b - m) / s


def measure(n: int, j: int, seed: int) -> dict[str, float]:
    responses, theta, a, b = simulate(n, j, seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = pe.fit(responses, "map", model="2PL")
    seconds = time.process_time() - start
    items, abilities = fit.item_parameters, fit.abilities
    out = {"cpu_s": seconds, "converged": float(fit.convergence.status == "converged")}
    out["tau"] = kendalltau(abilities.estimate, theta).statistic
    out["slope_ratio"] = float(items.discrimination.mean() / a.mean())
    out["r_a"], out["r_b"] = np.corrcoef(items.discrimination, a)[0, 1], np.corrcoef(items.difficulty, b)[0, 1]
    if abilities.standard_error is None or items.standard_errors is None:
        return out
    m, s = abilities.estimate.mean(), abilities.estimate.std()
    se = items.standard_errors
    for frame, origin, unit in (("own", 0.0, 1.0), ("aligned", m, s)):
        for what, estimate, error, truth in (
            ("theta", (abilities.estimate - origin) / unit, abilities.standard_error / unit, theta),
            ("a", items.discrimination * unit, se["discrimination"] * unit, a),
            ("b", (items.difficulty - origin) / unit, se["difficulty"] / unit, b),
        ):
            out[f"cover_{what}_{frame}"] = float(np.mean(np.abs(estimate - truth) <= 1.96 * error))
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=100)
    seeds = parser.parse_args().seeds
    for n, j in SHAPES:
        rows = [measure(n, j, seed) for seed in range(seeds)]
        print(f"{n} x {j}, {seeds} seeds: mean (Monte Carlo error clustered by seed)")
        for key in max(rows, key=len):
            values = np.array([row[key] for row in rows if key in row])
            print(
                f"  {key:22s} {values.mean():8.4f} ({values.std(ddof=1) / np.sqrt(len(values)):.4f})  n={len(values)}"
            )


if __name__ == "__main__":
    main()

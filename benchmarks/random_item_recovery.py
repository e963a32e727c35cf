"""Recovery and coverage of `random-item` beside `map` on simulated 2PL data.

    python benchmarks/random_item_recovery.py [--shapes 30x100 100x300] [--seeds 100] [--fits intercept difficulty map]

Truth: theta ~ N(0, 1), b ~ N(0, 1.5), a ~ LN(0, .3), complete binary data. Estimates are judged as they come against
the truth as drawn (raw) and against the sample-standardised truth (sample); and after the estimates are standardised
too (aligned). The population of `random-item` is that of (log a, d) or of (log a, b).
Monte Carlo errors are clustered by seed.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.stats import kendalltau

import psychoeval as pe

FITS: dict[str, tuple[str, dict[str, str]]] = {
    "intercept": ("random-item", {"priors": "none", "location": "intercept"}),
    "difficulty": ("random-item", {"priors": "none", "location": "difficulty"}),
    "map": ("map", {"priors": "published"}),
}


def simulate(n: int, j: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, pe.Responses]:
    rng = np.random.default_rng(seed)
    theta, b, a = rng.normal(0, 1, n), rng.normal(0, 1.5, j), rng.lognormal(0, 0.3, j)
    x = rng.random((n, j)) < 1.0 / (1.0 + np.exp(-a * (theta[:, None] - b)))
    return theta, b, a, pe.Responses.from_array(x.astype(float))


def measure(n: int, j: int, seed: int, which: str) -> dict[str, float]:
    theta, b, a, responses = simulate(n, j, seed)
    estimator, settings = FITS[which]
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = pe.fit(responses, estimator, model="2PL", **settings)
    out = {"cpu_s": time.process_time() - start, "converged": float(fit.convergence.status == "converged")}
    m, s = theta.mean(), theta.std()
    estimate, error = fit.abilities.estimate, fit.abilities.standard_error
    items = fit.item_parameters
    out["tau"] = kendalltau(estimate, theta).statistic
    keep = items.estimated & np.array([status == "estimated" for status in items.status])
    out["r_b"] = np.corrcoef(items.difficulty[keep], b[keep])[0, 1]
    out["r_log_a"] = np.corrcoef(np.log(items.discrimination[keep]), np.log(a[keep]))[0, 1]
    out["slope_ratio"] = float(np.median(items.discrimination[keep] / (a[keep] * s)))
    out["rmse_sample"] = float(np.sqrt(np.mean((estimate - (theta - m) / s) ** 2)))
    if error is None:
        return out
    center, spread = estimate.mean(), estimate.std()
    for frame, value, width, truth in (
        ("raw", estimate, error, theta),
        ("sample", estimate, error, (theta - m) / s),
        ("aligned", (estimate - center) / spread, error / spread, (theta - m) / s),
    ):
        out[f"cover_{frame}"] = float(np.mean(np.abs(value - truth) <= 1.959964 * width))
    out["mean_error"] = float(error.mean())
    errors = items.standard_errors
    if errors is not None:
        for what, value, width, truth in (
            ("a", items.discrimination, errors["discrimination"], a * s),
            ("d", items.intercept, errors["intercept"], a * (m - b)),
        ):
            out[f"cover_{what}_sample"] = float(np.mean(np.abs(value - truth)[keep] <= 1.959964 * width[keep]))
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", nargs="+", default=["30x100", "100x300"])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--fits", nargs="+", choices=list(FITS), default=list(FITS))
    args = parser.parse_args()
    for shape in args.shapes:
        n, j = (int(part) for part in shape.split("x"))
        for which in args.fits:
            rows = [measure(n, j, seed, which) for seed in range(args.seeds)]
            print(f"{which} 2PL {n} x {j}, {args.seeds} seeds: mean (Monte Carlo error)", flush=True)
            for key in max(rows, key=len):
                values = np.array([row[key] for row in rows if key in row])
                print(f"  {key:15s} {values.mean():8.4f} ({values.std(ddof=1) / np.sqrt(len(values)):.4f})", flush=True)


if __name__ == "__main__":
    main()

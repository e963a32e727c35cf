"""How often is a claim true that the verdict calls supported, with care, or not supported?

    python benchmarks/verdict_calibration.py [--seeds 30] [--replications 30]

Worlds: N 30 or 100 systems, J 20, 100 or 300 items, one trial a cell, abilities normal or skewed, slopes LN(0, .3);
each judged as `assess` does by default (Rasch below 100 systems, so its model is wrong there, and 2PL from 100 on).
A claim is true where, against the simulated truth,

- ranking: Kendall's tau of the estimates with the true abilities is at least .80, as its statement says;
- top 1, top 3: those named are the best;
- neighbors: every pair of neighbors stands in its true order;
- difficulties, discriminations: the correlation with the truth is at least .90;
- removing items: that of the discriminations is.

Printed: for each claim and grade, in how many worlds it was given and in how many of these it was true.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks._interval_worlds import World, simulate
from psychoeval.trust.assessment import Assessment, assess
from psychoeval.trust.thresholds import PARAMETERS_FOUND, TAU_SUPPORTED

CORRELATED = PARAMETERS_FOUND.value


def truths(found: Assessment, world: World, top: int) -> dict[str, bool]:
    """Return for each claim whether it is true in this world."""
    fit, theta = found.evidence.fit, world.theta
    assert fit.abilities is not None
    assert fit.item_parameters is not None
    order = np.argsort(-fit.abilities.estimate, kind="stable")
    items, known = fit.item_parameters, fit.item_parameters.estimated
    r = {
        "difficulties": np.corrcoef(items.difficulty[known], world.b[known])[0, 1],
        "discriminations": np.corrcoef(items.discrimination[known], world.a[known])[0, 1]
        if np.ptp(items.discrimination[known]) > 0
        else 0.0,
    }
    return {
        "ranking": bool(kendalltau(fit.abilities.estimate, theta).statistic >= TAU_SUPPORTED.value),
        "top": set(order[:top]) == set(np.argsort(-theta)[:top]),
        "neighbors": bool((np.diff(theta[order]) < 0).all()),
        "difficulties": bool(r["difficulties"] >= CORRELATED),
        "discriminations": bool(r["discriminations"] >= CORRELATED),
        "removing_items": bool(r["discriminations"] >= CORRELATED),
    }


def judge(persons: int, items: int, skewed: bool, seed: int, replications: int) -> list[dict[str, object]]:
    """Return one row a claim of one world, top 1 and top 3 apart."""
    world = simulate(persons, items, seed, skewed=skewed)
    rows: list[dict[str, object]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for top in (1, 3):
            found = assess(world.responses, top=top, replications=replications if top == 1 else 1, seed=seed)
            true = truths(found, world, top)
            rows += [
                {"persons": persons, "items": items, "skewed": skewed, "seed": seed,
                 "claim": f"top {top}" if c.name == "top" else c.name, "grade": c.grade, "true": true[c.name]}
                for c in found.claims if (top == 1) or c.name == "top"
            ]  # fmt: skip
    return rows


def table(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Return for each claim and grade: worlds, how many were true, and their share."""
    grouped = pd.DataFrame(rows).groupby(["claim", "grade"])["true"].agg(["size", "sum", "mean"])
    return grouped.rename(columns={"size": "worlds", "sum": "true", "mean": "share"})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--replications", type=int, default=30)
    options = parser.parse_args()
    rows = []
    for persons, items, skewed in itertools.product((30, 100), (20, 100, 300), (False, True)):
        for seed in range(options.seeds):
            rows += judge(persons, items, skewed, seed, options.replications)
        print(f"{persons} x {items}, {'skewed' if skewed else 'normal'}: done", file=sys.stderr)
    print(table(rows).to_string(float_format="{:.2f}".format))


if __name__ == "__main__":
    main()

"""Coverage of every 95 % interval that a native estimator prints, one trial a cell and ten, complete and 30 % missing.

    python benchmarks/interval_coverage.py [--seeds 20] [--sizes 30x100 100x200 400x100] [--fits mml-2PL ctt ...]

Truth: theta ~ N(0, 1), b ~ N(0, 1.5), a ~ LN(0, .3) (1 for Rasch and 1PL; the 3PL's c from its default prior), cells
missing at random. Intervals of abilities are judged in the frame of the sample (mean 0 and SD 1 of these persons;
Rasch: mean 0); those of items by `mml`, and of latent SDs, hold the error of origin and unit, and are judged as drawn;
the other frame is beside it. Scores are judged against the expected score on these items (additive, ctt), or on all
items like these (simple-average), and classical item statistics against all persons like these.

An interval meets its promise if the Monte Carlo interval of its coverage (mean of seeds -+ t SE, the seed as the unit)
meets .93 to .97. Estimators whose target is ``none`` promise nothing, and 30 x 100 is reported only. Every seed is kept
in out/interval-coverage.jsonl and not run again: delete the file after a change to an estimator.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

import psychoeval as pe
from benchmarks._interval_worlds import World, intervals, simulate
from benchmarks.native.metrics import Clustered, clustered
from psychoeval.registry import REGISTRY

SIZES = {"30x100": (30, 100), "100x200": (100, 200), "400x100": (400, 100)}
REPORTED_ONLY = "30x100"
LOW, HIGH = 0.93, 0.97
CONDITIONS = [(trials, missing) for trials in (1, 10) for missing in (0.0, 0.3)]


class Fit(NamedTuple):
    """An estimator with a model, the world it is right in, and how many seeds it can be waited for."""

    estimator: str
    model: str | None = None
    most_seeds: int = 10**6
    sizes: tuple[str, ...] = tuple(SIZES)

    @property
    def world(self) -> dict[str, Any]:
        slopes = self.model not in ("Rasch", "1PL")
        return {"slopes": slopes, "guessing": GUESSING.get((self.estimator, self.model), "none")}


GUESSING = {("mml", "3PL"): "own", ("random-item", "3PL"): "common"}
FEW_PERSONS = ("30x100", "100x200")
FITS = {
    "mml-Rasch": Fit("mml", "Rasch"),
    "mml-1PL": Fit("mml", "1PL"),
    "mml-2PL": Fit("mml", "2PL"),
    "mml-2PL-none": Fit("mml", "2PL[none]", sizes=("400x100",)),
    "mml-3PL": Fit("mml", "3PL", 100),
    "random-item-Rasch": Fit("random-item", "Rasch", sizes=FEW_PERSONS),
    "random-item-2PL": Fit("random-item", "2PL", 100, FEW_PERSONS),
    "random-item-3PL": Fit("random-item", "3PL", 100, ("30x100",)),
    "cml-Rasch": Fit("cml", "Rasch"),
    "map-Rasch": Fit("map", "Rasch"),
    "map-2PL": Fit("map", "2PL"),
    "vi-2PL": Fit("vi", "2PL"),
    "simple-average": Fit("simple-average"),
    "additive": Fit("additive"),
    "ctt": Fit("ctt"),
}  # fmt: skip


def own_frame(estimator: str, interval: str) -> str:
    """Return the frame that an interval is about."""
    if interval == "latent SD" or (estimator == "mml" and interval != "ability"):
        return "drawn"
    return "sample"


def fitted(which: Fit, world: World) -> pe.FitResult:
    settings: dict[str, Any] = {"n_threads": 1} if which.estimator == "mml" else {}
    if which.model is not None:
        settings["model"] = which.model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pe.fit(world.responses, which.estimator, **settings)


def measure(which: Fit, size: str, trials: int, missing: float, seed: int) -> dict[str, Any]:
    """Return the coverage of every interval of one fit, by frame, and its thirds in its own frame."""
    world = simulate(*SIZES[size], seed, trials=trials, missing=missing, **which.world)
    began = time.process_time()
    fit = fitted(which, world)
    out: dict[str, Any] = {"cpu": time.process_time() - began, "status": fit.convergence.status}
    for found in intervals(world, fit):
        own = "only" if "only" in found.truths else own_frame(which.estimator, found.name)
        other = next((f for f in found.truths if f != own), None)
        out[found.name] = {
            "own": found.coverage(own),
            "other": None if other is None else found.coverage(other),
            "thirds": found.thirds(own),
        }
    return out


def promise(target: str, size: str, found: Clustered) -> str:
    """Return whether the Monte Carlo interval of a coverage meets .93 to .97."""
    if target == "none" or size == REPORTED_ONLY:
        return "reported"
    if found.high < LOW:
        return "TOO LOW"
    return "TOO HIGH" if found.low > HIGH else "meets"


def lines(which: Fit, size: str, rows: list[dict[str, Any]]) -> list[str]:
    """Return a line of the table for each interval."""
    target = REGISTRY[which.estimator].coverage_target
    out = []
    for name in [key for key in rows[0] if key not in ("cpu", "status")]:
        found = [row[name] for row in rows if name in row and row[name]["own"] == row[name]["own"]]  # not NaN
        if not found:
            continue
        own = clustered([f["own"] for f in found])
        other = "" if found[0]["other"] is None else f"{clustered([f['other'] for f in found]).mean:.3f}"
        thirds = zip(*[f["thirds"] for f in found], strict=True)
        parts = " ".join(f"{clustered(list(t)).mean:.2f}" for t in thirds)
        out.append(
            f"  {name:12s} {own.mean:.3f} ({own.low:.3f} to {own.high:.3f})  {other:5s}  {parts:14s}  "
            f"{promise(target, size, own)}"
        )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--fits", nargs="+", choices=list(FITS), default=list(FITS))
    parser.add_argument("--keep", type=Path, default=Path("out/interval-coverage.jsonl"))
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    known: dict[str, dict[int, Any]] = defaultdict(dict)
    if options.keep.is_file():
        for line in options.keep.read_text().splitlines():
            entry = json.loads(line)
            known[entry["key"]][entry["seed"]] = entry["found"]
    print("interval, coverage in its own frame (Monte Carlo interval), in the other frame, by thirds of the truth")
    for size in options.sizes:
        for name in options.fits:
            which = FITS[name]
            for trials, missing in CONDITIONS if size in which.sizes else []:
                key = f"{name} {size} K={trials} missing={missing:g}"
                seeds = range(min(options.seeds, which.most_seeds))
                with options.keep.open("a") as file:
                    for seed in (s for s in seeds if s not in known[key]):
                        known[key][seed] = measure(which, size, trials, missing, seed)
                        file.write(json.dumps({"key": key, "seed": seed, "found": known[key][seed]}) + "\n")
                rows = [known[key][seed] for seed in seeds]
                believed = sum(row["status"] in ("converged", "not_iterative") for row in rows)
                seconds = sum(row["cpu"] for row in rows) / len(rows)
                target = REGISTRY[which.estimator].coverage_target
                print(f"{key}: {target}; {len(rows)} seeds, {believed} believed, {seconds:.2f} CPU s a fit")
                print("\n".join(lines(which, size, rows)), flush=True)


if __name__ == "__main__":
    main()

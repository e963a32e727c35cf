"""ESS a second of stan-hmc's 2PL beside brms, PyStan and the same posterior written plainly; R-hat, and what it can be.

    python benchmarks/stan_mixing.py [--sizes 100x100,100x1000] [--rows ours,cmdstan,pystan,plain,brms,normals]
                                     [--warmup 500] [--samples 500] [--limit 420] [--seed 1] [--delta .9] [--large]

Each row is one run of two chains, a core each, with the priors "population", every program at its own defaults but for
the number of draws. ESS is bulk ESS, of the slowest of all parameters: abilities, slopes, difficulties, means and SDs
of the population. A run that reaches the limit is stopped, and counted as if its draws had been independent: its ESS a
second is smaller, the ratio to it larger. Run it on an idle machine: rstan's seconds (brms) are the processor's, the
others' the wall's. The table is in out/bench-stan.json too. What R-hat can be: see `verdict`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks._stan_plain import simulate
from benchmarks._stan_runs import CHAINS, ROWS, Run, Task, best_possible, find, measure

OUT = Path(__file__).parent.parent / "out"
LARGE = "400x1000"
TIMES_BRMS, SECONDS, LEAST_ESS, LARGEST_RHAT = 3.0, 240.0, 200.0, 1.02
#: Draws a chain with which R-hat of independent normals stays below 1.02; see `verdict`.
ENOUGH = 1000
HEAD = (
    f"{'':24}{'draws':>10}{'build s':>9}{'s':>7}{'of it sampling':>16}{'CPU s':>8}{'gradients':>11}{'diverging':>11}"
    f"{'least ESS':>11}{'median':>8}{'ESS/s':>8}{'/CPU s':>8}{'R-hat':>8}{'>1.02':>7}   slowest"
)


def line(run: Run) -> str:
    if run.failure:
        return f"{run.name:24}{run.failure}"
    return (
        f"{run.name:24}{run.draws:>10}{run.build_seconds:9.1f}{run.seconds:7.1f}{run.sampling_seconds:16.1f}{run.cpu:8.0f}"
        f"{run.gradients:11.0f}{run.divergences:11d}{run.least:11.0f}{run.median:8.0f}{run.rate:8.2f}{run.cpu_rate:8.2f}{run.largest:8.3f}"
        f"{run.beyond:7d}   {run.slowest}"
    )


def against_brms(runs: list[Run]) -> str:
    """Say how many times brms's ESS a second ours is, warm-up and sampling, building left out."""
    us, they = find(runs, "stan-hmc, stanli"), find(runs, "brms")
    if us is None or they is None or us.failure or they.failure.startswith("left out"):
        return ""
    if they.failure:
        ratio, least = us.rate / best_possible(they), "at least "
    else:
        ratio, least = us.rate / they.rate, ""
    return f"  ESS/s is {least}{ratio:.1f} times brms's: {_met(ratio >= TIMES_BRMS, f'{TIMES_BRMS:g}')}"


def verdict(run: Run, yardstick: Run | None) -> str:
    """Judge time, ESS and R-hat of 100 x 1000.

    R-hat is the larger of that of values and that of their distances from the median. NUTS makes values antithetic and
    distances not: of 2,206 independent normals 1,000 draws are worth 1,200 to 2,600 of the one and 340 to 480 of the
    other, and the largest R-hat was 1.021 to 1.045 in all of 20 runs of 2 x (500 + 500) (acceptance rates .6 to .95,
    four seeds each). No program can promise 1.02 with so few draws; with 1,000 a chain it is asked for.
    """
    parts = [f"{run.seconds:.0f} s {_met(run.seconds < SECONDS, f'{SECONDS:g} s')}"]
    parts.append(f"least ESS {run.least:.0f} {_met(run.least > LEAST_ESS, f'{LEAST_ESS:g}')}")
    parts.append(f"largest R-hat {run.largest:.3f} {_met(run.largest < LARGEST_RHAT, f'{LARGEST_RHAT:g}')}")
    if yardstick is not None and not yardstick.failure:
        parts.append(f"of independent normals {yardstick.largest:.3f}")
    return f"  {run.draws}: " + "; ".join(parts)


def _met(met: bool, target: str) -> str:
    return f"(target {target} {'met' if met else 'MISSED'})"


def size(text: str, rows: list[str], options: argparse.Namespace) -> list[Run]:
    """Measure and print the rows of one size."""
    persons, items = (int(part) for part in text.split("x"))
    task = Task(
        responses=simulate(persons, items, seed=1),
        warmup=options.warmup,
        samples=options.samples,
        seed=options.seed,
        limit=options.limit,
        adapt_delta=options.delta,
    )
    print(f"\n{persons} persons x {items} items, {CHAINS} x ({task.warmup} + {task.samples}) draws\n{HEAD}", flush=True)
    runs = [_said(measure(row, task)) for row in rows]
    judged = find(runs, "stan-hmc")
    if text == "100x1000" and judged is not None and not judged.failure:
        more = dataclasses.replace(task, samples=max(ENOUGH, task.samples))
        longer = _said(measure("ours", more))
        print(verdict(judged, find(runs, f"{persons + 2 * items + 4} normals")))
        if not longer.failure:
            print(verdict(longer, None))
        runs.append(longer)
    print(against_brms(runs), flush=True)
    return runs


def _said(run: Run) -> Run:
    print(line(run), flush=True)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100x100,100x1000")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--limit", type=float, default=420.0, help="seconds of a row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delta", type=float, help="acceptance rate of our program; by default stan-hmc's own")
    parser.add_argument("--large", action="store_true", help=f"{LARGE} too, ours alone: some 5 minutes")
    options = parser.parse_args()
    rows, began = options.rows.split(","), time.monotonic()
    if unknown := set(rows) - set(ROWS):
        parser.error(f"there is no row {', '.join(sorted(unknown))}: they are {', '.join(ROWS)}")
    found = {text: size(text, rows, options) for text in options.sizes.split(",")}
    if options.large:
        found[LARGE] = size(LARGE, ["ours"], options)
    OUT.mkdir(exist_ok=True)
    table = {text: [_plain(run) for run in runs] for text, runs in found.items()}
    settings = {**vars(options), "cores": os.cpu_count(), "load": os.getloadavg()}
    (OUT / "bench-stan.json").write_text(json.dumps({"settings": settings, "runs": table}, indent=1))
    print(f"\n{time.monotonic() - began:.0f} s in all; load {os.getloadavg()[0]:.1f}; out/bench-stan.json")


def _plain(run: Run) -> dict[str, object]:
    """Return a run as JSON takes it: there is no NaN in it."""
    values = dataclasses.asdict(run)
    return {key: None if isinstance(v, float) and not np.isfinite(v) else v for key, v in values.items()}


if __name__ == "__main__":
    main()

"""What the benchmark is held to: one line a target, met or not, with its figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.native.data import SIZES
from benchmarks.native.metrics import Clustered, clustered
from benchmarks.native.programs import PROGRAMS
from benchmarks.native.runs import Run
from benchmarks.native.table import summary, values

Runs = Mapping[str, Sequence[Run]]

CPU_SECONDS = {"100x1000": 0.06, "1000x1000": 0.12, "1000x5000": 0.8}
LARGE, LARGE_WALL, LARGE_ABOVE_DATA_MB = "6000x28000", 8.0, 0.5 * 1000**3 / 1024**2
SLOPE_RATIO = (0.97, 1.03)
COVERAGE = (0.93, 0.97)
#: Persons from which the coverage of item intervals is promised, and below which nothing is.
ITEM_COVERAGE_FROM, JUDGED_FROM = 400, 100


def judge(runs: Runs, key: str = "mml", busy: str = "") -> list[str]:
    """Return one line a target for program `key`; `runs` holds the runs of each size.

    30 x 100 and data missing not at random are reported in the table and not judged. `busy` says what else the machine
    did, if that was much: seconds beyond their bound are told with it.
    """
    lines = [
        _bound(f"{size} CPU s", summary(_of(runs, size, key), "cpu"), bound, busy)
        for size, bound in CPU_SECONDS.items()
    ]
    large = _of(runs, LARGE, key)
    lines.append(_bound(f"{LARGE} wall s on 2 cores", summary(large, "wall"), LARGE_WALL, busy))
    data_mb = SIZES[LARGE].n_persons * SIZES[LARGE].n_items / 1024**2
    for name in (key, "map"):
        above = summary(_of(runs, LARGE, name), "peak_mb") - data_mb
        what = f"{LARGE} peak MiB of {name} above the int8 data, interpreter included"
        lines.append(_bound(what, above, LARGE_ABOVE_DATA_MB))
    judged = {
        size: _of(runs, size, key)
        for size in runs
        if size in SIZES and SIZES[size].n_persons >= JUDGED_FROM and not SIZES[size].missing
    }
    lines.append(_slopes(judged))
    lines.append(_coverage("abilities", "cover_theta", judged))
    with_items = {size: r for size, r in judged.items() if SIZES[size].n_persons >= ITEM_COVERAGE_FROM}
    lines += [_coverage(f"item {name}", f"cover_{name}", with_items) for name in ("a", "b")]
    lines.append(_held_out(runs, key))
    return lines


def _of(runs: Runs, size: str, key: str) -> list[Run]:
    return [run for run in runs.get(size, ()) if run.program == key]


def _line(what: str, met: bool | None, figures: str) -> str:
    return f"{'not run' if met is None else 'met' if met else 'NOT MET':8s} {what}: {figures}"


def _bound(what: str, value: float, bound: float, because: str = "") -> str:
    if not math.isfinite(value):
        return _line(f"{what} <= {bound:.3g}", None, "no run")
    met = value <= bound
    return _line(f"{what} <= {bound:.3g}", met, f"{value:.3g}{'' if met or not because else f'. {because}'}")


def _slopes(judged: Runs) -> str:
    found = {size: clustered(values(runs, "slope_ratio")) for size, runs in judged.items()}
    found = {size: ratio for size, ratio in found.items() if math.isfinite(ratio.mean)}
    low, high = SLOPE_RATIO
    met = all(low <= ratio.mean <= high for ratio in found.values()) if found else None
    figures = (f"{ratio.mean:.3f} ({_interval(ratio)}) at {size}" for size, ratio in found.items())
    because = "".join(_biased(size, judged[size]) for size, ratio in found.items() if ratio.mean > high)
    return _line(f"median slope ratio {low} to {high}, mean over seeds", met, _listed(figures) + because)


def _biased(size: str, runs: Sequence[Run]) -> str:
    known = clustered(values(runs, "known_slope_ratio"))
    if not math.isfinite(known.mean):
        return ""
    return (
        f". {known.mean:.3f} is the ratio at {size} by maximum likelihood with the true abilities given: that much is "
        f"the bias of slopes from {SIZES[size].n_persons} persons, away from 0, and no fault of the scale"
    )


def _coverage(what: str, name: str, judged: Runs) -> str:
    low, high = COVERAGE
    figures, met = [], []
    for size, runs in judged.items():
        c = clustered(values(runs, name))
        if not math.isfinite(c.mean):
            continue
        alone = not math.isfinite(c.low)
        bottom, top = (c.mean, c.mean) if alone else (c.low, c.high)
        met.append(bottom <= high and top >= low)
        figures.append(f"{c.mean:.3f} ({_interval(c)}) at {size}")
    return _line(
        f"95 % intervals of {what}, coverage {low} to {high} within Monte Carlo error",
        all(met) if met else None,
        _listed(figures),
    )


def _held_out(runs: Runs, key: str) -> str:
    figures, met = [], []
    for size, all_runs in runs.items():
        ours = {run.seed: run.values["loss"] for run in all_runs if run.program == key and "loss" in run.values}
        for peer in dict.fromkeys(run.program for run in all_runs if not PROGRAMS[run.program].is_ours):
            theirs = {run.seed: run.values["loss"] for run in all_runs if run.program == peer and "loss" in run.values}
            seeds = [seed for seed in ours if math.isfinite(theirs.get(seed, math.nan))]
            if not seeds:
                continue
            mine, other = (sum(losses[s] for s in seeds) / len(seeds) for losses in (ours, theirs))
            met.append(mine <= other)
            figures.append(f"{mine:.2f} against {other:.2f} of {PROGRAMS[peer].label} at {size}")
    what = "expected loss per 1,000 new responses no worse than any peer's on the same seeds"
    return _line(what, all(met) if met else None, _listed(figures))


def _interval(c: Clustered) -> str:
    return f"{c.low:.3f} to {c.high:.3f}" if math.isfinite(c.low) else "one seed"


def _listed(figures: Iterable[str]) -> str:
    return ", ".join(figures) or "no run"

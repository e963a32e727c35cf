"""Simulation-based calibration of the four Stan programs, and what it sees when a prior or a program is wrong.

    python benchmarks/stan_calibration.py [--worlds 120] [--jobs 2] [--only two_pl]

A world: parameters drawn from the priors, counts of 0 to 3 trials a cell drawn from the model, 63 nearly independent
posterior draws (stanli), ranks of the truth among them. `_calibration.py` has the tests; the level is .01 over all
tests of the programs as they are. With a wrong prior, or with a wrong line in the program, the least p of its
quantities is shown: every wrong prior must be refused at that level. Worlds are small (8 persons x 6 items, wide:
6 x 10), because priors, and the Jacobians of the abilities' mean and SD, matter most there.
Writes out/stan-calibration.png: for each quantity how far the distribution of the truth's ranks is from uniform.
Ends with 1 if a program is not calibrated, or a wrong prior not seen.

Measured (8 minutes on two cores): of 72 tests the least p is .02; wrong priors have p < 1e-18. What 120 worlds do not
see is a missing Jacobian of which only the SD of the abilities at hand is a part; tests/unit/test_stan_programs.py,
which compares densities, does.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks._calibration import Calibration, IntArray, chi_square, uniformity
from psychoeval.irt.models import (
    Beta,
    HalfNormal,
    ItemModel,
    ItemPopulation,
    LogNormal,
    Normal,
    Priors,
    resolve_priors,
)

LEVEL = 0.01
BINS = 16
PICTURE = Path("out", "stan-calibration.png")


def population(mean: float = 0.3, sd: float = 1.0, slope_sd: float = 0.5, latent_sd: float = 1.5) -> Priors:
    """Return a population of items narrower than the preset's: half the fits of that are of next to no information."""
    return Priors(
        population=ItemPopulation(
            mean_difficulty=Normal(mean, 1.0),
            sd_difficulty=HalfNormal(sd),
            mean_log_discrimination=Normal(0.1, 0.4),
            sd_log_discrimination=HalfNormal(slope_sd),
            latent_sd=HalfNormal(latent_sd),
        )
    )


PRESET = resolve_priors("population")
ON_D = Priors(log_discrimination=Normal(0.2, 0.4), intercept=Normal(0.3, 1.2))
ON_B = Priors(discrimination=LogNormal(0.1, 0.4), difficulty=Normal(-0.4, 1.0))
WIDE = {"n_persons": 6, "n_items": 10}
LONG = {"warmup": 400, "thin": 10}  # the preset's posteriors are harder to sample

RIGHT: dict[str, Calibration] = {
    "rasch, population": Calibration(ItemModel("Rasch", population())),
    "rasch, stated d": Calibration(ItemModel("Rasch", ON_D), **WIDE),
    "rasch, preset": Calibration(ItemModel("Rasch", PRESET), **LONG),
    "one_pl, population": Calibration(ItemModel("1PL", population())),
    "one_pl, stated b": Calibration(ItemModel("1PL", ON_B), **WIDE),
    "two_pl, population": Calibration(ItemModel("2PL", population())),
    "two_pl, population, wide": Calibration(ItemModel("2PL", population()), **WIDE),
    "two_pl, stated d": Calibration(ItemModel("2PL", ON_D)),
    "two_pl, preset": Calibration(ItemModel("2PL", PRESET), **LONG),
    "three_pl, population": Calibration(ItemModel("3PL", population())),
    "three_pl, stated d, beta": Calibration(ItemModel("3PL", ON_D, Beta(5, 17)), **WIDE),
    "three_pl, stated b, c = .2": Calibration(ItemModel("3PL", ON_B, 0.2)),
}


def _wrong(name: str, priors: Priors) -> Calibration:
    return Calibration(ItemModel(name, population()), fitted=ItemModel(name, priors))


#: Fitted with another prior than the truth is drawn from.
WRONG_PRIOR: dict[str, Calibration] = {
    "rasch, latent SD too small": _wrong("Rasch", population(latent_sd=0.4)),
    "one_pl, difficulties shifted by 1.5": _wrong("1PL", population(mean=1.8)),
    "two_pl, difficulties shifted by 1.5": _wrong("2PL", population(mean=1.8)),
    "two_pl, difficulties too near": _wrong("2PL", population(sd=0.3)),
    "two_pl, slopes too near": _wrong("2PL", population(slope_sd=0.1)),
    "three_pl, guessing too low": Calibration(
        ItemModel("3PL", ON_D, Beta(5, 17)), fitted=ItemModel("3PL", ON_D, Beta(5, 45))
    ),
}


def _faulty(name: str, line: str, instead: str) -> Calibration:
    return Calibration(ItemModel(name, population()), lines={line: instead})


#: A wrong line in the program: reported.
WRONG_PROGRAM: dict[str, Calibration] = {
    "rasch, no Jacobian of sigma": _faulty(
        "Rasch", "log_q ~ log_chi_square(N);", "log_q ~ log_chi_square(N); target += log(s) - log(sigma);"
    ),
    "rasch, mean of abilities too near 0": _faulty("Rasch", "m_raw ~ std_normal();", "m_raw ~ normal(0, 0.1);"),
    "two_pl, no unit of mu_b, sd_b": _faulty(
        "2PL", "log_q ~ log_chi_square(N);", "log_q ~ log_chi_square(N); target += -2 * log(s);"
    ),
    "two_pl, density of log a for that of a": Calibration(
        ItemModel("2PL", ON_D),  # with a population, the mistake makes it improper
        lines={"log_a ~ normal(slope_mean, slope_sd);": "log_a ~ normal(slope_mean, slope_sd); target += sum(log_a);"},
    ),
}


def measure(calibrations: Mapping[str, Calibration], worlds: int, jobs: int) -> dict[str, dict[str, IntArray]]:
    """Return the ranks of each, a process each and `jobs` at a time."""
    with ProcessPoolExecutor(jobs) as pool:
        tasks = {
            name: pool.submit(calibration.ranks, worlds, seed)
            for seed, (name, calibration) in enumerate(calibrations.items(), start=1)
        }
        return {name: task.result() for name, task in tasks.items()}


def print_right(ranks: Mapping[str, Mapping[str, IntArray]], level: float) -> bool:
    """Print the tests of the programs as they are; return whether all pass."""
    print(f"\n{'':28}{'quantity':16}{'p':>8}{'chi-square':>12}{'location':>10}{'spread':>8}{'skew':>7}   (z)")
    fine = True
    for name, of in ranks.items():
        for quantity, r in of.items():
            p, z = uniformity(r)
            fine &= p >= level
            mark = "" if p >= level else "  NOT CALIBRATED"
            print(f"{name:28}{quantity:16}{p:8.4f}{chi_square(r, BINS):12.4f}{z[0]:10.2f}{z[1]:8.2f}{z[2]:7.2f}{mark}")
            name = ""
    return fine


def print_wrong(title: str, ranks: Mapping[str, Mapping[str, IntArray]], level: float) -> bool:
    """Print the quantity of each that shows most; return whether each is refused."""
    print(f"\n{title:36}{'seen in':16}{'least p':>10}{'location':>10}{'spread':>8}{'skew':>7}   (z)")
    fine = True
    for name, of in ranks.items():
        found = {quantity: uniformity(r) for quantity, r in of.items()}
        quantity = min(found, key=lambda key: found[key][0])
        p, z = found[quantity]
        fine &= p < level
        mark = "" if p < level else "  not seen"
        print(f"{name:36}{quantity:16}{p:10.1e}{z[0]:10.2f}{z[1]:8.2f}{z[2]:7.2f}{mark}")
    return fine


def draw(ranks: Mapping[str, Mapping[str, IntArray]], path: Path) -> None:
    """Draw sqrt(worlds) (distribution of ranks - uniform) of each quantity; in grey what Kolmogorov-Smirnov takes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = -(-len(ranks) // 4)
    figure, axes = pyplot.subplots(rows, 4, figsize=(16, 2.6 * rows), sharex=True, squeeze=False)
    colors = dict(zip(sorted({q for of in ranks.values() for q in of}), pyplot.get_cmap("tab10").colors, strict=False))
    for axis, (name, of) in zip(axes.flat, ranks.items(), strict=False):
        for quantity, r in of.items():
            pool = r.shape[1]
            share = np.bincount(r[:, 0].ravel(), minlength=pool).cumsum() / r[:, 0].size
            grid = np.arange(1, pool + 1) / pool
            axis.plot(grid, np.sqrt(len(r)) * (share - grid), color=colors[quantity], label=quantity, lw=1)
        axis.axhspan(-1.63, 1.63, color="0.93", zorder=0)  # level .01 of one element a world
        axis.set_title(name, fontsize=9)
        axis.set_ylim(-max(3, np.abs(axis.get_ylim()).max()), max(3, np.abs(axis.get_ylim()).max()))
    for axis in axes.flat[len(ranks) :]:
        axis.axis("off")
    handles = {label: handle for axis in axes.flat for handle, label in zip(*axis.get_legend_handles_labels())}  # noqa: B905
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=len(handles), frameon=False)
    figure.supxlabel("rank of the truth among the draws, over their number", y=0.04, fontsize=10)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="those whose names begin so")
    options = parser.parse_args()
    seconds = time.perf_counter()
    found = []
    for group in (RIGHT, WRONG_PRIOR, WRONG_PROGRAM):
        chosen = {name: c for name, c in group.items() if name.startswith(options.only)}
        found.append(measure(chosen, options.worlds, options.jobs))
    right, priors, programs = found
    level = LEVEL / max(1, sum(len(of) for of in right.values()))
    print(f"{options.worlds} worlds each, {time.perf_counter() - seconds:.0f} s; level {LEVEL} over all: {level:.1e}")
    fine = print_right(right, level)
    fine &= print_wrong("the prior is wrong", priors, level)
    print_wrong("a line of the program is wrong", programs, level)
    draw(right | priors | programs, PICTURE)
    print(f"\n{PICTURE}")
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())

"""How cost grows: CPU seconds against persons, items and cells, with fitted exponents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.native.data import Size, simulate
from benchmarks.native.programs import Program
from benchmarks.native.runs import run

#: Persons at 1,000 items, and items at 1,000 persons. Below some 1,000 of either what a fit costs at any size, in calls
#: and in items that converge late, hides the growth.
STEPS = (1000, 2000, 4000, 8000, 16000)
FIXED = 1000
REPEATS = 2

Points = list[tuple[int, int, float]]


def measure(program: Program, limit: float) -> Points:
    """Return (N, J, CPU seconds) along both axes, the least over the seeds; sizes that failed are left out."""
    shapes = dict.fromkeys([(n, FIXED) for n in STEPS] + [(FIXED, j) for j in STEPS])
    points = []
    for n, j in shapes:
        size = Size(n, j)
        runs = [
            run(program, simulate(size, seed), size=size.name, seed=seed, limit=limit, likelihood=False)
            for seed in range(REPEATS)
        ]
        seconds = [r.values["cpu"] for r in runs if "cpu" in r.values]
        if seconds:
            points.append((n, j, min(seconds)))
    return points


def exponent(sizes: ArrayLike, seconds: ArrayLike) -> float:
    """Return k of seconds ~ size^k, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def panels(points: Points) -> dict[str, tuple[list[int], list[float]]]:
    """Return sizes and seconds of each panel of the picture."""
    by_n, by_j = ([p for p in points if p[1 - axis] == FIXED] for axis in (0, 1))
    return {
        f"persons N, at J = {FIXED:,}": ([n for n, _, _ in by_n], [s for *_, s in by_n]),
        f"items J, at N = {FIXED:,}": ([j for _, j, _ in by_j], [s for *_, s in by_j]),
        "cells N J": ([n * j for n, j, _ in points], [s for *_, s in points]),
    }


def draw(points: Points, label: str, path: Path) -> list[str]:
    """Write the picture (PNG) and return a sentence for each panel."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
    sentences = []
    for axis, (what, (sizes, seconds)) in zip(axes, panels(points).items(), strict=True):
        order = np.argsort(sizes)
        x, y = np.asarray(sizes, float)[order], np.asarray(seconds)[order]
        k = exponent(x, y)
        axis.loglog(x, y, "o", color="#1f77b4")
        middle = np.exp(np.log(y).mean() - k * np.log(x).mean())
        axis.loglog(x, middle * x**k, "-", color="0.5", linewidth=1, label=f"seconds ~ size^{k:.2f}")
        axis.set_xlabel(what)
        axis.legend(frameon=False)
        sentences.append(f"CPU seconds grow as {what} to the power {k:.2f} ({x[0]:,.0f} to {x[-1]:,.0f}).")
    axes[0].set_ylabel("CPU seconds, one thread")
    figure.suptitle(f"Cost of {label} (2PL, fit, standard errors and scores)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return sentences

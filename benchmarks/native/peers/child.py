"""The child process of a Python program: read a job, fit, write what was found. Needs NumPy only."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

_MIB = 1024.0**2


def cpu_seconds() -> float:
    """Return the user and system time of this process, all threads, and of its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def forget_peak() -> None:
    """Set the peak resident memory back to what is held now (Linux; elsewhere the peak is the process's)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """Return the peak resident memory in MiB since `forget_peak`."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (_MIB if sys.platform == "darwin" else 1024.0)


def held_mb() -> float:
    """Return the resident memory held now, in MiB; NaN where it cannot be told."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / _MIB
    return float("nan")


def warm_up_cells() -> np.ndarray[Any, Any]:
    """Return small data, so that what a program imports, compiles or looks up once is not counted as the fit."""
    rng = np.random.default_rng(0)
    theta, b = rng.normal(size=120), np.linspace(-1, 1, 8)
    return (rng.random((120, 8)) < 1 / (1 + np.exp(-(theta[:, None] - b)))).astype(np.uint8)


def main(
    prepare: Callable[..., Any],
    fit: Callable[..., dict[str, Any]],
    after: Callable[[], dict[str, Any]] = dict,
) -> None:
    """Run one job: ``prepare(cells, settings)`` is not timed, ``fit(prepared, settings)`` is, scoring included.

    `fit` returns arrays theta, a, d and, where the program has them, theta_se, a_se, b_se; the rest is kept as facts.
    What `after` returns, untimed, is kept with them.
    """
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    settings = job["settings"]
    with suppress(Exception):  # what fails on the small data may do on the large
        fit(prepare(warm_up_cells(), settings), settings)
    cells = np.fromfile(folder / "cells.u8", dtype=np.uint8).reshape(job["n_persons"], job["n_items"])
    prepared = prepare(cells, settings)
    del cells
    forget_peak()
    held, wall, cpu = held_mb(), time.perf_counter(), cpu_seconds()
    found = fit(prepared, settings)
    facts = {
        "cpu": cpu_seconds() - cpu,
        "wall": time.perf_counter() - wall,
        "peak_mb": peak_mb(),
        "held_mb": held,
    }
    for name, value in found.items():
        if isinstance(value, np.ndarray):
            np.asarray(value, dtype=np.float64).ravel().tofile(folder / f"{name}.f64")
        elif value is not None:
            facts[name] = value
    facts.update(after())
    (folder / "reply.json").write_text(json.dumps(facts))

"""Run one program on one data set, in a child process with one thread and a time limit, and judge what it returned."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.native.data import Simulated
from benchmarks.native.environments import NotThere
from benchmarks.native.known_abilities import known_slope_ratio
from benchmarks.native.metrics import Estimates, marginal_log_likelihood, recovery
from benchmarks.native.programs import Program

#: Cells above which the near-exact log-likelihood, minutes of work there, is left out.
LIKELIHOOD_CELLS = 6_000_000
#: Persons up to which slopes are biased enough for what they would be with known abilities to be of interest.
FEW_PERSONS = 400


@dataclass(frozen=True, slots=True)
class Run:
    """One program on one data set: metrics and facts by name, or why there are none (`problem`, a sentence)."""

    program: str
    size: str
    seed: int
    values: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


def write_job(folder: Path, data: Simulated) -> None:
    """Write the cells where children read them."""
    data.cells.tofile(folder / "cells.u8")


def run(
    program: Program,
    data: Simulated,
    *,
    size: str,
    seed: int,
    limit: float,
    likelihood: bool = True,
    settings: dict[str, Any] | None = None,
) -> Run:
    """Fit and score once.

    Parameters
    ----------
    program : Program
    data : Simulated
    size, seed : str, int
        Of the data, for the record.
    limit : float
        Seconds of wall time of the child, its start included.
    likelihood : bool
        Whether to compute the near-exact marginal log-likelihood at its item parameters.
    settings : dict, optional
        For the program, over its own.
    """
    try:
        command, environment = program.command()
    except NotThere as missing:
        return Run(program.key, size, seed, problem=str(missing))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_job(folder, data)
        n, j = data.cells.shape
        job = {"n_persons": n, "n_items": j, "settings": {**program.settings, **(settings or {})}}
        (folder / "job.json").write_text(json.dumps(job))
        began = time.monotonic()
        try:
            done = subprocess.run(
                [*command, name],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            return Run(program.key, size, seed, problem=f"Stopped at the limit of {limit:.0f} s.")
        if not (folder / "reply.json").is_file():
            seconds = time.monotonic() - began
            reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            return Run(program.key, size, seed, problem=f"Failed after {seconds:.0f} s: {reason[:160]}")
        facts = json.loads((folder / "reply.json").read_text())
        found = _estimates(folder)
    values = {name: float(facts[name]) for name in ("cpu", "wall", "peak_mb", "held_mb")}
    values |= recovery(found, data)
    if n <= FEW_PERSONS:
        values["known_slope_ratio"] = known_slope_ratio(data)
    if likelihood and data.cells.size <= LIKELIHOOD_CELLS and np.isfinite(found.a * found.d).all():
        values["log_likelihood"] = marginal_log_likelihood(data.cells, found.a, found.d)
    return Run(program.key, size, seed, values, facts)


def _estimates(folder: Path) -> Estimates:
    def read(name: str) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        path = folder / f"{name}.f64"
        return np.fromfile(path) if path.is_file() else None

    theta, a, d = read("theta"), read("a"), read("d")
    assert theta is not None
    assert a is not None
    assert d is not None
    return Estimates(theta, a, d, read("theta_se"), read("a_se"), read("b_se"))

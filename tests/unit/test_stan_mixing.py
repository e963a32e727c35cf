"""What benchmarks/stan_mixing.py says of runs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks._stan_plain import simulate
from benchmarks._stan_runs import Run, Task, best_possible, measure, of_draws
from benchmarks.stan_mixing import against_brms, line, verdict
from tests.gates import needs

OURS = Run(name="stan-hmc, stanli", draws="2 x 500", seconds=50.0, least=400.0, largest=1.03, cpu=100.0)


@needs("arviz")
def test_a_run_is_its_slowest_parameter_and_its_largest_r_hat() -> None:
    rng = np.random.default_rng(0)
    good, stuck = rng.normal(size=(2, 400, 3)), rng.normal(size=(2, 400))
    stuck[1] += 3
    statistics = {"n_steps": np.full((2, 400), 7), "diverging": np.zeros((2, 400), dtype=bool)}
    run = of_draws("x", {"good": good, "stuck": stuck}, statistics, seconds=2.0)
    assert (run.slowest, run.draws, run.gradients, run.divergences, run.beyond) == ("stuck", "2 x 400", 7.0, 0, 1)
    assert run.least < 10 < 500 < run.median
    assert run.largest > 1.5
    assert run.rate == run.least / 2
    assert "stuck" in line(run)


def test_brms_stopped_at_the_limit_counts_as_if_its_draws_were_independent() -> None:
    stopped = Run(name="brms", failure="not finished in 400 s", draws="2 x 500", seconds=400.0)
    assert best_possible(stopped) == 2.5
    assert "at least 3.2 times brms's: (target 3 met)" in against_brms([OURS, stopped])
    ended = Run(name="brms", draws="2 x 500", seconds=100.0, least=300.0)
    assert " is 2.7 times brms's: (target 3 MISSED)" in against_brms([OURS, ended])
    assert against_brms([OURS]) == ""
    assert against_brms([OURS, Run(name="brms", failure="left out: no R")]) == ""


def test_targets_are_judged_one_by_one() -> None:
    said = verdict(OURS, Run(name="2104 normals", largest=1.04))
    assert "50 s (target 240 s met)" in said
    assert "R-hat 1.030 (target 1.02 MISSED)" in said
    assert said.endswith("of independent normals 1.040")


def test_what_is_not_ready_in_time_or_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import _stan_runs
    from psychoeval.errors import EngineUnavailableError, FitTimeoutError

    task = Task(responses=simulate(5, 4, 1), warmup=10, samples=20, seed=1, limit=3.0)

    def late(_: Task) -> Run:
        raise FitTimeoutError("Late.", "Wait.")

    def gone(_: str) -> None:
        raise EngineUnavailableError("There is none.", "Install it.")

    monkeypatch.setattr(_stan_runs, "require", lambda _: None)
    monkeypatch.setattr(_stan_runs, "ROWS", {"brms": ("brms", late)})
    assert (measure("brms", task).failure, measure("brms", task).seconds) == ("not finished in 3 s", 3.0)
    monkeypatch.setattr(_stan_runs, "require", gone)
    assert measure("brms", task).failure == "left out: There is none."

"""Who samples the 2PL in `stan_mixing.py`, and what is measured of a run."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks._stan_plain import NORMALS, PLAIN
from psychoeval.availability import require
from psychoeval.errors import EngineUnavailableError, EngineWarning, FitTimeoutError
from psychoeval.estimators.brms.estimator import Brms
from psychoeval.estimators.stan.backend import BackendName, SamplingJob
from psychoeval.estimators.stan.backend_stanli import StanliBackend
from psychoeval.estimators.stan.data import program, stan_data
from psychoeval.estimators.stan.estimator import StanHMC
from psychoeval.estimators.stan.posterior import NAMES
from psychoeval.estimators.stan.source import program_source
from psychoeval.estimators.stan.starts import initial_values
from psychoeval.irt.models import ItemModel, resolve_priors
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.results.sampling_figures import convergence_figures

CHAINS: Final = 2
#: Of what R-hat and ESS are taken: all parameters of the model. Intercepts are functions of them.
QUANTITIES: Final = tuple(NAMES[name] for name in ("theta", "a", "b", "mu_log_a", "sd_log_a", "mu_b", "sd_b"))
MODEL: Final = ItemModel("2PL", resolve_priors("population"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Data, draws a chain, seed, and the seconds that a run may take."""

    responses: Responses
    warmup: int
    samples: int
    seed: int
    limit: float
    adapt_delta: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was reached; without `draws` it is why nothing was.

    Parameters
    ----------
    seconds : float
        Warm-up and sampling of the slowest chain, without building; the limit if that was reached.
    sampling_seconds : float
        Of the slowest chain; NaN where the program does not say.
    cpu : float
        Processor seconds of all chains, without building.
    gradients : float
        A draw, after warm-up.
    least : float
        Smallest bulk ESS, of `slowest`.
    largest, beyond : float, int
        R-hat, and how many of the parameters have one above 1.02.
    """

    name: str
    failure: str = ""
    draws: str = ""
    build_seconds: float = 0.0
    seconds: float = np.nan
    sampling_seconds: float = np.nan
    cpu: float = np.nan
    gradients: float = np.nan
    divergences: int = 0
    least: float = np.nan
    slowest: str = ""
    median: float = np.nan
    largest: float = np.nan
    beyond: int = 0

    @property
    def rate(self) -> float:
        """ESS a second of the slowest parameter, warm-up included."""
        return self.least / self.seconds

    @property
    def cpu_rate(self) -> float:
        """The same a processor second of a chain: what `rate` is on an idle machine, about."""
        return self.least * CHAINS / self.cpu


Values = Mapping[str, NDArray[np.float64]]


def of_draws(name: str, values: Values, statistics: Values, **measured: Any) -> Run:
    """Return what draws (C, S, ...) of each quantity are worth."""
    ess, rhat, names = [], [], []
    for quantity, array in values.items():
        figures = convergence_figures(array.reshape(*array.shape[:2], -1))
        ess.append(figures.ess_bulk)
        rhat.append(figures.rhat)
        names += [quantity] * figures.rhat.size
    bulk, r = np.concatenate(ess), np.concatenate(rhat)
    chains, samples = next(iter(values.values())).shape[:2]
    return Run(
        name=name,
        draws=f"{chains} x {samples}",
        gradients=float(statistics["n_steps"].mean()),
        divergences=int(statistics["diverging"].sum()),
        least=float(bulk.min()),
        slowest=names[int(bulk.argmin())],
        median=float(np.median(bulk)),
        largest=float(r.max()),
        beyond=int((r > 1.02).sum()),
        **measured,
    )


def _of_result(name: str, result: FitResult) -> Run:
    assert result.draws is not None
    details = result.provenance.details
    warmup, sampling = (np.array(details[f"{phase}_seconds"]) for phase in ("warmup", "sampling"))
    return of_draws(
        name,
        {quantity: result.draws.values[quantity] for quantity in QUANTITIES},
        result.draws.sample_stats,
        build_seconds=float(details.get("build_seconds", 0.0)),
        seconds=float((warmup + sampling).max()),
        sampling_seconds=float(sampling.max()),
    )


def ours(task: Task, backend: BackendName) -> Run:
    """stan-hmc at its defaults."""
    settings = {} if task.adapt_delta is None else {"adapt_delta": task.adapt_delta}
    estimator = StanHMC(
        chains=CHAINS,
        warmup=task.warmup,
        samples=task.samples,
        seed=task.seed,
        timeout=task.limit,
        backend=backend,
        **settings,
    )
    return _of_result(f"stan-hmc, {backend}", estimator.fit(task.responses, MODEL))


def brms(task: Task) -> Run:
    """brms at its defaults; the limit is for sampling, and building has a minute of its own."""
    estimator = Brms(chains=CHAINS, warmup=task.warmup, samples=task.samples, seed=task.seed, timeout=task.limit + 60.0)
    return _of_result("brms", estimator.fit(task.responses, MODEL))


def plain(task: Task) -> Run:
    """The same posterior from theta, standard scores of log a and b, and the population's means and SDs."""
    known = ("N", "J", "successes", "slope_prior", "sd_slope_prior", "location_prior", "sd_location_prior")
    data = stan_data(task.responses, MODEL)
    values, measured, statistics = _by_stanli(PLAIN, {k: data[k] for k in known}, task)
    return of_draws(
        "plain program, stanli", {ours: values[s] for s, ours in NAMES.items() if s in values}, statistics, **measured
    )


def normals(task: Task) -> Run:
    """As many independent standard normals as the model has parameters: what R-hat is where nothing is in the way."""
    parameters = task.responses.n_persons + 2 * task.responses.n_items + 4
    values, measured, statistics = _by_stanli(NORMALS, {"P": parameters}, task)
    return of_draws(f"{parameters} normals, stanli", {"x": values["x"]}, statistics, **measured)


def _by_stanli(source: str, data: Mapping[str, Any], task: Task) -> tuple[Values, dict[str, Any], Values]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.stan")
        path.write_text(source, encoding="utf-8")
        sampled = StanliBackend().sample(
            SamplingJob(
                program=path,
                data=data,
                inits=None,
                chains=CHAINS,
                warmup=task.warmup,
                samples=task.samples,
                seed=task.seed,
                adapt_delta=StanHMC().adapt_delta if task.adapt_delta is None else task.adapt_delta,
                max_treedepth=10,
                timeout=task.limit,
                n_jobs=CHAINS,
            )
        )
    warmup, sampling = np.array(sampled.warmup_seconds), np.array(sampled.sampling_seconds)
    measured = {"seconds": float((warmup + sampling).max()), "sampling_seconds": float(sampling.max())}
    return sampled.values, measured, sampled.sample_stats


def pystan(task: Task) -> Run:
    """Our program, built by PyStan; the limit is for sampling, and building has two minutes of its own."""
    data = stan_data(task.responses, MODEL)
    job = {
        "source": program_source(program(MODEL)),
        "data": data,
        "inits": initial_values(task.responses, MODEL, data, chains=CHAINS, seed=task.seed),
        "chains": CHAINS,
        "warmup": task.warmup,
        "samples": task.samples,
        "seed": task.seed,
        "adapt_delta": StanHMC().adapt_delta if task.adapt_delta is None else task.adapt_delta,
        "quantities": [stan for stan, name in NAMES.items() if name in QUANTITIES],
    }
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder, "job.json"), Path(folder, "answer.npz")
        question.write_text(json.dumps(job, default=lambda array: array.tolist()), encoding="utf-8")
        script = Path(__file__).with_name("_stan_pystan.py")
        _run_child([sys.executable, str(script), str(question), str(answer)], task.limit + 120.0)
        with np.load(answer) as found:
            arrays = dict(found)
    return of_draws(
        "our program, PyStan",
        {name: arrays[stan] for stan, name in NAMES.items() if stan in arrays},
        {"n_steps": arrays["n_leapfrog__"], "diverging": arrays["divergent__"]},
        build_seconds=float(arrays["build_seconds"]),
        seconds=float(arrays["seconds"]),
    )


def _run_child(command: list[str], limit: float) -> None:
    """Run a program and all that it starts, and end them all at the limit."""
    with subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            _, said = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise FitTimeoutError(f"It did not finish within {limit:g} s.", "Allow more time (--limit).") from None
    if child.returncode:
        raise EngineUnavailableError((said.strip().splitlines() or ["It said nothing."])[-1], "Run it by itself.")


#: Name of a row -> the engine that it needs, and how it is run.
ROWS: Final[Mapping[str, tuple[str, Callable[[Task], Run]]]] = {
    "ours": ("stanli", lambda task: ours(task, "stanli")),
    "cmdstan": ("cmdstan", lambda task: ours(task, "cmdstan")),
    "pystan": ("pystan", pystan),
    "plain": ("stanli", plain),
    "brms": ("brms", brms),
    "normals": ("stanli", normals),
}


def measure(row: str, task: Task) -> Run:
    """Run one row; what is not installed or not ready in time is a row too, that says so."""
    engine, work = ROWS[row]
    before, began = _cpu(), time.perf_counter()
    try:
        require(engine)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EngineWarning)  # of chains that mix badly: that is the question here
            run = work(task)
    except FitTimeoutError:
        return Run(
            name=row,
            failure=f"not finished in {task.limit:g} s",
            draws=f"{CHAINS} x {task.samples}",
            seconds=task.limit,
        )
    except EngineUnavailableError as missing:
        return Run(name=row, failure=f"left out: {missing.problem}", seconds=time.perf_counter() - began)
    return replace(run, cpu=_cpu() - before - run.build_seconds)


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def best_possible(run: Run) -> float:
    """Return the ESS a second of a run that did not finish, were all its draws independent: it has less."""
    chains, samples = (int(part) for part in run.draws.split(" x "))
    return chains * samples / run.seconds


def find(runs: Iterable[Run], name: str) -> Run | None:
    return next((run for run in runs if run.name.startswith(name)), None)

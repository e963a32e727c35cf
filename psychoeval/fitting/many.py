"""Fit many estimators side by side; one that fails costs none of the others."""

from __future__ import annotations

import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from psychoeval.errors import PsychoevalError, SettingsError
from psychoeval.estimators.base import Estimator
from psychoeval.estimators.settings import check_seed, check_timeout, check_whole
from psychoeval.fitting.one import item_model, prepare, run
from psychoeval.fitting.store import FitStore
from psychoeval.irt.models import Guessing, ItemModel, PriorsLike
from psychoeval.registry import entry, make_estimator
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult


@dataclass(frozen=True, slots=True)
class FitFailure:
    """A fit that gave no result: which, why and what to do."""

    estimator: str
    model: ItemModel | None
    kind: str
    problem: str
    remedy: str
    seconds: float

    @property
    def label(self) -> str:
        """Estimator and model."""
        return self.estimator if self.model is None else f"{self.estimator} {self.model.label}"


@dataclass(frozen=True, slots=True)
class Fits:
    """Several fits of one data set, and those that gave no result."""

    responses: Responses
    results: tuple[FitResult, ...]
    failures: tuple[FitFailure, ...] = ()


class FitsInterrupted(KeyboardInterrupt):
    """Ctrl-C during `fit_many`: `fits` holds what was already computed."""

    def __init__(self, fits: Fits) -> None:
        self.fits = fits
        super().__init__(f"Interrupted; {len(fits.results)} fits were finished.")


Progress = Callable[[str, str], None]
Job = TypeVar("Job")
Outcome = TypeVar("Outcome")


def fit_many(
    responses: Responses,
    estimators: Sequence[str | Estimator],
    model: str | ItemModel | Sequence[str | ItemModel] | None = None,
    *,
    priors: PriorsLike = "default",
    guessing: Guessing | None = None,
    allow_free_2pl: bool = False,
    timeout: float | None = None,
    n_jobs: int = 1,
    seed: int | None = None,
    progress: Progress | None = None,
    store: FitStore | None = None,
) -> Fits:
    """Fit several estimators and models; one that fails costs none of the others.

    Parameters
    ----------
    responses : Responses
    estimators : sequence of str or Estimator
    model : str, ItemModel or a sequence of them
        Every estimator that needs a model fits each of those it can.
    priors, guessing, allow_free_2pl
        As in `fit`.
    timeout : float, optional
        Seconds allowed to each fit of an estimator that has a time limit.
    n_jobs : int
        Fits at a time. More than one runs R in child processes.
    seed : int, optional
        Given to every estimator that takes one.
    progress : callable, optional
        Called with (label, event), events ``"start"``, ``"done"``, ``"failed"``.
    store : FitStore, optional
        Fits found there are not run again; new ones are kept there as soon as they are done.

    Returns
    -------
    Fits
        Results and failures, each in the order asked for.

    Raises
    ------
    SettingsError, ModelError
        For an estimator, model, priors or common setting that does not exist; all else that goes wrong is recorded in
        `failures`.
    FitsInterrupted
        On Ctrl-C, after running children have ended; it is a KeyboardInterrupt that holds the fits already done.
    """
    _check_common(estimators, n_jobs, timeout, seed)
    models: list[str | ItemModel | None] = (
        list(model) if isinstance(model, (list, tuple)) else [model]  # type: ignore[list-item]
    )
    for wanted in models:
        if isinstance(wanted, str):  # a name or priors that no estimator knows
            item_model(wanted, priors, guessing)
    jobs: list[tuple[str | Estimator, str | ItemModel | None]] = []
    for estimator in estimators:
        needs_model = bool(entry(estimator if isinstance(estimator, str) else estimator.name).models)
        jobs += [(estimator, m) for m in (models if needs_model else [None])]

    def run_job(job: tuple[str | Estimator, str | ItemModel | None]) -> FitResult | FitFailure:
        estimator, wanted = job
        name = estimator if isinstance(estimator, str) else estimator.name
        start = time.perf_counter()
        built: ItemModel | None = wanted if isinstance(wanted, ItemModel) else None
        label = name if wanted is None else f"{name} {wanted if isinstance(wanted, str) else wanted.label}"
        if progress is not None:
            progress(label, "start")
        try:
            settings = _common_settings(name, timeout, n_jobs, seed) if isinstance(estimator, str) else {}
            chosen, built = prepare(responses, estimator, wanted, priors, guessing, allow_free_2pl, settings)
            result = None if store is None else store.find(responses, chosen, built)
            if result is None:
                result = run(chosen, responses, built)
                if store is not None:
                    store.keep(result, responses, chosen, built)
        except Exception as error:  # whatever it is, it must not cost the other fits
            if progress is not None:
                progress(label, "failed")
            problem, remedy = str(error), "This is a defect: please report it with the data's digest and the settings."
            if isinstance(error, PsychoevalError):
                problem, remedy = error.problem, error.remedy
            return FitFailure(name, built, type(error).__name__, problem, remedy, time.perf_counter() - start)
        if progress is not None:
            progress(label, "done")
        return result

    outcomes, interrupted = run_all(run_job, jobs, n_jobs)
    fits = Fits(
        responses,
        tuple(o for o in outcomes if isinstance(o, FitResult)),
        tuple(o for o in outcomes if isinstance(o, FitFailure)),
    )
    if interrupted:
        raise FitsInterrupted(fits)
    return fits


def _check_common(estimators: Sequence[str | Estimator], n_jobs: int, timeout: float | None, seed: int | None) -> None:
    if isinstance(estimators, str) or not len(estimators):
        raise SettingsError(f"estimators is {estimators!r}.", 'Give a list of names, as in ["map", "mirt-em"].')
    check_whole(n_jobs=n_jobs)
    check_timeout(timeout)
    check_seed(seed)


def _common_settings(name: str, timeout: float | None, n_jobs: int, seed: int | None) -> dict[str, Any]:
    wanted: dict[str, Any] = {"timeout": timeout, "seed": seed}
    if n_jobs > 1 and entry(name).engine == "r":
        wanted["bridge"] = "rscript"
    fields = {f.name for f in dataclasses.fields(make_estimator(name))}  # type: ignore[arg-type]
    return {key: value for key, value in wanted.items() if value is not None and key in fields}


def run_all(run: Callable[[Job], Outcome], jobs: Sequence[Job], n_jobs: int) -> tuple[list[Outcome], bool]:
    """Return the outcomes in order, and whether Ctrl-C cut them short: then those of the jobs that were done."""
    outcomes: list[Outcome] = []
    if n_jobs == 1:
        try:
            for job in jobs:
                outcomes.append(run(job))
        except KeyboardInterrupt:
            return outcomes, True
        return outcomes, False
    # Threads: the native estimators release the lock in BLAS, and R runs in child processes.
    pool = ThreadPoolExecutor(n_jobs)
    futures = [pool.submit(run, job) for job in jobs]
    try:
        pending = set(futures)
        while pending:  # a wait without limit would not see Ctrl-C on every platform
            _, pending = wait(pending, timeout=1.0)
    except KeyboardInterrupt:
        with _ctrl_c_ignored():
            done = [f for f in futures if f.done()]
            _end(pool)
        return [f.result() for f in done], True
    pool.shutdown()
    return [future.result() for future in futures], False


def _end(pool: ThreadPoolExecutor) -> None:
    """End the fits that run: those in child processes at once, native ones when they are done."""
    from psychoeval.children import allow_children, stop_children

    stop_children()
    pool.shutdown(wait=True, cancel_futures=True)
    allow_children()


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """Let a second Ctrl-C not cut short what the first one began."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

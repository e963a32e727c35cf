"""Fit one estimator, or many side by side: check, look up, run, stamp provenance."""

from __future__ import annotations

import dataclasses
import platform
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from psychoeval.errors import ConvergenceWarning, ModelError, PsychoevalError, SettingsError
from psychoeval.estimators.base import Estimator
from psychoeval.fit_store import FitStore
from psychoeval.irt.models import Guessing, ItemModel, ModelName, PriorsLike, resolve_priors
from psychoeval.registry import Entry, entry, make_estimator
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import peak_memory_mb

#: A free 2PL at or below this many persons, with more parameters than persons, is refused unless asked for: on 12 x
#: 200 its slopes reach 88 and its ranking is worse than the plain average; at N <= 100 it fails without priors.
FREE_SLOPES_MIN_PERSONS = 100


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


def item_model(
    name: str,
    priors: PriorsLike = "default",
    guessing: Guessing | None = None,
    *,
    row: Entry | None = None,
) -> ItemModel:
    """Return the model that a name, priors and guessing stand for.

    Parameters
    ----------
    name : str
        ``"Rasch"``, ``"1PL"``, ``"2PL"`` or ``"3PL"``; priors in brackets, as in ``"2PL[weak]"``, go before `priors`.
    priors : Priors, "default", "none", "weak" or "published"
        ``"default"`` takes what the estimator of `row` declares. ``"none"`` also frees the guessing of a 3PL
        unless `guessing` says otherwise.
    guessing : float, "free", Beta or LogitNormal, optional
    row : Entry, optional
        Of the estimator.

    Examples
    --------
    >>> item_model("2PL[weak]").label
    '2PL [weak]'
    """
    if name.endswith("]") and "[" in name:
        name, _, bracketed = name[:-1].partition("[")
        name, priors = name.strip(), bracketed.strip()
    if priors in ("none", None) and name == "3PL" and guessing is None:
        guessing = "free"
    if priors == "default":
        priors = row.default_priors if row is not None else "none"
    return ItemModel(cast(ModelName, name), resolve_priors(priors), guessing)


def fit(
    responses: Responses,
    estimator: str | Estimator,
    model: str | ItemModel | None = None,
    *,
    priors: PriorsLike = "default",
    guessing: Guessing | None = None,
    allow_free_2pl: bool = False,
    **settings: Any,
) -> FitResult:
    """Fit one estimator.

    Parameters
    ----------
    responses : Responses
    estimator : str or Estimator
        A registry name, with its settings as keywords, or a settings object.
    model : str or ItemModel, optional
        Needed by estimators that fit an item response model; a name takes `priors` and `guessing`.
    priors : Priors or str
        ``"default"`` (what the estimator declares), ``"none"``, ``"weak"``, ``"published"`` or densities.
    guessing : float, "free", Beta or LogitNormal, optional
        Of a 3PL.
    allow_free_2pl : bool
        Fit item slopes without a prior on at most 100 persons with more parameters than persons.
    **settings
        Of the estimator.

    Returns
    -------
    FitResult
        Also when the fit did not converge: then with its status and a `ConvergenceWarning`.

    Raises
    ------
    SettingsError, ModelError, DataError
        Before anything runs.
    EngineUnavailableError, EngineFailedError, FitTimeoutError
        From engines outside NumPy.
    """
    chosen, item_response_model = _prepare(responses, estimator, model, priors, guessing, allow_free_2pl, settings)
    result = _run(chosen, responses, item_response_model)
    if not result.convergence.believed:
        reasons = " ".join(result.convergence.failures) or "See convergence.warnings."
        warnings.warn(f"{result.label}: {result.convergence.status}. {reasons}", ConvergenceWarning, stacklevel=2)
    return result


def describe_fit(
    responses: Responses,
    estimator: str | Estimator,
    model: str | ItemModel | None = None,
    *,
    priors: PriorsLike = "default",
    guessing: Guessing | None = None,
    allow_free_2pl: bool = False,
    **settings: Any,
) -> str:
    """Return the job that `fit` would run, for mirt a complete R script. Parameters and errors are those of `fit`."""
    chosen, built = _prepare(responses, estimator, model, priors, guessing, allow_free_2pl, settings)
    return chosen.describe(responses, built)


def _prepare(
    responses: Responses,
    estimator: str | Estimator,
    model: str | ItemModel | None,
    priors: PriorsLike,
    guessing: Guessing | None,
    allow_free_2pl: bool,
    settings: dict[str, Any],
) -> tuple[Estimator, ItemModel | None]:
    if not isinstance(responses, Responses):
        raise SettingsError(
            f"responses is a {type(responses).__name__}.",
            "Give a Responses object: Responses.from_array, from_wide, from_long or load_dataset make one.",
        )
    if isinstance(estimator, str):
        chosen = make_estimator(estimator, **settings)
    elif settings:
        raise SettingsError("Settings were given beside a settings object.", "Set them on the object itself.")
    else:
        chosen = estimator
    row = entry(chosen.name)
    if not row.models:
        return chosen, None
    if model is None:
        raise ModelError(f"{chosen.name} needs a model.", f"Give model= one of {', '.join(row.models)}.")
    built = model if isinstance(model, ItemModel) else item_model(model, priors, guessing, row=row)
    if built.name not in row.models:
        raise ModelError(f"{chosen.name} does not fit the {built.name}.", f"It fits {', '.join(row.models)}.")
    if not responses.is_binary and "counts" not in row.accepts:
        raise ModelError(f"{chosen.name} takes binary responses only.", "Choose an estimator that accepts counts.")
    _check_free_slopes(responses, built, allow_free_2pl)
    return chosen, built


def _check_free_slopes(responses: Responses, model: ItemModel, allow: bool) -> None:
    if allow or not model.has_free_slopes:
        return
    n, j = responses.n_persons, responses.n_items
    parameters = model.n_parameters(j)
    if n <= FREE_SLOPES_MIN_PERSONS and parameters > n:
        raise ModelError(
            f"A {model.name} without a prior on the slopes has {parameters} parameters for {n} "
            f"{responses.person_label}s and {j} items: on so few its slopes run away and its ranking can be worse "
            "than the plain average.",
            'Fit the Rasch model, or a 2PL with priors="weak" (--priors weak); '
            "allow_free_2pl=True (--allow-free-2pl) fits it all the same.",
        )


def _run(estimator: Estimator, responses: Responses, model: ItemModel | None) -> FitResult:
    start = time.perf_counter()
    result = estimator.fit(responses, model)
    seconds = time.perf_counter() - start
    from psychoeval import __version__

    given = result.provenance
    versions = {"psychoeval": __version__, "python": platform.python_version(), "numpy": np.__version__}
    settings = {f.name: getattr(estimator, f.name) for f in dataclasses.fields(estimator)}  # type: ignore[arg-type]
    provenance = dataclasses.replace(
        given,
        versions={**versions, **given.versions},
        settings={**settings, **given.settings},
        data_sha256=responses.sha256,
        seconds=seconds,
        peak_memory_mb=peak_memory_mb(),
    )
    n_persons = int(np.count_nonzero(responses.trials.any(axis=1)))
    return dataclasses.replace(result, provenance=provenance, n_persons=n_persons)


Progress = Callable[[str, str], None]


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
    SettingsError
        For an unknown estimator; all else that goes wrong is recorded in `failures`.
    FitsInterrupted
        On Ctrl-C, after running children have ended; it is a KeyboardInterrupt that holds the fits already done.
    """
    models: list[str | ItemModel | None] = (
        list(model) if isinstance(model, (list, tuple)) else [model]  # type: ignore[list-item]
    )
    jobs: list[tuple[str | Estimator, str | ItemModel | None]] = []
    for estimator in estimators:
        needs_model = bool(entry(estimator if isinstance(estimator, str) else estimator.name).models)
        jobs += [(estimator, m) for m in (models if needs_model else [None])]

    def run(job: tuple[str | Estimator, str | ItemModel | None]) -> FitResult | FitFailure:
        estimator, wanted = job
        name = estimator if isinstance(estimator, str) else estimator.name
        start = time.perf_counter()
        built: ItemModel | None = wanted if isinstance(wanted, ItemModel) else None
        label = name if wanted is None else f"{name} {wanted if isinstance(wanted, str) else wanted.label}"
        if progress is not None:
            progress(label, "start")
        try:
            settings = _common_settings(name, timeout, n_jobs, seed) if isinstance(estimator, str) else {}
            chosen, built = _prepare(responses, estimator, wanted, priors, guessing, allow_free_2pl, settings)
            result = None if store is None else store.find(responses, chosen, built)
            if result is None:
                result = _run(chosen, responses, built)
                if store is not None:
                    store.keep(result, responses, chosen, built)
        except PsychoevalError as error:
            if progress is not None:
                progress(label, "failed")
            seconds = time.perf_counter() - start
            return FitFailure(name, built, type(error).__name__, error.problem, error.remedy, seconds)
        if progress is not None:
            progress(label, "done")
        return result

    outcomes, interrupted = _run_all(run, jobs, n_jobs)
    fits = Fits(
        responses,
        tuple(o for o in outcomes if isinstance(o, FitResult)),
        tuple(o for o in outcomes if isinstance(o, FitFailure)),
    )
    if interrupted:
        raise FitsInterrupted(fits)
    return fits


def _common_settings(name: str, timeout: float | None, n_jobs: int, seed: int | None) -> dict[str, Any]:
    wanted: dict[str, Any] = {"timeout": timeout, "seed": seed}
    if n_jobs > 1 and entry(name).engine == "r":
        wanted["bridge"] = "rscript"
    fields = {f.name for f in dataclasses.fields(make_estimator(name))}  # type: ignore[arg-type]
    return {key: value for key, value in wanted.items() if value is not None and key in fields}


def _run_all(
    run: Callable[[Any], FitResult | FitFailure], jobs: Sequence[Any], n_jobs: int
) -> tuple[list[FitResult | FitFailure], bool]:
    """Return the outcomes in order, and whether Ctrl-C cut them short."""
    outcomes: list[FitResult | FitFailure] = []
    if n_jobs == 1:
        try:
            for job in jobs:
                outcomes.append(run(job))
        except KeyboardInterrupt:
            return outcomes, True
        return outcomes, False
    # Threads: the native estimators release the lock in BLAS, and R runs in child processes.
    with ThreadPoolExecutor(n_jobs) as pool:
        futures: list[Future[FitResult | FitFailure]] = [pool.submit(run, job) for job in jobs]
        try:
            pending = set(futures)
            while pending:  # a wait without limit would not see Ctrl-C on every platform
                _, pending = wait(pending, timeout=1.0)
        except KeyboardInterrupt:
            from psychoeval.rbridge.bridge_rscript import stop_children

            for future in futures:
                future.cancel()
            stop_children()
            return [f.result() for f in futures if f.done() and not f.cancelled()], True
    return [future.result() for future in futures], False

"""Fit one estimator: check, look up, run, stamp provenance."""

from __future__ import annotations

import dataclasses
import platform
import time
import warnings
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from psychoeval._version import __version__
from psychoeval.errors import ConvergenceWarning, ModelError, NotComparableError, SettingsError
from psychoeval.estimators.base import Estimator
from psychoeval.irt.models import (
    MODEL_NAMES,
    Guessing,
    ItemModel,
    ModelName,
    PriorsLike,
    refuse_population,
    resolve_priors,
)
from psychoeval.registry import REGISTRY, Entry, entry, make_estimator
from psychoeval.responses.connectivity import components
from psychoeval.responses.continuous import not_continuous
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import peak_memory_mb

#: A free 2PL at or below this many persons, with more parameters than persons, is refused unless asked for: on 12 x
#: 200 its slopes reach 88 and its ranking is worse than the plain average; at N <= 100 it fails without priors.
FREE_SLOPES_MIN_PERSONS = 100


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
    priors : Priors, "default", "none", "weak", "hierarchical" or "published"
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
    name = next((known for known in MODEL_NAMES if known.lower() == name.lower()), name)
    if priors in ("none", None) and name == "3PL" and guessing is None:
        guessing = "free"
    if priors == "default":
        priors = row.priors_of(name) if row is not None else "none"
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
        ``"default"`` (what the estimator declares), ``"none"``, ``"weak"``, ``"hierarchical"``, ``"published"``,
        ``"population"`` or densities.
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
    chosen, item_response_model = prepare(responses, estimator, model, priors, guessing, allow_free_2pl, settings)
    result = run(chosen, responses, item_response_model)
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
    chosen, built = prepare(responses, estimator, model, priors, guessing, allow_free_2pl, settings)
    return chosen.describe(responses, built)


def estimator_of(result: FitResult) -> Estimator:
    """Return the settings object of a fit, to fit other data in the same way.

    Raises
    ------
    NotComparableError
        If the fit comes from another program.
    """
    if result.estimator not in REGISTRY:
        raise NotComparableError(
            f"{result.label} comes from another program, which cannot be run again.", "Fit with an estimator of ours."
        )
    known = {f.name for f in dataclasses.fields(make_estimator(result.estimator))}  # type: ignore[arg-type]
    return make_estimator(result.estimator, **{k: v for k, v in result.provenance.settings.items() if k in known})


def prepare(
    responses: Responses,
    estimator: str | Estimator,
    model: str | ItemModel | None,
    priors: PriorsLike,
    guessing: Guessing | None,
    allow_free_2pl: bool,
    settings: dict[str, Any],
) -> tuple[Estimator, ItemModel | None]:
    """Return the settings object and the model of a fit, everything checked that can be before it runs."""
    responses = not_continuous(responses)
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
    if built.priors is not None and built.priors.estimated_means and not row.estimates_prior_means:
        able = ", ".join(name for name, other in REGISTRY.items() if other.estimates_prior_means)
        raise ModelError(
            f"{chosen.name} does not estimate the means of priors ({built.label}).",
            f'Take priors="weak", whose means are stated, or an estimator that does: {able}.',
        )
    if not row.takes_population:
        refuse_population(built, chosen.name)
    _check_free_slopes(responses, built, allow_free_2pl or row.estimates_population)
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


def run(estimator: Estimator, responses: Responses, model: ItemModel | None) -> FitResult:
    """Run a fit and stamp its provenance."""
    start = time.perf_counter()
    result = estimator.fit(responses, model)
    seconds = time.perf_counter() - start
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
    n_persons = result.n_persons  # an estimator that leaves persons out says how many it kept
    if n_persons is None:
        n_persons = int(np.count_nonzero(responses.trials.any(axis=1)))
    return dataclasses.replace(
        result, provenance=provenance, n_persons=n_persons, components=_components(result, responses)
    )


def _components(result: FitResult, responses: Responses) -> NDArray[np.int64] | None:
    """Return the component of each person of the abilities, from 1; None where there is one."""
    if result.abilities is None or (found := components(responses)).n <= 1:
        return None
    number = np.where(found.person_component >= 0, found.person_component + 1, -1)
    of = dict(zip(responses.person_ids, number.tolist(), strict=True))
    out = np.array([of.get(i, -1) for i in result.abilities.person_ids], dtype=np.int64)
    out.flags.writeable = False
    return out

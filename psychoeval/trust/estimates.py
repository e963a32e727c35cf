"""Estimates of a fit with the covariance of their errors, for all persons that have one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from psychoeval.agreement.inference_decisions import errors_of
from psychoeval.agreement.matching import check_fit
from psychoeval.errors import DisconnectedDataError, NotComparableError, SettingsError
from psychoeval.irt.classical import FloatArray
from psychoeval.irt.parameters import Abilities
from psychoeval.results.fit_result import FitResult
from psychoeval.wording import some

#: Above so many persons no N x N tables are made.
MOST_PERSONS: Final = 2000


def check_size(n: int) -> None:
    """Refuse a number of persons that cannot be ranked."""
    if n < 2:
        raise NotComparableError("There are fewer than two persons with an estimate.", "Give at least two.")
    if n > MOST_PERSONS:
        raise NotComparableError(
            f"There are {n:,} persons, and a ranking has a table of all pairs.", f"Rank at most {MOST_PERSONS:,}."
        )


def abilities_of(fit: FitResult) -> Abilities:
    """Return the abilities of a fit.

    Raises
    ------
    DataError
        If it is no fit.
    NotComparableError
        If it has none.
    """
    check_fit(fit)
    if fit.abilities is None:
        raise NotComparableError(f"{fit.label} has no abilities.", "Rank with an estimator that gives them.")
    return fit.abilities


def one_component(fit: FitResult, abilities: Abilities, number: int | None) -> Abilities:
    """Return the abilities of the persons of one component, all of them where the data hang together.

    Raises
    ------
    DisconnectedDataError
        If the data fall into components and none is named.
    SettingsError
        If there is no such component.
    """
    sizes = {1: abilities.n_persons}
    if fit.components is not None:
        numbers, counts = np.unique(fit.components[fit.components > 0], return_counts=True)
        sizes = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    if number is not None and number not in sizes:
        raise SettingsError(f"component is {number!r}.", f"Give one of {', '.join(map(str, sizes))}.")
    if fit.components is None or len(sizes) < 2:
        return abilities
    if number is None:
        raise DisconnectedDataError(
            f"The data of {fit.label} fall into {len(sizes)} components that share no response (of "
            f"{some(list(sizes.values()))} persons): nothing ranks persons across them.",
            "Rank one of them: rank(fit, component=1), or `psychoeval trust --component 1`. `psychoeval screen` names "
            "what would join them.",
        )
    at = np.flatnonzero(fit.components == number)
    return replace(
        abilities,
        person_ids=tuple(abilities.person_ids[i] for i in at),
        estimate=abilities.estimate[at],
        standard_error=None if abilities.standard_error is None else abilities.standard_error[at],
        covariance=None if abilities.covariance is None else abilities.covariance[np.ix_(at, at)],
        effective_n=None if abilities.effective_n is None else abilities.effective_n[at],
        n_units=None if abilities.n_units is None else abilities.n_units[at],
        status=tuple(abilities.status[i] for i in at),
    )


def estimates(abilities: Abilities, label: str) -> tuple[tuple[str, ...], FloatArray, FloatArray, FloatArray | None]:
    """Return ids, estimates (N,), their covariance (N, N) and units (N,) of the persons that have an estimate.

    Raises
    ------
    NotComparableError
        If there are fewer than two or too many, or one has no finite estimate or error; named.
    """
    known = np.flatnonzero(~np.isnan(abilities.estimate))
    check_size(known.size)
    ids = tuple(abilities.person_ids[i] for i in known)
    estimate = abilities.estimate[known]
    infinite = [name for name, value in zip(ids, estimate, strict=True) if np.isinf(value)]
    if infinite:
        raise NotComparableError(
            f"{label} gives {some(infinite)} an infinite ability, whose error is not known.",
            "Score by EAP or WLE, which are finite.",
        )
    error = errors_of(abilities)[known]
    without = [name for name, value in zip(ids, error, strict=True) if not np.isfinite(value)]
    if without:
        raise NotComparableError(
            f"{label} gives no standard error for {some(without)}.", "Fit with an estimator that gives them."
        )
    covariance = np.zeros((known.size, known.size))
    if abilities.covariance is not None:
        covariance = abilities.covariance[np.ix_(known, known)].copy()
    np.fill_diagonal(covariance, error**2)
    return ids, estimate, covariance, None if abilities.n_units is None else abilities.n_units[known]

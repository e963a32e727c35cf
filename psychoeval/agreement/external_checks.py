"""What is refused of another program's tables and figures."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, SettingsError
from psychoeval.irt.parameters import ItemParameters
from psychoeval.results.fit_result import LatentDistribution

FloatArray = NDArray[np.float64]


def check_tables(items: object, abilities: object) -> None:
    """Refuse what is no table, and tables without rows.

    Raises
    ------
    DataError
    """
    import pandas as pd

    if items is not None:
        if not isinstance(items, (pd.DataFrame, ItemParameters)):
            raise DataError(f"items is a {type(items).__name__}.", "Give a DataFrame or ItemParameters.")
        if not (items.n_items if isinstance(items, ItemParameters) else len(items)):
            raise DataError("The item table has no rows.", "Give the table, or items=None.")
    if abilities is not None:
        if not isinstance(abilities, (pd.DataFrame, Mapping)):
            raise DataError(
                f"abilities is a {type(abilities).__name__}.", "Give a DataFrame, or a mapping of person id to ability."
            )
        if not len(abilities):
            raise DataError("The ability table has no rows.", "Give the table, or abilities=None.")


def check_options(name: object, latent: object, log_likelihood: object, n_parameters: object) -> None:
    """Refuse figures and names that are none.

    Raises
    ------
    SettingsError
    """
    if not isinstance(name, str) or not name.strip():
        raise SettingsError(f"name={reprlib.repr(name)} is no name.", "Give the program's name as text.")
    if latent is not None:
        _check_latent(latent)
    if log_likelihood is not None and not _is_finite(log_likelihood):
        raise SettingsError(
            f"log_likelihood={reprlib.repr(log_likelihood)} is not a finite number.", "Give a number, or None."
        )
    whole = isinstance(n_parameters, (int, np.integer)) and not isinstance(n_parameters, bool)
    if n_parameters is not None and not (whole and n_parameters >= 0):  # type: ignore[operator]
        raise SettingsError(
            f"n_parameters={reprlib.repr(n_parameters)} is no number of parameters.",
            "Give a whole number from 0, or None.",
        )


def check_guessing(items: ItemParameters) -> None:
    """Refuse lower asymptotes that are no probabilities below 1.

    Raises
    ------
    DataError
        Naming the first such item.
    """
    c = items.guessing
    wrong = np.isfinite(c) & ~((c >= 0) & (c < 1)) | np.isinf(c)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise DataError(
            f"The lower asymptote of item {items.item_ids[first][:60]!r} is {c[first]:g}, outside [0, 1).",
            "It is the probability of success at very low ability; convert a logit or a percentage.",
        )


def check_proportions(person_ids: Sequence[str], estimate: FloatArray) -> None:
    """Refuse proportions outside [0, 1].

    Raises
    ------
    DataError
        Naming the first such person.
    """
    wrong = (estimate < 0) | (estimate > 1)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise DataError(
            f"The ability of {person_ids[first][:60]!r} is {estimate[first]:g}, which is no proportion.",
            "Divide percentages by 100, or give ability_scale='logit'.",
        )


def _check_latent(latent: object) -> None:
    if not isinstance(latent, LatentDistribution):
        raise SettingsError(
            f"latent_distribution is a {type(latent).__name__}.", "Give LatentDistribution(mean=..., sd=...), or None."
        )
    if not _is_finite(latent.mean) or not _is_finite(latent.sd) or latent.sd <= 0:
        raise SettingsError(
            f"latent_distribution has the mean {latent.mean!r} and the SD {latent.sd!r}.",
            "Give a finite mean and a positive, finite SD.",
        )


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond 1.8e308
        return False

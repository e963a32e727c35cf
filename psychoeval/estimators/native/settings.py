"""Checks of the settings that several native estimators have."""

from __future__ import annotations

from typing import Any

from psychoeval.errors import SettingsError


def check_tolerance(estimator: Any) -> None:
    """Refuse a `tolerance` that is not a number between 0 and 1.

    Raises
    ------
    SettingsError
    """
    value = estimator.tolerance
    if isinstance(value, bool) or not (isinstance(value, (int, float)) and 0 < value < 1):
        raise SettingsError(f"{estimator.name}: tolerance={value!r}.", "Give a number between 0 and 1, such as 1e-6.")


def check_whole(estimator: Any, name: str) -> None:
    """Refuse a setting that is not a positive whole number.

    Raises
    ------
    SettingsError
    """
    value = getattr(estimator, name)
    if isinstance(value, bool) or not (isinstance(value, int) and value > 0):
        raise SettingsError(f"{estimator.name}: {name}={value!r}.", "Give a positive whole number.")

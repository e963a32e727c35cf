"""Checks of the settings that several native estimators have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from psychoeval.errors import SettingsError
from psychoeval.estimators.settings import is_choice

#: What Ctrl-C does: raise, or return where the search stands.
OnInterrupt = Literal["raise", "return"]


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


def check_choice(estimator: Any, name: str, choices: Sequence[str]) -> None:
    """Refuse a setting that is none of `choices`.

    Raises
    ------
    SettingsError
    """
    value = getattr(estimator, name)
    if not is_choice(value, choices):
        raise SettingsError(f"{estimator.name}: {name}={value!r} is unknown.", f"Choose one of {', '.join(choices)}.")


def check_on_interrupt(estimator: Any) -> None:
    """Refuse an `on_interrupt` that is neither ``"raise"`` nor ``"return"``.

    Raises
    ------
    SettingsError
    """
    check_choice(estimator, "on_interrupt", get_args(OnInterrupt))

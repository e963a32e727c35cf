"""Checks of the settings that both estimators have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

from psychoeval.errors import SettingsError

ScoringMethod = Literal["EAP", "MAP", "ML", "WLE"]

#: Arguments of mirt() that change how it computes and not what it fits.
ENGINE_ARGUMENTS: Final = ("technical", "optimizer", "accelerate", "control", "draws", "GenRandomPars")

#: Entries of mirt's `technical` that have a setting of their own, or none.
_MANAGED: Final = {
    "NCYCLES": "max_iterations",
    "theta_lim": "quadrature_limit",
    "set.seed": "seed",
    "customK": "the data",
}


def check_positive(**values: float) -> None:
    """Refuse numbers that are not above 0.

    Raises
    ------
    SettingsError
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise SettingsError(f"{name} is {value!r}.", "Give a number above 0.")


def check_whole(**values: int) -> None:
    """Refuse numbers that are not whole and positive.

    Raises
    ------
    SettingsError
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SettingsError(f"{name} is {value!r}.", "Give a whole number above 0.")


def check_timeout(timeout: float | None) -> None:
    """Refuse a time limit that is not a finite number of seconds above 0, or None.

    Raises
    ------
    SettingsError
    """
    if timeout is not None and (
        isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < float("inf")
    ):
        raise SettingsError(f"timeout is {timeout!r}.", "Give seconds above 0, or None for no limit.")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of `choices`.

    Raises
    ------
    SettingsError
    """
    if value not in choices:
        raise SettingsError(f"{name} is {value!r}.", f"Choose one of {', '.join(choices)}.")


def check_seed(seed: int | None) -> None:
    """Refuse a seed that R cannot take.

    Raises
    ------
    SettingsError
    """
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31):
        raise SettingsError(f"seed is {seed!r}.", "Give a whole number from 0 to 2147483647.")


def check_ability_method(method: str) -> None:
    """Refuse a scoring method that mirt is not asked for.

    Raises
    ------
    SettingsError
    """
    check_choice("ability_method", method, get_args(ScoringMethod))


def check_engine_options(options: Mapping[str, Any]) -> None:
    """Refuse engine options that mirt lacks, that change the model, or that have a setting of their own.

    Raises
    ------
    SettingsError
    """
    if not isinstance(options, Mapping):
        raise SettingsError(f"engine_options is a {type(options).__name__}.", "Give a mapping.")
    for key in options:
        if key not in ENGINE_ARGUMENTS:
            raise SettingsError(
                f"engine_options has no {key!r}.", f"It takes mirt's {', '.join(ENGINE_ARGUMENTS)}, in mirt's spelling."
            )
    technical = options.get("technical") or {}
    if not isinstance(technical, Mapping):
        raise SettingsError(f"technical is a {type(technical).__name__}.", "Give a mapping.")
    for key in technical:
        if key in _MANAGED:
            raise SettingsError(f"technical was given {key!r}.", f"It comes from {_MANAGED[key]}.")

"""Checks of the settings that only mirt has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from psychoeval.errors import SettingsError
from psychoeval.estimators.settings import check_choice, check_mapping

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
    check_mapping(engine_options=options)
    for key in options:
        if key not in ENGINE_ARGUMENTS:
            raise SettingsError(
                f"engine_options has no {key!r}.", f"It takes mirt's {', '.join(ENGINE_ARGUMENTS)}, in mirt's spelling."
            )
    technical = options.get("technical") or {}
    check_mapping(technical=technical)
    for key in technical:
        if key in _MANAGED:
            raise SettingsError(f"technical was given {key!r}.", f"It comes from {_MANAGED[key]}.")

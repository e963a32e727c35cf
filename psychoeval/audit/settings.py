"""Checks of settings that several audits share."""

from __future__ import annotations

from numbers import Real

import numpy as np

from psychoeval.errors import SettingsError


def check_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1)."""
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 1:
        raise SettingsError(f"level is {level!r}.", "Give a confidence level between 0 and 1, such as 0.95.")


def check_whole(name: str, value: int, least: int) -> None:
    """Refuse a setting that is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingsError(f"{name} is {value!r}.", f"Give a whole number of {least} or more.")


def generator(seed: int | np.random.Generator) -> np.random.Generator:
    """Return the generator of a seed; refuse what is none."""
    if not isinstance(seed, np.random.Generator):
        check_whole("seed", seed, 0)
    return np.random.default_rng(seed)

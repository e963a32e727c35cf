"""Checks of settings that estimators of several engines have."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from psychoeval.errors import SettingsError

#: Draws of a chain below which its halves have no variance to compare.
MIN_SAMPLES: Final = 4
#: Of what is counted; two of them add up to what 32 bits hold.
MOST: Final = 10**9
#: Each is a process.
MOST_CHAINS: Final = 1000


def check_positive(**values: float) -> None:
    """Refuse numbers that are not above 0.

    Raises
    ------
    SettingsError
    """
    for name, value in values.items():
        if not _is_finite(value) or value <= 0:
            raise SettingsError(f"{name} is {value!r}.", "Give a number above 0.")


def _is_finite(value: object) -> bool:
    """Whether a value is a number that a double holds: whole numbers may be larger."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def check_between(low: float, high: float, **values: float) -> None:
    """Refuse numbers that do not lie between `low` and `high`.

    Raises
    ------
    SettingsError
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low < value < high:
            raise SettingsError(f"{name} is {value!r}.", f"Give a number between {low:g} and {high:g}.")


def check_whole(low: int = 1, /, **values: int) -> None:
    """Refuse numbers that are not whole, below `low`, or beyond what R and Stan can count.

    Raises
    ------
    SettingsError
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise SettingsError(f"{name} is {value!r}.", f"Give a whole number above {low - 1}.")
        if value > MOST:
            raise SettingsError(f"{name} is {value!r}.", f"Give a whole number of at most {MOST}.")


def is_choice(value: object, choices: Sequence[str]) -> bool:
    """Return whether a value is one of some words; what cannot be compared with them is none."""
    return isinstance(value, str) and value in choices


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of `choices`.

    Raises
    ------
    SettingsError
    """
    if not is_choice(value, choices):
        raise SettingsError(f"{name} is {value!r}.", f"Choose one of {', '.join(choices)}.")


def check_flag(**values: bool) -> None:
    """Refuse what is not True or False.

    Raises
    ------
    SettingsError
    """
    for name, value in values.items():
        if not isinstance(value, bool):
            raise SettingsError(f"{name} is {value!r}.", "Give True or False.")


def check_timeout(timeout: float | None) -> None:
    """Refuse a time limit that is not a finite number of seconds above 0, or None.

    Raises
    ------
    SettingsError
    """
    if timeout is not None and (not _is_finite(timeout) or timeout <= 0):
        raise SettingsError(f"timeout is {timeout!r}.", "Give seconds above 0, or None for no limit.")


def check_seed(seed: int | None) -> None:
    """Refuse a seed that R or Stan cannot take.

    Raises
    ------
    SettingsError
    """
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31):
        raise SettingsError(f"seed is {seed!r}.", "Give a whole number from 0 to 2147483647, or None.")


def check_mapping(**values: Mapping[str, Any]) -> None:
    """Refuse what is no mapping.

    Raises
    ------
    SettingsError
    """
    for name, value in values.items():
        if not isinstance(value, Mapping):
            raise SettingsError(f"{name} is a {type(value).__name__}.", "Give a mapping.")


def check_sampling(estimator: Any) -> None:
    """Refuse settings of an estimator that samples with Stan: those that all of them have.

    Raises
    ------
    SettingsError
    """
    check_whole(chains=estimator.chains, warmup=estimator.warmup, max_treedepth=estimator.max_treedepth)
    if estimator.chains > MOST_CHAINS:
        raise SettingsError(f"chains is {estimator.chains}.", f"Give at most {MOST_CHAINS}.")
    check_whole(MIN_SAMPLES, samples=estimator.samples)
    if estimator.n_jobs is not None:
        check_whole(n_jobs=estimator.n_jobs)
    check_seed(estimator.seed)
    check_between(0.0, 1.0, adapt_delta=estimator.adapt_delta)
    check_timeout(estimator.timeout)
    if estimator.progress is not None:
        check_flag(progress=estimator.progress)


def seed_or_drawn(seed: int | None) -> int:
    """Return the seed, or one drawn where there is none."""
    return int(np.random.default_rng().integers(2**31)) if seed is None else seed


def usable_cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

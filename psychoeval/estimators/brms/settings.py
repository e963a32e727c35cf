"""Checks of rstan's own options, and where built programs are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from psychoeval.errors import SettingsError
from psychoeval.estimators.settings import check_between, check_mapping
from psychoeval.resources import own_cache, user_cache

#: Of rstan::sampling, what changes how it computes and has no setting of its own.
ENGINE_ARGUMENTS: Final = ("init", "init_r", "control")
_MANAGED: Final = ("adapt_delta", "max_treedepth")


def check_engine_options(options: Mapping[str, Any]) -> None:
    """Refuse engine options that rstan lacks or that have a setting of their own.

    Raises
    ------
    SettingsError
    """
    check_mapping(engine_options=options)
    for key in options:
        if key not in ENGINE_ARGUMENTS:
            raise SettingsError(f"engine_options has no {key!r}.", f"It takes rstan's {', '.join(ENGINE_ARGUMENTS)}.")
    if options.get("init", "random") not in ("random", "0"):
        raise SettingsError(f"init is {options['init']!r}.", 'Give "random" or "0".')
    check_between(0.0, 100.0, init_r=options.get("init_r", 2.0))
    control = options.get("control") or {}
    check_mapping(control=control)
    for key in control:
        if key in _MANAGED:
            raise SettingsError(f"control was given {key!r}.", f"Give the setting {key} instead.")


def cache_folder() -> tuple[Path | None, str]:
    """Return the folder of built programs and nothing, or None and why there is none; see `resources.own_cache`.

    ``$XDG_CACHE_HOME/psychoeval/brms``, by default under ``~/.cache``.
    """
    try:
        return own_cache("brms"), ""
    except OSError as error:
        return None, f"{user_cache('brms')}: {error.strerror or error}"

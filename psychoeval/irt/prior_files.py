"""Priors from a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from psychoeval.errors import ModelError
from psychoeval.irt.models import LogNormal, Normal, Priors

_DENSITIES = {
    "log_discrimination": Normal,
    "discrimination": LogNormal,
    "intercept": Normal,
    "difficulty": Normal,
}
_EXAMPLE = '{"log_discrimination": [0, 0.5], "intercept": [0, 3]}'


def read_priors(path: str | Path) -> Priors:
    """Read item priors from a JSON file: ``{"log_discrimination": [mean, sd], "intercept": [mean, sd]}``.

    Keys are those of `psychoeval.irt.models.Priors`; ``discrimination`` takes the mean and SD of log a of a
    log-normal density of a.

    Raises
    ------
    ModelError
        If the file cannot be read or a key or value is not one of these.
    """
    try:
        content: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ModelError(
            f"The priors file {path} cannot be read: {error}.", f"It holds JSON like {_EXAMPLE}."
        ) from None
    if not isinstance(content, dict):
        raise ModelError(f"The priors file {path} holds no JSON object.", f"Write it like {_EXAMPLE}.")
    densities: dict[str, Any] = {}
    for key, value in content.items():
        if key not in _DENSITIES:
            raise ModelError(f"The priors file {path} has the key {key!r}.", f"The keys are {', '.join(_DENSITIES)}.")
        if (
            not isinstance(value, list)
            or len(value) != 2
            or not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value)
        ):
            raise ModelError(f"The priors file {path} gives {value!r} for {key}.", f"Write it like {_EXAMPLE}.")
        densities[key] = _DENSITIES[key](float(value[0]), float(value[1]))
    return Priors(**densities)

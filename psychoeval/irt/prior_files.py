"""Priors from a JSON file."""

from __future__ import annotations

import json
import reprlib
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
    log-normal density of a, and ``estimated_means`` true or false.

    Raises
    ------
    ModelError
        If the file cannot be read or a key or value is not one of these.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        content: Any = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ModelError(
            f"The priors file {path} cannot be read: {error}.", f"It holds JSON like {_EXAMPLE}."
        ) from None
    if not isinstance(content, dict):
        raise ModelError(f"The priors file {path} holds no JSON object.", f"Write it like {_EXAMPLE}.")
    densities: dict[str, Any] = {}
    estimated_means = content.pop("estimated_means", False)
    if not isinstance(estimated_means, bool):
        raise ModelError(
            f"The priors file {path} gives {reprlib.repr(estimated_means)} for estimated_means.", "Write true or false."
        )
    for key, value in content.items():
        if key not in _DENSITIES:
            raise ModelError(
                f"The priors file {path} has the key {key[:40]!r}.",
                f"The keys are {', '.join(_DENSITIES)}, estimated_means.",
            )
        if (
            not isinstance(value, list)
            or len(value) != 2
            or not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value)
        ):
            raise ModelError(
                f"The priors file {path} gives {reprlib.repr(value)} for {key}.", f"Write it like {_EXAMPLE}."
            )
        try:
            densities[key] = _DENSITIES[key](*value)
        except ModelError as error:
            raise ModelError(f"The priors file {path}, {key}: {error.problem}", error.remedy) from None
    return Priors(**densities, estimated_means=estimated_means)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:60]!r} occurs more than once")
        found[key] = value
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")

"""Priors from a JSON file."""

from __future__ import annotations

import json
import reprlib
from pathlib import Path
from typing import Any

from psychoeval.errors import ModelError
from psychoeval.irt.densities import HalfNormal, LogNormal, Normal
from psychoeval.irt.priors import ItemPopulation, Priors

_DENSITIES = {
    "log_discrimination": Normal,
    "discrimination": LogNormal,
    "intercept": Normal,
    "difficulty": Normal,
}
_OF_POPULATION = {
    "mean_difficulty": Normal,
    "sd_difficulty": HalfNormal,
    "mean_log_discrimination": Normal,
    "sd_log_discrimination": HalfNormal,
    "latent_sd": HalfNormal,
}
_EXAMPLE = '{"log_discrimination": [0, 0.5], "intercept": [0, 3]}'


def read_priors(path: str | Path) -> Priors:
    """Read item priors from a JSON file: ``{"log_discrimination": [mean, sd], "intercept": [mean, sd]}``.

    Keys are those of `psychoeval.irt.models.Priors`; ``discrimination`` takes the mean and SD of log a of a
    log-normal density of a, and ``estimated_means`` true or false. Instead of densities ``population`` holds those of
    a population of items, ``{"population": {"mean_difficulty": [0, 3], "sd_difficulty": 3}}``, by the names of
    `psychoeval.irt.priors.ItemPopulation`; what is left out has its default.

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
    estimated_means = content.pop("estimated_means", False)
    if not isinstance(estimated_means, bool):
        raise ModelError(
            f"The priors file {path} gives {reprlib.repr(estimated_means)} for estimated_means.", "Write true or false."
        )
    population = content.pop("population", None)
    if population is not None:
        if not isinstance(population, dict):
            raise ModelError(
                f"The priors file {path} gives {reprlib.repr(population)} for population.",
                'Write it like {"population": {"mean_difficulty": [0, 3], "sd_difficulty": 3}}.',
            )
        population = ItemPopulation(**_densities(path, population, _OF_POPULATION))
    densities = _densities(path, content, _DENSITIES)
    return Priors(**densities, estimated_means=estimated_means, population=population)


def _densities(path: str | Path, content: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Return the densities of a JSON object: a pair of numbers each, for a half-normal density one."""
    densities: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            others = ["estimated_means", "population"] if known is _DENSITIES else []
            raise ModelError(
                f"The priors file {path} has the key {key[:40]!r}.", f"The keys are {', '.join([*known, *others])}."
            )
        wanted = 1 if known[key] is HalfNormal else 2
        numbers = value if isinstance(value, list) else [value]
        if len(numbers) != wanted or not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in numbers):
            example = f'"{key}": 1.5, the SD of a half-normal density' if wanted == 1 else _EXAMPLE
            raise ModelError(
                f"The priors file {path} gives {reprlib.repr(value)} for {key}.", f"Write it like {example}."
            )
        try:
            densities[key] = known[key](*numbers)
        except ModelError as error:
            raise ModelError(f"The priors file {path}, {key}: {error.problem}", error.remedy) from None
    return densities


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:60]!r} occurs more than once")
        found[key] = value
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")

"""Checks OpenEval items against schema v0.1.0: every violation with its path."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from psychoeval.responses.readers.openeval_ids import benchmark_slug, slug
from psychoeval.wording import shorten

Level = Literal["auto", "optional", "required", "non-empty"]
Kind = Literal["text", "number", "whole number", "truth value", "score", "texts", "contents", "anything"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field: what it holds and whether it must be there.

    ``auto`` fields are filled on ingestion; ``non-empty`` ones must hold something, ``required`` ones be there.
    """

    kind: Kind
    level: Level


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of the schema, or a warning.

    Parameters
    ----------
    place : str
        File and entry.
    path : str
        ``responses[0].scores[1].value``.
    problem : str
    is_warning : bool
        Whether the item is valid all the same.
    """

    place: str
    path: str
    problem: str
    is_warning: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.path} {self.problem}"


#: What is said of a key that the schema does not have.
UNKNOWN: Final = "is not known to the schema"

#: Objects are mappings, lists of objects are lists of one; both must be there.
Schema: TypeAlias = "Mapping[str, Leaf | Schema | list[Schema]]"

_TYPED: Final[Schema] = {"type": Leaf("text", "required"), "content": Leaf("anything", "required")}
_SOURCE: Final[Schema] = {
    "benchmark_name": Leaf("text", "non-empty"),
    "benchmark_version": Leaf("text", "required"),
    "paper_url": Leaf("text", "optional"),
    "dataset_url": Leaf("text", "optional"),
    "benchmark_tags": Leaf("texts", "optional"),
}
_GENERATION: Final[Schema] = {
    "temperature": Leaf("number", "required"),
    "do_sample": Leaf("truth value", "required"),
    "top_k": Leaf("whole number", "required"),
    "top_p": Leaf("number", "required"),
    "max_tokens": Leaf("whole number", "required"),
}
_RESPONSE: Final[Schema] = {
    "response_id": Leaf("text", "auto"),
    "model": {
        "name": Leaf("text", "non-empty"),
        "size": Leaf("text", "optional"),
        "model_adaptation": {
            "system_instruction": Leaf("text", "required"),
            "generation_parameters": _GENERATION,
            "tools": [_TYPED],
        },
    },
    "item_adaptation": {
        "request_input": Leaf("contents", "non-empty"),
        "demonstrations": Leaf("texts", "optional"),
        "external_resources": [_TYPED],
    },
    "response_content": Leaf("contents", "non-empty"),
    "scores": [
        {
            "metric": {
                "name": Leaf("text", "non-empty"),
                "models": Leaf("texts", "required"),
                "extra_artifacts": [_TYPED],
            },
            "value": Leaf("score", "non-empty"),
        }
    ],
}
SCHEMA: Final[Schema] = {
    "item_id": Leaf("text", "auto"),
    "item_metadata": {
        "ingestion_time": Leaf("text", "auto"),
        "contributor": {name: Leaf("text", "optional") for name in ("name", "email", "affiliation")},
        "source": _SOURCE,
    },
    "item_content": {"input": Leaf("contents", "non-empty"), "references": Leaf("contents", "required")},
    "responses": [_RESPONSE],
    "schema_version": Leaf("text", "auto"),
}


def validate(entries: Iterable[tuple[str, Any]]) -> Iterator[Finding]:
    """Yield what is wrong with items, in their order.

    An item must have a response, as the project's own validator demands. Keys that the schema does not know, and ids
    that do not follow its rules, are warnings; ids that repeat are violations.

    Parameters
    ----------
    entries : iterable of (str, object)
        Place and item.
    """
    seen: dict[str, str] = {}
    for place, entry in entries:
        yield from _check_object(entry, SCHEMA, place, "")
        if isinstance(entry, dict):
            yield from _check_ids(entry, place, seen)


def _check_object(value: Any, schema: Schema, place: str, path: str) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield Finding(place, path or "(the item)", f"is {_found(value)}, not an object")
        return
    for key, part in schema.items():
        at = f"{path}.{key}" if path else key
        if isinstance(part, Leaf):
            if problem := _problem(part, value.get(key), key in value):
                yield Finding(place, at, problem)
        elif value.get(key) is None:
            yield Finding(place, at, "is missing")
        elif isinstance(part, list):
            yield from _check_list(value[key], part[0], place, at)
        else:
            yield from _check_object(value[key], part, place, at)
    for key in value:
        if key not in schema:
            yield Finding(place, f"{path}.{key}" if path else str(key), UNKNOWN, is_warning=True)


def _check_list(value: Any, schema: Schema, place: str, path: str) -> Iterator[Finding]:
    if not isinstance(value, list):
        yield Finding(place, path, f"is {_found(value)}, not a list")
        return
    if path == "responses" and not value:
        yield Finding(place, path, "is empty")
    for k, element in enumerate(value):
        yield from _check_object(element, schema, place, f"{path}[{k}]")


def _problem(leaf: Leaf, value: Any, there: bool) -> str | None:
    """Say what is wrong with a field; None if nothing is."""
    must = leaf.level in ("required", "non-empty")
    if not there or (value is None and leaf.kind != "anything"):
        return "is missing" if must and not there else "is null" if must else None
    wanted = _wanted(leaf.kind, value)
    if wanted:
        return f"is {_found(value)}, not {wanted}"
    if leaf.level == "non-empty" and (value == [] or (isinstance(value, str) and not value.strip())):
        return "is empty"
    return None


def _wanted(kind: Kind, value: Any) -> str | None:
    """Return what a value of this kind is; None if it is one."""
    is_truth = isinstance(value, bool)
    is_number = (
        isinstance(value, (int, float)) and not is_truth and math.isfinite(0 if isinstance(value, int) else value)
    )
    is_list = isinstance(value, list)
    fits: dict[Kind, tuple[bool, str]] = {
        "text": (isinstance(value, str), "a text"),
        "number": (is_number, "a finite number"),
        "whole number": (isinstance(value, int) and not is_truth, "a whole number"),
        "truth value": (is_truth, "true or false"),
        "score": (is_number or is_truth, "a finite number, true or false"),
        "texts": (is_list and all(isinstance(v, str) for v in value), "a list of texts"),
        "contents": (is_list and all(isinstance(v, (str, dict)) for v in value), "a list of texts and objects"),
        "anything": (True, ""),
    }
    return None if fits[kind][0] else fits[kind][1]


def general_path(finding: Finding) -> str:
    """Return a finding's path for all items and responses alike: ``responses[].scores[].value``."""
    return re.sub(r"\[\d+\]", "[]", finding.path)


def _check_ids(entry: Mapping[str, Any], place: str, seen: dict[str, str]) -> Iterator[Finding]:
    """Check ids that are there: unlike, by the rules, and responses' starting with the item's."""
    item_id = entry.get("item_id")
    if isinstance(item_id, str) and item_id:
        yield from _check_seen(item_id, "item_id", place, seen)
        bench = benchmark_slug(item_id)
        name = _named(entry)
        if bench is None:
            yield Finding(place, "item_id", "is not <bench>_<YYYYMMDDTHHMMSSZ>_<k>", is_warning=True)
        elif name is not None and bench != slug(name):
            yield Finding(place, "item_id", f"starts with {bench!r}, not {slug(name)!r}", is_warning=True)
    responses = entry.get("responses")
    for k, response in enumerate(responses if isinstance(responses, list) else ()):
        given = response.get("response_id") if isinstance(response, dict) else None
        path = f"responses[{k}].response_id"
        if not isinstance(given, str) or not given:
            continue
        yield from _check_seen(given, path, place, seen)
        if isinstance(item_id, str) and not given.startswith(f"{item_id}_"):
            yield Finding(place, path, f"does not start with the item's id {item_id!r}")


def _check_seen(given: str, path: str, place: str, seen: dict[str, str]) -> Iterator[Finding]:
    if given in seen:
        yield Finding(place, path, f"repeats that of {seen[given]}")
    seen.setdefault(given, f"{place}, {path}")


def _named(entry: Mapping[str, Any]) -> str | None:
    metadata = entry.get("item_metadata")
    source = metadata.get("source") if isinstance(metadata, dict) else None
    name = source.get("benchmark_name") if isinstance(source, dict) else None
    return name if isinstance(name, str) and name.strip() else None


def _found(value: Any) -> str:
    return "null" if value is None else shorten(repr(value))

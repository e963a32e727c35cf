"""Results as JSON and arrays: what round-trips bit for bit, and nothing that could run code."""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import StoredFileError
from psychoeval.irt.models import (
    Beta,
    HalfNormal,
    ItemModel,
    ItemPopulation,
    LogitNormal,
    LogNormal,
    Normal,
    Priors,
)
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.convergence import Convergence
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult, ItemStatistics, LatentDistribution
from psychoeval.results.provenance import Provenance
from psychoeval.results.sampling import Sampling

#: The classes a file may hold; any other name in a file is refused.
CLASSES: Final[dict[str, type]] = {
    c.__name__: c
    for c in (
        FitResult, ItemParameters, ItemStatistics, Abilities, LatentDistribution, Convergence, Provenance, ItemModel,
        Priors, ItemPopulation, Normal, LogNormal, HalfNormal, Beta, LogitNormal, Draws, Sampling,
    )
}  # fmt: skip

#: The key that tells an encoded value from a mapping of the user's.
TAG: Final = "$"

StoreArray = Callable[[NDArray[Any]], str]
ReadArray = Callable[[str], NDArray[Any]]


def encode(value: Any, store: StoreArray, where: str = "result") -> Any:
    """Return `value` as JSON content; arrays go to `store`, which returns their name.

    Raises
    ------
    StoredFileError
        If a part of it is of a type that cannot be stored; `where` it stands.
    """
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {TAG: "float", "bits": struct.pack("<d", value).hex()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return {TAG: "array", "name": store(value)}
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return {TAG: "scalar", "name": store(np.asarray(value))}
    if isinstance(value, np.str_):
        return str(value)
    if type(value) in CLASSES.values():
        content = {f.name: encode(getattr(value, f.name), store, f"{where}.{f.name}") for f in _fields(type(value))}
        return {TAG: "class", "name": type(value).__name__, "fields": content}
    return _encode_container(value, store, where)


def _encode_container(value: Any, store: StoreArray, where: str) -> Any:
    if isinstance(value, Mapping):
        pairs = [
            [encode(k, store, f"key of {where}"), encode(v, store, f"{where}[{k!r}]")] for k, v in value.items()
        ]  # fmt: skip
        if all(isinstance(k, str) for k in value) and TAG not in value:
            return dict(pairs)
        return {TAG: "mapping", "pairs": pairs}
    if isinstance(value, (tuple, list, frozenset, set)):
        given = sorted(value, key=repr) if isinstance(value, (frozenset, set)) else value
        parts = [encode(v, store, f"{where}[{k}]") for k, v in enumerate(given)]
        return parts if type(value) is list else {TAG: _CONTAINERS[_container(value)], "parts": parts}
    if isinstance(value, PurePath):
        return {TAG: "path", "text": str(value)}
    raise StoredFileError(
        f"{where} is a {type(value).__name__}, which a file of results cannot hold.",
        "Use numbers, texts, arrays, lists, mappings or the package's own models and priors.",
    )


_CONTAINERS: Final[dict[type, str]] = {tuple: "tuple", list: "list", frozenset: "frozenset", set: "set"}


def _container(value: Any) -> type:
    return next(c for c in _CONTAINERS if isinstance(value, c))


def _fields(cls: type) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(cls)


def decode(content: Any, read: ReadArray) -> Any:
    """Return what `encode` was given. Raises ValueError, KeyError or TypeError on content that it did not write."""
    if isinstance(content, list):
        return [decode(v, read) for v in content]
    if not isinstance(content, dict):
        return content
    kind = content.get(TAG)
    if kind is None:
        return {k: decode(v, read) for k, v in content.items()}
    if kind not in _DECODERS:
        raise ValueError(f"unknown kind of value {kind!r}")
    keys, decoder = _DECODERS[kind]
    _check_keys(f"a value of kind {kind}", content, {TAG, *keys})
    return decoder(content, read)


def _check_keys(what: str, content: dict[str, Any], expected: set[str]) -> None:
    if unknown := sorted(set(content) - expected):
        raise ValueError(f"{what} has unknown fields: {', '.join(unknown)}")
    if missing := sorted(expected - set(content)):
        raise ValueError(f"{what} lacks the fields: {', '.join(missing)}")


def _decode_array(content: dict[str, Any], read: ReadArray) -> NDArray[Any]:
    array = read(content["name"])
    array.flags.writeable = False
    return array


def _decode_class(content: dict[str, Any], read: ReadArray) -> Any:
    cls = CLASSES[content["name"]]
    # A field that a file lacks would be filled with its default: a result that nobody found.
    _check_keys(f"a {cls.__name__}", content["fields"], {f.name for f in _fields(cls)})
    return cls(**{name: decode(v, read) for name, v in content["fields"].items()})


def _parts(content: dict[str, Any], read: ReadArray) -> list[Any]:
    return [decode(v, read) for v in content["parts"]]


#: Kind -> its keys beside the tag, and how it is read.
_DECODERS: Final[dict[str, tuple[tuple[str, ...], Callable[[dict[str, Any], ReadArray], Any]]]] = {
    "float": (("bits",), lambda content, read: struct.unpack("<d", bytes.fromhex(content["bits"]))[0]),
    "array": (("name",), _decode_array),
    "scalar": (("name",), lambda content, read: read(content["name"])[()]),
    "class": (("name", "fields"), _decode_class),
    "mapping": (("pairs",), lambda content, read: {decode(k, read): decode(v, read) for k, v in content["pairs"]}),
    "tuple": (("parts",), lambda content, read: tuple(_parts(content, read))),
    "frozenset": (("parts",), lambda content, read: frozenset(_parts(content, read))),
    "set": (("parts",), lambda content, read: set(_parts(content, read))),
    "path": (("text",), lambda content, read: Path(content["text"])),
}

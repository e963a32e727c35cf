"""OpenEval's items as the three tables of its release, and back: ``bench``, ``item`` and ``response``.

Objects in lists of texts, settings of generation and contents become JSON texts, scores become floats, and lists of
objects become objects of lists, as in the released Parquet.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.readers.openeval_ids import split_response_id
from psychoeval.responses.readers.openeval_parquet import as_float, structs
from psychoeval.responses.readers.openeval_validate import UNKNOWN, general_path, validate
from psychoeval.responses.readers.sources import need

Row = dict[str, Any]

_GENERATION: Final = "responses[].model.model_adaptation.generation_parameters."
_SOURCE: Final = ("benchmark_name", "benchmark_version", "paper_url", "dataset_url", "benchmark_tags")


@dataclass(slots=True)
class Tables:
    """The three tables, and what they cannot hold.

    Parameters
    ----------
    bench, item, response : list of dict
    lost : Counter
        Paths of keys that have no column, with the number of times they occur; texts that spell JSON, which will be
        read back as what they spell.
    """

    bench: list[Row] = field(default_factory=list)
    item: list[Row] = field(default_factory=list)
    response: list[Row] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)


def to_tables(items: Iterable[tuple[str, Row]]) -> Tables:
    """Return items, each with its place, as tables.

    Raises
    ------
    DataError
        If an item or response has no id, or a benchmark two descriptions.
    """
    tables = Tables()
    known: dict[str, Row] = {}
    for place, item in items:
        findings = [general_path(f) for f in validate([(place, item)]) if f.problem == UNKNOWN]
        tables.lost.update(path for path in findings if not path.startswith(_GENERATION))
        metadata = dict(need(item.get("item_metadata"), dict, place, "item_metadata"))
        source = need(metadata.pop("source", None), dict, place, "item_metadata.source")
        name = need(source.get("benchmark_name"), str, place, "item_metadata.source.benchmark_name")
        bench = {key: source.get(key) for key in _SOURCE}
        if known.setdefault(name, bench) != bench:
            raise DataError(f"{place}: benchmark {name!r} is described otherwise than before.", "Make them alike.")
        content = need(item.get("item_content"), dict, place, "item_content")
        tables.item.append(
            {
                "item_id": need(item.get("item_id"), str, place, "item_id"),
                "schema_version": item.get("schema_version"),
                "item_metadata": {**metadata, "source": name},
                "item_content": {key: _texts(content, key, place, tables.lost) for key in ("input", "references")},
            }
        )
        for k, response in enumerate(need(item.get("responses") or [], list, place, "responses")):
            tables.response.append(_response_row(response, f"{place}, responses[{k}]", tables.lost))
    tables.bench = list(known.values())
    return tables


def from_tables(bench: Iterable[Row], item: Iterable[Row], response: Iterable[tuple[str, Row]]) -> list[Row]:
    """Return tables as items with their responses; a null is an absent key.

    Raises
    ------
    DataError
        If a response's item cannot be told from its id, or lists differ in length.
    """
    sources = {str(row.get("benchmark_name")): _without_nulls(row) for row in bench}
    items: dict[str, Row] = {}
    for row in item:
        found = _without_nulls(row)
        metadata = found["item_metadata"] = _object(found, "item_metadata", "item_metadata")
        if isinstance(name := metadata.get("source"), str):
            metadata["source"] = dict(sources.get(name, {"benchmark_name": name}))
        for key, texts in _object(found, "item_content", str(found.get("item_id"))).items():
            found["item_content"][key] = _contents(texts)
        items[str(found.get("item_id"))] = found | {"responses": []}
    for place, row in response:
        found = _without_nulls(row)
        model = need(found.get("model"), dict, place, "model")
        name = need(model.get("name"), str, place, "model.name")
        item_id = split_response_id(need(found.get("response_id"), str, place, "response_id"), name, place).item
        items.setdefault(item_id, {"item_id": item_id, "responses": []})
        items[item_id]["responses"].append(_nested_response(found, place))
    return list(items.values())


def _response_row(response: Any, place: str, lost: Counter[str]) -> Row:
    row = need(response, dict, place, "the response")
    model = _object(row, "model", place)
    adaptation = _object(model, "model_adaptation", place)
    asked = _object(row, "item_adaptation", place)
    scores = structs(row.get("scores"), place, "scores")
    generation = adaptation.get("generation_parameters")
    return {
        "response_id": need(row.get("response_id"), str, place, "response_id"),
        "model": {
            **{key: model.get(key) for key in ("name", "size")},
            "model_adaptation": {
                "system_instruction": adaptation.get("system_instruction"),
                "generation_parameters": None if generation is None else json.dumps(generation),
                "tools": _typed(adaptation, "tools", place, lost),
            },
        },
        "item_adaptation": {
            "request_input": _texts(asked, "request_input", place, lost),
            "demonstrations": asked.get("demonstrations"),
            "external_resources": _typed(asked, "external_resources", place, lost),
        },
        "response_content": _texts(row, "response_content", place, lost),
        "scores": {
            "metric": [_metric_row(score, place, lost) for score in scores],
            "value": [_float(score.get("value"), place) for score in scores],
        },
    }


def _metric_row(score: Row, place: str, lost: Counter[str]) -> Row:
    metric = _object(score, "metric", place)
    return {**metric, "extra_artifacts": _typed(metric, "extra_artifacts", place, lost)}


def _float(value: Any, place: str) -> float | None:
    return None if value is None else as_float(value, place, "scores[].value")


def _nested_response(row: Row, place: str) -> Row:
    adaptation = _object(_object(row, "model", place), "model_adaptation", place)
    if isinstance(settings := adaptation.get("generation_parameters"), str):
        adaptation["generation_parameters"] = _spelled(settings, dict)
    _untyped(adaptation, "tools", place)
    asked = _object(row, "item_adaptation", place)
    _untyped(asked, "external_resources", place)
    for holder, key in ((asked, "request_input"), (row, "response_content")):
        if key in holder:
            holder[key] = _contents(holder[key])
    row["scores"] = structs(row.get("scores"), place, "scores")
    for score in row["scores"]:
        _untyped(_object(score, "metric", place), "extra_artifacts", place)
    return row


def _object(holder: Row, key: str, place: str) -> Row:
    """Return an object in another; an empty one where it is absent."""
    found: Row = need({} if holder.get(key) is None else holder[key], dict, place, key)
    return found


def _texts(holder: Row, key: str, place: str, lost: Counter[str]) -> list[str] | None:
    if holder.get(key) is None:
        return None
    return [_text(v, dict, lost) for v in need(holder[key], list, place, key)]


def _typed(holder: Row, key: str, place: str, lost: Counter[str]) -> dict[str, list[Any]] | None:
    """Return entries of type and content as an object of lists."""
    if holder.get(key) is None:
        return None
    found = structs(holder[key], place, key)
    return {
        "type": [entry.get("type") for entry in found],
        "content": [_text(entry.get("content"), object, lost) for entry in found],
    }


def _untyped(holder: Row, key: str, place: str) -> None:
    """Put a list of objects in place of an object of lists, contents read from JSON."""
    if key in holder:
        holder[key] = structs(holder[key], place, key)
        for entry in holder[key]:
            if isinstance(text := entry.get("content"), str):
                entry["content"] = _spelled(text, object)


def _text(value: Any, kind: type, lost: Counter[str]) -> str:
    """Return a text as it is and anything else as JSON; note a text that would be read back as something else."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _spelled(value, kind) is not value:
        lost["texts that spell JSON, and are read back as what they spell"] += 1
    return str(value)


def _contents(texts: Any) -> Any:
    return [_spelled(t, dict) if isinstance(t, str) else t for t in texts] if isinstance(texts, list) else texts


def _spelled(text: str, kind: type) -> Any:
    """Return what a text spells as JSON, if that is no text and of `kind`, else the text itself."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, kind) and not isinstance(value, str) else text


def _without_nulls(row: Mapping[str, Any]) -> Row:
    """Return a row without the keys that are null, in objects within it too."""
    return {
        key: _without_nulls(value) if isinstance(value, dict) else _in_list(value)
        for key, value in row.items()
        if value is not None
    }


def _in_list(value: Any) -> Any:
    return [_without_nulls(v) if isinstance(v, dict) else v for v in value] if isinstance(value, list) else value

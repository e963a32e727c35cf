"""OpenEval's items as the three tables of its release, and back: ``bench``, ``item`` and ``response``.

Objects in lists of texts, settings of generation and contents become JSON texts, scores become floats, and lists of
objects become objects of lists, as in the released Parquet.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.readers.openeval_ids import split_response_id
from psychoeval.responses.readers.openeval_parquet import structs
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
                "item_content": {key: _texts(content.get(key), tables.lost) for key in ("input", "references")},
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
        metadata = found.setdefault("item_metadata", {})
        if isinstance(name := metadata.get("source"), str):
            metadata["source"] = dict(sources.get(name, {"benchmark_name": name}))
        for key, texts in (found.get("item_content") or {}).items():
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
    model = need(row.get("model"), dict, place, "model")
    adaptation = model.get("model_adaptation") or {}
    asked = row.get("item_adaptation") or {}
    scores = [
        {**score, "metric": {**metric, "extra_artifacts": _typed(metric.get("extra_artifacts"), place, lost)}}
        for score in structs(row.get("scores"), place, "scores")
        for metric in [need(score.get("metric"), dict, place, "metric")]
    ]
    generation = adaptation.get("generation_parameters")
    return {
        "response_id": need(row.get("response_id"), str, place, "response_id"),
        "model": {
            **{key: model.get(key) for key in ("name", "size")},
            "model_adaptation": {
                "system_instruction": adaptation.get("system_instruction"),
                "generation_parameters": None if generation is None else json.dumps(generation),
                "tools": _typed(adaptation.get("tools"), place, lost),
            },
        },
        "item_adaptation": {
            "request_input": _texts(asked.get("request_input"), lost),
            "demonstrations": asked.get("demonstrations"),
            "external_resources": _typed(asked.get("external_resources"), place, lost),
        },
        "response_content": _texts(row.get("response_content"), lost),
        "scores": {
            "metric": [score["metric"] for score in scores],
            "value": [None if score.get("value") is None else float(score["value"]) for score in scores],
        },
    }


def _nested_response(row: Row, place: str) -> Row:
    adaptation = row["model"].get("model_adaptation")
    if adaptation is not None:
        if isinstance(settings := adaptation.get("generation_parameters"), str):
            adaptation["generation_parameters"] = _spelled(settings, dict)
        _untyped(adaptation, "tools", place)
    if (asked := row.get("item_adaptation")) is not None:
        _untyped(asked, "external_resources", place)
        _replace(asked, "request_input", _contents)
    _replace(row, "response_content", _contents)
    row["scores"] = structs(row.get("scores"), place, "scores")
    for score in row["scores"]:
        _untyped(need(score.get("metric"), dict, place, "metric"), "extra_artifacts", place)
    return row


def _texts(values: Any, lost: Counter[str]) -> list[str] | None:
    return None if values is None else [_text(v, dict, lost) for v in values]


def _typed(entries: Any, place: str, lost: Counter[str]) -> dict[str, list[Any]] | None:
    """Return entries of type and content as an object of lists."""
    if entries is None:
        return None
    found = structs(entries, place, "typed entries")
    return {
        "type": [entry.get("type") for entry in found],
        "content": [_text(entry.get("content"), object, lost) for entry in found],
    }


def _untyped(holder: Row, key: str, place: str) -> None:
    """Put a list of objects in place of an object of lists, contents read from JSON."""
    if key in holder:
        holder[key] = structs(holder[key], place, key)
        for entry in holder[key]:
            _replace(entry, "content", lambda text: _spelled(text, object) if isinstance(text, str) else text)


def _replace(holder: Row, key: str, change: Callable[[Any], Any]) -> None:
    if key in holder:
        holder[key] = change(holder[key])


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

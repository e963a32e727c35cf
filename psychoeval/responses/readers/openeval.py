"""OpenEval: items with their responses as JSON or JSONL, and the released Parquet tables.

A response may be scored by several metrics, a metric by several judges (``metric.models``): those are the filter.
Replicates are told apart by the number that ends ``response_id``. What `openeval_write` left of a log is restored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from psychoeval.errors import EngineUnavailableError
from psychoeval.responses.readers.fields import content_hash
from psychoeval.responses.readers.log import ANY_METRIC, LogBuilder, Record
from psychoeval.responses.readers.openeval_ids import benchmark_slug, split_response_id
from psychoeval.responses.readers.openeval_kept import restore_response, restore_score
from psychoeval.responses.readers.openeval_parquet import as_float, column_paths, is_marked, read_rows, structs
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape, shape_of
from psychoeval.responses.readers.sources import NoSamplesError, Source, need, read_json, read_json_lines

_TABLES: Final = ("bench", "item", "response")
_OF_RESPONSES: Final = ("response_id", "model.name")
_OF_SCORES: Final = ("scores.value", "scores.metric.name", "scores.metric.models")
_OF_ITEMS: Final = ("item_id", "item_metadata.source", "item_metadata.source.benchmark_name")


def is_json(source: Source, shape: Shape) -> bool:
    """Whether a file holds items, or rows of the tables, as JSON or JSONL."""
    if shape.kind not in ("object", "array", "lines"):
        return False
    items = shape.has("item_content") and bool(shape.keys & {"item_id", "item_metadata", "responses"})
    return items or shape.has(*_TABLES) or shape.has("response_id", "model")


def is_table(source: Source, shape: Shape) -> bool:
    """Whether a Parquet file is the table of responses or that of items."""
    if shape.kind != "parquet":
        return False
    try:
        paths = column_paths(source.path)
    except EngineUnavailableError:  # said where the file is read
        return False
    return "response_id" in paths or ("item_id" in paths and any(p.startswith("item_content") for p in paths))


def read_items(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read JSON or JSONL.

    Raises
    ------
    DataError
        If a response lacks its model, id or metric, or a score is no number; with file and entry.
    NoSamplesError
        If there is no response at all.
    """
    before = len(log)
    sources: dict[str, str] = {}
    for number, line, place, entry in entries(source):
        record = Record("", "", "", file=source.place, line=line)
        if "response_id" in entry and "responses" not in entry:
            _add_row(entry, place, record, sources, log)
        elif "benchmark_name" not in entry:
            sources[str(entry.get("item_id"))] = _benchmark(entry, place)
            add_item(entry, number, place, record, log)
    if len(log) == before:
        raise NoSamplesError(f"{source.place} holds items, and no responses to them.", "Give the responses too.")


def entries(source: Source) -> Iterator[tuple[int, int, str, dict[str, Any]]]:
    """Yield the objects of a JSON file: number from 0, line (0 where it is not JSONL), place, object.

    Of three tables in one object, benchmarks come first, then items, then responses.
    """
    if shape_of(source).kind == "lines":
        for number, (line, entry) in enumerate(read_json_lines(source)):
            place = f"{source.place}, line {line}"
            yield number, line, place, need(entry, dict, place, "the line")
        return
    content = need(read_json(source), (dict, list), source.place, "the file")
    if isinstance(content, dict) and content.keys() >= set(_TABLES):
        rows = [
            (f"{name}[{k}]", row)
            for name in _TABLES
            for k, row in enumerate(need(content[name], list, source.place, name))
        ]
    else:
        rows = [(f"entry {k}", row) for k, row in enumerate(content if isinstance(content, list) else [content])]
    for number, (name, row) in enumerate(rows):
        place = f"{source.place}, {name}"
        yield number, 0, place, need(row, dict, place, "the entry")


def read_table(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read the table of responses; the texts of responses, 98 % of its bytes, are not.

    Benchmarks have the names that tables of items in the same folder, or in ``item`` beside it, give; else those that
    start the items' ids.

    Raises
    ------
    DataError
        If the file is damaged, or a row lacks its model, id or metric, or a score is no number; with the row.
    NoSamplesError
        If it is the table of items.
    """
    paths = column_paths(source.path)
    if "response_id" not in paths:
        raise NoSamplesError(f"{source.place} holds items, and no responses to them.", "Give the responses too.")
    ours = is_marked(source.path)
    sources = _sources_beside(source)
    for number, row in read_rows(source.path, lambda path: _is_needed(path, ours)):
        place = f"{source.place}, row {number}"
        _add_row(row, place, Record("", "", "", file=source.place), sources, log)


def _is_needed(path: str, ours: bool) -> bool:
    """Whether a column is read; texts that only we write are, where the file is marked as ours."""
    if ours and path.startswith(("scores.", "item_adaptation.external_resources.")):
        return True
    return path in (*_OF_RESPONSES, *_OF_SCORES)


def _sources_beside(source: Source) -> dict[str, str]:
    """Return the benchmark of each item, from tables of items near a table of responses."""
    folder = source.path.parent
    found: dict[str, str] = {}
    for path in sorted({*folder.glob("item*.parquet"), *(folder.parent / "item").glob("*.parquet")}):
        if path == source.path or not path.is_file() or "item_id" not in column_paths(path):
            continue
        for number, row in read_rows(path, lambda name: name in _OF_ITEMS):
            found[str(row.get("item_id"))] = _benchmark(row, f"{path}, row {number}")
    return found


def _benchmark(entry: Mapping[str, Any], place: str) -> str:
    """Return the name of an item's benchmark; in tables the source is that name."""
    metadata = need(entry.get("item_metadata") or {}, dict, place, "item_metadata")
    given = metadata.get("source")
    if isinstance(given, dict):
        given = given.get("benchmark_name")
    return str(need(given or "", str, place, "item_metadata.source.benchmark_name"))


def add_item(entry: Mapping[str, Any], number: int, place: str, record: Record, log: LogBuilder) -> None:
    """Add the responses of an item; `record` says file and line."""
    item_id = str(need(entry.get("item_id") or "", (str, int), place, "item_id"))
    record = record._replace(
        item=item_id or str(number),
        benchmark=_benchmark(entry, place),
        content="" if item_id else _content(entry, place),
    )
    so_far: Counter[str] = Counter()
    for k, response in enumerate(need(entry.get("responses") or [], list, place, "responses")):
        where = f"{place}, responses[{k}]"
        model = _model(need(response, dict, where, "the response"), where)
        given = str(need(response.get("response_id") or "", str, where, "response_id"))
        trial = split_response_id(given, model, where).trial if given else str(so_far[model])
        so_far[model] += 1
        _add_response(response, where, record._replace(person=model, trial=trial), log)


def _add_row(row: Mapping[str, Any], place: str, record: Record, sources: Mapping[str, str], log: LogBuilder) -> None:
    """Add a row of the table of responses: the item is in its id alone."""
    model = _model(row, place)
    item, trial = split_response_id(str(need(row.get("response_id"), str, place, "response_id")), model, place)
    benchmark = sources.get(item) or benchmark_slug(item) or ""
    _add_response(row, place, record._replace(person=model, item=item, trial=trial, benchmark=benchmark), log)


def _model(response: Mapping[str, Any], place: str) -> str:
    model = need(response.get("model"), dict, place, "model")
    return str(need(model.get("name"), str, place, "model.name"))


def _add_response(response: Mapping[str, Any], place: str, record: Record, log: LogBuilder) -> None:
    record, unscored = restore_response(response, place, record)
    scores = structs(response.get("scores"), place, "scores")
    for k, score in enumerate(scores):
        where = f"{place}, scores[{k}]"
        metric = need(score.get("metric"), dict, where, "metric")
        name = str(need(metric.get("name"), str, where, "metric.name"))
        judges = ", ".join(str(m) for m in need(metric.get("models") or [], list, where, "metric.models"))
        one = restore_score(metric, where, record._replace(metric=name, filter=judges), log)
        value = score.get("value")
        number = float("nan") if value is None else as_float(value, where, "value")
        log.add(one._replace(score=number, outcome="scored" if number == number else "unscored"))
    for one in unscored:
        log.add(one)
    if not scores and not unscored:
        log.add(record._replace(metric=ANY_METRIC, outcome="unscored"))


def _content(entry: Mapping[str, Any], place: str) -> str:
    content = entry.get("item_content")
    asked = content.get("input") if isinstance(content, dict) else None
    return content_hash(asked, place) if asked else ""

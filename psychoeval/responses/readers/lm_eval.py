"""The LM Evaluation Harness: ``samples_<task>_<date>.jsonl``, with ``results_<date>.json`` beside it.

One row a document and *filter*; older files lack ``filter`` and ``metrics``. ``doc_id`` is a position, so documents are
joined by ``doc_hash``, or a hash of ``doc`` where there is none. Repeats of a document lie in ``resps`` and are judged
together: their score is one number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.readers.fields import content_hash, number
from psychoeval.responses.readers.log import LogBuilder, Record, Scale
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import Source, need, open_source, read_json, read_json_lines

_FILE: Final = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d\-.:]+))?\.jsonl?$")
_OF_SAMPLES: Final = frozenset(("resps", "filtered_resps", "doc_hash", "metrics", "filter"))
#: Keys of older rows (no list ``metrics``) that are no metric.
_NO_METRIC: Final = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
     "target_hash", "schema_version", "ctx", "idx")
)  # fmt: skip


def is_samples(source: Source, shape: Shape) -> bool:
    """Whether a file holds samples."""
    # Of a long prompt, as in tests of long contexts, the head shows no more than the document.
    cut = shape.has("doc") and b"\n" not in source.head
    return shape.kind in ("lines", "object") and shape.has("doc_id") and (cut or bool(shape.keys & _OF_SAMPLES))


def is_results(source: Source, shape: Shape) -> bool:
    """Whether a file holds the means that go with samples."""
    return shape.kind == "object" and shape.has("results") and bool(shape.keys & {"configs", "versions", "n-shot"})


def read_samples(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read samples.

    The system is that of ``results_<date>.json`` in the same folder, or else the option ``person``.

    Raises
    ------
    DataError
        If neither names the system, or a row lacks its document or metric; with the line.
    """
    named = _FILE.search(source.name)
    task, date = (named["task"], named["date"] or "") if named else ("", "")
    results = _results_beside(source.path, date)
    person = (_system(results) if results else "") or options.person
    if not person:
        raise DataError(
            f"{source.place}: the samples of lm-eval do not name their model, and no results_{date or '<date>'}.json "
            "lies beside them.",
            "Keep both in one folder, or name the system: person=.",
        )
    for metric in _lower_is_better(results or {}, task):
        log.scale(metric, Scale(higher_is_better=False), source.place)
    file = source.place
    for at, row in read_json_lines(source):
        place = f"{file}, line {at}"
        need(row, dict, place, "the row")
        item, content = str(need(row.get("doc_id"), (int, str), place, "doc_id")), _content(row, place)
        kept_by = str(row.get("filter", "none"))
        for metric in _metrics(row, place):
            log.add(
                Record(
                    person, item, metric, _score(row.get(metric), place, metric), filter=kept_by, benchmark=task,
                    content=content, date=date, file=file, line=at,
                )
            )  # fmt: skip


def _metrics(row: Mapping[str, Any], place: str) -> list[str]:
    """Return the metrics of a row.

    Raises
    ------
    DataError
        If there is none, or one that is no text.
    """
    given = row.get("metrics")
    if given is None:
        given = [k for k, v in row.items() if k not in _NO_METRIC and isinstance(v, (int, float))]
    if not given:
        raise DataError(f"{place} has no metric.", "Was the task run with a metric for each document?")
    for metric in need(given, list, place, "metrics"):
        need(metric, str, place, "a metric")
    metrics: list[str] = given
    return metrics


def _lower_is_better(results: Mapping[str, Any], task: str) -> list[str]:
    """Return the metrics of a task that its results say are better low."""
    by_task = results.get("higher_is_better")
    of_task = by_task.get(task) if isinstance(by_task, dict) else None
    return [m for m, higher in of_task.items() if higher is False] if isinstance(of_task, dict) else []


def _score(value: Any, place: str, metric: str) -> float:
    """Return a score; a list of one is that one."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, (bool, int, float)):
        return number(value, place, metric)
    raise DataError(
        f"{place}: {metric} is {str(value)[:60]}, not one number: it is judged over the whole task, not a document.",
        "Choose another metric: rows of such metrics cannot be read.",
    )


def _content(row: Mapping[str, Any], place: str) -> str:
    given = row.get("doc_hash")
    if isinstance(given, str) and given:
        return given
    doc = row.get("doc")
    return "" if doc is None else content_hash(doc, place)


def _results_beside(path: Path, date: str) -> dict[str, Any] | None:
    name = f"results_{date}.json"
    found = [p for p in (path.with_name(name), path.with_name(name + ".gz")) if date and p.is_file()]
    if not found:
        return None
    results: dict[str, Any] = need(read_json(open_source(found[0])), dict, str(found[0]), "the file")
    return results


def _system(results: Mapping[str, Any]) -> str:
    name = results.get("model_name")
    if isinstance(name, str) and name:
        return name
    config = results.get("config")
    arguments = config.get("model_args") if isinstance(config, dict) else None
    if isinstance(arguments, dict):
        return str(arguments.get("pretrained") or arguments.get("model") or "")
    found = re.search(r"(?:^|,)(?:pretrained|model)=([^,]+)", str(arguments or ""))
    return found[1] if found else ""

"""Every Eval Ever: ``<uuid>_samples.jsonl``, with its aggregate ``<uuid>.json`` beside it.

One row a sample and metric. What a score means (metric, bounds, whether lower is better), the developer and the date
are in the aggregate. ``sample_hash`` has a recipe of its own in each converter, so samples are told apart by a hash of
what the schema says it is of: ``input.raw`` and ``input.reference``. Where a converter kept the whole prompt in
``input.raw`` (HELM's), that is a hash of the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from psychoeval.errors import DataError
from psychoeval.responses.readers.fields import (
    content_hash,
    day,
    failure,
    first_line,
    known_number,
    number,
    object_beside,
)
from psychoeval.responses.readers.log import LogBuilder, Outcome, Record, Scale
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import Source, need, read_json_lines

_SAMPLES: Final = "_samples.jsonl"
#: The metric of rows whose aggregate does not say which it is.
_UNNAMED: Final = "score"


@dataclass(frozen=True, slots=True)
class _Metric:
    """What the scores of some rows are.

    Parameters
    ----------
    name : str
    scale : Scale
    date : str
    unknown : bool
        Whether a score of -1 means that the level is not known.
    """

    name: str
    scale: Scale = field(default_factory=Scale)
    date: str = ""
    unknown: bool = False


def is_samples(source: Source, shape: Shape) -> bool:
    """Whether a file holds samples."""
    return shape.kind in ("lines", "object") and shape.has("schema_version", "evaluation_id", "model_id", "sample_id")


def is_aggregate(source: Source, shape: Shape) -> bool:
    """Whether a file holds the means that go with samples, or lists such files."""
    if shape.kind not in ("lines", "object"):
        return False
    return shape.has("schema_version", "evaluation_id", "model_info") or shape.has("record_type", "object_uuid")


def read_samples(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read samples.

    Raises
    ------
    DataError
        If a row breaks the format, or belongs to another aggregate than the one beside it; with the line.
    """
    name = source.name.removesuffix(_SAMPLES)
    aggregate = object_beside(source, f"{name}.json") if name != source.name else None
    known: dict[tuple[str, str], _Metric] = {}
    for number_of_line, given in read_json_lines(source):
        place = f"{source.place}, line {number_of_line}"
        row = need(given, dict, place, "the row")
        if aggregate is not None and row.get("evaluation_id") != aggregate.get("evaluation_id"):
            raise DataError(
                f"{place}: evaluation_id is {row.get('evaluation_id')!r}, and in the aggregate beside it "
                f"{aggregate.get('evaluation_id')!r}.",
                "Put the aggregate of these samples beside them, or take the other away.",
            )
        task = need(row.get("evaluation_name"), str, place, "evaluation_name")
        key = (str(row.get("evaluation_result_id") or ""), task)
        if key not in known:
            known[key] = _metric(aggregate or {}, *key, place)
            if known[key].scale != Scale():
                log.scale(known[key].name, known[key].scale, place)
        record = _record(row, task, known[key], place, options)
        log.add(record._replace(family=_developer(aggregate or {}), file=source.place, line=number_of_line))


def _record(row: Mapping[str, Any], task: str, metric: _Metric, place: str, options: ReadOptions) -> Record:
    given = row.get("metadata")
    more: dict[str, Any] = given if isinstance(given, dict) else {}
    kind = str(more.get("filter", "") or "")
    usage = row.get("token_usage")
    error = str(row.get("error") or "")
    score, outcome = _judged(row, error, metric, place)
    return Record(
        person=need(row.get("model_id") or options.person or None, str, place, "model_id"),
        item=str(need(row.get("sample_id"), (str, int), place, "sample_id")),
        metric=metric.name, score=score, outcome=outcome, trial=str(more.get("epoch", "") or "1"), filter=kind,
        # the converter of lm-eval writes task/filter, which would make an item of each filter
        benchmark=task.removesuffix(f"/{kind}") if kind else task,
        content=_content(row, place), error=first_line(error), date=metric.date,
        tokens=known_number(usage.get("total_tokens")) if isinstance(usage, dict) else float("nan"),
    )  # fmt: skip


def _judged(row: Mapping[str, Any], error: str, metric: _Metric, place: str) -> tuple[float, Outcome]:
    """Return score and outcome; a sample with an error is not a wrong answer, whatever its score."""
    if error:
        return float("nan"), failure(error)
    score = need(row.get("evaluation"), dict, place, "evaluation").get("score")
    if score is None or (metric.unknown and score == -1):
        return float("nan"), "unscored"
    return number(score, place, "evaluation.score"), "scored"


def _content(row: Mapping[str, Any], place: str) -> str:
    asked = row.get("input")
    if isinstance(asked, dict) and asked.get("raw"):
        return content_hash([asked["raw"], asked.get("reference") or []], place)
    return str(row.get("sample_hash") or "")


def _metric(aggregate: Mapping[str, Any], result_id: str, task: str, place: str) -> _Metric:
    """Return what the aggregate says of the rows with this result id, or else of this name."""
    results = need(aggregate.get("evaluation_results", []), list, place, "evaluation_results of the aggregate")
    key, value = ("evaluation_result_id", result_id) if result_id else ("evaluation_name", task)
    found = [_described(r, aggregate, place) for r in results if isinstance(r, dict) and r.get(key) == value]
    if not found:
        return _Metric(result_id or _UNNAMED, date=day(aggregate.get("evaluation_timestamp")))
    if len({m.name for m in found}) == 1:
        return found[0]
    alike = all(m.scale == found[0].scale for m in found)
    return _Metric(_UNNAMED, found[0].scale if alike else Scale(), found[0].date)


def _described(result: Mapping[str, Any], aggregate: Mapping[str, Any], place: str) -> _Metric:
    given = result.get("metric_config")
    config: dict[str, Any] = given if isinstance(given, dict) else {}
    names = (config.get(k) for k in ("metric_id", "metric_name", "metric_kind"))
    name = next((n for n in names if isinstance(n, str) and n.strip()), _UNNAMED)
    stamp = result.get("evaluation_timestamp") or aggregate.get("evaluation_timestamp")
    higher = config.get("lower_is_better") is not True
    levels = config.get("level_names")
    lower, upper = _bound(config.get("min_score"), -np.inf, place), _bound(config.get("max_score"), np.inf, place)
    if config.get("score_type") == "binary":
        lower, upper = 0.0, 1.0
    elif config.get("score_type") == "levels" and isinstance(levels, list) and levels:
        lower, upper = 0.0, float(len(levels) - 1)
    return _Metric(name, Scale(lower, upper, higher), day(stamp), config.get("has_unknown_level") is True)


def _bound(value: Any, otherwise: float, place: str) -> float:
    """Return a bound; unbounded where the aggregate says so, or nothing."""
    if value is None or (isinstance(value, str) and value.lstrip("-") == "Infinity"):
        return otherwise
    return number(value, place, "a bound in the aggregate")


def _developer(aggregate: Mapping[str, Any]) -> str:
    info = aggregate.get("model_info")
    return str(info.get("developer") or "") if isinstance(info, dict) else ""

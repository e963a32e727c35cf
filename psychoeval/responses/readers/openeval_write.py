"""An evaluation log as OpenEval's items: ids by its rules, and nothing made up that the log does not know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import numpy as np

from psychoeval.errors import DataError
from psychoeval.responses.readers.joining import join_items
from psychoeval.responses.readers.log import ANY_METRIC, EvaluationLog, Record, Scale, records
from psychoeval.responses.readers.openeval_ids import (
    benchmark_slug,
    ingestion_time,
    make_item_id,
    make_response_id,
    slug,
    split_response_id,
)
from psychoeval.responses.readers.openeval_kept import keep_response, keep_score

SCHEMA_VERSION: Final = "v0.1.0"


def to_items(log: EvaluationLog, *, benchmark: str = "", when: datetime | None = None) -> list[dict[str, Any]]:
    """Return a log as a list of OpenEval items, each with its responses and their scores.

    Texts of items and responses, and settings of models, are not in a log: those fields are empty, and
    `psychoeval.responses.readers.openeval_validate` names them.

    Parameters
    ----------
    log : EvaluationLog
    benchmark : str
        Of rows that name none.
    when : datetime, optional
        Of ingestion, in the items' ids; now if not given.

    Raises
    ------
    DataError
        If a row names no benchmark and `benchmark` is not given.
    """
    time = ingestion_time(when)
    of_item = join_items(log, np.arange(len(log))).of_row
    rows: dict[int, list[Record]] = {}
    for row, record in enumerate(records(log)):
        if not (record.benchmark or benchmark):
            raise DataError(f"{log.where(row)}: the log names no benchmark.", "Name it: benchmark=.")
        rows.setdefault(int(of_item[row]), []).append(record._replace(benchmark=record.benchmark or benchmark))
    numbers: Counter[str] = Counter()
    items = []
    taken: set[str] = set()
    for of_one in rows.values():
        first = of_one[0]
        item_id = first.item
        if benchmark_slug(item_id) != slug(first.benchmark) or item_id in taken:
            item_id = make_item_id(first.benchmark, time, numbers[slug(first.benchmark)])
            numbers[slug(first.benchmark)] += 1
        taken.add(item_id)
        items.append(_item(item_id, first.benchmark, time, of_one, log))
    return items


def _item(item_id: str, benchmark: str, time: str, rows: list[Record], log: EvaluationLog) -> dict[str, Any]:
    trials: Counter[str] = Counter()
    responses = []
    for of_one in _responses(rows):
        model = of_one[0].person
        responses.append(_response(item_id, trials[slug(model)], of_one, log))
        trials[slug(model)] += 1  # models of one slug share the numbers, so that ids stay apart
    return {
        "item_id": item_id,
        "item_metadata": {
            "ingestion_time": time,
            "contributor": {},
            "source": {"benchmark_name": benchmark, "benchmark_version": ""},
        },
        "item_content": {"input": [], "references": []},
        "responses": responses,
        "schema_version": SCHEMA_VERSION,
    }


def _responses(rows: Iterable[Record]) -> list[list[Record]]:
    """Return an item's rows by response: one system and trial, no metric and filter twice."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for r in rows:
        facts = (r.person, r.item, r.trial, r.content, r.family, r.date, r.error, repr(r.tokens), repr(r.cost))
        judged = (*facts, r.metric, r.filter)
        found.setdefault((*facts, seen[judged]), []).append(r)
        seen[judged] += 1
    return list(found.values())


def _response(item_id: str, trial: int, rows: list[Record], log: EvaluationLog) -> dict[str, Any]:
    first = rows[0]
    response_id = make_response_id(item_id, first.person, trial)
    said = split_response_id(response_id, first.person, item_id)
    scored = [r for r in rows if r.outcome == "scored"]
    # A response that nobody judged is read as such without our saying so.
    told = [(r.metric, r.filter, r.outcome) for r in rows] != [(ANY_METRIC, "", "unscored")]
    unscored = [r for r in rows if r.outcome != "scored"] if told else []
    read_back = Record(first.person, said.item, "", trial=said.trial)
    return {
        "response_id": response_id,
        "model": {
            "name": first.person,
            "model_adaptation": {"system_instruction": None, "generation_parameters": {}, "tools": []},
        },
        "item_adaptation": {
            "request_input": [],
            "demonstrations": [],
            "external_resources": keep_response(first, read_back, unscored),
        },
        "response_content": [],
        "scores": [_score(r, log.scales.get(r.metric, Scale())) for r in scored],
    }


def _score(record: Record, scale: Scale) -> dict[str, Any]:
    artifacts = keep_score(record, scale)
    return {"metric": {"name": record.metric, "models": [], "extra_artifacts": artifacts}, "value": record.score}

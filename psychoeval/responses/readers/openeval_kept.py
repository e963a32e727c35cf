"""What a log knows and OpenEval has no field for: kept where its schema takes anything, and restored from there.

A response's facts stand in an entry of ``item_adaptation.external_resources``, a score's filter and scale in one of
``metric.extra_artifacts``, both of the type `KEPT`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.readers.log import OUTCOMES, LogBuilder, Record, Scale
from psychoeval.responses.readers.openeval_parquet import structs
from psychoeval.responses.readers.sources import need

#: The type of our entries.
KEPT: Final = "psychoeval"

_TEXTS: Final = ("item", "trial", "content", "family", "date", "error")
_NUMBERS: Final = ("tokens", "cost")


def keep_response(record: Record, read_back: Record, unscored: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the resources that keep what `read_back`, the record as read without them, would lack.

    Parameters
    ----------
    record : Record
        Any of the response's rows.
    read_back : Record
        With ``item`` and ``trial`` as the response's id gives them.
    unscored : list of Record
        Its rows without a score.
    """
    kept: dict[str, Any] = {n: getattr(record, n) for n in _TEXTS if getattr(record, n) != getattr(read_back, n)}
    kept |= {n: getattr(record, n) for n in _NUMBERS if math.isfinite(getattr(record, n))}
    if unscored:
        kept["unscored"] = [{"metric": r.metric, "filter": r.filter, "outcome": r.outcome} for r in unscored]
    return [{"type": KEPT, "content": kept}] if kept else []


def restore_response(response: Mapping[str, Any], place: str, record: Record) -> tuple[Record, list[Record]]:
    """Return the record with what was kept of it, and its rows without a score."""
    adaptation = need(response.get("item_adaptation") or {}, dict, place, "item_adaptation")
    kept = _kept(adaptation.get("external_resources"), place, "item_adaptation.external_resources")
    texts: dict[str, Any] = {n: need(kept[n], str, place, n) for n in _TEXTS if n in kept}
    numbers: dict[str, Any] = {n: float(need(kept[n], (int, float), place, n)) for n in _NUMBERS if n in kept}
    record = record._replace(**(texts | numbers))
    unscored = []
    for row in need(kept.get("unscored", []), list, place, "unscored"):
        outcome = need(row, dict, place, "unscored").get("outcome")
        if outcome not in OUTCOMES[1:]:
            raise DataError(
                f"{place}: unscored has the outcome {outcome!r}.", f"Give one of {', '.join(OUTCOMES[1:])}."
            )
        metric, filter = (str(need(row.get(n), str, place, f"unscored.{n}")) for n in ("metric", "filter"))
        unscored.append(record._replace(metric=metric, filter=filter, outcome=outcome))
    return record, unscored


def keep_score(record: Record, scale: Scale) -> list[dict[str, Any]]:
    """Return the artifacts that keep a score's filter, and its metric's scale where that is known."""
    kept: dict[str, Any] = {"filter": record.filter} if record.filter else {}
    kept |= {n: b for n, b in (("lower", scale.lower), ("upper", scale.upper)) if math.isfinite(b)}
    if not scale.higher_is_better:
        kept["higher_is_better"] = False
    return [{"type": KEPT, "content": kept}] if kept else []


def restore_score(metric: Mapping[str, Any], place: str, record: Record, log: LogBuilder) -> Record:
    """Return the record of a score with its filter, and tell the log the metric's scale."""
    kept = _kept(metric.get("extra_artifacts"), place, "metric.extra_artifacts")
    if kept.keys() & {"lower", "upper", "higher_is_better"}:
        lower, upper = (
            float(need(kept.get(name, unknown), (int, float), place, name))
            for name, unknown in (("lower", -math.inf), ("upper", math.inf))
        )
        higher = bool(need(kept.get("higher_is_better", True), bool, place, "higher_is_better"))
        log.scale(record.metric, Scale(lower, upper, higher), place)
    return record._replace(filter=need(kept["filter"], str, place, "filter")) if "filter" in kept else record


def _kept(entries: Any, place: str, what: str) -> dict[str, Any]:
    """Return the content of our entry among typed ones; in tables it is spelled as JSON."""
    for entry in structs(entries, place, what):
        if entry.get("type") != KEPT:
            continue
        content = entry.get("content")
        if isinstance(content, str):
            try:
                content = json.loads(content)
            except (ValueError, RecursionError):
                raise DataError(f"{place}: {what} of type {KEPT!r} is no JSON.", "Write the log again.") from None
        kept: dict[str, Any] = need(content, dict, place, f"{what} of type {KEPT!r}")
        return kept
    return {}

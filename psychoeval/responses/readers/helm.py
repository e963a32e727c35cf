"""HELM: a folder a run, of which ``per_instance_stats.json`` is read, with ``run_spec.json`` beside it.

One entry an instance, perturbation and train trial; one row here for each of its stats that judges the response. A stat
with count 0 has no mean: it was not judged. Instance ids count within a scenario; what was asked, and which requests
failed (and are scored 0 all the same), is in ``scenario_state.json`` where it was kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from psychoeval.errors import DataError
from psychoeval.responses.readers.fields import (
    content_hash,
    failure,
    first_line,
    known_number,
    number,
    object_beside,
)
from psychoeval.responses.readers.log import LogBuilder, Outcome, Record
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import MAX_WHOLE, NoSamplesError, Source, need, read_json

#: Stats of every run that describe the request, not how good the response is.
_BOOKKEEPING: Final = re.compile(
    r"num_(?:references|train_trials|train_instances|instances|prompt_tokens|completion_tokens|output_tokens"
    r"|perplexity_tokens|bytes|completions)$|training_(?:co2|energy)_cost$|inference_\w*runtime$|batch_size$"
    r"|finish_reason_\w+$|prompt_truncated$"
)
_NO_PARAMETERS: Final = frozenset(("name", "robustness", "fairness", "computed_on", "seed"))
_MODEL: Final = re.compile(r"[-:,]model(?:_deployment)?=[^,]*")
#: The filter of instances that are not perturbed.
ORIGINAL: Final = "original"


class _Asked(NamedTuple):
    """What one request was, and its error where it failed."""

    content: str
    error: str


def is_stats(source: Source, shape: Shape) -> bool:
    """Whether a file holds the stats of each instance."""
    return (
        shape.kind == "array" and shape.has("instance_id", "train_trial_index", "stats")
        and "predicted_text" not in shape.keys
    )  # fmt: skip


def is_companion(source: Source, shape: Shape) -> bool:
    """Whether a file is another of a run's folder."""
    if shape.kind == "object":
        about = shape.has("name", "description", "tags") and source.name == "scenario.json"
        return about or (shape.has("adapter_spec") and bool(shape.keys & {"scenario_spec", "request_states"}))
    if shape.kind != "array":
        return False
    means = shape.has("name", "count") and "split" in shape.inner
    instances = shape.has("input", "references", "split", "id")
    shown = shape.has("instance_id", "train_trial_index") and not is_stats(source, shape)
    return means or instances or shown


def read_stats(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read the stats of each instance.

    Raises
    ------
    DataError
        If nothing names the system, or an entry breaks the format; with the entry.
    """
    entries = need(read_json(source), list, source.place, "the file")
    if not entries:
        raise NoSamplesError(f"{source.place} holds no instance.", "Was the run finished?")
    person, benchmark = _run(source, options)
    asked = _asked(source, log)
    common = Record(
        person=person, item="", metric="", benchmark=benchmark, file=source.place,
        family=person.split("/")[0] if "/" in person else "",
    )  # fmt: skip
    kept_out = 0
    for k, entry in enumerate(entries, 1):
        place = f"{source.place}, entry {k}"
        kept_out += _add_entry(need(entry, dict, place, "the entry"), place, common, asked, log)
    if kept_out:
        log.drop("stats of HELM that judge no response (tokens, run time, how it ended)", source.place, kept_out)


def _add_entry(
    entry: Mapping[str, Any], place: str, common: Record, asked: Mapping[tuple[str, str, str], _Asked], log: LogBuilder
) -> int:
    """Add the judgements of one entry, and return how many stats are none."""
    item = need(entry.get("instance_id"), str, place, "instance_id")
    kind, seed = _variant(entry.get("perturbation"), place)
    trial = f"{need(entry.get('train_trial_index', 0), int, place, 'train_trial_index')}{seed}"
    request = asked.get((item, kind, trial), _Asked("", ""))
    stats = [(_name(stat, place), stat) for stat in need(entry.get("stats"), list, place, "stats")]
    judged = [(name, stat) for name, stat in stats if not _BOOKKEEPING.match(name)]
    record = common._replace(
        item=item, trial=trial, filter=kind, content=request.content, tokens=_tokens(dict(stats)),
        error=first_line(request.error),
    )  # fmt: skip
    for name, stat in judged:
        mean = _mean(stat, f"{place}, {name}")
        ended: Outcome = "scored" if mean == mean else "unscored"
        log.add(record._replace(metric=name, score=mean, outcome=failure(request.error) if request.error else ended))
    return len(stats) - len(judged)


def _run(source: Source, options: ReadOptions) -> tuple[str, str]:
    """Return the system, and the run's name without it: the scenario with its arguments and the prompting."""
    spec = object_beside(source, "run_spec.json") or {}
    adapter = spec.get("adapter_spec")
    model = adapter.get("model") or adapter.get("model_deployment") if isinstance(adapter, dict) else None
    person = (model if isinstance(model, str) else "") or options.person
    if not person:
        raise DataError(
            f"{source.place} does not name its model, and no run_spec.json beside it does.",
            "Keep the files of a run in one folder, or name the system: person=.",
        )
    name = spec.get("name")
    return person, _MODEL.sub("", name if isinstance(name, str) else source.path.absolute().parent.name)


def _asked(source: Source, log: LogBuilder) -> dict[tuple[str, str, str], _Asked]:
    """Return what was asked, by instance, perturbation and trial; nothing where it was not kept."""
    path = source.path.with_name("scenario_state.json")
    if path.is_file() and path.stat().st_size > MAX_WHOLE:
        log.notes.append(f"{path} is larger than {MAX_WHOLE >> 20} MB, and not read: items are told by their ids.")
        return {}
    state = object_beside(source, path.name) or {}
    asked: dict[tuple[str, str, str], _Asked] = {}
    for k, request in enumerate(need(state.get("request_states", []), list, str(path), "request_states"), 1):
        place = f"{path}, request {k}"
        instance = need(need(request, dict, place, "the request").get("instance"), dict, place, "instance")
        kind, seed = _variant(instance.get("perturbation"), place)
        key = (str(instance.get("id")), kind, f"{request.get('train_trial_index', 0)}{seed}")
        result = request.get("result")
        failed = isinstance(result, dict) and result.get("success") is False
        error = str(result.get("error") or "the request failed") if isinstance(result, dict) and failed else ""
        before = asked.get(key)
        asked[key] = _Asked(_content(instance, place), before.error or error if before else error)
    return asked


def _content(instance: Mapping[str, Any], place: str) -> str:
    """Hash of the question and its possible answers, in whatever order these were shown."""
    references = instance.get("references")
    answers = [r.get("output") for r in references if isinstance(r, dict)] if isinstance(references, list) else []
    return content_hash([instance.get("input"), sorted(content_hash(a, place) for a in answers)], place)


def _variant(perturbation: Any, place: str) -> tuple[str, str]:
    """Return a perturbation's name with its parameters, and its seed as it goes into the trial."""
    if perturbation is None:
        return ORIGINAL, ""
    given = need(perturbation, dict, place, "perturbation")
    name = need(given.get("name"), str, place, "perturbation.name")
    more = ", ".join(f"{k}={given[k]}" for k in sorted(given.keys() - _NO_PARAMETERS))
    seed = given.get("seed")
    return f"{name}({more})" if more else name, "" if seed is None else f"/{seed}"


def _name(stat: Any, place: str) -> str:
    name = need(need(stat, dict, place, "a stat").get("name"), dict, place, "the name of a stat")
    part = name.get("sub_split")
    return f"{need(name.get('name'), str, place, 'name.name')}{f'/{part}' if part else ''}"


def _mean(stat: Mapping[str, Any], place: str) -> float:
    """Return the mean of a stat, NaN where nothing was counted."""
    if not number(stat.get("count"), place, "count"):
        return float("nan")
    mean = stat.get("mean")
    return number(stat.get("sum"), place, "sum") / float(stat["count"]) if mean is None else number(mean, place, "mean")


def _tokens(stats: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the tokens of prompt and completion."""
    return sum(known_number(stats.get(f"num_{part}_tokens", {}).get("sum")) for part in ("prompt", "completion"))

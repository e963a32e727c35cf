"""Inspect: ``.eval`` (a zip of JSON) and ``.json`` logs.

A sample that failed has an ``error`` and is not a wrong answer; a run may be cancelled; epochs are trials. Values are
numbers, truth values, or the letters C, I, P and N for 1, 0, .5 and 0; a value that is an object holds several
metrics, one a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.readers.archives import Archive
from psychoeval.responses.readers.fields import content_hash, known_number, number
from psychoeval.responses.readers.log import ANY_METRIC, LogBuilder, Outcome, Record
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import NoSamplesError, Source, need, read_json
from psychoeval.wording import some

_LETTERS: Final = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS: Final = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "correct": 1.0, "incorrect": 0.0}
_SAMPLE: Final = re.compile(r"samples/.*_epoch_\d+\.json$", re.DOTALL)
#: Members that repeat samples, or say what the run was to be; folders.
_OTHER: Final = re.compile(r"(?:header|summaries|reductions)\.json$|_journal/|samples/|.*/$", re.DOTALL)


def is_json(source: Source, shape: Shape) -> bool:
    """Whether a file is a JSON log."""
    return shape.kind == "object" and shape.has("eval") and bool(shape.keys & {"status", "plan", "samples"})


def is_archive(source: Source, shape: Shape) -> bool:
    """Whether a file is an ``.eval`` log."""
    if shape.kind != "zip":
        return False
    if source.path.suffix == ".eval":
        return True
    return b"_journal/start.json" in source.head or b"samples/" in source.head[:200]


def read_log(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read a JSON log.

    Raises
    ------
    DataError
        If the log names no model, or holds no samples (only their means).
    """
    content = need(read_json(source), dict, source.place, "the file")
    samples = need(content.get("samples") or [], list, source.place, "samples")
    numbered = ((f"sample {i}", sample) for i, sample in enumerate(samples, 1))
    _read(content, numbered, len(samples), source, log, options)


def read_archive(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read an ``.eval`` log, a sample at a time; without a header (a run that was killed) its start is used."""
    with Archive(source.path) as archive:
        names = [n for n in archive.names if _SAMPLE.match(n)]
        for other in archive.names:
            if other.startswith("samples/") and not other.endswith("/") and other not in names:
                log.drop(
                    "members of Inspect's samples that are not called <id>_epoch_<n>.json", f"{source.place}, {other}"
                )
        unknown = [n for n in archive.names if not _OTHER.match(n)]
        if unknown:
            log.notes.append(f"{source.place}: members that are not known of Inspect were not read: {some(unknown)}.")
        head = next((n for n in ("header.json", "_journal/start.json") if n in archive.names), None)
        if head is None:
            raise DataError(f"{source.place} has neither header.json nor _journal/start.json.", "Is it an Inspect log?")
        content = need(archive.json(head), dict, f"{source.place}, {head}", "the member")
        _read(content, ((name, archive.json(name)) for name in names), len(names), source, log, options)


def _read(
    content: Mapping[str, Any],
    samples: Iterator[tuple[str, Any]],
    n: int,
    source: Source,
    log: LogBuilder,
    options: ReadOptions,
) -> None:
    head = need(content.get("eval"), dict, source.place, "eval")
    model = need(head.get("model") or options.person or None, str, source.place, "eval.model")
    status = content.get("status", "started")
    if not n:
        raise NoSamplesError(
            f"{source.place} holds no samples, only their means (status {status!r}).",
            "Write the log with its samples (inspect eval --log-samples), or leave it out.",
        )
    common = Record(
        person=model, item="", metric="", benchmark=str(head.get("task", "")), date=str(head.get("created", "")),
        file=source.place,
    )  # fmt: skip
    scorers = _scorers(content)
    for name, sample in samples:
        place = f"{source.place}, {name}"
        _add_sample(need(sample, dict, place, "the sample"), place, common, scorers, status, log)
    results = content.get("results")
    total = results.get("total_samples") if isinstance(results, dict) else None
    if isinstance(total, int) and total != n:
        log.notes.append(f"{source.place}: the run had {total} samples; the log holds {n} of them.")
    if status != "success":
        log.notes.append(f"{source.place}: the run ended with status {status!r}; it holds {n}{_planned(head)} samples.")


def _planned(head: Mapping[str, Any]) -> str:
    """Say how many samples the run was to have."""
    dataset = head.get("dataset")
    ids = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    config = head.get("config")
    epochs = config.get("epochs") if isinstance(config, dict) else None
    return f" of {len(ids) * (epochs if isinstance(epochs, int) else 1)}" if isinstance(ids, list) and ids else ""


def _scorers(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the scorers that the log's results list, for samples that have no scores."""
    results = content.get("results")
    listed = results.get("scores") if isinstance(results, dict) else None
    if not isinstance(listed, list):
        return ()
    names = [s.get("scorer") or s.get("name") for s in listed if isinstance(s, dict)]
    return tuple(dict.fromkeys(str(n) for n in names if n))


def _add_sample(
    sample: Mapping[str, Any], place: str, common: Record, scorers: tuple[str, ...], status: str, log: LogBuilder
) -> None:
    given = sample.get("id")
    item = str(need(given, (str, int), place, "id"))
    epoch = need(sample.get("epoch", 1), int, place, "epoch")
    error = sample.get("error")
    record = common._replace(
        item=item, trial=str(epoch), content=_content(sample, place), tokens=_tokens(sample),
        error=str(error.get("message", "")) if isinstance(error, dict) else str(error or ""),
    )  # fmt: skip
    scores = sample.get("scores")
    if scores is None and sample.get("score") is not None:  # logs of 2024
        scores = {scorers[0] if scorers else "score": sample["score"]}
    scores = need(scores or {}, dict, place, "scores")
    if error or not scores:
        outcome: Outcome = "errored" if error else "cancelled" if status == "cancelled" else "unscored"
        for metric in scorers or (ANY_METRIC,):
            log.add(record._replace(metric=metric, outcome=outcome))
        return
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        for metric, judged in _values(scorer, value, place):
            outcome = "scored" if judged == judged else "unscored"
            log.add(record._replace(metric=metric, score=judged, outcome=outcome))


def _values(scorer: str, value: Any, place: str) -> Iterator[tuple[str, float]]:
    """Yield each metric of a score with its number, NaN where it was not judged."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(f"{scorer}/{key}", inner, place)
    elif isinstance(value, list):
        for k, inner in enumerate(value, 1):
            yield from _values(f"{scorer}/{k}", inner, place)
    elif value is None:
        yield scorer, float("nan")
    elif isinstance(value, (bool, int, float)):
        yield scorer, number(value, place, scorer)
    elif value in _LETTERS:
        yield scorer, _LETTERS[value]
    elif str(value).lower() in _WORDS:
        yield scorer, _WORDS[str(value).lower()]
    else:
        try:
            yield scorer, float(value)
        except ValueError:
            raise DataError(
                f"{place}: {scorer} is {str(value)[:60]!r}, neither a number nor one of C, I, P, N.",
                "Such values have no number that all agree on: choose another metric, or map them in the log.",
            ) from None


def _content(sample: Mapping[str, Any], place: str) -> str:
    """Hash of the input; not of choices and target, which may be shuffled anew each epoch."""
    asked = sample.get("input")
    return "" if asked is None else content_hash(asked, place)


def _tokens(sample: Mapping[str, Any]) -> float:
    usage = sample.get("model_usage")
    if not isinstance(usage, dict):
        return float("nan")
    counts = [known_number(u.get("total_tokens")) for u in usage.values() if isinstance(u, dict)]
    known = [c for c in counts if c == c]
    return sum(known) if known else float("nan")

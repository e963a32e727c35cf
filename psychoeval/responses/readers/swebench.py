"""SWE-bench and Multi-SWE-bench: lists of instance ids by what became of them, one file a system.

The harness's report has ``resolved_ids``, ``unresolved_ids``, ``empty_patch_ids``, ``error_ids`` and
``incomplete_ids``; Multi-SWE-bench says ``resolved``; submissions to the leaderboard have ``resolved``,
``no_generation`` and ``no_logs``, and name failures only in ``all_preds.jsonl`` beside them. An empty patch is a
failure; an instance that was never attempted, or whose tests broke, is none.

The option ``items`` names all instances of the benchmark. Those in no list were not attempted where the report or the
predictions say what was; where nothing does, the user says so with ``items``, and they failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

from psychoeval.errors import DataError
from psychoeval.responses.readers.fields import known_number, number, system
from psychoeval.responses.readers.log import LogBuilder, Outcome, Record
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import NoSamplesError, Source, need, open_source, read_json, read_json_lines
from psychoeval.wording import some


class _End(NamedTuple):
    """What became of the instances of a list."""

    outcome: Outcome
    score: float
    error: str


_NAN: Final = float("nan")
_RESOLVED: Final = _End("scored", 1.0, "")
_FAILED: Final = _End("scored", 0.0, "")
_ENDS: Final = {
    "resolved": _RESOLVED,
    "resolved_ids": _RESOLVED,
    "unresolved_ids": _FAILED,
    "empty_patch_ids": _End("scored", 0.0, "empty patch"),
    "no_apply": _End("scored", 0.0, "the patch did not apply"),
    "incomplete_ids": _End("not attempted", _NAN, ""),
    "no_generation": _End("not attempted", _NAN, "no patch was generated"),
} | {
    name: _End("errored", _NAN, name)
    for name in ("error_ids", "no_logs", "install_fail", "reset_failed", "test_errored", "test_timeout")
}
#: Where an instance is in several lists, the last of these holds: what broke is not known to have failed.
_ORDER: Final = ("scored", "errored", "not attempted")
#: Lists of what was tried, whatever became of it.
_TRIED: Final = ("submitted_ids", "completed_ids", "generated", "with_logs", "applied")
_LISTS: Final = frozenset((*_ENDS, *_TRIED))
_COMMON: Final = Record(person="", item="", metric="resolved", benchmark="SWE-bench")


def is_report(source: Source, shape: Shape) -> bool:
    """Whether a file holds lists of instances."""
    if shape.kind != "object" or "results" in shape.keys:  # terminal-bench has resolved_ids too
        return False
    return shape.has("submitted_instances", "resolved_instances") or len(shape.keys & _LISTS) > 1


def is_leaderboard(source: Source, shape: Shape) -> bool:
    """Whether a file holds the leaderboards of the site, some with each instance."""
    return shape.kind == "object" and shape.has("leaderboards")


def is_predictions(source: Source, shape: Shape) -> bool:
    """Whether a file holds patches that were submitted."""
    return shape.kind in ("lines", "object") and shape.has("instance_id", "model_patch")


def read_report(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read lists of instances; the system is the option ``person``, or has the file's name.

    Raises
    ------
    DataError
        If an instance is in two lists that exclude one another or not among the option ``items``, or nothing says which
        instances were tried.
    """
    content = need(read_json(source), dict, source.place, "the file")
    lists = {name: _ids(content[name], source, name, log) for name in content if name in _LISTS}
    ended = sorted((name for name in lists if name in _ENDS), key=lambda name: _ORDER.index(_ENDS[name].outcome))
    _check_exclusive(ended, lists, source)
    record = _COMMON._replace(person=system(source, log, options), file=source.place)
    ends: dict[str, _End] = {}
    for name in ended:
        ends |= dict.fromkeys(lists[name], _ENDS[name])
    left = _End("unscored", _NAN, "in no list of what became of it") if "unresolved_ids" in lists else _FAILED
    tried = _tried(source, lists)
    if tried is None and not options.items:
        raise DataError(
            f"{source.place} lists what was resolved, and not what was tried: the failures are not known.",
            'Keep all_preds.jsonl beside it, or give the report of the harness, or add "submitted_ids" with all that '
            "was tried; or name all items, if all were tried: items=FILE.",
        )
    ends = _of_items(options.items, tried, source, log) | dict.fromkeys(tried or (), left) | ends
    _check_items(options.items, ends, source)
    if not ends:
        raise NoSamplesError(f"{source.place} lists no instance.", "Was the evaluation finished?")
    for item, end in ends.items():
        log.add(record._replace(item=item, outcome=end.outcome, score=end.score, error=end.error))
    _check_counts(content, lists, source, log)


def read_leaderboard(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read the leaderboards that give each instance; a filter is one of them.

    Raises
    ------
    DataError
        If none does, or an entry breaks the format.
    """
    content = need(read_json(source), dict, source.place, "the file")
    means = added = 0
    for board in need(content.get("leaderboards"), list, source.place, "leaderboards"):
        name = need(need(board, dict, source.place, "a leaderboard").get("name"), str, source.place, "its name")
        for given in need(board.get("results"), list, source.place, f"results of {name}"):
            place = f"{source.place}, {name}"
            result = need(given, dict, place, "a result")
            details = result.get("per_instance_details")
            if details is None:
                means += 1
                continue
            _add_details(result, need(details, dict, place, "per_instance_details"), place, name, source, log)
            added += 1
    if not added:
        raise NoSamplesError(f"{source.place} holds only means of systems.", "Give the reports of the systems.")
    if means:
        log.notes.append(f"{source.place}: {means} of {means + added} results are only means, and left out.")


def _add_details(
    result: Mapping[str, Any], details: Mapping[str, Any], place: str, board: str, source: Source, log: LogBuilder
) -> None:
    person = need(result.get("name"), str, place, "the name of a result")
    place = f"{place}, {person}"
    tags = result.get("tags")
    organizations = [t[4:].strip() for t in tags if str(t).startswith("Org:")] if isinstance(tags, list) else []
    record = _COMMON._replace(
        person=person, filter=board, family=" + ".join(organizations), date=str(result.get("date") or ""),
        file=source.place,
    )  # fmt: skip
    for item, given in details.items():
        detail = need(given, dict, place, item)
        score = number(detail.get("resolved"), place, f"resolved of {item}")
        log.add(record._replace(item=item, score=score, cost=known_number(detail.get("cost"))))


def _ids(given: Any, source: Source, name: str, log: LogBuilder) -> dict[str, None]:
    """Return the ids of a list, each once."""
    ids = [need(i, str, source.place, f"an id in {name}") for i in need(given, list, source.place, name)]
    once = dict.fromkeys(ids)
    if name in _ENDS and len(ids) > len(once):
        log.drop("instances named twice in one list", f"{source.place}, {name}", len(ids) - len(once))
    return once


def _tried(source: Source, lists: Mapping[str, Mapping[str, None]]) -> list[str] | None:
    """Return the instances that were tried, None if nothing says so: then those that failed are not known."""
    tried = [i for name in _TRIED for i in lists.get(name, ())]
    if tried or "unresolved_ids" in lists:
        return tried
    for folder in list(source.path.absolute().parents)[:2]:
        predictions = folder / "all_preds.jsonl"
        if predictions.is_file():
            rows = read_json_lines(open_source(predictions))
            return [need(need(r, dict, f"{predictions}, line {n}", "the row").get("instance_id"), str,
                         f"{predictions}, line {n}", "instance_id") for n, r in rows]  # fmt: skip
    return None


def _of_items(items: Sequence[str], tried: Sequence[str] | None, source: Source, log: LogBuilder) -> dict[str, _End]:
    """Return what became of the items of the benchmark that are in no list."""
    if items and tried is None:
        log.notes.append(f"{source.place} does not say what was tried: of items= those in no list count as wrong.")
    return dict.fromkeys(items, _FAILED if tried is None else _End("not attempted", _NAN, "in no list of the report"))


def _check_items(items: Sequence[str], ends: Mapping[str, _End], source: Source) -> None:
    """Refuse instances of another benchmark than the items are of."""
    foreign = sorted(ends.keys() - set(items)) if items else []
    if foreign:
        raise DataError(
            f"{source.place}: {some(foreign)} {'is' if len(foreign) == 1 else 'are'} not among the {len(items)} items "
            "that items= names.",
            "Name all items of the benchmark that was run.",
        )


def _check_exclusive(ended: Sequence[str], lists: Mapping[str, Mapping[str, None]], source: Source) -> None:
    """Refuse an instance that was resolved and was not, or failed and was not attempted."""
    for one, two in combinations(ended, 2):
        kinds = {_kind(one), _kind(two)}
        at_odds = len(kinds) > 1 and ("resolved" in kinds or kinds == {"failed", "not attempted"})
        both = sorted(lists[one].keys() & lists[two].keys()) if at_odds else []
        if both:
            raise DataError(
                f"{source.place}: {some(both)} are in {one} and in {two}.", "Correct the log: one is wrong."
            )


def _kind(name: str) -> str:
    """Return what the instances of a list are: resolved, failed, or an outcome without a score."""
    return {1.0: "resolved", 0.0: "failed"}.get(_ENDS[name].score, _ENDS[name].outcome)


def _check_counts(
    content: Mapping[str, Any], lists: Mapping[str, Mapping[str, None]], source: Source, log: LogBuilder
) -> None:
    """Note counts that the file gives and that its lists do not have."""
    for what in ("resolved", "unresolved", "submitted"):
        told = content.get(f"{what}_instances")
        listed = lists.get(f"{what}_ids", lists.get(what))
        if isinstance(told, int) and listed is not None and told != len(listed):
            log.notes.append(f"{source.place} says that {told} instances are {what}, and lists {len(listed)}.")

"""What readers do with the fields of a log: numbers, hashes of content, files beside it, names, failures."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.readers.log import LogBuilder, Outcome
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.sources import Source, need, open_source, read_json
from psychoeval.wording import shorten

#: Errors by which a provider or the system itself declined; "connection refused" is none of them.
_REFUSAL: Final = re.compile(
    r"\brefusal\b|refused to (?:answer|respond|comply)|content[ _-]?(?:filter|policy)|content management policy",
    re.IGNORECASE,
)
_SUFFIX: Final = re.compile(r"\.jsonl?(?:ines)?$", re.IGNORECASE)
#: Parts of file and folder names that say what a file is, and not whose.
_GENERIC: Final = re.compile(r"(?:^|[\s._-]+)(?:(?:final[._-])?(?:results?|reports?)|evals?|evaluations?|logs?)$")
_LONGEST_ERROR: Final = 200
_NAMED_BY_FILE: Final = "Systems that logs do not name have the names of their files (person= names them otherwise)."


def number(value: Any, place: str, what: str) -> float:
    """Return a number or truth value as a float.

    Raises
    ------
    DataError
        If it is neither, or too large; with its place.
    """
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError:
            raise DataError(f"{place}: {what} has more than 308 digits.", "Correct the log.") from None
    found = "nothing" if value is None else repr(shorten(str(value)))
    raise DataError(f"{place}: {what} is {found}, not a number.", "Is this log of the format it is read as?")


def known_number(value: Any) -> float:
    """Return a number that a log may give, NaN where it is none."""
    try:
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else float("nan")
    except OverflowError:
        return float("nan")


def content_hash(asked: Any, place: str) -> str:
    """Return the SHA-256 of a JSON value, whatever the order of its keys.

    Raises
    ------
    DataError
        If it is nested too deeply: what could just be read cannot always be written; with its place.
    """
    try:
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
    except RecursionError:
        raise DataError(f"{place} is nested too deeply.", "Is it a log?") from None


def failure(error: str) -> Outcome:
    """Return what an error made of a response: a refusal, or an error."""
    return "refused" if _REFUSAL.search(error) else "errored"


def first_line(error: str) -> str:
    """Return the first line of an error, as much of it as a table should hold."""
    lines = error.strip().splitlines()
    return lines[0][:_LONGEST_ERROR] if lines else ""


def day(stamp: Any) -> str:
    """Return a Unix time as an ISO date, other texts as they are."""
    try:
        return datetime.fromtimestamp(float(stamp), tz=UTC).date().isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        return stamp if isinstance(stamp, str) else ""


def object_beside(source: Source, name: str) -> dict[str, Any] | None:
    """Return the JSON object in the file `name` (or ``name.gz``) of the same folder, None where there is none."""
    for path in (source.path.with_name(name), source.path.with_name(name + ".gz")):
        if path.is_file():
            content: dict[str, Any] = need(read_json(open_source(path)), dict, str(path), "the file")
            return content
    return None


def system(source: Source, log: LogBuilder, options: ReadOptions) -> str:
    """Return the system of a file that does not name it: the option ``person``, or by the file's name, with a note."""
    if options.person:
        return options.person
    if _NAMED_BY_FILE not in log.notes:
        log.notes.append(_NAMED_BY_FILE)
    return system_of_file(source)


def system_of_file(source: Source) -> str:
    """Return the name of a system by its file, or by the nearest folder whose name is not ``results`` or the like."""
    path = source.path.absolute()
    for name in (_SUFFIX.sub("", source.name), *(folder.name for folder in path.parents)):
        kept = _GENERIC.sub("", name).strip(" ._-")
        if kept:
            return kept
    return ""

"""What a user may say about logs that do not say it themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.readers.json_values import parse_json
from psychoeval.responses.readers.sources import Source, open_source, read_lines, read_whole
from psychoeval.wording import shorten, some

#: Where the objects of a list of items keep their ids.
_ID_KEYS: Final = ("instance_id", "item_id", "task_id", "id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options of the readers.

    Parameters
    ----------
    person : str, optional
        The system that produced the responses, for files that do not name it.
    columns, leave_out : tuple of str
        Of leaderboards: the columns that are benchmarks, or those that are not; names, or patterns with ``*``.
    person_column : str, optional
        Of leaderboards and long tables: the column of systems, where it has no usual name.
    items : tuple of str
        Of lists of results (SWE-bench): the ids of all items of the benchmark, also those in no list.
    """

    person: str = ""
    columns: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    person_column: str = ""
    items: tuple[str, ...] = ()


def item_ids(given: str | os.PathLike[str] | Sequence[str]) -> tuple[str, ...]:
    """Return the ids that the option ``items`` names, each once.

    Parameters
    ----------
    given : path or list of str
        The ids, or a file of them: a text with one id a line (under a header, if it is one of the following names), a
        JSON list, or JSONL; of objects the ``instance_id``, ``item_id``, ``task_id`` or ``id``.

    Raises
    ------
    DataError
        If the file cannot be read, or an entry is no id; with its place.
    SettingsError
        If the list holds something else than ids.
    """
    if isinstance(given, (str, os.PathLike)):
        return _ids_of_file(Path(given)) if os.fspath(given) else ()
    wrong = [i for i in given if not (isinstance(i, str) and i.strip())]
    if wrong:
        raise SettingsError(f"items holds {some(wrong)}, no id.", "Give texts, or the path of a file of ids.")
    return tuple(dict.fromkeys(given))


def _ids_of_file(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        raise DataError(
            f"items={path} is no file.", "Give a file with one id a line, or a JSON list; or a list of ids."
        )
    source = open_source(path)
    found = _entries(source)
    ids = dict.fromkeys(_id(entry, place) for place, entry in found)
    if not ids:
        raise DataError(f"{path} holds no id of an item.", "Write one a line, or a JSON list.")
    return tuple(ids)


def _entries(source: Source) -> list[tuple[str, Any]]:
    """Return the entries of a file of ids with their places."""
    start = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start == b"[":
        content = parse_json(read_whole(source), source.place)
        return [(f"{source.place}, entry {k}", entry) for k, entry in enumerate(content, 1)]
    lines = [(f"{source.place}, line {number}", raw) for number, raw in read_lines(source)]
    if start == b"{":
        return [(place, parse_json(raw, place)) for place, raw in lines]
    texts = [(place, _text(raw, place)) for place, raw in lines]
    return texts[1:] if texts and texts[0][1] in _ID_KEYS else texts


def _text(raw: bytes, place: str) -> str:
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise DataError(f"{place} is no text in UTF-8.", "Write one id a line, or a JSON list.") from None
    if "," in text or "\t" in text:
        raise DataError(f"{place} is {shorten(text)!r}: more than one cell.", "Write one id a line, and nothing else.")
    return text


def _id(entry: Any, place: str) -> str:
    """Return an entry that is an id, or the id in it."""
    if isinstance(entry, dict):
        entry = next((entry[key] for key in _ID_KEYS if key in entry), None)
    if isinstance(entry, str) and entry.strip():
        return entry
    raise DataError(
        f"{place} is {shorten(repr(entry))}, not the id of an item.",
        f"Write texts, or objects with one of {', '.join(_ID_KEYS)}.",
    )

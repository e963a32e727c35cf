"""YAML lists of objects as tables. Nothing is constructed from the file: cells stay the texts they are."""

from __future__ import annotations

import importlib
import re
from collections.abc import Generator, Iterator
from typing import Any, Final, TypeAlias

from psychoeval.errors import DataError, EngineUnavailableError
from psychoeval.responses.columns import Table
from psychoeval.responses.frames import FrameTable
from psychoeval.responses.readers.sources import Source, read_whole
from psychoeval.wording import shorten

#: Largest YAML file, in bytes: libyaml parses a megabyte in half a second, PyYAML without it in ten.
_MAX_BYTES: Final = 8 << 20
_MAX_BYTES_SLOW: Final = 1 << 20
#: Most lists and objects within each other: a leaderboard needs two, and each level takes memory.
_MAX_DEPTH: Final = 100
_NULL: Final = "tag:yaml.org,2002:null"
#: Lines before the list are each taken in one way only: blanks taken in several would be tried in all combinations.
_LIST_OF_OBJECTS: Final = re.compile(
    rb"(?:[ \t\r]*(?:#[^\n]*|---[ \t\r]*)?\n)*-[ \t]+[^\s,;\t#&*!|>\[{-][^\n,;\t]*?:(?:\s|$)"
)


class _YamlTable(FrameTable):
    """A table whose rows are named by their lines in the file."""

    def __init__(self, rows: list[dict[str, str | None]], lines: list[int], place: str) -> None:
        super().__init__(rows, place)
        self._lines = lines

    def where(self, row: int) -> str:
        """Name a row by its line."""
        return f"line {self._lines[row]}"


def looks_like_yaml(head: bytes) -> bool:
    """Whether a file starts as a YAML list of objects: ``- name: value``."""
    return _LIST_OF_OBJECTS.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def yaml_table(source: Source) -> Table:
    """Return a YAML list of objects as a table; a key that a row lacks is a missing cell.

    Values that are lists or objects are missing cells too; a column of them has no number and is not used.

    Raises
    ------
    DataError
        If the file is too large, no YAML, no list of objects, or uses anchors; with the line.
    EngineUnavailableError
        If PyYAML is not installed.
    """
    events = _events(source)
    kind, _, _ = next(events, ("", None, 0))
    if kind != "[":
        raise DataError(f"{source.place} is no YAML list.", "A leaderboard is a list of objects, one a system.")
    rows: list[dict[str, str | None]] = []
    lines = []
    for kind, _, line in events:
        if kind == "{":
            rows.append(_row(events, source.place))
            lines.append(line)
        elif kind != "]":
            raise DataError(f"{source.place}, line {line} is no object.", "Give one a system.")
    if not rows:
        raise DataError(f"{source.place} is an empty list.", "Give at least one system.")
    return _YamlTable(rows, lines, source.place)


#: ``[``, ``]``, ``{``, ``}`` or ``=``; the text of a scalar, None where it is null; the line.
_Event: TypeAlias = tuple[str, str | None, int]


def _row(events: Iterator[_Event], place: str) -> dict[str, str | None]:
    """Return the object that has begun; lists and objects in it are missing cells."""
    row: dict[str, str | None] = {}
    for kind, key, line in events:
        if kind == "}":
            break
        at = f"{place}, line {line}"
        if key is None:
            raise DataError(f"{at}: a key is no text.", "Keys name columns.")
        if key == "<<":
            raise DataError(f"{at} merges another object.", "Write the values out.")
        if key in row:
            raise DataError(f"{at}: the key {shorten(key)!r} occurs twice.", "Take one out.")
        kind, row[key], _ = next(events)
        depth = int(kind in "[{")
        while depth:
            kind = next(events)[0]
            depth += (kind in "[{") - (kind in "]}")
    return row


def _events(source: Source) -> Generator[_Event, None, None]:
    """Yield what the file says, in its order, with all that is no plain list of objects refused."""
    try:
        yaml: Any = importlib.import_module("yaml")  # its types are a package of their own
    except ImportError:
        raise EngineUnavailableError(
            f"Reading {source.place} needs PyYAML.", "pip install 'psychoeval[logs]', or save the table as CSV."
        ) from None
    marks = {
        yaml.SequenceStartEvent: "[", yaml.SequenceEndEvent: "]", yaml.MappingStartEvent: "{",
        yaml.MappingEndEvent: "}", yaml.ScalarEvent: "=",
    }  # fmt: skip
    text = _text(source, _MAX_BYTES if yaml.__with_libyaml__ else _MAX_BYTES_SLOW)
    depth = documents = 0
    try:
        loader = (yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)(text)
        while loader.check_event():
            event = loader.get_event()
            kind, line = marks.get(type(event), ""), event.start_mark.line + 1
            depth += (kind in ("[", "{")) - (kind in ("]", "}"))
            documents += isinstance(event, yaml.DocumentStartEvent)
            if isinstance(event, yaml.AliasEvent):
                # Rows that repeat one another by reference could stand for millions of cells.
                raise DataError(f"{source.place}, line {line} refers to an anchor.", "Write the values out.")
            if depth > _MAX_DEPTH:
                raise DataError(f"{source.place}, line {line} is nested too deeply.", "Is it a leaderboard?")
            if documents > 1:
                raise DataError(f"{source.place}, line {line} begins another document.", "Save it as another file.")
            if kind:
                yield kind, _scalar(event, loader, yaml) if kind == "=" else None, line
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        problem = f"{where} is no YAML: {getattr(error, 'problem', None) or error}"
        raise DataError(f"{source.place}{problem}.", "Was the file written to its end?") from None


def _scalar(event: Any, loader: Any, yaml: Any) -> str | None:
    """Return the text of a scalar, None where it is null."""
    tag = event.tag
    if tag is None or tag == "!":
        tag = loader.resolve(yaml.ScalarNode, event.value, event.implicit)
    return None if tag == _NULL else str(event.value)


def _text(source: Source, most: int) -> str:
    raw = read_whole(source)
    if len(raw) > most:
        raise DataError(f"{source.place} is larger than {most >> 20} MB.", "Save the table as CSV.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.start + 1})"
    raise DataError(f"{source.place} {problem}.", "Was the file written to its end?")

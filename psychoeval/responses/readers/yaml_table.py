"""YAML lists of objects as tables. Nothing is constructed from the file: cells stay the texts they are."""

from __future__ import annotations

import importlib
import re
from typing import Any, Final

from psychoeval.errors import DataError, EngineUnavailableError
from psychoeval.responses.columns import Table
from psychoeval.responses.frames import FrameTable
from psychoeval.responses.readers.sources import Source, read_whole
from psychoeval.wording import shorten

#: Largest YAML file, in bytes: parsing takes about ten seconds a megabyte.
_MAX_BYTES: Final = 2 << 20
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
    root = _composed(source)
    if root is None or root.id != "sequence":
        raise DataError(f"{source.place} is no YAML list.", "A leaderboard is a list of objects, one a system.")
    rows: list[dict[str, str | None]] = []
    lines = []
    for node in root.value:
        line = node.start_mark.line + 1
        if node.id != "mapping":
            raise DataError(f"{source.place}, line {line} is no object.", "Give one a system.")
        row: dict[str, str | None] = {}
        for key, value in node.value:
            at = f"{source.place}, line {key.start_mark.line + 1}"
            if key.id != "scalar":
                raise DataError(f"{at}: a key is no text.", "Keys name columns.")
            if key.value in row:
                raise DataError(f"{at}: the key {shorten(key.value)!r} occurs twice.", "Take one out.")
            row[key.value] = _cell(value)
        rows.append(row)
        lines.append(line)
    if not rows:
        raise DataError(f"{source.place} is an empty list.", "Give at least one system.")
    return _YamlTable(rows, lines, source.place)


def _cell(node: Any) -> str | None:
    if node.id != "scalar" or node.tag == "tag:yaml.org,2002:null":
        return None
    return str(node.value)


def _composed(source: Source) -> Any:
    """Return the file's root node."""
    try:
        yaml: Any = importlib.import_module("yaml")  # its types are a package of their own
    except ImportError:
        raise EngineUnavailableError(
            f"Reading {source.place} needs PyYAML.", "pip install 'psychoeval[logs]', or save the table as CSV."
        ) from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            # Rows that repeat one another by reference could stand for millions of cells.
            if self.check_event(yaml.AliasEvent):
                line = self.peek_event().start_mark.line + 1
                raise DataError(f"{source.place}, line {line} refers to an anchor.", "Write the values out.")
            return super().compose_node(parent, index)

    raw = read_whole(source)
    if len(raw) > _MAX_BYTES:
        raise DataError(f"{source.place} is larger than {_MAX_BYTES >> 20} MB.", "Save the table as CSV.")
    try:
        return yaml.compose(raw.decode("utf-8-sig"), Loader=Loader)
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.start + 1})"
    except RecursionError:
        problem = "is nested too deeply"
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        problem = f"{where.removeprefix(', ')} is no YAML: {getattr(error, 'problem', None) or error}".strip()
    raise DataError(f"{source.place} {problem}.", "Was the file written to its end?")

"""JSON from files that may be damaged or hostile: each fault is an error that says where it is."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.wording import shorten

#: What text and values of one JSON value may take together in memory, in bytes. Below `_SMALL` no text can exceed it.
MAX_HELD: Final = 800 << 20
_SMALL: Final = 8 << 20
#: What CPython takes for an object, a list, and a value with its place in them, in bytes.
_OBJECT, _LIST, _VALUE = 232, 88, 40
_BOM: Final = b"\xef\xbb\xbf"
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:]', re.DOTALL)


class _RepeatedKeyError(ValueError):
    """A key that occurs twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, of which Python would silently keep the last of values under one key."""
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RepeatedKeyError(key)
            seen.add(key)
    return made


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_once)


def parse_json(raw: bytes, place: str) -> Any:
    """Return the JSON value of `raw`.

    Raises
    ------
    DataError
        If it is no JSON in UTF-8, names a key twice in one object, is nested too deeply, has values that would not fit
        in `MAX_HELD`, or a number of thousands of digits; with its place.
    """
    try:
        text = raw.removeprefix(_BOM).decode()  # as utf-8-sig does, whose codec takes four times as long
        if len(raw) > _SMALL:
            del raw
            _check_size(text, place)
        return _DECODER.decode(text)
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.start + 1} is 0x{error.object[error.start]:02x})"
    except json.JSONDecodeError as error:
        problem = f"is no JSON: {error.msg} (line {error.lineno}, column {error.colno} of it)"
    except RecursionError:
        problem = "is nested too deeply"
    except _RepeatedKeyError as error:
        key = str(error)
        problem = f"has the key {shorten(key)!r} twice in one object (line {_line_of_second(text, key)} of it)"
    except DataError:
        raise
    except ValueError as error:  # a whole number with thousands of digits
        problem = f"holds a number that cannot be read ({error})"
    raise DataError(f"{place} {problem}.", "Was the file written to its end, and is it a log?")


def _check_size(text: str, place: str) -> None:
    """Refuse a text whose values would take too much memory: three bytes can be an object of hundreds."""
    values = _OBJECT * text.count("{") + _LIST * text.count("[") + _VALUE * text.count(",")
    if sys.getsizeof(text) + values > MAX_HELD:
        raise DataError(
            f"{place} holds so many values that they could take {(sys.getsizeof(text) + values) >> 20} MB of memory.",
            f"More than {MAX_HELD >> 20} MB are not read at once: write the log in parts, or as JSONL.",
        )


def _line_of_second(text: str, key: str) -> int:
    """Return the line of the second `key` in the first object that has it twice; all before it is JSON."""
    objects: list[set[str]] = []
    name, start = "", 0
    for token in _TOKEN.finditer(text):
        found = token.group()
        if found in ("{", "["):
            objects.append(set())
        elif found in ("}", "]"):
            objects.pop()
        elif found == ":":
            if name == key and name in objects[-1]:
                break
            objects[-1].add(name)
        else:
            name, start = json.loads(found, strict=False), token.start()
    return text.count("\n", 0, start) + 1

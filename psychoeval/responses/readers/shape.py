"""What a file looks like from its first bytes: kind and keys, enough to recognise a format by its content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from psychoeval.responses.readers.sources import Source

Kind = Literal["object", "array", "lines", "zip", "parquet", "text"]

#: A text that the head cuts is one token to its end: searched from each quote in it, it would take minutes.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\]:,]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shape:
    """The outline of a file.

    Parameters
    ----------
    kind : str
        ``object`` and ``array``: one JSON value (or the only line of a JSONL file); ``lines``: JSON objects one after
        another; ``zip``, ``parquet``; ``text``: none of these.
    keys : frozenset of str
        Of the first object (of an array: of its first element), as far as the head shows them.
    inner : frozenset of str
        Keys of objects one level further in.
    """

    kind: Kind
    keys: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()

    def has(self, *keys: str) -> bool:
        """Whether the first object shows all these keys."""
        return self.keys.issuperset(keys)


def shape_of(source: Source) -> Shape:
    """Return the outline of a file."""
    head = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"PK"):
        return Shape("zip")
    if head.startswith(b"PAR1"):
        return Shape("parquet")
    if not head.startswith((b"{", b"[")):
        return Shape("text")
    keys, inner, end = _outline(head)
    if head.startswith(b"["):
        return Shape("array", keys, inner)
    following = head[end:].lstrip() if end else b""
    return Shape("lines" if following.startswith(b"{") else "object", keys, inner)


def _outline(head: bytes) -> tuple[frozenset[str], frozenset[str], int]:
    """Return the keys of the first object and of those in it, and where that object ends (0: not in the head)."""
    keys: set[str] = set()
    inner: set[str] = set()
    objects = arrays = 0
    text = b""
    for token in _TOKEN.finditer(head):
        found = token.group()
        if found == b":" and text:
            (keys if objects == 1 else inner if objects == 2 else set()).add(text[1:-1].decode("utf-8", "replace"))
        elif found == b"{":
            objects += 1
        elif found == b"}":
            objects -= 1
            if objects == 0:
                return frozenset(keys), frozenset(inner), token.end()
        elif found in b"[]":
            arrays += 1 if found == b"[" else -1
            if objects == 0 and arrays == 0:
                break
        text = found if found[:1] == b'"' else b""
    return frozenset(keys), frozenset(inner), 0

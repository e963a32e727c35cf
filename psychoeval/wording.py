"""How messages name a few of many things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SHOWN_CHARACTERS: Final = 60


def shorten(text: str) -> str:
    """Return `text`, cut for a message."""
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def some(ids: Sequence[object], most: int = 5) -> str:
    """Return the first few ids, in quotes where they are texts, and how many more there are.

    Examples
    --------
    >>> some(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = [repr(shorten(i)) if isinstance(i, str) else str(i) for i in ids[:most]]
    return some_of(shown, len(ids))


def some_of(shown: Sequence[str], total: int, separator: str = ", ") -> str:
    """Return phrases one after another, and how many of `total` they leave out.

    Examples
    --------
    >>> some_of(["row 1: 7", "row 2: 9"], 5, separator="; ")
    'row 1: 7; row 2: 9; and 3 more'
    """
    more = total - len(shown)
    last = f"{separator.rstrip(', ')} and {more} more" if more > 0 else ""
    return separator.join(shown) + last

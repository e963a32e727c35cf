"""Ids and counts: what both the responses and their readers stand on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.wording import shorten

CountArray = NDArray[np.unsignedinteger[Any]]
PersonLabel = Literal["person", "system"]


def smallest_dtype(largest: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the smallest unsigned integer type that holds `largest`."""
    return np.dtype(np.min_scalar_type(largest))


def frozen(counts: NDArray[Any]) -> CountArray:
    """Return `counts`, which nobody else holds, read-only."""
    counts.flags.writeable = False
    return counts


def is_missing(value: object) -> bool:
    """Return whether `value` is None, NaN, NaT or pandas.NA; pandas is not imported for it."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # an array
        return False


def check_ids(
    ids: Sequence[object], n: int, what: str, where: Callable[[int], str] = lambda i: f"position {i + 1}"
) -> tuple[str, ...]:
    """Return `n` ids as unique texts; `where` names the place of one for messages.

    Raises
    ------
    DataError
        If there are more or fewer, or one is missing, blank, repeated or no Unicode text; with its positions.
    """
    if isinstance(ids, str) or len(ids) != n:
        raise DataError(f"There are {len(ids)} {what} ids for {n} {what}s.", "Give one id each.")
    texts: dict[str, int] = {}
    for position, given in enumerate(ids):
        text = str(given)
        if not text.strip() or is_missing(given):
            raise DataError(f"The {what} at {where(position)} has no id ({given!r}).", "Give every one a name.")
        if text in texts:
            raise DataError(
                f"The {what} id {shorten(text)!r} occurs more than once: at {where(texts[text])} and "
                f"{where(position)}.",
                "Make the ids unique; several responses of one pair go in a long table (Responses.from_long).",
            )
        texts[text] = position
    refuse_surrogates(tuple(texts), what, where)
    return tuple(texts)


def refuse_surrogates(ids: Sequence[str], what: str, where: Callable[[int], str]) -> None:
    """Refuse ids with lone surrogates: no table, file or other program could take them.

    Raises
    ------
    DataError
        With the place of the first.
    """
    for position, text in enumerate(ids):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"The {what} id {shorten(text)!r} at {where(position)} holds half a character (a lone surrogate, "
                f"character {error.start + 1}).",
                "It was read in the wrong encoding, or cut in a character: read it again, or rename it.",
            ) from None

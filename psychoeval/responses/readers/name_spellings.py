"""Names of systems that differ by spelling alone: a suspicion that they are one, never more."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

#: Words of a name: a size (1.3b), another number (2.5), letters, a sign that may tell names apart.
_WORDS: Final = re.compile(r"\d+(?:\.\d+)*[bkmt](?![a-z])|\d+(?:\.\d+)*|[^\W\d_]+|[^\w\s.\-]")


def spelled_alike(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return groups of names that may be spellings of one.

    Case, organization (all before the last slash), gaps (``-``, ``_``, ``.``, space) and a version's point do not
    count: ``claude-3.5`` is ``Claude_3-5``, ``qwen2.5`` is ``qwen25``. Other numbers do, and sizes keep their point:
    ``opt-1.3b`` is not ``opt-13b``, and a name with a date is not the one without.

    Examples
    --------
    >>> spelled_alike(["opt-1.3b", "opt-13b", "facebook/OPT_13B"])
    [('opt-13b', 'facebook/OPT_13B')]
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        for words in dict.fromkeys(_spellings(name)):
            alike.setdefault(words, []).append(name)
    return list(dict.fromkeys(tuple(group) for group in alike.values() if len(group) > 1))


def _spellings(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a name with a version's point as a gap (2.5 as 2-5), and with it left out (25)."""
    words = _WORDS.findall(name.rsplit("/", 1)[-1].casefold())
    parted = [part for word in words for part in ([word] if word[-1].isalpha() else word.split("."))]
    return tuple(parted), tuple(word if word[-1].isalpha() else word.replace(".", "") for word in words)

"""What a release is, in the tags of its items' benchmarks: the schema and all its file forms hold those.

``release-part: held-out``, ``release-embargo: 2027-06-01`` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, Literal

from psychoeval.errors import SettingsError
from psychoeval.responses.readers.sources import need

Part = Literal["public", "held-out"]

_TAG: Final = "release-"
_NAMES: Final = ("part", "embargo", "seed", "rotation", "share", "strata")


def release_of(item: Mapping[str, Any]) -> dict[str, str]:
    """Return what the tags of an item say of its release: part, embargo, rotation, ...; empty if there is none.

    Examples
    --------
    >>> release_of({"item_metadata": {"source": {"benchmark_tags": ["math", "release-part: public"]}}})
    {'part': 'public'}
    """
    tags = _tags(source_of(item, "the item"), "the item")
    found = (tag.removeprefix(_TAG).partition(": ") for tag in tags if isinstance(tag, str) and tag.startswith(_TAG))
    return {name: value for name, _, value in found if name in _NAMES}


def embargo_day(given: str | date) -> str:
    """Return a day as ``2027-06-01``.

    Raises
    ------
    SettingsError
        If it is none, or spelled otherwise.
    """
    try:
        day = date.fromisoformat(given) if isinstance(given, str) else given
        text = date(day.year, day.month, day.day).isoformat()
    except (ValueError, AttributeError):
        text = ""
    if not text or (isinstance(given, str) and given != text):
        raise SettingsError(f"embargo is {given!r}, which is no day.", "Write it as 2027-06-01.")
    return text


def describe_release(
    day: str, rotation: tuple[int, int], rotating: Part, seed: int, parts: Sequence[Part], strata: str
) -> dict[str, str]:
    """Return what the tags of both parts say."""
    hidden = parts.count("held-out")
    return {
        "embargo": day,
        "seed": str(seed),
        "rotation": f"{rotation[0]} of {rotation[1]} ({rotating} rotates)",
        "share": f"{hidden / len(parts):.4f} ({hidden} of {len(parts)} items held out)",
        "strata": strata.removeprefix("Strata: ").rstrip("."),
    }


def tagged(item: Mapping[str, Any], place: str, part: Part, release: Mapping[str, str]) -> dict[str, Any]:
    """Return an item with the release in its tags; what is not changed is shared with the one given."""
    metadata = dict(item.get("item_metadata") or {})
    source = dict(source_of(item, place))
    source["benchmark_tags"] = [
        *_tags(source, place),
        f"{_TAG}part: {part}",
        *(f"{_TAG}{k}: {v}" for k, v in release.items()),
    ]
    return {**item, "item_metadata": {**metadata, "source": source}}


def source_of(item: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return where an item is from; an empty object where it does not say."""
    metadata = need(item.get("item_metadata") or {}, dict, place, "item_metadata")
    source: dict[str, Any] = need(metadata.get("source") or {}, dict, place, "item_metadata.source")
    return source


def _tags(source: Mapping[str, Any], place: str) -> list[Any]:
    return list(need(source.get("benchmark_tags") or [], list, place, "item_metadata.source.benchmark_tags"))

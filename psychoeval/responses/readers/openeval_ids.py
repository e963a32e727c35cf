"""Ids of OpenEval: item ``<bench>_<YYYYMMDDTHHMMSSZ>_<k>``, response ``<item_id>_<model-slug>_<trial>``."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

from psychoeval.errors import DataError

_ITEM: Final = re.compile(r"(?P<bench>.+)_\d{8}T\d{6}Z_\d+")
_BY_TIME: Final = re.compile(r"(?P<item>.+_\d{8}T\d{6}Z_\d+)_.+", re.DOTALL)


class ResponseId(NamedTuple):
    """What a response id says."""

    item: str
    trial: str


def slug(name: str) -> str:
    """Return a name as ids spell it: lower case, ``_`` and blanks as ``-``.

    Several names may have one slug (``GPT_4``, ``gpt 4``): it does not lead back to the name.
    """
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def ingestion_time(when: datetime | None = None) -> str:
    """Return a time (now) as ids spell it, in UTC: ``20260220T224823Z``."""
    when = datetime.now(UTC) if when is None else when
    return when.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def make_item_id(benchmark: str, time: str, k: int) -> str:
    """Return the id of the k-th item (from 0) of a benchmark."""
    return f"{slug(benchmark)}_{time}_{k}"


def make_response_id(item_id: str, model: str, trial: int) -> str:
    """Return the id of a model's trial (from 0) at an item."""
    return f"{item_id}_{slug(model)}_{trial}"


def benchmark_slug(item_id: str) -> str | None:
    """Return the benchmark's slug that an item id starts with; None if the id is not made by the rule."""
    found = _ITEM.fullmatch(item_id)
    return found["bench"] if found else None


def split_response_id(response_id: str, model: str, place: str) -> ResponseId:
    """Return item and trial of a response id.

    The model's name says where the item's id ends; where the id spells it otherwise, the time in the item's id does.

    Raises
    ------
    DataError
        If neither does, or no number ends the id; with its place.
    """
    head, _, trial = response_id.rpartition("_")
    if head and trial.isascii() and trial.isdigit():
        for name in (slug(model), model, model.lower()):
            item = head.removesuffix(f"_{name}")
            if item and item != head:
                return ResponseId(item, trial)
        found = _BY_TIME.fullmatch(head)
        if found:
            return ResponseId(found["item"], trial)
    raise DataError(
        f"{place}: response_id {response_id!r} is not <item_id>_<model>_<trial> with the model {model!r}.",
        "Correct the id: without it the response cannot be told to an item.",
    )

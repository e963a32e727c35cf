"""Public and held-out items as one set of responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychoeval.errors import DataError
from psychoeval.irt.classical import BoolArray
from psychoeval.responses.ids_and_counts import CountArray, frozen
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

#: What an item's part is called, in columns and in the metadata of releases.
PUBLIC, HELD_OUT = "public", "held-out"


def join_parts(public: Responses, held_out: Responses) -> tuple[Responses, BoolArray]:
    """Return the responses on the items of both parts, persons matched by id, and which items are public, (J,).

    Raises
    ------
    DataError
        If an item is in both parts, or no person is.
    """
    both = sorted(set(public.item_ids) & set(held_out.item_ids))
    if both:
        raise DataError(
            f"{len(both)} items are in both parts: {some(both)}.",
            "Held-out items must not be public. If these ids are only positions, name the items apart.",
        )
    if not set(public.person_ids) & set(held_out.person_ids):
        raise DataError(
            f"No {public.person_label} is in both parts: {some(public.person_ids)} in the public one, "
            f"{some(held_out.person_ids)} in the other.",
            "Name them alike.",
        )
    persons = tuple(dict.fromkeys((*public.person_ids, *held_out.person_ids)))
    joined = replace(
        public,
        successes=_beside(persons, public, held_out, "successes"),
        trials=_beside(persons, public, held_out, "trials"),
        person_ids=persons,
        item_ids=(*public.item_ids, *held_out.item_ids),
        persons=None,
        items=_tables(public, held_out),
        name=f"{public.name} and {held_out.name}",
        notes=(*public.notes, *(note for note in held_out.notes if note not in public.notes)),
    )
    return joined, np.arange(joined.n_items) < public.n_items


def mark_public(responses: Responses, held_out: Sequence[str]) -> BoolArray:
    """Return which items are public, (J,): all whose id is not among the held-out ones.

    Raises
    ------
    DataError
        If an id is not there, or a part is empty.
    """
    if isinstance(held_out, str):
        held_out = (held_out,)
    unknown = sorted(set(held_out) - set(responses.item_ids))
    if unknown:
        raise DataError(f"There is no item {some(unknown)}.", f"The items are {some(responses.item_ids)}.")
    hidden = set(held_out)
    public = np.array([i not in hidden for i in responses.item_ids], dtype=bool)
    if public.all() or not public.any():
        raise DataError(f"No item is {HELD_OUT if public.all() else PUBLIC}.", "Give items of both parts.")
    return public


def public_and_held_out(responses: Responses, column: str) -> tuple[Responses, tuple[str, ...]]:
    """Return the responses on items whose part a covariate tells, and the ids of the held-out ones.

    Items without a part are left out, and `notes` say how many.

    Parameters
    ----------
    responses : Responses
    column : str
        Of `responses.items`: ``public`` or ``held-out``.

    Raises
    ------
    DataError
        Without such a column, or if it holds anything else.
    """
    table = responses.items
    if table is None or column not in table.columns:
        raise DataError(f"The items have no covariate {column!r}.", "Give the table that `openeval split` wrote.")
    parts = [v if isinstance(v, str) else "" for v in table[column].tolist()]
    other = sorted({p for p in parts if p not in (PUBLIC, HELD_OUT, "")})
    if other:
        raise DataError(f"Column {column!r} says {some(other)}.", f"It must say {PUBLIC} or {HELD_OUT}.")
    known = np.array([p != "" for p in parts], dtype=bool)
    if not known.any():
        raise DataError(f"Column {column!r} is empty.", f"It must say {PUBLIC} or {HELD_OUT}.")
    kept = responses
    if not known.all():
        note = f"{int((~known).sum())} items have no {column} and are left out."
        kept = replace(responses.select(items=known), notes=(*responses.notes, note))
    return kept, tuple(i for i, p in zip(responses.item_ids, parts, strict=True) if p == HELD_OUT)


def _beside(persons: tuple[str, ...], public: Responses, held_out: Responses, name: str) -> CountArray:
    """Return counts of the items of both, 0 for persons that one of them lacks."""
    place = {person: k for k, person in enumerate(persons)}
    one, other = getattr(public, name), getattr(held_out, name)
    out = np.zeros((len(persons), one.shape[1] + other.shape[1]), np.result_type(one, other))
    out[[place[p] for p in public.person_ids], : one.shape[1]] = one
    out[[place[p] for p in held_out.person_ids], one.shape[1] :] = other
    return frozen(out)


def _tables(public: Responses, held_out: Responses) -> pd.DataFrame | None:
    """Return the covariates of the items of both, missing where a part lacks them."""
    import pandas as pd

    if public.items is None and held_out.items is None:
        return None
    tables: list[Any] = [
        pd.DataFrame(index=range(r.n_items)) if r.items is None else r.items.astype(object) for r in (public, held_out)
    ]
    joined: pd.DataFrame = pd.concat(tables, ignore_index=True)
    return joined

"""Covariates of persons and items, and outside scores of persons, from files of their own."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.responses.cells import MISSING_TEXTS, as_number
from psychoeval.responses.columns import ITEM_NAMES, PERSON_NAMES, at, blanks_missing, recognized
from psychoeval.responses.ids_and_counts import is_missing
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import open_table
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd


def add_covariates(responses: Responses, path: str | os.PathLike[str], of: Literal["persons", "items"]) -> Responses:
    """Return the responses with the columns of a file as further covariates of persons or items.

    The file is CSV, TSV or Parquet with one row a person or item. Its ids stand in the column with a usual name
    (system, model, item, task, ..., id) that has most of those of the data, else in the first. Rows of others are
    passed over, and who has no row has missing values; `notes` say how many. What a text file says stays the text that
    it is, since 1.1 and 1.10, or 01 and 1, may be two groups; blanks are missing.

    Parameters
    ----------
    responses : Responses
    path : path
    of : {"persons", "items"}

    Raises
    ------
    DataError
        If no row has an id of the data, an id is repeated, or the file cannot be read.
    """
    import pandas as pd

    ids = responses.person_ids if of == "persons" else responses.item_ids
    columns, note = _by_id(path, ids, responses.person_label if of == "persons" else "item")
    given = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    known: pd.DataFrame | None = getattr(responses, of)
    if known is not None:
        kept = known[[c for c in known.columns if str(c) not in columns]]
        given = pd.concat([kept.reset_index(drop=True), given], axis=1)
    changes: dict[str, Any] = {of: given, "notes": (*responses.notes, *note)}
    return replace(responses, **changes)


def read_scores(
    responses: Responses, path: str | os.PathLike[str]
) -> tuple[dict[str, NDArray[np.float64]], tuple[str, ...]]:
    """Return scores of persons that a file holds, by the name of their column, and notes.

    The file is one of `add_covariates`. Columns that hold anything but numbers are left out.

    Parameters
    ----------
    responses : Responses
    path : path

    Returns
    -------
    scores : dict of name to (N,) array
        NaN where unknown.
    notes : tuple of str

    Raises
    ------
    DataError
        As `add_covariates`, or if no column holds numbers.
    """
    columns, note = _by_id(path, responses.person_ids, responses.person_label)
    scores, texts = {}, []
    for name, values in columns.items():
        numbers = [np.nan if is_missing(v) or v in MISSING_TEXTS else as_number(v) for v in values]
        if any(n is None for n in numbers):
            texts.append(name)
        else:
            scores[name] = np.array(numbers, dtype=np.float64)
    if not scores:
        raise DataError(f"{path}: no column beside the ids holds numbers alone.", "Give a column of scores.")
    return scores, (*note, *((f"Columns of texts are no scores: {some(texts)}.",) if texts else ()))


def _by_id(path: str | os.PathLike[str], ids: tuple[str, ...], noun: str) -> tuple[dict[str, list[Any]], list[str]]:
    """Return each column's values in the order of the ids, None for those without a row; and a note."""
    table = open_table(path)
    usual = recognized(table, (*(ITEM_NAMES if noun == "item" else PERSON_NAMES), "id"))
    # A column called question or problem may hold the ids or the texts: the data tell.
    known = set(ids)
    hits = [sum(str(v) in known for v in values) for values in table.columns(usual or [0])]
    key = (usual or [0])[int(np.argmax(hits))]
    others = [j for j in range(len(table.names)) if j != key]
    if not others:
        raise DataError(f"{at(table)}there is no column beside the ids of {noun}s.", "Give one.")
    found, *columns = table.columns([key, *others])
    place: dict[str, int] = {}
    for row, value in enumerate(found):
        if place.setdefault(str(value), row) != row:
            raise DataError(f"{at(table)}{noun} {str(value)!r} has two rows.", f"Give one row for each {noun}.")
    lacking = [name for name in ids if name not in place]
    if len(lacking) == len(ids):
        raise DataError(
            f"{at(table)}no row has the id of a {noun} of the data: it has {some(list(place))}, the data {some(ids)}.",
            f"Write the ids of {noun}s as in the data.",
        )
    rows = [place.get(name) for name in ids]
    values = {
        table.names[j]: blanks_missing([None if row is None else column[row] for row in rows])
        for j, column in zip(others, columns, strict=True)
    }
    note = [f"{at(table)}no row for {len(lacking)} of {len(ids)} {noun}s: {some(lacking)}."] if lacking else []
    return values, note

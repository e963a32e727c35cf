"""Groups of persons or items by a covariate of the responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.responses.ids_and_counts import is_missing
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd


def group_codes(
    responses: Responses, column: str, of: Literal["persons", "items"]
) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Return the group of each person or item, numbered from 0 by first appearance, and the groups' names.

    Parameters
    ----------
    responses : Responses
    column : str
        Of `responses.persons` or `responses.items`.
    of : {"persons", "items"}

    Raises
    ------
    DataError
        Without such a column, or where one of its values is missing.
    """
    table: pd.DataFrame | None = getattr(responses, of)
    ids = responses.person_ids if of == "persons" else responses.item_ids
    noun = responses.person_label if of == "persons" else "item"
    names = [] if table is None else [str(c) for c in table.columns]
    if table is None or column not in names:
        raise DataError(
            f"The {noun}s have no covariate {column!r}.",
            f"They have {some(names)}." if names else f"Read the responses with {of}=[{column!r}].",
        )
    values = table.iloc[:, names.index(column)].tolist()
    # A table of text has blanks where values are missing; they are no group.
    lacking = [i for i, v in zip(ids, values, strict=True) if is_missing(v) or not str(v).strip()]
    if lacking:
        raise DataError(
            f"{len(lacking)} {noun}s have no {column!r}: {some(lacking)}.",
            f"Fill it in (a {noun} that stands alone is a group of its own), or select the {noun}s that have one.",
        )
    labels = _labels(values)
    code = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    return np.array([code[label] for label in labels], dtype=np.intp), tuple(code)


def _labels(values: list[object]) -> list[str]:
    """Return values as texts; whole numbers without decimals, which pandas gives them where others are missing."""
    floats = [v for v in values if isinstance(v, float)]
    if floats and all(v.is_integer() for v in floats):
        return [str(int(v)) if isinstance(v, float) else str(v) for v in values]
    return [str(v) for v in values]

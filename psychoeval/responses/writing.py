"""Responses to a table that `read_table` reads back: one row an administered cell."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, EngineUnavailableError, SettingsError
from psychoeval.files import checked_target, write_whole
from psychoeval.responses.columns import (
    ITEM_NAMES,
    PERSON_NAMES,
    SCORE_NAMES,
    SUCCESS_NAMES,
    TRIAL_NAMES,
    TRIALS_NAMES,
)
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.parquet_files import open_parquet

if TYPE_CHECKING:
    import pandas as pd

#: Where a Parquet file keeps the notes of the responses in it.
NOTES_KEY: Final = b"psychoeval.notes"
_PARQUET: Final = (".parquet", ".pq")
#: Where an item stands in the logs it was read from.
_PLACES: Final = ("logged_id", "file", "line")
_TEXT: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


def write_table(responses: Responses | ContinuousResponses, path: str | os.PathLike[str]) -> Path:
    """Write responses as a long table, whole or not at all.

    Columns are the person label, ``item``, and ``successes`` and ``trials`` (counts) or ``score`` (bounded scores).
    Persons and items without any response have a row of 0 trials, so that they stay. Parquet keeps the notes too.
    Covariates become columns (``read_table(persons=, items=)`` takes them up), but where items stand in logs, and
    those called as a column of responses may be.

    Parameters
    ----------
    responses : Responses or ContinuousResponses
    path : path
        ``.parquet``, ``.pq``, ``.csv``, ``.tsv``, also with ``.gz``.

    Raises
    ------
    SettingsError
        If the ending is another, or the file cannot be written.
    """
    return write_frame(_long(responses), path, responses.notes)


def write_frame(frame: pd.DataFrame, path: str | os.PathLike[str], notes: tuple[str, ...] = ()) -> Path:
    """Write a table, as its ending says, whole or not at all; Parquet keeps the notes."""
    file = checked_ending(path)
    name = file.name.lower()
    if name.endswith(_PARQUET):
        content = _parquet(frame, notes)
    else:
        text = frame.to_csv(
            index=False, sep="\t" if ".tsv" in name else ",", lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC
        )
        content = text.encode("utf-8", "backslashreplace")  # error messages may hold half a character
        content = gzip.compress(content, mtime=0) if name.endswith(".gz") else content
    write_whole(file, lambda out: out.write(content))
    return file


def checked_ending(path: str | os.PathLike[str]) -> Path:
    """Return `path` if its ending is that of a table, and a file can stand there.

    Raises
    ------
    SettingsError
        If not.
    """
    file = Path(path)
    if not file.name.lower().endswith((*_PARQUET, *_TEXT)):
        raise SettingsError(f"{file} has no ending that says its kind.", f"Choose {', '.join((*_PARQUET, *_TEXT))}.")
    checked_target(file)
    return file


def parquet_notes(path: Path) -> tuple[str, ...]:
    """Return the notes that `write_table` left in a Parquet file.

    Raises
    ------
    DataError
        If they are damaged.
    """
    with open_parquet(path) as file:
        stored = (file.schema_arrow.metadata or {}).get(NOTES_KEY)
    try:
        notes = [] if stored is None else json.loads(stored)
    except (ValueError, RecursionError):
        notes = None
    if not (isinstance(notes, list) and all(isinstance(note, str) for note in notes)):
        raise DataError(f"{path}: its notes ({NOTES_KEY.decode()}) are damaged.", "Fetch it again.")
    return tuple(notes)


def _long(responses: Responses | ContinuousResponses) -> pd.DataFrame:
    import pandas as pd

    observed = responses.trials > 0 if isinstance(responses, Responses) else ~np.isnan(responses.scores)
    # A cell for each person and item without any, which would be lost.
    shown = observed.copy()
    shown[~observed.any(axis=1), 0] = True
    shown[0, ~observed.any(axis=0)] = True
    rows, columns = np.nonzero(shown)
    if responses.person_label in ("item", "successes", "trials", "score"):
        raise SettingsError(f"Persons are called {responses.person_label!r}, as a column is.", "Call them otherwise.")
    ids = {
        responses.person_label: pd.Categorical.from_codes(rows.tolist(), pd.Index(list(responses.person_ids))),
        "item": pd.Categorical.from_codes(columns.tolist(), pd.Index(list(responses.item_ids))),
    }
    values: dict[str, Any]
    if isinstance(responses, Responses):
        values = {"successes": responses.successes[shown], "trials": responses.trials[shown]}
    else:
        values = {"score": responses.scores[shown]}
    return pd.DataFrame(ids | values | _covariates(responses, rows, columns))


def _covariates(
    responses: Responses | ContinuousResponses, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> dict[str, Any]:
    """Return the covariates that a long table can hold beside the responses, one value a row."""
    if not isinstance(responses, Responses):
        return {}
    taken = {*_PLACES, *PERSON_NAMES, *ITEM_NAMES, *SCORE_NAMES, *SUCCESS_NAMES, *TRIALS_NAMES, *TRIAL_NAMES}
    found: dict[str, Any] = {}
    for table, at in ((responses.persons, rows), (responses.items, columns)):
        if table is None:
            continue
        for name in table.columns:
            plain = "_".join(str(name).strip().lower().replace("-", " ").replace(".", " ").split(" "))
            if plain not in {*taken, responses.person_label, *found}:
                found[str(name)] = table[name].array.take(at)
    return found


def _parquet(frame: pd.DataFrame, notes: tuple[str, ...]) -> bytes:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise EngineUnavailableError(
            "Writing Parquet needs pyarrow.", "pip install 'psychoeval[parquet]', or write a .csv file."
        ) from None
    table = arrow.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), NOTES_KEY: json.dumps(notes).encode()})
    out = io.BytesIO()
    parquet.write_table(table, out, write_page_checksum=True)
    return out.getvalue()

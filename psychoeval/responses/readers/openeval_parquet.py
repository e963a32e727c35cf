"""OpenEval's released Parquet tables: only the columns needed are read, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.parquet_files import check_rows, damaged, damages, open_parquet
from psychoeval.responses.readers.sources import need

#: Marks, in a Parquet file's metadata, that the log's own facts are in it (`openeval_kept`).
MARK: Final = b"psychoeval.openeval"
#: Few: a text that all rows share is there once in the file, and in each of these.
_ROWS_AT_ONCE: Final = 64


def column_paths(path: Path) -> tuple[str, ...]:
    """Return the paths of a Parquet file's columns, ``model.name``, nested ones without what lists add to them.

    Raises
    ------
    DataError
        If the file is damaged.
    EngineUnavailableError
        If pyarrow is not installed.
    """
    return tuple(_plain(leaf) for leaf in _leaves(path))


def read_rows(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a Parquet file from 1, with the columns whose path (`column_paths`) is `wanted`.

    Raises
    ------
    DataError
        If the file is damaged.
    """
    leaves = [leaf for leaf in _leaves(path) if wanted(_plain(leaf))]
    number = 0
    try:
        with open_parquet(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=leaves):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
            check_rows(file, number if leaves else file.metadata.num_rows, path)
    except damages() as error:
        raise damaged(path, error) from None


def is_marked(path: Path) -> bool:
    """Whether `psychoeval` wrote a Parquet file."""
    with open_parquet(path) as file:
        return MARK in (file.schema_arrow.metadata or {})


def unpacked_size(path: Path) -> int:
    """Return the bytes of a Parquet file's columns before compression, as its footer states them."""
    with open_parquet(path) as file:
        return sum(int(file.metadata.row_group(k).total_byte_size) for k in range(file.metadata.num_row_groups))


def structs(value: Any, place: str, what: str) -> list[dict[str, Any]]:
    """Return a list of objects, also where it arrives as an object of lists (as in the release).

    Raises
    ------
    DataError
        If it is neither, or the lists differ in length.
    """
    if value is None:
        return []
    if isinstance(value, list):
        return [need(v, dict, place, f"{what}[{k}]") for k, v in enumerate(value)]
    columns: Mapping[str, Any] = need(value, (dict, list), place, what)
    lists = {key: need(v, list, place, f"{what}.{key}") for key, v in columns.items() if v is not None}
    lengths = {key: len(v) for key, v in lists.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"{place}: the lists of {what} differ in length: {lengths}.", "Was the table cut?")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def as_float(value: Any, place: str, what: str) -> float:
    """Return a number or truth value as a float.

    Raises
    ------
    DataError
        If it is neither, or has hundreds of digits.
    """
    try:
        return float(need(value, (int, float, bool), place, what))
    except OverflowError:
        raise DataError(f"{place}: {what} has {len(str(value))} digits.", "Correct the log.") from None


def _leaves(path: Path) -> list[str]:
    try:
        with open_parquet(path) as file:
            return [file.schema.column(i).path for i in range(len(file.schema))]
    except damages() as error:
        raise damaged(path, error) from None


def _plain(leaf: str) -> str:
    """Return a column's path without the levels that lists have in Parquet."""
    return leaf.replace(".list.element", "").replace(".list.item", "").replace(".bag.array_element", "")

"""Parquet files, opened with bounds: a few kilobytes can stand for billions of cells, or one text of gigabytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from psychoeval.errors import DataError, EngineUnavailableError
from psychoeval.wording import shorten

if TYPE_CHECKING:
    import pandas as pd

#: Beyond so many bytes, columns unpack to no more than so many times the file. Matrices of 0 and 1 that are nearly all
#: equal pack 200 fold, and long tables in the order of their items; what takes a gigabyte or more packs 5 to 70 fold.
BOUNDS: Final = ((256 << 20, 400), (768 << 20, 100))
#: What a number, or a reference to a text, takes at least.
_CELL: Final = 8


def open_parquet(path: Path) -> Any:
    """Return a `pyarrow.parquet.ParquetFile` whose texts are read once each, however many rows repeat them.

    Where pages have checksums, as those that we write do, a changed byte is an error and no other score.

    Raises
    ------
    DataError
        If the file is damaged, or unpacks too far.
    EngineUnavailableError
        If pyarrow is not installed.
    """
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise EngineUnavailableError(
            f"Reading {path} needs pyarrow.", "pip install 'psychoeval[parquet]', or save the table as CSV."
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            columns = [file.schema.column(k) for k in range(len(file.schema))]
            # Not those inside of others: Arrow joins no dictionaries of several row groups there.
            whole = set(file.schema_arrow.names)
            texts = [c.path for c in columns if c.physical_type == "BYTE_ARRAY" and c.path in whole]
            _check_names(file.metadata, [c.path for c in columns], path)
            _check_unpacked(file.metadata, [c.length for c in columns], path)
        return parquet.ParquetFile(path, read_dictionary=texts, page_checksum_verification=True)
    except damages() as error:
        raise damaged(path, error) from None


def parquet_frame(path: Path) -> pd.DataFrame:
    """Return a Parquet file as a data frame, texts as categoricals.

    Raises
    ------
    DataError
        If the file is damaged, or unpacks too far.
    """
    try:
        with open_parquet(path) as file:
            # Threads keep buffers for each column, of which there may be tens of thousands, and pandas
            # would copy columns of one type side by side: in all four times the memory.
            table = file.read(use_threads=False)
            frame: pd.DataFrame = table.to_pandas(use_threads=False, split_blocks=True, self_destruct=True)
            check_rows(file, len(frame), path)
        return frame
    except damages() as error:
        raise damaged(path, error) from None


def check_rows(file: Any, found: int, path: Path) -> None:
    """Refuse an open file of which fewer rows were read than its footer states.

    The head of a page has no checksum: where its kind is damaged, the page is passed over.

    Raises
    ------
    DataError
    """
    stated = file.metadata.num_rows
    if found != stated:
        raise DataError(f"{path} gives {found} of its {stated} rows: a page is damaged.", "Fetch it again.")


def damages() -> tuple[type[Exception], ...]:
    """Return what pyarrow raises where a file is damaged."""
    try:
        from pyarrow.lib import ArrowException
    except ImportError:
        return (OSError,)
    return (ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError)


def damaged(path: Path, error: Exception) -> DataError:
    """Return the error that says so; a `DataError` stays itself."""
    if isinstance(error, DataError):
        return error
    return DataError(f"{path} cannot be read as Parquet: {str(error)[:200]}.", "Check the file, or fetch it again.")


def _check_names(metadata: Any, paths: list[str], path: Path) -> None:
    """Refuse a file whose columns are called otherwise where they lie: the footer has no checksum."""
    for k in range(metadata.num_row_groups):
        group = metadata.row_group(k)
        for j, name in enumerate(paths):
            other = group.column(j).path_in_schema
            if other != name:
                raise DataError(
                    f"{path} calls column {j + 1} both {shorten(name)!r} and {shorten(other)!r}: its footer is "
                    "damaged.",
                    "Fetch it again.",
                )


def _check_unpacked(metadata: Any, widths: list[int], path: Path) -> None:
    """Refuse a file whose columns take far more memory than bytes, as its footer states them."""
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    chunks = [(group.column(j), width) for group in groups for j, width in enumerate(widths)]
    size = sum(max(chunk.num_values * max(_CELL, width), chunk.total_uncompressed_size) for chunk, width in chunks)
    if any(size > floor and size > ratio * path.stat().st_size for floor, ratio in BOUNDS):
        raise DataError(
            f"{path} has {path.stat().st_size} bytes and unpacks to {size >> 20} MB: {metadata.num_rows} rows of "
            f"{len(widths)} columns.",
            "Is it a table of responses? If so, save it in parts, or as CSV.",
        )

"""Data frames of pandas, and what turns into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.responses.cells import CellCoder
from psychoeval.responses.columns import check_names
from psychoeval.wording import shorten

if TYPE_CHECKING:
    import pandas as pd

_PEEKED = 200
_BLOCK_CELLS = 1 << 20


class FrameTable:
    """A data frame; an index that is more than a row count comes first, as columns.

    Raises
    ------
    DataError
        If `table` is no table, has no rows, or repeats a column name.
    """

    def __init__(self, table: Any, place: str = "") -> None:
        frame = _with_index(_data_frame(table))
        self.place = place
        self.names = tuple(str(name) for name in frame.columns)
        self._frame = frame
        check_names(self)
        if not len(frame):
            raise DataError(f"{place or 'The table'} has no rows.", "Give at least one.")

    def where(self, row: int) -> str:
        """Name a row, counted from 1."""
        return f"row {row + 1}"

    def peek(self, column: int) -> list[Any]:
        """Return the first values of a column."""
        return list(_values(self._frame.iloc[:_PEEKED, column]).tolist())

    def columns(self, positions: Sequence[int]) -> list[list[Any]]:
        """Return whole columns."""
        return [_values(self._frame.iloc[:, j]).tolist() for j in positions]

    def wide(
        self, others: Sequence[int], items: Sequence[int], coder: CellCoder
    ) -> tuple[list[list[Any]], NDArray[Any]]:
        """Return the columns `others`, and the codes (N, J) of the columns `items`, in blocks of columns."""
        n = len(self._frame)
        codes = np.empty((n, len(items)), coder.dtype)
        step = max(1, _BLOCK_CELLS // n)
        for start in range(0, len(items), step):
            block = [_values(self._frame.iloc[:, j]) for j in items[start : start + step]]
            if len({values.dtype for values in block}) > 1:  # mixing truth values and numbers as objects keeps both
                block = [values.astype(object) for values in block]
            codes[:, start : start + step] = coder.block(np.column_stack(block), 0, start)
        return self.columns(others), codes


def _values(series: pd.Series[Any]) -> NDArray[Any]:
    import pandas as pd

    if isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    if isinstance(series.dtype, pd.CategoricalDtype):  # pandas would copy its text for each row: one, of megabytes
        return np.array([*series.cat.categories, np.nan], object)[series.cat.codes.to_numpy()]
    if getattr(series.dtype, "kind", "O") in "biuf":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return series.to_numpy(dtype=object)


def _data_frame(table: Any) -> pd.DataFrame:
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if hasattr(table, "to_pandas"):
        frame: Any = table.to_pandas()
    elif isinstance(table, Mapping) or (
        isinstance(table, Sequence) and table and all(isinstance(r, Mapping) for r in table)
    ):
        try:
            frame = pd.DataFrame(table)
        except UnicodeEncodeError as error:  # where pandas keeps texts as Arrow's
            raise DataError(
                f"The text {shorten(error.object)!r} holds half a character (a lone surrogate, character "
                f"{error.start + 1}).",
                "It was read in the wrong encoding, or cut in a character: read it again, or write it anew.",
            ) from None
        except ValueError as error:
            raise DataError(f"The columns do not form a table: {error}.", "Make them equally long.") from None
    else:
        frame = table
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"The table is a {type(frame).__name__}.",
            "Give a DataFrame, a dict of columns or a list of records; read_table reads files, "
            "Responses.from_array takes arrays.",
        )
    return frame


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    index = frame.index
    counting = isinstance(index, pd.RangeIndex) or pd.api.types.is_integer_dtype(index)
    if index.nlevels == 1 and index.name is None and counting:
        return frame
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    names = ["" if level.name is None else str(level.name) for level in levels]
    front = pd.DataFrame({k: level.to_numpy() for k, level in enumerate(levels)}, index=frame.index)
    front.columns = pd.Index(names)
    return pd.concat([front, frame], axis=1)

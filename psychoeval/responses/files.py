"""Delimited text files, read by hand: pandas renames repeated columns and turns the id "NA" into a missing value."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.responses.cells import CellCoder
from psychoeval.responses.columns import check_names
from psychoeval.responses.unpacking import DAMAGES, is_packed, kind_of, open_unpacked

#: Longest record, in bytes: a row of a million items. As cells it takes up to thirty times as much memory.
MAX_RECORD: Final = 16 << 20
#: Most blank lines at the end of a file.
_MAX_BLANK: Final = 1_000
_PEEKED: Final = 200
_BOMS: Final = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class FileTable:
    """A delimited file with a header.

    Parameters
    ----------
    path : Path
        May end in ``.gz``.
    delimiter : str, optional
        By default the one of comma, semicolon and tab that is most frequent in the header.
    encoding : str
        An encoding in which the line end is one byte.

    Raises
    ------
    DataError
        If the file is empty, has no rows, is not text in this encoding, or a row is longer or shorter than the
        header; with the line.
    """

    def __init__(self, path: Path, delimiter: str | None = None, encoding: str = "utf-8") -> None:
        self.path = path
        self.place = str(path)
        self._encoding = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
        self._lines: list[int] = []
        self._in_record = 0
        self._delimiter = delimiter or self._guess_delimiter()
        records = self._records()
        header = next(records, None)
        if header is None:
            raise DataError(f"{self.place} is empty.", "Give a file with a header and one row or more.")
        if not header[1]:
            raise DataError(f"{self.place}, line 1 is blank.", "The first line is the header.")
        self.names = tuple(name.strip() for name in header[1])
        check_names(self)
        self._head = [row for _, row in zip(range(_PEEKED), self._rows(), strict=False)]
        if not self._head:
            raise DataError(f"{self.place} has a header and no rows.", "Give at least one row.")

    def where(self, row: int) -> str:
        """Name a row by its line."""
        return f"line {self._lines[row]}"

    def peek(self, column: int) -> list[Any]:
        """Return the first values of a column."""
        return [row[column] for row in self._head]

    def columns(self, positions: Sequence[int]) -> list[list[Any]]:
        """Return whole columns, equal texts stored once."""
        texts: dict[str, str] = {}
        out: list[list[Any]] = [[] for _ in positions]
        for row in self._rows():
            for column, position in zip(out, positions, strict=True):
                value = row[position]
                column.append(texts.setdefault(value, value))
        return out

    def wide(
        self, others: Sequence[int], items: Sequence[int], coder: CellCoder
    ) -> tuple[list[list[Any]], NDArray[Any]]:
        """Return the columns `others`, and the codes (N, J) of the columns `items`, in one pass."""
        out: list[list[Any]] = [[] for _ in others]
        codes: list[NDArray[Any]] = []
        for i, row in enumerate(self._rows()):
            for column, position in zip(out, others, strict=True):
                column.append(row[position])
            codes.append(coder.row([row[j] for j in items], i))
        return out, np.stack(codes)

    def _rows(self) -> Iterator[list[str]]:
        """Yield the rows under the header, each as long as it; their lines are kept."""
        records = self._records()
        next(records)
        self._lines = []
        blank = 0
        for line, row in records:
            if not row and line - (blank := blank or line) < _MAX_BLANK:
                continue
            if blank:
                raise DataError(f"{self.place}, line {blank} is blank.", "Take it out.")
            if len(row) != len(self.names):
                hint = ""
                if len(row) == len(self.names) + 1:
                    hint = " If the first column holds row names (R writes none above them), give it a name."
                raise DataError(
                    f"{self.place}, line {line} has {len(row)} cells; the header has {len(self.names)}.",
                    f"Make all rows equally long; quote cells that hold the delimiter {self._delimiter!r}.{hint}",
                )
            self._lines.append(line)
            yield row

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each record with the line on which it starts."""
        reader = csv.reader(self._text(), delimiter=self._delimiter, strict=True, skipinitialspace=True)
        while True:
            start = reader.line_num + 1
            self._in_record = 0
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise DataError(
                    f"{self.place}: the record that starts in line {start} cannot be read: {error}.",
                    "Look for a quote that is not closed or not doubled, and for line ends of old Macs.",
                ) from None
            yield start, row

    def _text(self) -> Generator[str, None, None]:
        # Closed at once: an error keeps this frame, and with it the file, alive.
        with contextlib.closing(self._raw()) as raws:
            for number, raw in enumerate(raws, 1):
                self._in_record += len(raw)
                if self._in_record > MAX_RECORD:
                    raise DataError(
                        f"{self.place}: the record that ends in line {number} or later is longer than "
                        f"{MAX_RECORD >> 20} MB.",
                        "Look for a quote that is not closed; wide tables can be saved as Parquet.",
                    )
                if b"\0" in raw:
                    raise DataError(
                        f"{self.place}, line {number} holds a NUL byte: this is not a text file.",
                        "Save it as CSV in UTF-8.",
                    )
                try:
                    text = raw.decode(self._encoding if number == 1 else self._encoding.removesuffix("-sig"))
                except UnicodeDecodeError as error:
                    raise DataError(
                        f"{self.place}, line {number} is not {error.encoding} (byte {error.start + 1} is "
                        f"0x{raw[error.start]:02x}).",
                        'Save the file as UTF-8, or say what it is, with encoding="latin-1" for example.',
                    ) from None
                except LookupError:
                    raise DataError(
                        f"The encoding {self._encoding!r} is unknown.", 'Give for example "utf-8".'
                    ) from None
                yield text

    def _raw(self) -> Generator[bytes, None, None]:
        try:
            with open_unpacked(self.path) as file:
                first = True
                while raw := file.readline(MAX_RECORD + 1):
                    if first:
                        self._check_start(raw)
                        first = False
                    yield raw
        except DAMAGES as error:
            raise DataError(f"{self.place} cannot be read: {error}.", "Check the path and the file.") from None

    def _check_start(self, raw: bytes) -> None:
        kind = next((kind for start, kind in _BOMS.items() if raw.startswith(start)), kind_of(raw))
        if kind:
            what = "holds" if is_packed(self.path) else "is"
            raise DataError(f"{self.place} {what} {kind}, not text in UTF-8.", "Save it as CSV in UTF-8.")

    def _guess_delimiter(self) -> str:
        with contextlib.closing(self._text()) as lines:
            header = next(lines, "")
        outside = "".join(header.split('"')[::2])
        return max((",", ";", "\t"), key=outside.count)

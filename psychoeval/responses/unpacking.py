"""Files opened for reading, gzip ones unpacked with a bound: a few kilobytes can stand for gigabytes."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import Any, Final

from psychoeval.errors import DataError

#: How many times larger than its file what a gzip file holds may be. Deflate refers at most 32 kB back and 258 bytes at
#: a time: text that repeats what is a kilobyte or more away takes 11 bits for each of these, and packs less than 190
#: fold, however often a prompt is repeated. Logs and tables that we know pack 5 to 40 fold; zeros pack a thousand fold.
MAX_RATIO: Final = 256
#: What any file may unpack to, in bytes: small tables of equal cells pack farther, and are read in seconds.
RATIO_FROM: Final = 8 << 20
#: What is raised where a file or its gzip data is damaged.
DAMAGES: Final = (OSError, EOFError, zlib.error)
_BLOCK: Final = 1 << 17
#: First bytes of files that are no text.
_STARTS: Final = {
    b"PK\x03\x04": "a zip archive or spreadsheet",
    b"PK\x05\x06": "an empty zip archive",
    b"PAR1": "Parquet",
    b"\x1f\x8b": "gzip",
}


class _Unpacked(io.RawIOBase):
    """What a gzip file holds, counted as it is read."""

    def __init__(self, path: Path, file: gzip.GzipFile) -> None:
        self._path = path
        self._file = file
        self._size = path.stat().st_size
        self._most = max(RATIO_FROM, MAX_RATIO * self._size)
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a part of `buffer`: whole large ones would be unpacked before they are counted."""
        found = self._file.readinto(memoryview(buffer)[:_BLOCK])
        self._read += found
        if self._read > self._most:
            raise DataError(
                f"{self._path} has {self._size} bytes and unpacks to more than {self._most >> 20} MB: no log packs "
                "so far.",
                "If it is one all the same, unpack it (gunzip), and read what comes out.",
            )
        return found

    def close(self) -> None:
        self._file.close()
        super().close()

    def packed(self) -> int:
        """Return the bytes of the file that are read."""
        return int(self._file.fileobj.tell())  # type: ignore[union-attr]


def open_unpacked(path: Path) -> io.BufferedReader:
    """Return a file opened for reading, unpacked where its name ends in ``.gz``.

    Reading it raises one of `DAMAGES` where it is damaged, and DataError where it holds more than `MAX_RATIO` times
    its size.
    """
    if is_packed(path):
        return io.BufferedReader(_Unpacked(path, gzip.open(path, "rb")), _BLOCK)
    return path.open("rb")


def is_packed(path: Path) -> bool:
    """Whether a file is unpacked when it is read, by its name."""
    return path.suffix.lower() == ".gz"


def position(file: io.BufferedReader) -> int:
    """Return the bytes of a file that are read, packed ones where it is gzip."""
    raw = file.raw
    return raw.packed() if isinstance(raw, _Unpacked) else file.tell()


def kind_of(head: bytes) -> str:
    """Return what a file that starts so is where it is no text, else nothing."""
    return next((kind for start, kind in _STARTS.items() if head.startswith(start)), "")

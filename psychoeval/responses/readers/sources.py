"""Files, folders and archives, opened with bounds: nothing is run, and nothing grows without limit."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from psychoeval.errors import DataError
from psychoeval.responses.readers.json_values import parse_json
from psychoeval.responses.unpacking import DAMAGES, is_packed, kind_of, open_unpacked, position
from psychoeval.wording import some

#: Largest file or member that is parsed as one JSON value, in bytes: parsed it takes about five times as much.
MAX_WHOLE: Final = 128 << 20
#: Longest line of a JSONL file, in bytes.
MAX_LINE: Final = 64 << 20
_HEAD: Final = 1 << 16
#: Lines between two words on how far reading is.
_LINES_TOLD: Final = 256
_PICKLE_SUFFIXES: Final = (".pkl", ".pickle", ".pt", ".pth", ".joblib")


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, and its first bytes (unpacked where gzip).

    Parameters
    ----------
    path : Path
    head : bytes
    told : callable, optional
        Takes the number of bytes read (of the file, packed where gzip) while its lines are read.
    """

    path: Path
    head: bytes
    told: Callable[[int], None] | None = field(default=None, compare=False)

    @property
    def place(self) -> str:
        """The path, for messages."""
        return str(self.path)

    @property
    def name(self) -> str:
        """The file's name without ``.gz``."""
        return self.path.name.removesuffix(".gz")

    @property
    def foreign(self) -> str:
        """What the file holds where it is packed in gzip and no text, or gzip by another name; else nothing."""
        kind = kind_of(self.head)
        return kind if kind == "gzip" or is_packed(self.path) else ""


def open_source(path: Path, told: Callable[[int], None] | None = None) -> Source:
    """Return a file with its head.

    Parameters
    ----------
    path : Path
    told : callable, optional
        As in `Source`.

    Raises
    ------
    DataError
        If it cannot be read, or is a pickle.
    """
    if path.exists() and not path.is_file():
        raise DataError(f"{path} is no plain file.", "Pipes and devices are not read: save what they give to a file.")
    try:
        with open_unpacked(path) as file:
            head = file.read(_HEAD)
    except DAMAGES as error:
        raise DataError(f"{path} cannot be read: {error}.", "Check the path and the file.") from None
    if path.suffix.lower() in _PICKLE_SUFFIXES or head[:1] == b"\x80":
        raise DataError(f"{path} is a pickle: reading it would run what it holds.", "Save it as CSV, JSON or Parquet.")
    return Source(path, head, told)


def find_files(paths: Sequence[str | Path]) -> list[Path]:
    """Return the files that paths, folders and globs name, sorted within each, each once.

    Hidden files and folders inside folders are passed over; links to folders are followed, each folder once.

    Raises
    ------
    DataError
        If a path does not exist, a glob matches nothing, or a folder holds no file or cannot be read.
    """
    found: dict[Path, None] = {}
    for given in paths:
        path = Path(given)
        if not str(given).strip():
            raise DataError("A path is empty.", "Name a file, a folder or a glob.")
        if path.is_dir():
            files = sorted(_walk(path))
            if not files:
                raise DataError(f"The folder {path} holds no file.", "Check the path.")
        elif path.exists():
            files = [path]
        else:
            files = sorted(Path(m) for m in glob.glob(str(given), recursive=True) if Path(m).is_file())
            if not files:
                raise DataError(f"{path} does not exist.", "Check the path; globs must match a file.")
        found |= dict.fromkeys(files)
    return list(found)


def read_json(source: Source) -> Any:
    """Return the JSON value that a whole file is.

    Raises
    ------
    DataError
        If it is larger than `MAX_WHOLE`, no JSON, or nested too deeply; with the line.
    """
    return parse_json(read_whole(source), source.place)


def read_whole(source: Source) -> bytes:
    """Return all bytes of a file (unpacked where gzip).

    Raises
    ------
    DataError
        If it is larger than `MAX_WHOLE`, or damaged.
    """
    with open_unpacked(source.path) as file:
        return read_bounded(file, source.place)


def read_lines(source: Source) -> Generator[tuple[int, bytes], None, None]:
    """Yield the lines of a file that are not blank, with their numbers from 1, one at a time.

    Raises
    ------
    DataError
        If a line is longer than `MAX_LINE`, or the file ends in the middle of gzip data.
    """
    try:
        with open_unpacked(source.path) as file:
            number = 0
            while raw := file.readline(MAX_LINE):
                number += 1
                if number % _LINES_TOLD == 0 and source.told is not None:
                    source.told(position(file))
                if len(raw) == MAX_LINE:
                    raise DataError(f"{source.place}, line {number} is longer than {MAX_LINE >> 20} MB.", "Split it.")
                if not raw.isspace():
                    yield number, raw
    except DAMAGES as error:
        raise DataError(f"{source.place} cannot be read to its end: {error}.", "Fetch it again.") from None


def read_json_lines(source: Source) -> Iterator[tuple[int, Any]]:
    """Yield the JSON value of each line, with its number."""
    for number, raw in read_lines(source):
        yield number, parse_json(raw, f"{source.place}, line {number}")


def read_bounded(file: Any, place: str, damages: tuple[type[Exception], ...] = DAMAGES) -> bytes:
    """Return all of an open file, of which reading raises `damages` where it is damaged.

    Raises
    ------
    DataError
        If it is larger than `MAX_WHOLE`, or damaged.
    """
    try:
        raw: bytes = file.read(MAX_WHOLE + 1)
    except DataError:
        raise
    except damages as error:
        raise DataError(f"{place} cannot be read to its end: {error}.", "Fetch it again.") from None
    if len(raw) > MAX_WHOLE:
        raise DataError(f"{place} is larger than {MAX_WHOLE >> 20} MB.", "Write the log in parts, or as JSONL.")
    return raw


class NoSamplesError(DataError):
    """A log that holds means, and no responses to items: an error where it was named, passed over in a folder."""


def _walk(top: Path) -> Iterator[Path]:
    """Yield the plain files below a folder, but hidden ones; a folder that cannot be listed is an error."""

    def refuse(error: OSError) -> None:
        raise DataError(f"The folder {error.filename} cannot be read: {error.strerror}.", "Check who may read it.")

    seen: set[str] = set()
    for folder, folders, files in os.walk(top, onerror=refuse, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (p for name in files if not name.startswith(".") and (p := Path(folder, name)).is_file())


def need(value: Any, kind: type | tuple[type, ...], place: str, what: str) -> Any:
    """Return `value` if it is of `kind`.

    Raises
    ------
    DataError
        If not; with its place.
    """
    if isinstance(value, kind) and not (isinstance(value, bool) and bool not in _kinds(kind)):
        return value
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        int: "a number",
        float: "a number",
        bool: "true or false",
    }
    wanted = " or ".join(dict.fromkeys(names[k] for k in _kinds(kind)))
    found = "nothing" if value is None else f"{some([str(value)])}"
    raise DataError(f"{place}: {what} is {found}, not {wanted}.", "Is this log of the format it is read as?")


def _kinds(kind: type | tuple[type, ...]) -> tuple[type, ...]:
    return kind if isinstance(kind, tuple) else (kind,)

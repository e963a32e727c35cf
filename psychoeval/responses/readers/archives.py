"""Zip archives, read with bounds: nothing is run, unpacked to files, or believed of its size."""

from __future__ import annotations

import importlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from psychoeval.errors import DataError, EngineUnavailableError
from psychoeval.responses.readers.json_values import parse_json
from psychoeval.responses.readers.sources import read_bounded
from psychoeval.responses.unpacking import DAMAGES, MAX_RATIO, RATIO_FROM

#: Most members of an archive, and their size together.
MAX_MEMBERS: Final = 200_000
MAX_UNPACKED: Final = 16 << 30
#: How many times larger than packed by Zstandard a member may be. It finds what repeats from megabytes before, as
#: agents' logs do, which hold a conversation again at each turn; deflate's is `unpacking.MAX_RATIO`.
MAX_RATIO_ZSTANDARD: Final = 1_000
_ZSTANDARD: Final = 93
#: Bytes before a member's own, without its name.
_LEAST_HEAD: Final = 30
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD)
#: What `zipfile` raises where an archive is damaged, or needs a password.
_ZIP_DAMAGES: Final = (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, *DAMAGES)


class Archive:
    """A zip file, read member by member into memory: names inside it are never used as paths.

    Raises
    ------
    DataError
        If it is damaged, has more than `MAX_MEMBERS` members or `MAX_UNPACKED` bytes, two of one name, members that
        overlap, or are packed as no log is: by another method, or too many times.
    EngineUnavailableError
        If members are packed with Zstandard and nothing here unpacks it.
    """

    def __init__(self, path: Path) -> None:
        self.place = str(path)
        try:
            module, self._damages = _zip_module(path)
            self._zip = module.ZipFile(path)
        except EngineUnavailableError:
            raise
        except _ZIP_DAMAGES as error:
            raise DataError(f"{path} is a damaged zip archive: {error}.", "Fetch it again.") from None
        members = self._zip.infolist()
        self._sizes = {m.filename: m for m in members}
        problem = _problem(members, path.stat().st_size)
        if problem:
            self.close()
            raise DataError(f"{path} {problem}.", "Is it a log? Fetch it again, or pack it anew.")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members."""
        return tuple(self._sizes)

    def json(self, name: str) -> Any:
        """Return the JSON value that a member is."""
        place = f"{self.place}, {name}"
        try:
            with self._zip.open(name) as file:
                return parse_json(read_bounded(file, place, self._damages), place)
        except DataError:
            raise
        except self._damages as error:
            raise DataError(f"{place} cannot be unpacked: {error}.", "Fetch it again.") from None

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> Literal[False]:
        self.close()
        return False


def _problem(members: Sequence[zipfile.ZipInfo], size: int) -> str:
    """Return what keeps an archive of `size` bytes from being read, by what it says of its members."""
    if len(members) > MAX_MEMBERS or sum(m.file_size for m in members) > MAX_UNPACKED:
        return f"has {len(members)} members: more than a log has"
    if len({m.filename for m in members}) < len(members):
        return "holds two members of one name"
    starts = sorted(members, key=lambda m: m.header_offset)
    ends = [*(m.header_offset for m in starts[1:]), size]
    if any(m.header_offset + _LEAST_HEAD + m.compress_size > end for m, end in zip(starts, ends, strict=True)):
        return "has members that overlap"
    for member in members:
        if member.compress_type not in _METHODS:
            return f"holds {member.filename!r} packed by method {member.compress_type}, which logs do not use"
        if _unpacks_far([member]):
            return f"holds {member.filename!r}, which unpacks to {member.file_size >> 20} MB"
    unpacked = sum(m.file_size for m in members)
    return f"unpacks to {unpacked >> 20} MB" if _unpacks_far(members) else ""


def _unpacks_far(members: Sequence[zipfile.ZipInfo]) -> bool:
    ratios = (MAX_RATIO_ZSTANDARD if m.compress_type == _ZSTANDARD else MAX_RATIO for m in members)
    most = sum(m.compress_size * ratio for m, ratio in zip(members, ratios, strict=True))
    return sum(m.file_size for m in members) > max(RATIO_FROM, most)


def _zip_module(path: Path) -> tuple[Any, tuple[type[Exception], ...]]:
    """Return `zipfile`, or the one that unpacks Zstandard where a member needs it, and what it raises of damages."""
    with zipfile.ZipFile(path) as plain:
        methods = {m.compress_type for m in plain.infolist()}
    if _ZSTANDARD not in methods:
        return zipfile, _ZIP_DAMAGES
    if hasattr(zipfile, "ZIP_ZSTANDARD"):  # Python 3.14
        return zipfile, (importlib.import_module("compression.zstd").ZstdError, *_ZIP_DAMAGES)
    try:
        from backports.zstd import ZstdError
        from backports.zstd import zipfile as with_zstandard
    except ImportError:
        raise EngineUnavailableError(
            f"{path} is packed with Zstandard, which Python reads only from 3.14.",
            "pip install 'psychoeval[logs]' (backports.zstd).",
        ) from None
    return with_zstandard, (with_zstandard.BadZipFile, ZstdError, *_ZIP_DAMAGES)

"""How far reading is: bytes of all files, on a terminal's line or told to a caller."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from psychoeval.terminal import TerminalLine

#: Takes the bytes read, those of all files, and the path being read.
Progress: TypeAlias = Callable[[int, int, str], None]

#: Seconds before the line appears (short reads show none), and between its changes.
_FIRST: Final = 1.0
_EVERY: Final = 0.2
#: Share of the bytes after which the pace is taken to be known.
_KNOWN_FROM: Final = 0.02


class ReadingLine:
    """Says how far reading is, while it is entered; an interrupt in it says how far reading was.

    Parameters
    ----------
    files : sequence of Path
    tell : callable, optional
        Takes the place of the terminal's line: called for each file and a few times a second in long ones.
    """

    def __init__(self, files: Sequence[Path], tell: Progress | None = None) -> None:
        self._sizes = {path: path.stat().st_size for path in files if path.is_file()}
        self._total = sum(self._sizes.values())
        self._tell = tell
        self._line = TerminalLine()
        self._before = self._within = 0
        self._path: Path | None = None
        self._start = self._told = time.monotonic()

    def __enter__(self) -> Self:
        if self._tell is None:
            self._line.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, error, trace)
        if kind is KeyboardInterrupt:
            raise KeyboardInterrupt(f"Reading was stopped at {self.place}; nothing is kept.") from None

    def file(self, path: Path) -> None:
        """Say that a file is read now, and those before it are done."""
        self._before += self._sizes.get(self._path, 0) if self._path is not None else 0
        self._path, self._within = path, 0
        if self._tell is not None:
            self._tell(self._before, self._total, str(path))
        self.within(0)

    def within(self, done: int) -> None:
        """Say how many bytes of the file are read."""
        self._within = done
        now = time.monotonic()
        if now - self._told < _EVERY:
            return
        self._told = now
        if self._tell is not None:
            self._tell(self._before + done, self._total, str(self._path))
        elif now - self._start >= _FIRST:
            self._line.say(f"reading: {self._left()}{self.place}")

    @property
    def place(self) -> str:
        """Such as "812 of 2000 MB, in samples.jsonl"."""
        name = "" if self._path is None else f", in {self._path.name}"
        return f"{(self._before + self._within) / 1e6:.0f} of {self._total / 1e6:.0f} MB{name}"

    def _left(self) -> str:
        """Return the time that the bytes left take at the pace so far; nothing before it is known."""
        done = self._before + self._within
        if done < _KNOWN_FROM * self._total or not done:
            return ""
        return f"about {(self._total - done) * (time.monotonic() - self._start) / done:.0f} s left; "

"""One line on a terminal, rewritten in place; nothing where there is no terminal."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from types import TracebackType
from typing import Final, Self

_CLEAR: Final = "\r\x1b[K"
#: A terminal has one line to rewrite: of those that want it at once the first has it.
_line = threading.Lock()


class TerminalLine:
    """The last line of stderr, while it is entered.

    Where stderr is no terminal, or something else has the line, nothing is written.
    """

    def __init__(self) -> None:
        self.is_mine = False

    def __enter__(self) -> Self:
        self.is_mine = _on_terminal() and _line.acquire(blocking=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_mine:
            self.say("")
            self.is_mine = False
            _line.release()

    def say(self, text: str) -> None:
        """Write `text` in place of what the line said."""
        if self.is_mine:
            # One column less than there are: a full line would move on to the next.
            sys.stderr.write(_CLEAR + text[: max(1, shutil.get_terminal_size().columns - 1)])
            sys.stderr.flush()


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

"""How far the chains of a run are: one line on a terminal, rewritten in place, and nothing where there is none."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self

from psychoeval.terminal import TerminalLine

#: Takes the name of an estimator and how far its run is; "" when it has ended.
Show = Callable[[str, str], None]

#: Share of all iterations after which the pace is taken to be known.
_KNOWN_FROM: Final = 0.02
_shows: list[Show] = []


@contextlib.contextmanager
def shown_by(show: Show) -> Iterator[None]:
    """Let `show` show how far runs are, in all threads, in place of the line on the terminal."""
    _shows.append(show)
    try:
        yield
    finally:
        _shows.remove(show)


class ChainLine:
    """Says how far the chains of one run are, while it is entered.

    Parameters
    ----------
    name : str
        Of the estimator.
    chains : int
        Of the run.
    wanted : bool
        Whether to say anything.
    """

    def __init__(self, name: str, chains: int, *, wanted: bool = True) -> None:
        self._name, self._chains, self._wanted = name, chains, wanted
        self._show: Show | None = None
        self._line = TerminalLine()
        self._stage = ""
        self._done: dict[int, int] = {}
        self._total = 0
        self._first: tuple[float, int] | None = None

    def __enter__(self) -> Self:
        if self._wanted and _shows:
            self._show = _shows[-1]
        elif self._wanted and self._line.__enter__().is_mine:
            self._show = self._rewrite
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._line.is_mine:
            self._line.__exit__(kind, error, trace)
        elif self._show is not None:
            self._show(self._name, "")

    def stage(self, text: str) -> None:
        """Say what is done before the chains start."""
        self._stage = text
        self._tell()

    def iteration(self, chain: int, done: int, total: int) -> None:
        """Say how far a chain is, warmup included."""
        self._done[chain], self._total = done, total
        if self._first is None:
            self._first = (time.monotonic(), sum(self._done.values()))
        self._tell()

    @property
    def text(self) -> str:
        """Such as "about 12 s left; 1 of 4 chains done, chain 2 400/2000, chain 3 200/2000"."""
        if not self._done:
            return self._stage
        ended = sum(done == self._total for done in self._done.values())
        parts = [f"{ended} of {self._chains} chains done"] if ended else []
        running = sorted((chain, done) for chain, done in self._done.items() if done < self._total)
        parts += [f"chain {chain} {done}/{self._total}" for chain, done in running]
        left = self._seconds_left()
        return ("" if left is None else f"about {left:.0f} s left; ") + ", ".join(parts)

    def _seconds_left(self) -> float | None:
        """Return the time that the iterations left take at the pace so far; None before it is known."""
        if self._first is None:
            return None
        start, before = self._first
        elapsed, done = time.monotonic() - start, sum(self._done.values())
        every = self._chains * self._total
        if done - before < _KNOWN_FROM * every:
            return None
        return (every - done) * elapsed / (done - before)

    def _tell(self) -> None:
        if self._show is not None:
            self._show(self._name, self.text)

    def _rewrite(self, name: str, text: str) -> None:
        self._line.say(f"{name}: {text}")

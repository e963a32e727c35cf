"""How far the chains are, read from what rstan prints."""

from __future__ import annotations

import re
import sys
from typing import Final

from psychoeval.estimators.progress import ChainLine

_ITERATION: Final = re.compile(r"Chain (\d+): Iteration: +(\d+) / (\d+)")
_STAGE: Final = "psychoeval: "


class Progress:
    """Listens to R; `text` says how far it is, and each change goes to stderr if wanted, and to a line."""

    def __init__(self, name: str, *, show: bool, line: ChainLine | None = None) -> None:
        self._name, self._show, self._line = name, show, line
        self._stage = "starting R"
        self._chains: dict[int, str] = {}

    @property
    def text(self) -> str:
        """Such as "sampling (chain 1: 400 of 2000, chain 2: 200 of 2000)"."""
        chains = ", ".join(f"chain {k}: {done}" for k, done in sorted(self._chains.items()))
        return f"{self._stage} ({chains})" if chains else self._stage

    def __call__(self, line: str) -> None:
        """Take in a line that R printed."""
        before = self.text
        if line.startswith(_STAGE):
            self._stage = line.removeprefix(_STAGE).strip()
            if self._line is not None:
                self._line.stage(self._stage)
        elif found := _ITERATION.search(line):
            chain, done, total = (int(number) for number in found.groups())
            self._chains[chain] = f"{done} of {total}"
            if self._line is not None:
                self._line.iteration(chain, done, total)
        if self._show and self.text != before:
            print(f"{self._name}: {self.text}", file=sys.stderr, flush=True)

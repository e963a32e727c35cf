"""How far the chains are, read from what rstan prints."""

from __future__ import annotations

import re
import sys
from typing import Final

_ITERATION: Final = re.compile(r"Chain (\d+): Iteration: +(\d+) / (\d+)")
_STAGE: Final = "psychoeval: "


class Progress:
    """Listens to R; `text` says how far it is, and each change goes to stderr if wanted."""

    def __init__(self, name: str, *, show: bool) -> None:
        self._name, self._show = name, show
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
        elif found := _ITERATION.search(line):
            self._chains[int(found[1])] = f"{found[2]} of {found[3]}"
        if self._show and self.text != before:
            print(f"{self._name}: {self.text}", file=sys.stderr, flush=True)

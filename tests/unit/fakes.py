"""Estimators and bridges that do what a test tells them to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from psychoeval.errors import EngineFailedError
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities
from psychoeval.registry import Entry
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Fake:
    """Returns the row means, or fails, or waits, or is interrupted."""

    name: ClassVar[str] = "fake"
    behaviour: str = "converged"
    wait: float = 0.0
    seed: int | None = None
    timeout: float | None = None

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        time.sleep(self.wait)
        if self.behaviour == "crash":
            raise EngineFailedError("The engine died.", "Try again.")
        if self.behaviour == "interrupt":
            raise KeyboardInterrupt
        status = "iteration_limit" if self.behaviour == "limit" else "converged"
        means = np.asarray(responses.proportions.mean(axis=1))
        abilities = Abilities(responses.person_ids, means, None, "mean", "proportion")
        return FitResult("fake", model, Convergence(status), Provenance(seed=self.seed), abilities)

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        return f"fake {model.label if model else ''}".strip()


def row(models: tuple[str, ...] = ("Rasch", "2PL"), accepts: tuple[str, ...] = ("binary",)) -> Entry:
    """Return a registry row for `Fake`."""
    return Entry("tests.unit.fakes:Fake", "numpy", models, accepts, frozenset({"abilities"}), "none", "none", "a fake")


class FakeBridge:
    """Stands where `RscriptBridge` is made and called: keeps the jobs, prints `lines`, answers or raises `outcome`."""

    name = "rscript"

    def __init__(self, outcome: dict[str, Any] | Exception, lines: tuple[str, ...] = ()) -> None:
        self.outcome, self.lines = outcome, lines
        self.jobs: list[dict[str, Any]] = []
        self.timeouts: list[float | None] = []
        self._listen: Callable[[str], None] | None = None

    def __call__(self, *, listen: Callable[[str], None] | None = None) -> FakeBridge:
        self._listen = listen
        return self

    def call(
        self, script: Path, function: str, job: Mapping[str, Any], *, timeout: float | None = None
    ) -> dict[str, Any]:
        assert f"{function} <- function" in script.read_text(encoding="utf-8")
        self.jobs.append(dict(job))
        self.timeouts.append(timeout)
        for line in self.lines:
            if self._listen is not None:
                self._listen(line)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

"""The protocol of every estimator."""

from __future__ import annotations

from typing import ClassVar, Protocol

from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult


class Estimator(Protocol):
    """A frozen dataclass of settings with one method that fits.

    `name` is the registry key. ``fit`` neither prints nor changes global state, takes what it needs from its
    arguments, and returns a `FitResult` even where it did not converge.
    """

    name: ClassVar[str]

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit `model` to `responses`.

        Raises
        ------
        ModelError
            If the estimator cannot fit this model or its priors; before anything runs.
        DataError
            If the data cannot be fitted at all.
        EngineUnavailableError, EngineFailedError, FitTimeoutError
            From estimators that use an engine outside NumPy.
        """
        ...

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return the job that would be run: settings, or the engine's own script."""
        ...

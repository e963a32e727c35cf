"""How a fit ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

ConvergenceStatus = Literal[
    "converged", "iteration_limit", "interrupted", "not_iterative", "sampled", "failed_check", "imported"
]

#: What may be believed as an answer of the estimator; the rest is shown and never counted as agreement.
BELIEVED: tuple[ConvergenceStatus, ...] = ("converged", "not_iterative", "sampled", "imported")


@dataclass(frozen=True, slots=True)
class Convergence:
    """How a fit ended and how far to trust it.

    Parameters
    ----------
    status : str
        ``converged``; ``iteration_limit`` (an answer, but stopped early);
        ``interrupted`` (stopped by the user, who asked for what there was); ``not_iterative``;
        ``sampled``; ``failed_check`` (the engine was content, a check of its answer was not);
        ``imported`` (another program's answer, not judged).
    iterations : int, optional
    last_change : float, optional
        Largest change of a parameter (or what the engine judges by) in the last iteration.
    tolerance : float, optional
        What `last_change` was held against.
    gradient : float, optional
        Largest absolute element of the gradient of the maximised function, where known.
    failures : tuple of str
        Why the status is ``failed_check``, in sentences for a user.
    warnings : tuple of str
        What else a user should know, in sentences.
    messages : tuple of str
        The engine's own words.
    """

    status: ConvergenceStatus
    iterations: int | None = None
    last_change: float | None = None
    tolerance: float | None = None
    gradient: float | None = None
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()

    @property
    def believed(self) -> bool:
        """Whether the fit may count as evidence of agreement."""
        return self.status in BELIEVED

    def judged(self, failures: tuple[str, ...] = (), warnings: tuple[str, ...] = ()) -> Convergence:
        """Return this record with the findings of a check added; any failure makes it ``failed_check``."""
        return replace(
            self,
            status="failed_check" if failures else self.status,
            failures=self.failures + failures,
            warnings=self.warnings + warnings,
        )

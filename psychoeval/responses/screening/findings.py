"""What screening finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Severity = Literal["note", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know about the responses.

    Parameters
    ----------
    severity : {"note", "warning"}
        A warning puts in question what the numbers mean.
    kind : str
        What was found, as one word: ``constant_items``, ``thin_overlap``, ``missing_not_at_random``, ...
    sentence : str
        For people.
    ids : tuple of str
        All persons or items concerned.
    """

    severity: Severity
    kind: str
    sentence: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Screening:
    """What `screen` found; `warnings` are the findings that need an answer."""

    findings: tuple[Finding, ...]

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings of severity ``"warning"``."""
        return tuple(f for f in self.findings if f.severity == "warning")


def pick(ids: Sequence[str], chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the ids chosen."""
    return tuple(ids[i] for i in np.flatnonzero(chosen).tolist())

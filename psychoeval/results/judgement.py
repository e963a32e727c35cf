"""What a check of a fit found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

#: Items named in a sentence.
NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a check found.

    Parameters
    ----------
    failures : tuple of str
        Why the answer is not to be believed; sentences for a user.
    warnings : tuple of str
        What else a user should know.
    details : mapping of str to float
        The figures behind the sentences.
    """

    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    details: Mapping[str, float] = field(default_factory=dict)

    def __add__(self, other: Judgement) -> Judgement:
        return Judgement(
            self.failures + other.failures, self.warnings + other.warnings, {**self.details, **other.details}
        )

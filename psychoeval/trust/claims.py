"""What may be claimed, and how far: a claim, its reasons, its grade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from psychoeval.agreement.thresholds import Threshold

Grade = Literal["supported", "with care", "not supported"]
#: From best to worst.
GRADES: Final[tuple[Grade, ...]] = ("supported", "with care", "not supported")
ClaimName = Literal["ranking", "top", "neighbors", "pairs", "difficulties", "discriminations", "removing_items"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing found, and the best grade that it allows.

    Parameters
    ----------
    words : str
        What was found, in a sentence.
    allows : {"supported", "with care", "not supported"}
    change : str
        What would change it; "" where it allows "supported".
    threshold : str
        What it was held to, and the source.
    """

    words: str
    allows: Grade
    change: str = ""
    threshold: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about the data, with its reasons.

    Parameters
    ----------
    name : str
    statement : str
        What would be said in public.
    reasons : tuple of Reason
        At least one.
    """

    name: ClaimName
    statement: str
    reasons: tuple[Reason, ...]

    @property
    def grade(self) -> Grade:
        """The worst grade that a reason leaves."""
        return max((r.allows for r in self.reasons), key=GRADES.index)

    @property
    def deciding(self) -> tuple[Reason, ...]:
        """The reasons that leave no better grade: all, where it is "supported"."""
        return tuple(r for r in self.reasons if r.allows == self.grade)

    @property
    def against(self) -> tuple[Reason, ...]:
        """The reasons that do not allow "supported", the worst first."""
        bad = [r for r in self.reasons if r.allows != "supported"]
        return tuple(sorted(bad, key=lambda r: -GRADES.index(r.allows)))


def graded(
    value: float,
    supported: Threshold,
    with_care: Threshold,
    words: str,
    change: str,
    *,
    error: float = 0.0,
    low: float | None = None,
) -> Reason:
    """Return a reason for a value that is better the larger, held to two limits; NaN supports nothing.

    What is held is the value less `error`, half the width of its 95% interval where it is a mean of simulations: noise
    lowers a grade, and never raises it. "Supported" is held to `low` instead, where the statement is about less than
    the value.
    """
    allows: Grade = "not supported"
    if (value - error if low is None else low) >= supported.value:
        allows = "supported"
    elif value - error >= with_care.value:
        allows = "with care"
    told = f"{supported.about}: {supported.value:g} ({supported.reason}); {with_care.about}: {with_care.value:g}"
    return Reason(words, allows, "" if allows == "supported" else change, f"{told} ({with_care.reason})")

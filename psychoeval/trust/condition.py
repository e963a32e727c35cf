"""One condition: what was found, what it is held to, and whether it is met."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from psychoeval.agreement.thresholds import Threshold

Rule = Literal[">=", "<=", "<", ">", "size <="]
_HOLDS: Final[dict[Rule, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "<": operator.lt,
    ">": operator.gt,
    "size <=": lambda value, threshold: abs(value) <= threshold,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition under which results may be believed.

    Parameters
    ----------
    name : str
    value : float
        What was found; NaN where it is not known.
    rule : {">=", "<=", "<", ">", "size <="}
        The condition is met where ``value rule threshold``; the size is the absolute value.
    threshold : float
    about : str
        What the threshold is about.
    source : str
        Where the threshold is from.
    words : str
        What was found, in a sentence.
    low, high : float
        Limits of the value, NaN where there are none.
    not_applicable : str
        Why the condition is neither met nor not met; "" where it is one of them.
    """

    name: str
    value: float
    rule: Rule
    threshold: float
    about: str
    source: str
    words: str
    low: float = np.nan
    high: float = np.nan
    not_applicable: str = ""

    @property
    def met(self) -> bool | None:
        """Whether it is met; None where it does not apply."""
        if self.not_applicable:
            return None
        return bool(_HOLDS[self.rule](self.value, self.threshold))


def held_to(
    limit: Threshold,
    name: str,
    value: float,
    rule: Rule,
    words: str,
    *,
    interval: tuple[float, float] = (np.nan, np.nan),
    times: float = 1.0,
    unless: str = "",
) -> Condition:
    """Return a value held to a threshold, multiplied by `times`; `unless` says why it does not apply."""
    assert unless or np.isfinite(value), f"{name} is not known, and nothing says why"
    return Condition(name, float(value), rule, limit.value * times, limit.about, limit.reason, words, *interval, unless)

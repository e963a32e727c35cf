"""Purification: anchors that show DIF are left out, and all items are tested again, until that repeats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError

BoolArray = NDArray[np.bool_]
Ending = Literal["repeated", "cycle", "limit", "not asked for"]

#: With fewer, one anchor with DIF moves everything.
FEWEST_ANCHORS: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Purification:
    """How the anchors were found.

    Parameters
    ----------
    anchors : (J,) bool array
    ended : {"repeated", "cycle", "limit", "not asked for"}
        The same items were left out again; they came back to a set seen before, and all of the cycle are left out; the
        limit of rounds was reached.
    rounds : int
        Tests of all items, the last included.
    n_left_out : tuple of int
        Candidates that each round left out.
    """

    anchors: BoolArray
    ended: Ending
    rounds: int
    n_left_out: tuple[int, ...]

    def in_words(self) -> str:
        """Return how it ended, in a sentence."""
        n, r = int(self.anchors.sum()), self.rounds
        return {
            "repeated": f"Purification ended after {r} rounds with the same items left out again; {n} anchors "
            "are left.",
            "cycle": f"Purification went in a cycle (items left out before came back after {r} rounds): every item of "
            f"the cycle is left out, and {n} anchors are left.",
            "limit": f"Purification reached its limit of {r} rounds and had not ended; {n} anchors are left.",
            "not asked for": f"The {n} anchors were not purified.",
        }[self.ended]


def purify(flag: Callable[[BoolArray], BoolArray], candidates: BoolArray, max_rounds: int) -> Purification:
    """Leave flagged anchors out and test again until the flagged set repeats, comes back, or the limit is reached.

    Parameters
    ----------
    flag : callable
        Takes anchors, (J,) bool, and returns which items show DIF with them, or cannot be tested with them.
    candidates : (J,) bool array
        Items that may be anchors; a flagged one becomes an anchor again when a later round does not flag it.
    max_rounds : int

    Raises
    ------
    DataError
        If fewer than 4 anchors are left.
    """
    seen: dict[bytes, int] = {}
    history: list[BoolArray] = []
    anchors = candidates
    for k in range(max_rounds):
        require_anchors(anchors)
        flagged = flag(anchors) & candidates
        sizes = (*(int(f.sum()) for f in history), int(flagged.sum()))
        key = flagged.tobytes()
        if np.array_equal(candidates & ~flagged, anchors):
            return Purification(anchors, "repeated", k + 1, sizes)
        if key in seen:
            left = candidates & ~np.any(history[seen[key] :], axis=0)
            require_anchors(left)
            return Purification(left, "cycle", k + 1, sizes)
        seen[key] = k
        history.append(flagged)
        anchors = candidates & ~flagged
    require_anchors(anchors)
    return Purification(anchors, "limit", max_rounds, tuple(int(f.sum()) for f in history))


def require_anchors(anchors: BoolArray) -> None:
    """Refuse fewer than 4 anchors.

    Raises
    ------
    DataError
    """
    if (n := int(anchors.sum())) < FEWEST_ANCHORS:
        raise DataError(
            f"{n} anchors are left, fewer than {FEWEST_ANCHORS}: there is nothing to compare the items by.",
            "Name anchors that are known to be without DIF, ask for none to be purified (purify=False), or give more "
            "items that both groups ran.",
        )

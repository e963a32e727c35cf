"""Bounded scores that are not right or wrong: read and kept; no estimator here takes them yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.responses.ids_and_counts import PersonLabel, check_ids
from psychoeval.responses.matrix import Responses


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContinuousResponses:
    """Scores between bounds of N persons on J items; higher is better.

    Parameters
    ----------
    scores : (N, J) float array
        Means over trials; NaN where not administered. Kept read-only.
    lower, upper : float
        Bounds of the scores.
    person_ids, item_ids : tuple of str
    person_label : {"person", "system"}
    name, source : str
    notes : tuple of str
        Choices made on the way in (a scale turned round, bounds assumed, ...).

    Raises
    ------
    DataError
        If shapes differ, ids repeat, or a score lies outside the bounds; the cell is named.
    """

    scores: NDArray[np.floating]
    lower: float
    upper: float
    person_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    person_label: PersonLabel = "system"
    name: str = "responses"
    source: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        scores = np.array(self.scores, dtype=np.float64 if np.asarray(self.scores).dtype == np.float64 else np.float32)
        if scores.ndim != 2 or 0 in scores.shape:
            raise DataError(f"scores has shape {scores.shape}.", "Give one row a person and one column an item.")
        object.__setattr__(self, "person_ids", check_ids(self.person_ids, scores.shape[0], self.person_label))
        object.__setattr__(self, "item_ids", check_ids(self.item_ids, scores.shape[1], "item"))
        if not self.lower < self.upper:
            raise DataError(f"The bounds are {self.lower} and {self.upper}.", "The lower one comes first.")
        scores = cast("NDArray[np.float64]", scores)
        outside = np.argwhere((scores < self.lower) | (scores > self.upper) | np.isinf(scores))
        if outside.size:
            i, j = outside[0]
            raise DataError(
                f"{self.person_label.capitalize()} {self.person_ids[i]!r}, item {self.item_ids[j]!r}: {scores[i, j]} "
                f"lies outside {self.lower:g} to {self.upper:g} ({len(outside)} cells in all).",
                "Give the bounds of the metric.",
            )
        scores.flags.writeable = False
        object.__setattr__(self, "scores", scores)

    def __repr__(self) -> str:
        n, j = self.scores.shape
        return (
            f"<ContinuousResponses {self.name!r}: {n} {self.person_label}s x {j} items, scores {self.lower:g} to "
            f"{self.upper:g}, {int(np.count_nonzero(~np.isnan(self.scores)))} of {n * j} cells observed>"
        )


def not_continuous(responses: Responses | ContinuousResponses) -> Responses:
    """Return responses that are counts.

    Raises
    ------
    DataError
        If they are bounded scores, which no estimator takes.
    """
    if isinstance(responses, ContinuousResponses):
        raise DataError(
            f"{responses.name} holds scores between {responses.lower:g} and {responses.upper:g}; the estimators take "
            "right and wrong answers, or counts of them.",
            "Say which scores are right: read(..., threshold=), on the command line --read threshold=.",
        )
    return responses

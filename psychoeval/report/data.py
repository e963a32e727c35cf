"""The data as the report describes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psychoeval.responses.connectivity import components, coverage
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status, screen


@dataclass(frozen=True, slots=True)
class DataSection:
    """Shape, what is missing, what is constant or extreme, and what stands out."""

    name: str
    source: str
    sha256: str
    noun: str
    n_persons: int
    n_items: int
    n_cells: int
    n_observed: int
    largest_trials: int
    mean_score: float
    constant: tuple[tuple[str, tuple[str, ...]], ...]
    extreme: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]
    connectivity: str
    findings: tuple[tuple[str, str], ...]


def data_section(responses: Responses) -> DataSection:
    """Return the description of responses."""
    trials = int(responses.trials.sum(dtype=np.int64))
    successes = int(responses.successes.sum(dtype=np.int64))
    return DataSection(
        responses.name,
        responses.source,
        responses.sha256,
        responses.person_label,
        responses.n_persons,
        responses.n_items,
        int(responses.trials.size),
        responses.n_observed,
        int(responses.trials.max()),
        successes / trials if trials else float("nan"),
        _grouped(responses.item_ids, item_status(responses)),
        _grouped(responses.person_ids, person_status(responses)),
        responses.notes,
        _connectivity(responses),
        tuple((f.severity, f.sentence) for f in screen(responses).findings),
    )


def _connectivity(responses: Responses) -> str:
    parts, seen, noun = components(responses).n, coverage(responses), responses.person_label
    if parts != 1:
        return f"{parts} components without a common {noun} or item: abilities are not comparable across them"
    return (
        f"one component; items a {noun}: {seen.items_per_person.min()} to {seen.items_per_person.max()}, {noun}s an "
        f"item: {seen.persons_per_item.min()} to {seen.persons_per_item.max()}; every {noun} with responses shares at "
        f"least {seen.weakest_link} of its items with another {noun}"
    )


def _grouped(ids: Sequence[str], statuses: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the ids of each status other than ``estimated``, most frequent status first."""
    counts = Counter(s for s in statuses if s != "estimated")
    return tuple(
        (status.replace("_", " "), tuple(i for i, s in zip(ids, statuses, strict=True) if s == status))
        for status, _ in counts.most_common()
    )

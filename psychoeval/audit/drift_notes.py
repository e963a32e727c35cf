"""The rules by which drift was measured, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from psychoeval.responses.matrix import Responses

DriftStatus = Literal["tested", "one_part", "no_pool", "too_few_items", "no_spread"]

#: A pool of fewer systems does not tell how hard an item is.
_SMALL_POOL: Final = 10
_REASONS: Final[dict[DriftStatus, str]] = {
    "one_part": "saw items of one part only in every band",
    "no_pool": "share no item with the pool",
    "too_few_items": "have too few items in a part for an error",
    "no_spread": "differ from the pool by the same on every item",
}


def drift_notes(
    responses: Responses, status: Sequence[DriftStatus], n_pool: int, pool_difference: float,
    bands: int, cluster: str | None, alternative: str, correction: str, simultaneous: bool, tested: int,
) -> tuple[str, ...]:  # fmt: skip
    """Return what was done, what a signal may also come from, and who has no test and why."""
    label = responses.person_label
    unit = f"clusters of items ({cluster})" if cluster else "items, taken as independent (no passages or variants)"
    within = f"within {bands} bands of difficulty" if bands > 1 else "without bands"
    notes = [
        f"Public less held-out of each score less the mean of the other {label}s of the pool ({n_pool}) on the item, "
        f"{within}; errors between {unit}; items sampled.",
        f"The pool's own difference, {pool_difference:+.3f}, is taken off: what all {label}s share, contamination too, "
        f"is not seen; and {label}s of the pool that gained on public items make the others look worse on them.",
        "A signal is no proof: tuning on the public part, runs or graders that differ between the parts, and parts "
        "that differ in kind give one too.",
    ]
    if bands == 1:
        notes.append("Without bands, parts of unlike difficulty give signals of strong or weak systems.")
    elif n_pool < _SMALL_POOL:
        notes.append(f"A pool of {n_pool} {label}s tells the difficulty of items badly: bands adjust in part only.")
    if correction != "none":
        notes.append(f"p values ({alternative}) are adjusted for {tested} {label}s by {correction}.")
    together = f"hold for all {tested} {label}s together (Bonferroni)" if simultaneous else "hold each on its own"
    notes.append(f"Intervals are two-sided and {together}.")
    cells = responses.trials.size - responses.n_observed
    if cells:
        notes.append(f"{cells} cells are missing; a {label} is compared on the items it saw and others saw too.")
    if not responses.is_binary:
        notes.append("Cells of several trials count as one score, successes over trials.")
    for kind, what in _REASONS.items():
        if count := sum(s == kind for s in status):
            notes.append(f"{count} {label}s {what}: no test.")
    return tuple(notes)

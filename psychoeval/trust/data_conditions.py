"""Conditions of the data alone: how many systems, how alike, what is missing, what room is left."""

from __future__ import annotations

from typing import Final

import numpy as np

from psychoeval.responses.cells import counted
from psychoeval.responses.connectivity import components, coverage
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.families import relatedness
from psychoeval.responses.screening.missingness import describe_missingness
from psychoeval.responses.screening.saturation import EASY
from psychoeval.trust import thresholds as limits
from psychoeval.trust.condition import Condition, held_to

#: Of more systems no pairs are correlated.
MOST_SYSTEMS: Final = 2_000
#: Of fewer or more systems, or more cells, missing cells are not tested.
SYSTEMS_TESTED: Final = (5, 20_000)
MOST_CELLS: Final = 20_000_000


def systems(responses: Responses, seed: int) -> list[Condition]:
    """Hold the number of systems to what claims of any kind and about single items need, and to a share of itself.

    The last is `effective_systems`, the number of independent ones (`screening.families`). It is a little below N where
    all are independent. So claims are held to it only where systems are alike beyond chance: where there is a family,
    or where it is below its own threshold; otherwise to N.
    """
    label = responses.person_label
    there = np.flatnonzero(responses.trials.any(axis=1))
    n = there.size
    effective, families, unless = np.nan, 0, ""
    if not 3 <= n <= MOST_SYSTEMS:
        unless = f"Families are looked for among 3 to {MOST_SYSTEMS:,} {label}s; there are {n:,}."
    else:
        found = relatedness(responses.select(persons=there), seed)
        if found.correlation[~np.eye(n, dtype=bool)].any():
            effective, families = found.effective, int(found.family.max()) + 1
        else:
            unless = f"No two {label}s share the 30 items that a residual correlation needs."
    independent = f"{effective:.1f} independent ones"
    alike = (
        "Not known." if unless else f"The {n} {label}s count as {independent}; {_families(families)} of two or more."
    )
    words, counts = f"{counted(n, label)} with responses.", float(n)
    if families or effective < limits.EFFECTIVE_SHARE.value * n:
        words, counts = f"{counted(n, label)} with responses, which count as {independent}.", effective
    return [
        held_to(limits.SYSTEMS, "systems", counts, ">=", words),
        held_to(limits.SYSTEMS_FOR_ITEMS, "systems_for_items", counts, ">=", words),
        held_to(limits.EFFECTIVE_SHARE, "effective_systems", effective, ">=", "Not known." if unless else alike,
                times=n, unless=unless),
    ]  # fmt: skip


def _families(n: int) -> str:
    return "1 family" if n == 1 else f"{n} families"


def connectivity(responses: Responses) -> Condition:
    """Hold the number of components to one."""
    n, label = components(responses).n, responses.person_label
    weakest = coverage(responses).weakest_link
    words = f"{counted(n, 'component')}; every {label} has {weakest} or more items that another was given too."
    return held_to(limits.CONNECTED, "connectivity", n, "<=", words, unless="" if n else "There are no responses.")


def missing_cells(responses: Responses, seed: int) -> list[Condition]:
    """Hold sparsity S, difficulty gap D and the tests of `screening.missingness` to their thresholds.

    D and the tests do not apply to complete data: where all saw all items, nobody's average is of easier ones.
    """
    label = responses.person_label
    sparsity = 1 - responses.n_observed / responses.trials.size
    gap = p = np.nan
    told, tests, unless = "Not known.", "Not tested.", ""
    least, most = SYSTEMS_TESTED
    if responses.trials.size > MOST_CELLS or not least <= responses.n_persons <= most or not responses.n_observed:
        unless = f"Not looked at for {responses.n_persons} {label}s x {responses.n_items} items."
    else:
        found = describe_missingness(responses, seed)
        gap, told = found.difficulty_gap, f"D = {found.difficulty_gap:.2f} logits; extreme items widen it."
        if not responses.is_complete:
            p = min(found.seen_difficulty_p, found.coverage_p)
            tests = (
                f"Rank correlation of ability with the difficulty of the items given {found.seen_difficulty:.2f} (p = "
                f"{found.seen_difficulty_p:.3f}), with their number {found.coverage:.2f} (p = {found.coverage_p:.3f})."
            )
    if responses.is_complete:
        unless = "No cell is missing."
    shared = f"S = {sparsity:.3f} of the cells are missing."
    return [
        held_to(limits.SPARSITY, "sparsity", sparsity, "<=", shared),
        held_to(limits.DIFFICULTY_GAP, "difficulty_gap", gap, "<=", told, unless=unless),
        held_to(limits.MISSING_AT_RANDOM, "missing_at_random", p, ">", tests, unless=unless),
    ]


def room(responses: Responses) -> Condition:
    """Hold the share of easy items, among those with responses, to less than half."""
    trials = responses.trials.sum(axis=0, dtype=np.float64)
    ran = trials > 0
    p = responses.successes.sum(axis=0, dtype=np.float64)[ran] / trials[ran]
    easy = p >= EASY
    share = float(easy.mean()) if p.size else np.nan
    words = (
        f"{easy.sum()} of {counted(p.size, 'item')} with p >= {EASY:g}; {np.count_nonzero(p == 0)} never right and "
        f"{np.count_nonzero(p == 1)} always, which tell no {responses.person_label} from another."
    )
    return held_to(
        limits.EASY_ITEMS, "saturation", share, "<", words, unless="" if p.size else "No item has responses."
    )

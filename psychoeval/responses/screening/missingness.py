"""Whether cells are missing where ability or difficulty says so: then averages mislead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import rankdata

from psychoeval.irt.margins import logit_margins
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.findings import Finding

#: Level of each permutation test.
LEVEL: Final = 0.01
_PERMUTATIONS: Final = 999
_MIN_PERSONS: Final = 5
_MOST_CELLS: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class Missingness:
    """How missing cells go with ability and difficulty.

    Parameters
    ----------
    sparsity : float
        Share of cells that were not administered.
    difficulty_gap : float
        Hardest minus easiest item in logits, of those neither always nor never right.
    seen_difficulty : float
        Rank correlation of ability with the mean difficulty of the items that a person was given: strong persons on
        hard items where it is positive.
    coverage : float
        Rank correlation of ability with the number of items given.
    seen_difficulty_p, coverage_p : float
        Two-sided permutation tests over persons, (1 + exceedances) / (1 + 999).
    """

    sparsity: float
    difficulty_gap: float
    seen_difficulty: float
    seen_difficulty_p: float
    coverage: float
    coverage_p: float


def describe_missingness(responses: Responses, seed: int = 0) -> Missingness:
    """Correlate what each person was given with its ability, both by logit margins (`psychoeval.irt.margins`).

    Parameters
    ----------
    responses : Responses
        Not complete.
    seed : int
        Of the permutations.
    """
    margins = logit_margins(responses.successes, responses.trials)
    seen = responses.observed
    given = seen.sum(axis=1)
    there = given > 0
    mean_difficulty = (seen @ margins.column)[there] / given[there]
    rates = responses.successes.sum(axis=0) / np.maximum(responses.trials.sum(axis=0), 1)
    varying = (rates > 0) & (rates < 1)
    gap = float(np.ptp(margins.column[varying])) if varying.any() else 0.0
    rng = np.random.default_rng(seed)
    ability = margins.row[there]
    by_difficulty = _rank_test(ability, mean_difficulty, rng)
    by_coverage = _rank_test(ability, given[there].astype(float), rng)
    return Missingness(1 - responses.n_observed / seen.size, gap, *by_difficulty, *by_coverage)


def _rank_test(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Return Spearman's correlation and its two-sided permutation p; 0 and 1 where one side is constant."""
    rx, ry = (rankdata(v) - (len(v) + 1) / 2 for v in (np.round(x, 9), np.round(y, 9)))
    size = np.sqrt((rx @ rx) * (ry @ ry))
    if size == 0:
        return 0.0, 1.0
    r = float(rx @ ry / size)
    shuffled = rng.permuted(np.tile(rx, (_PERMUTATIONS, 1)), axis=1) @ ry / size
    return r, float((1 + (np.abs(shuffled) >= abs(r) - 1e-12).sum()) / (1 + _PERMUTATIONS))


def missingness(responses: Responses) -> list[Finding]:
    """Say how sparse the cells and how far apart the items are, and find whether missing cells go with ability.

    Averages over what was seen are no fair comparison where they do. How far a simple average then fails is no
    function of sparsity and gap alone: it takes a simulation from a fit, at the observed mask and trials.
    """
    if responses.is_complete or not responses.n_observed:
        return []
    if responses.n_persons < _MIN_PERSONS or responses.trials.size > _MOST_CELLS:
        sparsity = 1 - responses.n_observed / responses.trials.size
        sentence = (
            f"{sparsity:.1%} of the cells are missing (sparsity S); whether they go with ability was not tested on "
            f"{responses.n_persons} {responses.person_label}s x {responses.n_items} items."
        )
        return [Finding("note", "sparsity", sentence, ())]
    found, label = describe_missingness(responses), responses.person_label
    measured = (
        f"Sparsity S = {found.sparsity:.3f} (share of cells that are missing), difficulty gap D = "
        f"{found.difficulty_gap:.1f} logits (hardest minus easiest item of those neither always nor never right; "
        "extreme items widen it)."
    )
    told = []
    if found.seen_difficulty_p <= LEVEL:
        which = ("strong", "harder") if found.seen_difficulty > 0 else ("strong", "easier")
        told.append(f"{which[0]} {label}s were given {which[1]} items (rank correlation {found.seen_difficulty:.2f})")
    if found.coverage_p <= LEVEL:
        told.append(
            f"strong {label}s were given {'more' if found.coverage > 0 else 'fewer'} items ({found.coverage:.2f})"
        )
    if not told:
        sentence = (
            f"{measured} Nothing shows that missing cells go with ability (permutation tests, p = "
            f"{found.seen_difficulty_p:.2f} for harder or easier items, {found.coverage_p:.2f} for more or fewer)."
        )
        return [Finding("note", "sparsity", sentence, ())]
    sentence = (
        f"Cells are not missing at random: {' and '.join(told)}. {measured} Averages over the items each {label} saw "
        "do not compare them; a model with a common normal distribution of abilities shrinks part of the correction "
        "away."
    )
    return [Finding("warning", "missing_not_at_random", sentence, ())]

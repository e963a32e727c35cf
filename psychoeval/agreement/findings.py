"""How one parameter of two fits agrees, with the figures and the limit that decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from psychoeval.agreement.differences import Differences, TermComparison
from psychoeval.agreement.relation import Relation
from psychoeval.agreement.thresholds import (
    LIMITS,
    MONTE_CARLO,
    NO_ERRORS,
    NUMERICAL_ABILITY,
    NUMERICAL_ITEM,
    Limits,
    Threshold,
)

Level = Literal["numerical", "statistical", "none"]
#: What Monte Carlo error has to do with a difference: explains it, does not, or leaves it open.
Chance = Literal["", "within", "beyond", "cannot tell"]

#: What a term is called in a sentence.
NOUNS: Final = {
    "discrimination": "slopes",
    "difficulty": "difficulties",
    "intercept": "intercepts",
    "guessing": "lower asymptotes",
    "ability": "abilities",
    "expected_score": "expected scores",
    "expected_item_score": "expected item scores",
}
#: Below it a difference is the rounding of an alignment.
_ROUNDING: Final = 1e-9
#: What too few draws leave open.
_FEW_DRAWS: Final = "Monte Carlo error is too large to tell"
#: Terms that decide; the difficulty is derived from two of them, and bad where the slope is near 0.
DECIDING: Final = ("discrimination", "intercept", "guessing", "ability")


@dataclass(frozen=True, slots=True)
class Finding:
    """How one parameter of two fits agrees.

    Parameters
    ----------
    term : str
    level : {"numerical", "statistical", "none"}
        Equal as numbers, equal for every practical purpose, or neither.
    words : str
        The figures, and the limit that decided.
    chance : {"", "within", "beyond", "cannot tell"}
        Of sampled fits: whether Monte Carlo error is all there is to a difference, or so large that a difference over
        the limit says nothing; "" where it did not decide.
    """

    term: str
    level: Level
    words: str
    chance: Chance = ""


def judge_term(term: TermComparison, relation: Relation) -> Finding:
    """Hold the aligned differences of one parameter against the limits of the pair's kind."""
    limits = LIMITS[relation.kind]
    if term.term == "ability" and relation.other_scoring:
        limits = LIMITS["objective"]
    found, noun = term.aligned, NOUNS[term.term]
    tolerance = NUMERICAL_ABILITY if term.term == "ability" else NUMERICAL_ITEM
    if term.infinite_in_one and not relation.other_scoring:
        return Finding(term.term, "none", f"{noun}: {len(term.infinite_in_one)} infinite in one fit only")
    figures = _figures(found, noun)
    if abs(found.largest) <= _ROUNDING:
        return Finding(term.term, "numerical", f"{noun} none")
    if abs(found.largest) <= tolerance.value:
        return Finding(term.term, "numerical", f"{figures}; limit {tolerance.value:g}")
    by_chance = _by_chance(term, limits) if relation.kind == "same posterior" else None
    if by_chance is not None:
        return replace(by_chance, words=f"{figures}; {by_chance.words}")
    level, limit = _statistical(term, limits)
    if level == "none" and _too_few_draws(found, limits):
        return Finding(term.term, level, f"{figures}; {limit}, but {_FEW_DRAWS}", "cannot tell")
    chance: Chance = "beyond" if relation.kind == "same posterior" and level == "statistical" else ""
    return Finding(term.term, level, f"{figures}; {limit}", chance)


def _by_chance(term: TermComparison, limits: Limits) -> Finding | None:
    """Return the finding on two samples of one posterior that differ by no more than Monte Carlo error, else None."""
    found = term.aligned
    if found.largest_in_monte_carlo is None or found.largest_in_monte_carlo > MONTE_CARLO.value:
        return None
    within = f"within Monte Carlo error ({MONTE_CARLO.value:g} MCSE)"
    far = found.largest_in_errors is None or found.largest_in_errors > limits.largest.value
    if far or _too_few_draws(found, limits):  # one far off in few draws is as little agreement as all of them
        return Finding(term.term, "none", f"{within}, but {_FEW_DRAWS}", "cannot tell")
    return Finding(term.term, "statistical", within, "within")


def _too_few_draws(found: Differences, limits: Limits) -> bool:
    told = found.monte_carlo_in_errors
    return told is not None and MONTE_CARLO.value * told > limits.largest.value


def _statistical(term: TermComparison, limits: Limits) -> tuple[Level, str]:
    found = term.aligned
    bounds: list[tuple[bool, str]] = []
    if found.mean_in_errors is not None and found.largest_in_errors is not None and found.n_in_errors == found.n:
        if found.common:  # one parameter, so no average over parameters
            bounds.append(_bound(found.largest_in_errors, limits.unit, "{:g} SE"))
        else:
            bounds.append(_bound(found.mean_in_errors, limits.mean, "mean {:g} SE"))
            bounds.append(_bound(found.largest_in_errors, limits.largest, "largest {:g} SE"))
    else:
        bounds.append((found.rmsd <= NO_ERRORS.value * found.spread, f"RMSD {NO_ERRORS.value:g} SD, without errors"))
    if limits.correlation is not None and term.term in ("intercept", "ability") and found.correlation is not None:
        met = found.correlation >= limits.correlation.value
        bounds.append((met, f"r {limits.correlation.value:g}, found {found.correlation:.4f}"))
    broken = [text for met, text in bounds if not met]
    if broken:
        return "none", "over the limit (" + ", ".join(broken) + ")"
    return "statistical", "within the limit (" + ", ".join(text for _, text in bounds) + ")"


def _figures(found: Differences, noun: str) -> str:
    in_errors = found.mean_in_errors is not None and found.largest_in_errors is not None
    if found.common:
        only = [f"{found.largest_in_errors:.2g} SE"] if in_errors else []
        only += [] if found.largest_in_monte_carlo is None else [f"{found.largest_in_monte_carlo:.2g} MCSE"]
        return f"{noun}, all alike in each fit, {abs(found.largest):.2g}{_bracketed(only)}"
    both = [f"{found.mean_in_errors:.2g} and {found.largest_in_errors:.2g} SE"] if in_errors else []
    if found.mean_in_monte_carlo is not None and found.largest_in_monte_carlo is not None:
        both.append(f"{found.mean_in_monte_carlo:.2g} and {found.largest_in_monte_carlo:.2g} MCSE")
    return f"{noun} {found.mean_absolute:.2g} on average, {abs(found.largest):.2g} at most{_bracketed(both)}"


def _bracketed(parts: Sequence[str]) -> str:
    return f" ({', '.join(parts)})" if parts else ""


def _bound(value: float, limit: Threshold, words: str) -> tuple[bool, str]:
    return value <= limit.value, words.format(limit.value)


def judge(terms: Sequence[TermComparison], relation: Relation) -> tuple[Finding, ...]:
    """Judge the terms that decide, where both fits have them.

    Slopes and intercepts of different models are different quantities, and abilities of different models are compared
    by ranks: then nothing is judged here.
    """
    if not relation.same_items or relation.kind == "proportion":
        return ()
    use = [t for t in terms if t.term in DECIDING and (t.aligned.n or t.infinite_in_one)]
    return tuple(judge_term(t, relation) for t in use)

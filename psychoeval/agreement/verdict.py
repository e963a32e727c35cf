"""From differences to a verdict, with the reason in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from psychoeval.agreement.alignment import Transformation
from psychoeval.agreement.differences import Differences, TermComparison
from psychoeval.agreement.ranks import RankComparison
from psychoeval.agreement.relation import Relation
from psychoeval.agreement.thresholds import (
    EXPECTED_SCORE,
    LIMITS,
    NO_ERRORS,
    NUMERICAL_ABILITY,
    NUMERICAL_ITEM,
    NUMERICAL_PROPORTION,
    RANKS,
    SIMULATED_KINDS,
    Limits,
    Threshold,
)

Level = Literal["numerical", "statistical", "none"]

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
#: What a simulated fit outside its limits calls for.
_OTHER_SEEDS: Final = "A simulated fit is random: fit again with other seeds, and only what stays is a finding. "
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
    """

    term: str
    level: Level
    words: str


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
    level, limit = _statistical(term, limits)
    return Finding(term.term, level, f"{figures}; {limit}")


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
        errors = f" ({found.largest_in_errors:.2g} SE)" if in_errors else ""
        return f"{noun}, all alike in each fit, {abs(found.largest):.2g}{errors}"
    errors = f" ({found.mean_in_errors:.2g} and {found.largest_in_errors:.2g} SE)" if in_errors else ""
    return f"{noun} {found.mean_absolute:.2g} on average, {abs(found.largest):.2g} at most{errors}"


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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a verdict rests on: the relation, the findings in the chosen alignment, and the rest.

    Parameters
    ----------
    relation : Relation
    findings : tuple of Finding
    aligned : str
        "" or what was estimated (``shift``, ``scale``, ``scale and shift``) to get them.
    before : tuple of Finding
        Without `aligned`.
    estimated : Transformation
        Its scale and shift.
    turned : bool
        Whether a fit was turned round.
    convention : bool
        Whether `aligned` is an open convention of a fit without a latent law, and no finding.
    ranks : RankComparison, optional
    scores : TermComparison, optional
        Expected scores.
    contradicted : bool
        Whether locations or abilities run against each other.
    """

    relation: Relation
    findings: tuple[Finding, ...]
    aligned: str
    before: tuple[Finding, ...]
    estimated: Transformation
    turned: bool
    convention: bool
    ranks: RankComparison | None
    scores: TermComparison | None
    contradicted: bool


def decide(evidence: Evidence) -> tuple[str, str]:
    """Return the verdict and its reason."""
    relation, findings = evidence.relation, evidence.findings
    if relation.kind == "proportion" and _equal_proportions(evidence):
        return _named("agree", relation), f"{_difference_words(relation)}Equal scores, to rounding."
    failing = [f for f in findings if f.level == "none"]
    scoring_only = bool(relation.other_scoring) and [f.term for f in failing] == ["ability"] and len(findings) > 1
    if findings and (not failing or (scoring_only and _ranks_agree(evidence))):
        return _agreement(evidence, scoring_only)
    if not findings and evidence.ranks is None:
        return "not comparable", f"{_difference_words(relation)}Nothing that both estimate can be set side by side."
    words = _difference_words(relation) + (_alignment_words(evidence) if findings else "") + _measured(findings)
    if evidence.contradicted:
        words += "They run against each other: a sign convention? "
    ranks_may_do = LIMITS[relation.kind].ranks_may_do or bool(relation.differences)
    if ranks_may_do and _ranks_agree(evidence) and not evidence.contradicted:
        return "agree up to ranks", words + _rank_words(evidence)
    verdict = "not comparable" if relation.differences else "disagree"
    if verdict == "disagree" and relation.kind in SIMULATED_KINDS:
        words += _OTHER_SEEDS
    return verdict, words + _rank_words(evidence)


def _agreement(evidence: Evidence, scoring_only: bool) -> tuple[str, str]:
    relation, findings = evidence.relation, evidence.findings
    up_to = ["direction"] if evidence.turned else []
    up_to += [evidence.aligned] if evidence.aligned else []
    up_to += list(relation.differences)
    words = _difference_words(relation)
    words += _alignment_words(evidence)
    if scoring_only:
        up_to.append("scoring")
        words += f"The items agree; the abilities are scored differently ({relation.other_scoring}). "
    items = [f.level for f in findings if f.term != "ability" or not relation.other_scoring]
    if relation.kind == "same likelihood" and "statistical" in items:
        up_to.append("convergence")
        words += "Close to one maximum, but further apart than two that both reached it. "
    verdict = f"agree up to {', '.join(up_to)}" if up_to else "agree"
    return verdict, words + _measured(findings)


def _alignment_words(evidence: Evidence) -> str:
    if not evidence.aligned:
        return ""
    law = f"theta* = {evidence.estimated.scale:.6g} theta {evidence.estimated.shift:+.6g}"
    if evidence.convention:
        return (
            f"The {evidence.aligned} of the second ({law}) is estimated from the values: without a latent law (an "
            "imported table, a conditional likelihood) origin and unit are an open convention. "
        )
    over = "; ".join(f.words for f in evidence.before if f.level == "none")
    if evidence.relation.kind in SIMULATED_KINDS:
        why = f"more than the seeds on record differ by. {_OTHER_SEEDS}"
    else:
        why = "which nothing but the values implies: that is a finding. "
    return (
        f"As their models identify them they differ ({over}). They agree only after a further {evidence.aligned} of "
        f"the second ({law}), {why}"
    )


def _named(verdict: str, relation: Relation) -> str:
    return f"{verdict} up to {', '.join(relation.differences)}" if relation.differences else verdict


def _equal_proportions(evidence: Evidence) -> bool:
    scores = evidence.scores
    return scores is not None and scores.aligned.n > 0 and abs(scores.aligned.largest) <= NUMERICAL_PROPORTION.value


def _ranks_agree(evidence: Evidence) -> bool:
    ranks = evidence.ranks
    return ranks is not None and ranks.kendall is not None and ranks.kendall >= RANKS.value


def _difference_words(relation: Relation) -> str:
    if not relation.differences:
        return f"{_capital(LIMITS[relation.kind].words)}. "
    return "; ".join(_capital(text) for text in relation.differences.values()) + ". "


def _measured(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    return "Differences: " + "; ".join(f.words for f in findings) + ". "


def _rank_words(evidence: Evidence) -> str:
    ranks, scores, text = evidence.ranks, evidence.scores, ""
    if ranks is not None and ranks.kendall is not None:
        text = f"Ranks: tau-b {ranks.kendall:.3f} (limit {RANKS.value:g}, {ranks.n} persons). "
    if scores is not None and scores.aligned.n:
        size = scores.aligned.mean_absolute
        side = "below" if size <= EXPECTED_SCORE.value else "above"
        text += f"Expected scores differ by {size:.3f} on average, {side} {EXPECTED_SCORE.value:g}. "
    return text.rstrip()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

"""From differences to a verdict, with the reason in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psychoeval.agreement.alignment import Transformation
from psychoeval.agreement.differences import TermComparison
from psychoeval.agreement.findings import Finding
from psychoeval.agreement.ranks import RankComparison
from psychoeval.agreement.relation import Relation
from psychoeval.agreement.thresholds import (
    EXPECTED_SCORE,
    LIMITS,
    MONTE_CARLO,
    NUMERICAL_PROPORTION,
    RANKS,
    SIMULATED_KINDS,
)

#: What a simulated fit outside its limits calls for.
_OTHER_SEEDS: Final = "A simulated fit is random: fit again with other seeds, and only what stays is a finding. "
_SAMPLE_LONGER: Final = (
    f"Too few draws to tell: {MONTE_CARLO.value:g} Monte Carlo standard errors are more than the limit. Sample longer."
)


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
        Whether `aligned` is an open convention of a fit without a latent distribution, and no finding.
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
    if all(f.chance == "cannot tell" for f in failing) and failing:
        return "not comparable", words + _SAMPLE_LONGER
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
    if any(f.chance == "beyond" for f in findings):
        up_to.append("convergence")
        words += "Close to one posterior, but further apart than Monte Carlo error. "
    verdict = f"agree up to {', '.join(up_to)}" if up_to else "agree"
    return verdict, words + _measured(findings)


def _alignment_words(evidence: Evidence) -> str:
    if not evidence.aligned:
        return ""
    law = f"theta* = {evidence.estimated.scale:.6g} theta {evidence.estimated.shift:+.6g}"
    if evidence.convention:
        return (
            f"The {evidence.aligned} of the second ({law}) is estimated from the values: without a distribution (an "
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

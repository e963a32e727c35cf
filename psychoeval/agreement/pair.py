"""Two fits beside each other: aligned, measured, judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psychoeval.agreement.alignment import Freedom, Transformation, estimate_transformation
from psychoeval.agreement.components import person_components
from psychoeval.agreement.differences import TermComparison
from psychoeval.agreement.findings import Finding, judge
from psychoeval.agreement.frames import Alignment, common_frame
from psychoeval.agreement.likelihood import LikelihoodComparison, compare_likelihoods
from psychoeval.agreement.matching import Matched
from psychoeval.agreement.monte_carlo import MonteCarlo, monte_carlo_errors
from psychoeval.agreement.notes import against, is_believed, not_believed, pair_notes
from psychoeval.agreement.own_likelihood import Own, cached_likelihoods
from psychoeval.agreement.own_mode import Modes, cached_modes
from psychoeval.agreement.prior_effect import PriorEffect, is_about_priors, prior_effect
from psychoeval.agreement.ranks import RankComparison, compare_ranks
from psychoeval.agreement.relation import Relation, relate
from psychoeval.agreement.scores import expected_scores
from psychoeval.agreement.terms import Noise, Pair, Scores, matched, parameter_terms, score_terms
from psychoeval.agreement.thresholds import NUMERICAL_ITEM
from psychoeval.agreement.verdict import Evidence, decide
from psychoeval.responses.matrix import Responses


@dataclass(frozen=True, slots=True)
class PairComparison:
    """Two fits beside each other.

    Parameters
    ----------
    first, second : str
        Names of the fits. Differences are first minus second.
    verdict : str
        ``agree``, ``agree up to ...``, ``disagree`` or ``not comparable``.
    reason : str
        Why, in words.
    kind : str
        Which limits applied (`thresholds.LIMITS`).
    alignment : Alignment
    terms : tuple of TermComparison
        Raw and aligned differences of each parameter; the aligned ones decide.
    ranks : RankComparison, optional
    persons, items : Matched
    notes : tuple of str
        What else a reader should know; sentences.
    likelihood : LikelihoodComparison, optional
        Where both claim the same maximum of a marginal likelihood.
    prior_effect : PriorEffect, optional
        Where one is a posterior, only the priors differ, and the limits are exceeded.
    """

    first: str
    second: str
    verdict: str
    reason: str
    kind: str
    alignment: Alignment
    terms: tuple[TermComparison, ...]
    ranks: RankComparison | None
    persons: Matched
    items: Matched
    notes: tuple[str, ...] = ()
    likelihood: LikelihoodComparison | None = None
    prior_effect: PriorEffect | None = None

    def term(self, name: str) -> TermComparison | None:
        """Return the comparison of one parameter, None where the fits do not share it."""
        return next((t for t in self.terms if t.term == name), None)


@dataclass(frozen=True, slots=True)
class _Setting:
    """Two fits, how they are related, what they have in common, and their Monte Carlo errors."""

    fits: Pair
    relation: Relation
    persons: Matched
    items: Matched
    noise: Noise


@dataclass(frozen=True, slots=True)
class _Measured:
    """Two fits measured in one alignment.

    `framed` are the fits in the common frame, `before` the findings without the estimated step.
    """

    framed: Pair
    alignment: Alignment
    terms: tuple[TermComparison, ...]
    findings: tuple[Finding, ...]
    before: tuple[Finding, ...] = ()

    @property
    def passes(self) -> bool:
        return bool(self.findings) and all(f.level != "none" for f in self.findings)

    @property
    def differs(self) -> bool:
        """Whether a limit is exceeded, and by more than Monte Carlo error may do."""
        return any(f.level == "none" and f.chance != "cannot tell" for f in self.findings)


def compare_pair(
    names: tuple[str, str],
    fits: Pair,
    responses: Responses | None = None,
    scores: Scores = expected_scores,
    own: Own | None = None,
    modes: Modes | None = None,
    noise: MonteCarlo = monte_carlo_errors,
) -> PairComparison:
    """Compare two fits.

    Parameters
    ----------
    names : (first, second)
    fits : (FitResult, FitResult)
    responses : Responses, optional
        For the direction of fits without items, and the likelihood of those with items.
    scores : callable
        `expected_scores`, or a cached form of it.
    own : callable, optional
        `own_likelihood` on `responses`, or a cached form of it.
    modes : callable, optional
        `own_mode` on `responses`, or a cached form of it.
    noise : callable
        `monte_carlo_errors`, or a cached form of it.
    """
    relation = relate(*fits)
    at = _Setting(fits, relation, *matched(fits), (noise(fits[0]), noise(fits[1])))
    start = _start(names, at, responses)
    chosen = _further(at, start)
    unbelieved = [not_believed(n, f) for n, f in zip(names, fits, strict=True) if not is_believed(f)]
    effect = None
    if not unbelieved and start.differs and is_about_priors(fits, relation):
        effect = prior_effect(names, fits, modes or cached_modes(responses), responses)
        chosen = start if effect.explained else chosen
    extra = score_terms(fits, at.persons, at.items, scores)
    evidence = _evidence(at, chosen, _ranks(fits, chosen.alignment, at.persons), extra)
    verdict, reason = decide(evidence)
    if unbelieved:
        verdict, reason = "not comparable", " ".join(unbelieved)
    elif not at.persons.n and not at.items.n:
        verdict, reason = "not comparable", "The two fits have no person and no item in common (compared by id)."
    elif effect is not None:
        verdict = "agree up to priors" if effect.explained else verdict
        reason = f"{reason.strip()} {effect.words}"
    likelihood = compare_likelihoods(names, fits, relation, chosen.terms, own or cached_likelihoods(responses))
    return PairComparison(
        names[0], names[1], verdict, reason.strip(), relation.kind, chosen.alignment, chosen.terms + extra,
        evidence.ranks, at.persons, at.items,
        pair_notes(names, fits, relation, chosen.alignment, chosen.terms, at.persons, at.items), likelihood, effect,
    )  # fmt: skip


def _evidence(
    at: _Setting, chosen: _Measured, ranks: RankComparison | None, extra: tuple[TermComparison, ...]
) -> Evidence:
    return Evidence(
        at.relation,
        chosen.findings,
        aligned=chosen.alignment.freedom if chosen.alignment.freedom != "none" else "",
        before=chosen.before,
        estimated=chosen.alignment.estimated,
        turned=bool(chosen.alignment.turned),
        convention=chosen.alignment.conventions != "none",
        ranks=ranks,
        scores=next((t for t in extra if t.term == "expected_score"), None),
        contradicted=bool(against(chosen.terms)),
    )


def _start(names: tuple[str, str], at: _Setting, responses: Responses | None) -> _Measured:
    """Measure two fits in the frame that identification and conventions leave."""
    framed, alignment = _framed(names, at.fits, at.relation, at.persons, at.items, responses)
    if at.relation.kind == "proportion":
        terms = parameter_terms(at.fits, at.fits, at.persons, at.items, at.noise)
        return _Measured(at.fits, alignment, terms, judge(terms, at.relation))
    return _measure(at, framed, alignment)


def align_pair(names: tuple[str, str], fits: Pair, responses: Responses | None = None) -> tuple[Pair, Alignment]:
    """Bring two fits onto one scale, as far as identification and open conventions imply it, and no further.

    A shift or scale between fits whose frames are both known is a difference, and stays. Proportions stay as they are.
    """
    framed, alignment = _framed(names, fits, relate(*fits), *matched(fits), responses)
    return (framed[0], alignment.estimated.fit(framed[1])), alignment


def _framed(
    names: tuple[str, str],
    fits: Pair,
    relation: Relation,
    persons: Matched,
    items: Matched,
    responses: Responses | None,
) -> tuple[Pair, Alignment]:
    """Return two fits in their common frame; what conventions leave open is in ``Alignment.estimated``."""
    if relation.kind == "proportion":
        return fits, Alignment()
    framed, alignment = common_frame(names, fits, responses)
    if alignment.conventions != "none":
        estimated = _estimate(framed, persons, items, alignment.conventions)
        if estimated is not None:
            alignment = replace(alignment, estimated=estimated, freedom=_needed(estimated))
    return framed, alignment


def _further(at: _Setting, start: _Measured) -> _Measured:
    """Find the least further alignment in which two fits agree; `start` if they do as they are, or in none."""
    if start.passes or not start.findings or start.alignment.conventions != "none":
        return start
    for freedom in ("shift", "scale", "scale and shift"):
        estimated = _estimate(start.framed, at.persons, at.items, freedom)
        if estimated is None or _needed(estimated) == "none":
            continue
        tried = _measure(at, start.framed, replace(start.alignment, estimated=estimated, freedom=freedom))
        if tried.passes:
            return replace(tried, before=start.findings)
    return start


def _measure(at: _Setting, framed: Pair, alignment: Alignment) -> _Measured:
    moved = (framed[0], alignment.estimated.fit(framed[1]))
    terms = parameter_terms(at.fits, moved, at.persons, at.items, at.noise)
    return _Measured(framed, alignment, terms, judge(terms, at.relation))


def _estimate(framed: Pair, persons: Matched, items: Matched, freedom: Freedom) -> Transformation | None:
    pairs: list[Any] = [None, None]
    own = [f.item_parameters for f in framed]
    if own[0] is not None and own[1] is not None and items.n:
        pairs = [
            (p.discrimination[at], p.intercept[at])
            for p, at in zip(own, (items.first, items.second), strict=True)
            if p is not None
        ]
    one, two = framed[0].abilities, framed[1].abilities
    abilities = None
    if one is not None and two is not None and persons.n:
        abilities = (one.estimate[persons.first], two.estimate[persons.second])
    return estimate_transformation(pairs[0], pairs[1], abilities, freedom)


def _needed(estimated: Transformation) -> Freedom:
    """Say what an estimated transformation changes beyond the numerical tolerance."""
    scale = abs(estimated.scale - 1) > NUMERICAL_ITEM.value
    shift = abs(estimated.shift) > NUMERICAL_ITEM.value
    if scale:
        return "scale and shift" if shift else "scale"
    return "shift" if shift else "none"


def _ranks(fits: Pair, alignment: Alignment, persons: Matched) -> RankComparison | None:
    one, two = fits[0].abilities, fits[1].abilities
    if one is None or two is None:
        return None
    signs = [np.sign(t.scale) for t in (alignment.first, alignment.second)]
    return compare_ranks(
        persons.ids,
        signs[0] * one.estimate[persons.first],
        signs[1] * two.estimate[persons.second],
        person_components(fits, persons.ids),
    )

"""Two fits beside each other: aligned, measured, judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psychoeval.agreement.alignment import Freedom, Transformation, estimate_transformation
from psychoeval.agreement.differences import TermComparison
from psychoeval.agreement.frames import Alignment, common_frame
from psychoeval.agreement.likelihood import LikelihoodComparison, compare_likelihoods
from psychoeval.agreement.matching import Matched
from psychoeval.agreement.own_likelihood import Own, cached_likelihoods
from psychoeval.agreement.ranks import RankComparison, compare_ranks
from psychoeval.agreement.relation import Relation, relate
from psychoeval.agreement.scores import expected_scores
from psychoeval.agreement.terms import Pair, Scores, errors_alike, matched, parameter_terms, score_terms
from psychoeval.agreement.thresholds import NUMERICAL_ITEM, SIGN_HINT
from psychoeval.agreement.verdict import NOUNS, Evidence, Finding, decide, judge
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.wording import some


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

    def term(self, name: str) -> TermComparison | None:
        """Return the comparison of one parameter, None where the fits do not share it."""
        return next((t for t in self.terms if t.term == name), None)


@dataclass(frozen=True, slots=True)
class _Measured:
    """Two fits measured in one alignment; `before` are the findings without the estimated step."""

    alignment: Alignment
    terms: tuple[TermComparison, ...]
    findings: tuple[Finding, ...]
    before: tuple[Finding, ...] = ()

    @property
    def passes(self) -> bool:
        return bool(self.findings) and all(f.level != "none" for f in self.findings)


def compare_pair(
    names: tuple[str, str],
    fits: Pair,
    responses: Responses | None = None,
    scores: Scores = expected_scores,
    own: Own | None = None,
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
    """
    relation = relate(*fits)
    persons, items = matched(fits)
    chosen = _align(names, fits, relation, persons, items, responses)
    ranks = _ranks(fits, chosen.alignment, persons)
    extra = score_terms(fits, persons, items, scores)
    evidence = Evidence(
        relation,
        chosen.findings,
        aligned=chosen.alignment.freedom if chosen.alignment.freedom != "none" else "",
        before=chosen.before,
        estimated=chosen.alignment.estimated,
        turned=bool(chosen.alignment.turned),
        convention=chosen.alignment.conventions != "none",
        ranks=ranks,
        scores=next((t for t in extra if t.term == "expected_score"), None),
        contradicted=bool(_against(chosen.terms)),
    )
    verdict, reason = decide(evidence)
    unbelieved = [(n, f) for n, f in zip(names, fits, strict=True) if not f.convergence.believed]
    if unbelieved:
        verdict, reason = "not comparable", " ".join(_not_believed(n, f) for n, f in unbelieved)
    elif not persons.n and not items.n:
        verdict, reason = "not comparable", "The two fits have no person and no item in common (compared by id)."
    notes = _notes(names, fits, relation, chosen, persons, items)
    likelihood = compare_likelihoods(names, fits, relation, chosen.terms, own or cached_likelihoods(responses))
    return PairComparison(
        names[0], names[1], verdict, reason.strip(), relation.kind, chosen.alignment, chosen.terms + extra, ranks,
        persons, items, notes, likelihood,
    )  # fmt: skip


def _align(
    names: tuple[str, str],
    fits: Pair,
    relation: Relation,
    persons: Matched,
    items: Matched,
    responses: Responses | None,
) -> _Measured:
    """Find the least alignment in which two fits agree; if none does, what identification and conventions leave."""
    if relation.kind == "proportion":
        terms = parameter_terms(fits, fits, persons, items)
        return _Measured(Alignment(), terms, judge(terms, relation))
    framed, alignment = common_frame(names, fits, responses)
    start = _measure(fits, framed, alignment, relation, persons, items)
    if alignment.conventions != "none":
        estimated = _estimate(framed, persons, items, alignment.conventions)
        if estimated is None:
            return start
        step = replace(alignment, estimated=estimated, freedom=_needed(estimated))
        return _measure(fits, framed, step, relation, persons, items)
    if start.passes or not start.findings:
        return start
    for freedom in ("shift", "scale", "scale and shift"):
        estimated = _estimate(framed, persons, items, freedom)
        if estimated is None or _needed(estimated) == "none":
            continue
        step = replace(alignment, estimated=estimated, freedom=freedom)
        tried = _measure(fits, framed, step, relation, persons, items)
        if tried.passes:
            return replace(tried, before=start.findings)
    return start


def _measure(
    fits: Pair, framed: Pair, alignment: Alignment, relation: Relation, persons: Matched, items: Matched
) -> _Measured:
    moved = (framed[0], alignment.estimated.fit(framed[1]))
    terms = parameter_terms(fits, moved, persons, items)
    return _Measured(alignment, terms, judge(terms, relation))


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
        persons.ids, signs[0] * one.estimate[persons.first], signs[1] * two.estimate[persons.second]
    )  # fmt: skip


def _not_believed(name: str, fit: FitResult) -> str:
    first = fit.convergence.failures[0] if fit.convergence.failures else _STOPPED.get(fit.convergence.status, "")
    return f"{name} is not believed ({fit.convergence.status}): {first}".rstrip(": ")


_STOPPED = {
    "iteration_limit": "it stopped at its iteration limit, before it converged.",
    "interrupted": "it was interrupted before it converged.",
}


def _against(terms: tuple[TermComparison, ...]) -> tuple[TermComparison, ...]:
    use = [t for t in terms if t.term in ("difficulty", "ability")]
    return tuple(
        t for t in use if t.aligned.correlation is not None and t.aligned.correlation < SIGN_HINT.value
    )  # fmt: skip


def _notes(
    names: tuple[str, str], fits: Pair, relation: Relation, chosen: _Measured, persons: Matched, items: Matched
) -> tuple[str, ...]:
    notes = list(chosen.alignment.turned)
    for term in _against(chosen.terms):
        notes.append(
            f"{NOUNS[term.term].capitalize()} correlate {term.aligned.correlation:.3f}: a sign convention? If one of "
            "the tables holds easiness, import it with parametrization='easiness'; nothing was turned round for this."
        )
    if not errors_alike(fits):
        kinds = [f"{n}: {f.abilities.uncertainty}" for n, f in zip(names, fits, strict=True) if f.abilities is not None]
        notes.append(f"Standard errors of the persons are not set side by side ({', '.join(kinds)}).")
    if relation.other_scoring:
        notes.append(f"Abilities are scored differently: {relation.other_scoring}.")
    for noun, both in (("persons", persons), ("items", items)):
        for name, only in zip(names, (both.only_first, both.only_second), strict=True):
            if only and both.n:
                notes.append(f"{len(only)} {noun} only in {name}: {some(only)}.")
    for term in chosen.terms:
        if term.term not in ("intercept", "ability"):
            continue
        noun = "items" if term.term == "intercept" else "persons"
        for name, only in zip(names, (term.only_first, term.only_second), strict=True):
            if only:
                notes.append(f"{len(only)} {noun} estimated by {name} only: {some(only)}.")
        if term.infinite_in_both or term.infinite_in_one:
            notes.append(
                f"Infinite abilities: {term.infinite_in_both} persons in both fits (equal, and no part of the "
                f"differences), {len(term.infinite_in_one)} in one fit only. They count in the ranks."
            )
    return tuple(notes)

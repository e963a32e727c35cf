"""What else a reader should know of two fits, in sentences."""

from __future__ import annotations

from typing import Final

from psychoeval.agreement.differences import TermComparison
from psychoeval.agreement.findings import NOUNS
from psychoeval.agreement.frames import Alignment
from psychoeval.agreement.matching import Matched
from psychoeval.agreement.relation import Relation
from psychoeval.agreement.terms import Pair, errors_alike
from psychoeval.agreement.thresholds import SIGN_HINT
from psychoeval.results.fit_result import FitResult
from psychoeval.wording import some

_STOPPED: Final = {
    "iteration_limit": "it stopped at its iteration limit, before it converged.",
    "interrupted": "it was interrupted before it converged.",
}


def is_believed(fit: FitResult) -> bool:
    """Whether a fit counts as evidence of agreement: its status is believed, and so are its chains."""
    return fit.convergence.believed and not _unfit(fit)


def _unfit(fit: FitResult) -> bool:
    return fit.sampling is not None and fit.sampling.grade == "do not use"


def not_believed(name: str, fit: FitResult) -> str:
    """Return why a fit is not believed, by its first failure."""
    if fit.convergence.believed and fit.sampling is not None:
        why = fit.sampling.reasons[0] if fit.sampling.reasons else ""
        return f"{name} is not believed (chains: {fit.sampling.grade}): {why}".rstrip(": ")
    first = fit.convergence.failures[0] if fit.convergence.failures else _STOPPED.get(fit.convergence.status, "")
    return f"{name} is not believed ({fit.convergence.status}): {first}".rstrip(": ")


def against(terms: tuple[TermComparison, ...]) -> tuple[TermComparison, ...]:
    """Return the locations and abilities that run against each other in two fits."""
    use = [t for t in terms if t.term in ("difficulty", "ability")]
    return tuple(
        t for t in use if t.aligned.correlation is not None and t.aligned.correlation < SIGN_HINT.value
    )  # fmt: skip


def _is_good(fit: FitResult) -> bool:
    return fit.sampling is not None and fit.sampling.grade == "good"


def _grade(name: str, fit: FitResult) -> str:
    run = fit.sampling
    assert run is not None
    return f"The chains of {name} are graded '{run.grade}': {run.reasons[0] if run.reasons else 'no reason given.'}"


def pair_notes(
    names: tuple[str, str],
    fits: Pair,
    relation: Relation,
    alignment: Alignment,
    terms: tuple[TermComparison, ...],
    persons: Matched,
    items: Matched,
) -> tuple[str, ...]:
    """Return what else a reader should know of a pair."""
    notes = list(alignment.turned)
    for term in against(terms):
        notes.append(
            f"{NOUNS[term.term].capitalize()} correlate {term.aligned.correlation:.3f}: a sign convention? If one of "
            "the tables holds easiness, import it with parametrization='easiness'; nothing was turned round for this."
        )
    if not errors_alike(fits):
        kinds = [f"{n}: {f.abilities.uncertainty}" for n, f in zip(names, fits, strict=True) if f.abilities is not None]
        notes.append(f"Standard errors of the persons are not set side by side ({', '.join(kinds)}).")
    notes += [_grade(n, f) for n, f in zip(names, fits, strict=True) if f.sampling is not None and not _is_good(f)]
    if relation.other_scoring:
        notes.append(f"Abilities are scored differently: {relation.other_scoring}.")
    for noun, both in (("persons", persons), ("items", items)):
        for name, only in zip(names, (both.only_first, both.only_second), strict=True):
            if only and both.n:
                notes.append(f"{len(only)} {noun} only in {name}: {some(only)}.")
    for term in terms:
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

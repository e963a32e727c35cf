"""Whether the priors alone explain why two fits of one model differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from psychoeval.agreement.differences import TermComparison
from psychoeval.agreement.findings import NOUNS, Finding, judge
from psychoeval.agreement.frames import common_frame
from psychoeval.agreement.own_mode import Modes, OwnMode
from psychoeval.agreement.relation import Relation, relate
from psychoeval.agreement.terms import Pair, matched, parameter_terms
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult


@dataclass(frozen=True, slots=True)
class PriorEffect:
    """Two fits of one model under different priors, each beside the marginal mode under its own.

    The native estimator is fitted under the priors of the one and of the other. Where each fit lies within its limits
    of the mode under its own priors, nothing but the priors is left to part the two. Both are looked at: a posterior
    where it should be says nothing of a fit that stopped elsewhere.

    Parameters
    ----------
    explained : bool or None
        None where it could not be told.
    words : str
        The figures, or why there are none.
    modes : (FitResult or None, FitResult or None)
        The mode under the priors of the first, and of the second.
    """

    explained: bool | None
    words: str
    modes: tuple[FitResult | None, FitResult | None] = (None, None)


def is_about_priors(fits: Pair, relation: Relation) -> bool:
    """Whether two fits differ in their priors alone, and one is a posterior."""
    sampled = any(f.convergence.status == "sampled" for f in fits)
    return set(relation.differences) == {"priors"} and relation.kind != "proportion" and sampled


def prior_effect(names: tuple[str, str], fits: Pair, modes: Modes, responses: Responses | None = None) -> PriorEffect:
    """Hold two fits against the marginal modes under their own priors.

    Parameters
    ----------
    names, fits : (first, second)
        Of one model, one of them a posterior.
    modes : callable
        `own_mode` on the responses, or a cached form of it.
    responses : Responses, optional
        For the direction of fits without items.
    """
    found = [modes(f) for f in fits]
    unknown = [f"of {n} ({m})" for n, m in zip(names, found, strict=True) if isinstance(m, str)]
    if unknown:
        return PriorEffect(
            None, f"Whether the priors explain it is not known: mml gives no mode under those {' or '.join(unknown)}."
        )
    known = [m for m in found if isinstance(m, OwnMode)]
    held = [_hold(m, f, responses) for m, f in zip(known, fits, strict=True)]
    texts = [_words(n, m, h) for n, m, h in zip(names, known, held, strict=True)]
    order = (1, 0) if fits[1].convergence.status == "sampled" else (0, 1)
    off = [names[k] for k in order if not _passes(held[k])]
    text = f"{texts[order[0]]}; {texts[order[1]]}."
    opening = "The priors explain it" if not off else f"The priors do not explain {' and '.join(off)}"
    return PriorEffect(not off, f"{opening}: {text}", (known[0].fit, known[1].fit))


def _hold(mode: OwnMode, fit: FitResult, responses: Responses | None) -> tuple[tuple[Finding, TermComparison], ...]:
    """Return the findings on a fit beside its own mode, in the frame that identification implies and no other."""
    pair = (mode.fit, fit)
    relation = replace(relate(*pair), differences={}, same_items=True)
    persons, items = matched(pair)
    framed, alignment = common_frame(("mml", fit.estimator), pair, responses)
    if alignment.conventions != "none":
        return ()
    terms = parameter_terms(pair, framed, persons, items)
    by_name = {t.term: t for t in terms}
    return tuple((f, by_name[f.term]) for f in judge(terms, relation))


def _passes(held: Sequence[tuple[Finding, TermComparison]]) -> bool:
    return bool(held) and all(finding.level != "none" for finding, _ in held)


def _words(name: str, mode: OwnMode, held: Sequence[tuple[Finding, TermComparison]]) -> str:
    who = f"mml under the priors of {name} ({mode.priors})" if mode.priors else f"mml without priors, as {name},"
    if not held:
        return f"{who} cannot be set beside it: its origin is an open convention"
    if not _passes(held):
        return f"{who} is apart from it ({'; '.join(f.words for f, _ in held if f.level == 'none')})"
    if all(f.level == "numerical" for f, _ in held):
        return f"{who} equals it"
    parts = [_figures(f, t) for f, t in held if f.level != "numerical"]
    return f"{who} lies {', '.join(parts)} from it"


def _figures(finding: Finding, term: TermComparison) -> str:
    d, noun = term.aligned, NOUNS[finding.term]
    if d.mean_in_errors is None or d.largest_in_errors is None:
        return f"{d.mean_absolute:.2g} ({noun})"
    if d.common:
        return f"{d.largest_in_errors:.2g} SE ({noun})"
    return f"{d.mean_in_errors:.2g} SE on average and {d.largest_in_errors:.2g} at most ({noun})"

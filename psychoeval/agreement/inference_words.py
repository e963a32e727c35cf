"""What fits conclude from the same data, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from psychoeval.wording import some, some_of

if TYPE_CHECKING:
    from psychoeval.agreement.inference_ranks import TopGroup
    from psychoeval.agreement.inference_result import InferenceAgreement, InferencePair

#: Persons and pairs named in a sentence.
_MOST: Final = 3
_CORRECTIONS: Final = {
    "holm": "after Holm's correction for all pairs",
    "benjamini-hochberg": "after Benjamini and Hochberg's correction for all pairs",
    "none": "each pair on its own",
}

#: What errors of each kind are about.
_ABOUT: Final[dict[str, str]] = {
    "items fixed": "are about these very items, taken as known",
    "items estimated": "are about these items too, and hold the errors of the items' estimates",
    "items sampled": "are about items like these",
}


def findings(found: InferenceAgreement) -> tuple[str, ...]:
    """Return what holds over all fits: what was decided and how, opposite claims, the best k."""
    # Where ties make the best 3 those of the best 1, one sentence says it.
    new = [t for k, t in enumerate(found.tops) if not k or t.contested or t.ids != found.tops[k - 1].ids]
    return (*_rules(found), *_overall(found), *(_top(found.names, t, found.noun) for t in new))


def _rules(found: InferenceAgreement) -> list[str]:
    apart = [
        f"{name} tells {n:,} apart ({kind or 'no errors'})"
        for name, n, kind in zip(found.names, found.told_apart, found.kinds, strict=True)
    ]
    out = [
        f"Two {found.noun}s count as told apart at level {found.level:g}, {_CORRECTIONS[found.correction]}: "
        f"{'; '.join(apart)}."
    ]
    kinds = {kind.rpartition(", ")[2] for kind in found.kinds if kind}
    if len(kinds) > 1:
        meant = [f"with {kind} {about}" for kind, about in _ABOUT.items() if kind in kinds]
        out.append(
            f"Errors {'; '.join(meant)}: claims of different kinds answer different questions, and more claims from "
            "errors that hold less are no contradiction."
        )
    if not found.is_connected:
        out.append(
            f"The data fall into components that share nothing: {found.noun}s are ranked and compared within their "
            "component only, and nothing is said of the best over all."
        )
    out += [f"Left out: {text}" for text in found.left_out]
    return out


def _overall(found: InferenceAgreement) -> list[str]:
    clashing = [p for p in found.pairs if p.decisions.opposite]
    if not clashing:
        return [f"No two estimators make opposite claims about any two {found.noun}s."]
    named = [f"{p.first} and {p.second} ({p.decisions.opposite:,})" for p in clashing[:_MOST]]
    pairs = [f"{c.first!r} and {c.second!r}" for c in found.contested if c.opposite]
    return [
        f"Opposite claims are made by {some_of(named, len(clashing))}; most often about "
        f"{some_of(pairs[:_MOST], len(pairs))}."
    ]


def _top(names: Sequence[str], top: TopGroup, noun: str) -> str:
    best = f"best {noun}" if top.k == 1 else f"best {top.k} {noun}s"
    if not top.contested:
        ties = ", ties included" if len(top.ids) > top.k else ""
        return f"All estimators name the same {best}: {some(top.ids)}{ties}."
    parts = []
    for who, row in zip(top.ids, top.members, strict=True):
        if not row.all():
            by = [n for n, inside in zip(names, row, strict=True) if inside]
            parts.append(f"{who!r} by {len(by)} of {len(names)} only ({some_of(by[:_MOST], len(by))})")
    sure = f"{some(top.agreed)} by all" if top.agreed else "nobody by all"
    return f"The {best}: {sure}; {some_of(parts[:_MOST], len(parts), '; ')}."


def pair_sentence(pair: InferencePair, noun: str) -> str:
    """Return what two fits conclude, in one paragraph."""
    counts, who = pair.decisions, f"{pair.first} and {pair.second}"
    if not counts.n:
        return f"{who} decide about no pair of {noun}s in common."
    if counts.opposite:
        named = [f"{a!r} above {b!r}" for a, b in counts.flipped[:_MOST]]
        text = (
            f"{who} make opposite claims about {counts.opposite:,} of {counts.n:,} pairs ({pair.first} puts "
            f"{some_of(named, counts.opposite)})"
        )
    else:
        text = f"{who} never make opposite claims about two {noun}s"
    if counts.lost:
        verb = "is" if counts.lost == 1 else "are"
        by = [
            f"{n:,} by {name}" for n, name in ((counts.only_first, pair.first), (counts.only_second, pair.second)) if n
        ]
        text += f"; {counts.lost:,} of {counts.n:,} pairs {verb} told apart by one only ({', '.join(by)})"
    elif not counts.same and not counts.opposite:
        text = f"Neither {pair.first} nor {pair.second} tells any of {counts.n:,} pairs apart"
    else:
        text += f"; they tell the same {counts.same:,} of {counts.n:,} pairs apart"
    return " ".join([f"{text}.", *_errors(pair, noun), *_moves(pair, noun)])


def _errors(pair: InferencePair, noun: str) -> list[str]:
    if pair.unlike:
        return [f"Their errors are not set side by side: {pair.unlike}."]
    out, ratio, overlap = [], pair.ratio("ability"), pair.overlap
    if ratio is not None:
        out.append(
            f"Errors of abilities{f' ({pair.unlike_kind})' if pair.unlike_kind else ''}: {pair.second} has "
            f"{ratio.median:.3g} times those of {pair.first} in the middle ({ratio.low:.3g} to {ratio.high:.3g})."
        )
    if overlap is not None:
        apart = f"; those of {some(overlap.apart, _MOST)} do not" if overlap.apart else ""
        out.append(
            f"Intervals overlap for {overlap.n - len(overlap.apart):,} of {overlap.n:,} {noun}s, and share "
            f"{overlap.jaccard:.0%} of their joint length on average{apart}."
        )
    return out


def _moves(pair: InferencePair, noun: str) -> list[str]:
    moves = pair.moves
    if moves is None:
        return []
    if not moves.furthest:
        return [f"No {noun} changes its rank."]
    who, first, second = moves.furthest[0]
    return [f"Ranks move by {moves.mean:.2g} on average, furthest {who!r}, from {first:g} to {second:g}."]

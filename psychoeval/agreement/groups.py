"""Verdicts in few words: which fits agree with each other, and what is between them and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from psychoeval.agreement.findings import DECIDING, NOUNS
from psychoeval.agreement.pair import PairComparison

#: Order of verdicts between groups, by their beginning; what differs comes first.
_ORDER: Final = ("disagree", "not comparable", "agree up to", "agree")
_SCORES: Final = ("expected_score",)


@dataclass(frozen=True, slots=True)
class VerdictGroup:
    """Pairs of one verdict.

    Parameters
    ----------
    verdict : str
    fits : tuple of str
        Fits that agree with each other, each with each; empty where `between` says which pairs are meant.
    between : tuple of (str, str)
        Fits, or names of groups of fits, between which the verdict stands.
    pairs : tuple of PairComparison
    name : str
        "" or what a group of fits is called: ``group A``.
    """

    verdict: str
    fits: tuple[str, ...]
    between: tuple[tuple[str, str], ...]
    pairs: tuple[PairComparison, ...]
    name: str = ""

    @property
    def who(self) -> str:
        """The fits, or between which the verdict stands, in words."""
        return ", ".join(self.fits) or "; ".join(f"{a} with {b}" for a, b in self.between)

    @property
    def differences(self) -> str:
        """Largest differences over the pairs, in words; where ranks alone agree, or nothing does, the lowest tau-b."""
        found = "; ".join(_largest(self.pairs, DECIDING) or _largest(self.pairs, _SCORES))
        if found and "ranks" not in self.verdict and self.verdict != "not comparable":
            return f"Largest differences: {found}."
        taus = [p.ranks.kendall for p in self.pairs if p.ranks is not None and p.ranks.kendall is not None]
        return f"Lowest tau-b {min(taus):.3f}." if taus else ""


def group_verdicts(names: Sequence[str], pairs: Sequence[PairComparison]) -> tuple[VerdictGroup, ...]:
    """Group pairs by verdict: first the fits that agree with each other, then what differs most.

    A fit joins the first group whose every member it agrees with, without any reserve. Between two such groups one
    entry stands for all pairs where their verdicts are equal.

    Parameters
    ----------
    names : sequence of str
        Of the fits, in order.
    pairs : sequence of PairComparison
    """
    verdicts = {frozenset((p.first, p.second)): p for p in pairs}
    cliques: list[list[str]] = []
    for name in names:
        agreed = (c for c in cliques if all(verdicts[frozenset((name, m))].verdict == "agree" for m in c))
        home = next(agreed, None)
        if home is None:
            cliques.append([name])
        else:
            home.append(name)
    large = [c for c in cliques if len(c) > 1]
    called = {id(c): f"group {_letters(k)}" for k, c in enumerate(large)}
    groups = [
        VerdictGroup("agree", tuple(c), (), tuple(verdicts[frozenset(ab)] for ab in combinations(c, 2)), called[id(c)])
        for c in large
    ]
    rest: dict[str, list[tuple[tuple[str, str], list[PairComparison]]]] = {}
    for one, other in combinations(cliques, 2):
        across = [verdicts[frozenset((a, b))] for a in one for b in other]
        if len({p.verdict for p in across}) == 1:
            ends = (called.get(id(one), one[0]), called.get(id(other), other[0]))
            rest.setdefault(across[0].verdict, []).append((ends, across))
        else:
            for p in across:
                rest.setdefault(p.verdict, []).append(((p.first, p.second), [p]))
    groups += [
        VerdictGroup(v, (), tuple(ends for ends, _ in found), tuple(p for _, part in found for p in part))
        for v, found in rest.items()
    ]
    return tuple(sorted(groups, key=lambda g: (not g.fits, _place(g.verdict), 0 if g.fits else len(g.pairs))))


def _letters(k: int) -> str:
    """Return A, B, ..., Z, AA, AB, ..."""
    return (_letters(k // 26 - 1) if k >= 26 else "") + chr(ord("A") + k % 26)


def _place(verdict: str) -> int:
    return next((k for k, beginning in enumerate(_ORDER) if verdict.startswith(beginning)), len(_ORDER))


def _largest(pairs: Sequence[PairComparison], terms: Iterable[str]) -> list[str]:
    """Return for each term the largest difference over all pairs, with the pair and the id."""
    words = []
    for name in terms:
        found = [(abs(t.aligned.largest), p, t) for p in pairs if (t := p.term(name)) is not None and t.aligned.n]
        if not found:
            continue
        size, pair, term = max(found, key=lambda f: f[0])
        if not size:
            words.append(f"{NOUNS[name]} none")
            continue
        errors = term.aligned.largest_in_errors
        in_errors = "" if errors is None else f" ({errors:.2g} SE)"
        words.append(f"{NOUNS[name]} {size:.2g}{in_errors}, {pair.first} with {pair.second}")
    return words

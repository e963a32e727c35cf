"""Who agrees with whom: the matrix of verdicts, the pairs and their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from psychoeval.agreement.differences import TermComparison
from psychoeval.agreement.findings import NOUNS
from psychoeval.agreement.frames import Alignment
from psychoeval.agreement.groups import VerdictGroup, group_verdicts
from psychoeval.agreement.pair import PairComparison
from psychoeval.agreement.thresholds import THRESHOLDS, Threshold
from psychoeval.plots.canvas import cut
from psychoeval.report.frame import transformation
from psychoeval.report.words import counted, listed

if TYPE_CHECKING:
    from psychoeval.agreement.comparison import Comparison

#: Verdict by its beginning: what a cell looks like. The words are always there, the sign and shade only help.
_LOOKS: Final = (
    ("agree up to", "scaled", "≈"),
    ("agree", "agree", "="),
    ("disagree", "disagree", "≠"),
    ("not comparable", "none", "∅"),
)
#: With more pairs than this they are grouped, and only the reasons of those that differ are unfolded.
MANY_PAIRS: Final = 6
_ORDER: Final = ("disagree", "scaled", "agree", "none")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict with its sign and look."""

    text: str
    sign: str
    look: str

    @property
    def short(self) -> str:
        """The verdict in a cell of the matrix, where the sign says the rest."""
        return self.text.removeprefix("agree up to ")


@dataclass(frozen=True, slots=True)
class PairRow:
    """A pair: its verdict, why, and how it was aligned."""

    first: str
    second: str
    verdict: Verdict
    reason: str
    alignment: str
    tau: float | None
    top: str
    moved: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TermRow:
    """One parameter of a pair."""

    pair: str
    noun: str
    term: TermComparison
    worst: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of all fits; `matrix` has the verdict below the diagonal and tau-b above it.

    `groups` say the verdicts in short where there are many; then `apart` are the pairs that differ, else all pairs, and
    `folded` the rest.
    """

    labels: tuple[str, ...]
    summary: tuple[str, ...]
    matrix: tuple[tuple[Verdict | float | None, ...], ...]
    groups: tuple[tuple[Verdict, VerdictGroup], ...]
    apart: tuple[PairRow, ...]
    folded: tuple[PairRow, ...]
    terms: tuple[TermRow, ...]
    thresholds: tuple[Threshold, ...]


def agreement(comparison: Comparison) -> Agreement:
    """Return the agreement of a comparison as the report shows it; pairs that disagree come first."""
    pairs, labels = comparison.pairs, comparison.names
    rows = sorted((_pair_row(p) for p in pairs), key=lambda r: _ORDER.index(r.verdict.look))
    terms = tuple(_term_row(p, t) for p in pairs for t in p.terms if t.aligned.n)
    many = len(rows) > MANY_PAIRS
    apart = tuple(r for r in rows if not many or r.verdict.look == "disagree")
    groups = tuple((verdict(g.verdict), g) for g in group_verdicts(labels, pairs)) if many else ()
    return Agreement(
        labels, _summary(rows), _matrix(labels, pairs), groups, apart, tuple(rows[len(apart) :]), terms,
        tuple(THRESHOLDS.values()),
    )  # fmt: skip


def verdict(text: str) -> Verdict:
    """Return a verdict with the look of its kind."""
    for beginning, look, sign in _LOOKS:
        if text.startswith(beginning):
            return Verdict(text, sign, look)
    return Verdict(text, "?", "none")


def _summary(rows: Sequence[PairRow]) -> tuple[str, ...]:
    if not rows:
        return ()
    if len(rows) == 1:
        text = rows[0].verdict.text
        return (f"The two {text}." if text != "not comparable" else "The two cannot be compared.",)
    counts = {look: sum(r.verdict.look == look for r in rows) for look in _ORDER}
    named: dict[str, int] = {}
    for row in rows:
        if row.verdict.look == "scaled":
            named[row.verdict.short] = named.get(row.verdict.short, 0) + 1
    most = sorted(named, key=lambda what: -named[what])
    what = (
        f"agree up to {most[0]}"
        if len(most) == 1
        else f"agree up to something ({'; '.join(f'{k}: {named[k]}' for k in most)})"
    )
    words = (
        ("agree", "agree"),
        ("scaled", what if most else ""),
        ("disagree", "disagree"),
        ("none", "cannot be compared"),
    )
    parts = [f"{counts[look]} {text}" for look, text in words if counts[look]]
    return (f"Of {counted(len(rows), 'pair')} of results, {listed(parts)}.",)


def _matrix(labels: Sequence[str], pairs: Sequence[PairComparison]) -> tuple[tuple[Verdict | float | None, ...], ...]:
    place = {label: k for k, label in enumerate(labels)}
    cells: list[list[Verdict | float | None]] = [[None] * len(labels) for _ in labels]
    for pair in pairs:
        low, high = sorted((place[pair.first], place[pair.second]))
        cells[high][low] = verdict(pair.verdict)
        cells[low][high] = None if pair.ranks is None else pair.ranks.kendall
    return tuple(tuple(row) for row in cells)


def _pair_row(pair: PairComparison) -> PairRow:
    ranks = pair.ranks
    top = "" if ranks is None else ", ".join(f"{k}: {share:.0%}" for k, share in ranks.top.items())
    moved = "" if ranks is None else "; ".join(f"{i}: {a:g}, {b:g}" for i, a, b in _short(ranks.moved))
    return PairRow(
        pair.first,
        pair.second,
        verdict(pair.verdict),
        pair.reason,
        _alignment(pair.alignment, pair.first, pair.second),
        None if ranks is None else ranks.kendall,
        top,
        moved,
        pair.notes,
    )


def _short(moved: Sequence[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    return [(cut(i, 28), a, b) for i, a, b in moved[:2]]


def _alignment(found: Alignment, first: str, second: str) -> str:
    steps = []
    for label, step, standard in zip((first, second), (found.first, found.second), found.standard, strict=True):
        if not step.is_identity:
            steps.append(f"{label} {transformation(step)}{' (abilities to mean 0, SD 1)' if standard else ''}")
    if found.freedom != "none":
        steps.append(f"then {second} {transformation(found.estimated)}, a {found.freedom} estimated from the values")
    return "; ".join(steps) or "none needed"


def _term_row(pair: PairComparison, term: TermComparison) -> TermRow:
    worst = "; ".join(f"{cut(d.id, 28)}: {d.first:.3g} and {d.second:.3g}" for d in term.worst[:3])
    return TermRow(f"{pair.first} - {pair.second}", NOUNS[term.term], term, worst)

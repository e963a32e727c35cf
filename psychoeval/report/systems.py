"""Persons or systems ranked side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from psychoeval.agreement.alignment import standardisation
from psychoeval.agreement.ranks import rank_words
from psychoeval.errors import NotComparableError
from psychoeval.plots import by_id
from psychoeval.report import words
from psychoeval.report.frame import in_standard_frame
from psychoeval.results.fit_result import FitResult

#: More rows than this make the file too large to open with ease; which are shown is said.
MOST_ROWS: Final = 1500
#: With more persons, those whose estimates are the same by every fit share a row of a short table.
SHORT: Final = 60
#: Fits side by side in a table as wide as the page.
MOST_COLUMNS: Final = 7

Rows: TypeAlias = "tuple[tuple[str, float, tuple[Cell, ...]], ...]"


@dataclass(frozen=True, slots=True)
class Cell:
    """Rank (a tie: the ranks it shares), estimate and interval of one person by one fit, and its status."""

    rank: str
    estimate: float
    low: float
    high: float
    status: str

    @property
    def has_interval(self) -> bool:
        """Whether there is a standard error."""
        return self.low == self.low and self.high == self.high


@dataclass(frozen=True, slots=True)
class Column:
    """What a column of the table holds."""

    label: str
    believed: bool
    scale: str
    frame: str
    method: str
    intervals: str


@dataclass(frozen=True, slots=True)
class SystemsSection:
    """The table: one row a person, one column a fit; `short` in front where it has many rows."""

    columns: tuple[Column, ...]
    rows: Rows
    rule: str
    short: Rows
    short_rule: str

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Columns of each of the tables into which it is cut, so that a page and a sheet of paper hold them."""
        count = -(-len(self.columns) // MOST_COLUMNS)
        edges = [round(k * len(self.columns) / count) for k in range(count + 1)]
        return tuple(slice(a, b) for a, b in pairwise(edges))


def systems_section(names: Sequence[str], fits: Sequence[FitResult], noun: str) -> SystemsSection | None:
    """Return the side-by-side table, or None where no fit has abilities."""
    framed = [in_standard_frame(f) for f in fits]
    known = {id(moved): (name, text) for name, (moved, text) in zip(names, framed, strict=True)}
    try:
        table = by_id.abilities([moved for moved, _ in framed])
    except NotComparableError:
        return None
    everybody, few = by_id.choose(table, MOST_ROWS, noun), by_id.choose(table, SHORT, noun)
    columns = tuple(_column(*known[id(f)], f) for f in table.fits)
    short = _rows(table, few) if len(table.ids) > SHORT else ()
    return SystemsSection(columns, _rows(table, everybody), everybody.rule, short, few.rule)


def _rows(table: by_id.SideBySide, chosen: by_id.Chosen) -> Rows:
    component = table.component
    ranked = [rank_words(column, component) for column in by_id.ranks(table).T]
    mean_rank = by_id.consensus(table)
    statuses = [_statuses(f) for f in table.fits]
    rows = []
    for m, suffix in zip(chosen.rows, chosen.suffixes, strict=True):
        person = table.ids[m]
        cells = tuple(
            Cell(ranked[k][m], table.values[m, k], table.low[m, k], table.high[m, k], statuses[k].get(person, "absent"))
            for k in range(len(table.fits))
        )
        rows.append((person + suffix, float(mean_rank[m]), cells))
    return tuple(rows)


def _statuses(fit: FitResult) -> dict[str, str]:
    assert fit.abilities is not None
    return dict(zip(fit.abilities.person_ids, fit.abilities.status, strict=True))


def _column(name: str, frame: str, fit: FitResult) -> Column:
    a = fit.abilities
    assert a is not None
    standard = standardisation(fit) is not None
    scale = "proportion" if a.scale == "proportion" else "logits / latent SD" if standard else "logits"
    return Column(name, fit.convergence.believed, scale, frame, a.method, words.intervals(a))

"""What the report of an audit is made of: settings, sections, tables, drawings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.audit.factors import Rotation
from psychoeval.audit.paired import Correction
from psychoeval.report.pictures import Picture, picture
from psychoeval.responses.matrix import Responses

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Rows of a table beyond which it is closed, and beyond which it is cut.
LONG: Final = 40
MOST_ROWS: Final = 1_000
_NOTHING_SAID: Final = ("estimated", "tested")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditSettings:
    """What an audit may be told.

    Parameters
    ----------
    replications, seed : int
        Of the bootstrap over persons; the seed also of the null of parallel analysis and of permutations.
    cluster : str, optional
        Column of `responses.items`: items of one cluster (passage, template) are dependent.
    group : str, optional
        Column of `responses.persons` whose groups are left out in turn; by default the developer or family where
        there is such a column, else the families that agree beyond their scores.
    benchmark : str, optional
        Column of `responses.items`; by default ``benchmark`` where there is such a column.
    pair : (str, str), optional
        Two persons to compare by every test.
    correction : {"holm", "benjamini-hochberg", "none"}
        Of the tests of pairs.
    n_factors : int, optional
        By default what parallel analysis finds.
    rotation : {"varimax", "oblimin", "none"}
    external : mapping of str to (N,) array
        Outside scores of persons, NaN where unknown.
    external_notes : tuple of str
    against : Responses, optional
        Another benchmark, to compare bins of difficulty with.
    """

    replications: int = 1000
    seed: int = 0
    cluster: str | None = None
    group: str | None = None
    benchmark: str | None = None
    pair: tuple[str, str] | None = None
    correction: Correction = "holm"
    n_factors: int | None = None
    rotation: Rotation = "varimax"
    external: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    external_notes: tuple[str, ...] = ()
    against: Responses | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table: all of it in `frame`, of which the report shows `columns`.

    Parameters
    ----------
    key : str
        Name of the table in files and JSON.
    title : str
    frame : DataFrame
        Its index holds the ids.
    columns : tuple of str
    order : (R,) array, optional
        Rows in the order in which the report shows them.
    """

    key: str
    title: str
    frame: pd.DataFrame
    columns: tuple[str, ...]
    order: NDArray[np.intp] | None = None

    @property
    def heads(self) -> tuple[str, ...]:
        """Heads of the columns shown."""
        return tuple(str(c).replace("_", " ") for c in self.shown.columns)

    @property
    def corner(self) -> str:
        """Head of the ids."""
        return str(self.frame.index.name or "").replace("_", " ")

    @property
    def shown(self) -> pd.DataFrame:
        """The columns shown, but a status that says nothing, and rows in the order shown."""
        columns = [c for c in self.columns if c != "status" or not self.frame[c].isin(_NOTHING_SAID).all()]
        frame = self.frame[columns]
        return frame if self.order is None else frame.iloc[self.order]

    @property
    def rows(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """Id and values of the rows shown."""
        frame = self.shown.iloc[:MOST_ROWS]
        if "status" in frame:
            frame = frame.assign(status=frame["status"].str.replace("_", " "))
        values = zip(frame.index, frame.itertuples(index=False), strict=True)
        return tuple((str(name), tuple(_plain(v) for v in row)) for name, row in values)

    @property
    def long(self) -> bool:
        """Whether it is shown closed."""
        return len(self.frame) > LONG

    @property
    def cut(self) -> str:
        """What is said of a table that is not shown whole."""
        n = len(self.frame)
        return f"{MOST_ROWS:,} of {n:,} rows; all are in the tables beside the report" if n > MOST_ROWS else ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that is drawn when it is shown."""

    title: str
    reading: str
    alt: str
    draw: Callable[[], Figure]


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A question, and what answers it.

    Parameters
    ----------
    title : str
    sentences : tuple of str
        What was found.
    rules : tuple of str
        How: n, what was left out, intervals.
    tables : tuple of Table
    drawings : tuple of Drawing
    """

    title: str
    sentences: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    drawings: tuple[Drawing, ...] = ()

    @property
    def pictures(self) -> list[Picture]:
        """The drawings, drawn."""
        return [picture(d.title, d.reading, d.alt, d.draw) for d in self.drawings]


def shape(r: Responses) -> str:
    """Return how large a data set is and how much of it was observed, without a full stop."""
    return f"{r.n_persons} {r.person_label}s x {r.n_items} items, {r.n_observed} of {r.trials.size} cells observed"


def number(value: float, digits: int = 3) -> str:
    """Return a number in a sentence."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "not defined"


def probability(value: float) -> str:
    """Return a p value in a sentence."""
    return "not defined" if not math.isfinite(value) else "p < .0001" if value < 1e-4 else f"p = {value:.2g}"


def between(low: float, high: float, level: float = 0.95) -> str:
    """Return an interval in a sentence."""
    return f"{level:.0%} interval {number(low)} to {number(high)}" if math.isfinite(low) else "no interval"


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value

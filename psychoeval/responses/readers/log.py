"""The long table that all log formats are read into: one row a response and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.responses.readers.record_columns import NumberColumn, TextColumn

if TYPE_CHECKING:
    import pandas as pd

#: What became of a response. Only ``scored`` has a score; a wrong answer is one scored 0, and nothing else.
Outcome = Literal["scored", "unscored", "errored", "refused", "cancelled", "not attempted"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("scored", "unscored", "errored", "refused", "cancelled", "not attempted")

#: Larger scores are no scores of a benchmark, and their sums would overflow.
LARGEST_SCORE: Final = 1e100
#: The metric of a response that was not judged, where the log does not say by what it would have been.
ANY_METRIC: Final = "(not judged)"

_TEXTS: Final = (
    "person",
    "item",
    "metric",
    "trial",
    "filter",
    "benchmark",
    "content",
    "error",
    "family",
    "date",
    "file",
)
_NUMBERS: Final = ("score", "tokens", "cost")
_PLACES_KEPT: Final = 3
#: Records that are turned into columns together.
_BLOCK: Final = 4096


class Record(NamedTuple):
    """One response to one item, judged by one metric.

    `score` is a finite number where `outcome` is ``scored``, and NaN elsewhere. `trial` tells repeated responses of a
    pair apart (epoch, repeat, attempt). `content` is a hash of the item's text, by which items are joined where their
    ids are only positions. `line` counts from 1; 0 where the format has no lines.
    """

    person: str
    item: str
    metric: str
    score: float = float("nan")
    outcome: Outcome = "scored"
    trial: str = "1"
    filter: str = ""
    benchmark: str = ""
    content: str = ""
    error: str = ""
    family: str = ""
    date: str = ""
    tokens: float = float("nan")
    cost: float = float("nan")
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """What a metric's scores mean.

    Parameters
    ----------
    lower, upper : float
        Bounds; infinite where the log does not say.
    higher_is_better : bool
    """

    lower: float = -np.inf
    upper: float = np.inf
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows of the files that did not become records, for one reason."""

    reason: str
    n: int
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EvaluationLog:
    """What evaluation logs hold: one row a response and metric, in the order of the files.

    Parameters
    ----------
    texts : mapping of str to (codes, levels)
        Each text column as int32 codes (R,) into its distinct texts.
    numbers : mapping of str to (R,) float64 array
        ``score``, ``tokens``, ``cost``; NaN where unknown.
    outcome : (R,) int8 array
        Places in `OUTCOMES`.
    line : (R,) int32 array
    scales : mapping of metric to Scale
    dropped : tuple of Dropped
    n_read : int
        Rows of the files: those here and those dropped.
    formats : mapping of file to format
    notes : tuple of str
    """

    texts: Mapping[str, tuple[NDArray[np.int32], tuple[str, ...]]]
    numbers: Mapping[str, NDArray[np.float64]]
    outcome: NDArray[np.int8]
    line: NDArray[np.int32]
    scales: Mapping[str, Scale]
    dropped: tuple[Dropped, ...]
    n_read: int
    formats: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.outcome)

    def __repr__(self) -> str:
        persons, items = (len(self.texts[name][1]) for name in ("person", "item"))
        return f"<EvaluationLog: {len(self)} rows, {persons} systems, {items} items, {len(self.formats)} files>"

    def where(self, row: int) -> str:
        """Name the place of a row: its file, and line where it has one."""
        codes, levels = self.texts["file"]
        line = f", line {self.line[row]}" if self.line[row] else ""
        return f"{levels[codes[row]]}{line}"

    def levels(self, column: str, rows: NDArray[np.bool_] | None = None) -> dict[str, int]:
        """Return the texts of a column that occur (in `rows`), each with its number of rows."""
        codes, levels = self.texts[column]
        counts = np.bincount(codes if rows is None else codes[rows], minlength=len(levels))
        return {level: int(n) for level, n in zip(levels, counts, strict=True) if n}

    def outcomes(self, rows: NDArray[np.bool_] | None = None) -> dict[Outcome, int]:
        """Return how many rows ended how; a wrong answer is one scored 0."""
        counts = np.bincount(self.outcome if rows is None else self.outcome[rows], minlength=len(OUTCOMES))
        return {outcome: int(n) for outcome, n in zip(OUTCOMES, counts, strict=True) if n}

    def to_frame(self) -> pd.DataFrame:
        """Return the table, texts as categoricals."""
        import pandas as pd

        columns: dict[str, Any] = {
            name: pd.Categorical.from_codes(cast(Any, codes), pd.Index(list(levels)))
            for name, (codes, levels) in self.texts.items()
        }
        columns |= {name: values for name, values in self.numbers.items()}
        columns["outcome"] = pd.Categorical.from_codes(cast(Any, self.outcome), pd.Index(list(OUTCOMES)))
        columns["line"] = self.line
        return pd.DataFrame(columns)


@dataclass(slots=True)
class LogBuilder:
    """Collects records in columns: a million rows of one file take 20 MB, and their distinct texts.

    Readers call `add` for each response, `drop` for each row that cannot be one, with the reason, and `scale` where
    the log says what a metric's scores mean.
    """

    scales: dict[str, Scale] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _pending: list[Record] = field(default_factory=list)
    _texts: dict[str, TextColumn] = field(default_factory=lambda: {name: TextColumn() for name in _TEXTS})
    _numbers: dict[str, NumberColumn] = field(
        default_factory=lambda: {name: NumberColumn(np.float64) for name in _NUMBERS}
    )
    _outcome: NumberColumn = field(default_factory=lambda: NumberColumn(np.int8))
    _line: NumberColumn = field(default_factory=lambda: NumberColumn(np.int32))
    _settled: int = 0
    _dropped: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return self._settled + len(self._pending)

    def add(self, record: Record) -> None:
        """Take a record.

        Raises
        ------
        DataError
            If it has no person, item or metric, or a score that is not a finite number; with its place.
        """
        if not (record.person.strip() and record.item.strip() and record.metric.strip()):
            lacking = next(name for name in ("person", "item", "metric") if not getattr(record, name).strip())
            raise DataError(f"{_place(record)}: a response without {_NOUNS[lacking]}.", "The log must name it.")
        if record.outcome == "scored" and not abs(record.score) <= LARGEST_SCORE:
            raise DataError(
                f"{_place(record)}: {record.metric} of item {record.item!r} is {record.score}, not a finite number "
                f"of at most {LARGEST_SCORE:g}.",
                "Correct the log, or choose another metric.",
            )
        self._pending.append(record)
        if len(self._pending) == _BLOCK:
            self._settle()

    def drop(self, reason: str, place: str, n: int = 1) -> None:
        """Count rows that are left out, for `reason`, and keep the first places."""
        so_far, places = self._dropped.get(reason, (0, []))
        if len(places) < _PLACES_KEPT:
            places.append(place)
        self._dropped[reason] = (so_far + n, places)

    def scale(self, metric: str, scale: Scale, place: str) -> None:
        """Record what a metric's scores mean.

        Raises
        ------
        DataError
            If another file said otherwise.
        """
        known = self.scales.setdefault(metric, scale)
        if known != scale:
            raise DataError(
                f"{place}: metric {metric!r} has {_scale_words(scale)}; before it had {_scale_words(known)}.",
                "Read these logs apart, or rename the metric in one of them.",
            )

    def build(self) -> EvaluationLog:
        """Return the table; the builder is used up.

        Raises
        ------
        DataError
            If a name cannot be written as UTF-8; with its place.
        """
        self._settle()
        dropped = tuple(Dropped(reason, n, tuple(places)) for reason, (n, places) in self._dropped.items())
        log = EvaluationLog(
            texts={name: column.build() for name, column in self._texts.items()},
            numbers={name: column.build() for name, column in self._numbers.items()},
            outcome=self._outcome.build(),
            line=self._line.build(),
            scales=dict(self.scales),
            dropped=dropped,
            n_read=self._settled + sum(d.n for d in dropped),
            formats=dict(self.formats),
            notes=tuple(self.notes),
        )
        _check_names(log)
        return log

    def _settle(self) -> None:
        """Turn the pending records into columns."""
        if not self._pending:
            return
        columns: dict[str, Any] = dict(zip(Record._fields, zip(*self._pending, strict=True), strict=True))
        columns["error"] = [
            t if t.isascii() else t.encode("utf-8", "backslashreplace").decode() for t in columns["error"]
        ]
        self._settled += len(self._pending)
        self._pending = []
        for name, texts in self._texts.items():
            texts.extend(columns[name])
        outcome = np.array(list(map(OUTCOMES.index, columns["outcome"])), np.int8)
        self._outcome.extend(outcome)
        self._line.extend(columns["line"])
        scored = outcome == OUTCOMES.index("scored")
        columns["score"] = np.where(scored, np.array(columns["score"], np.float64), np.nan)
        for name, numbers in self._numbers.items():
            numbers.extend(columns[name])


_NOUNS: Final = {"person": "a system", "item": "an item", "metric": "a metric"}


def _place(record: Record) -> str:
    return f"{record.file}, line {record.line}" if record.line else record.file


def _check_names(log: EvaluationLog) -> None:
    """Refuse names with half a surrogate pair: JSON can hold it (backslash ud800), tables and files cannot."""
    for name, (codes, levels) in log.texts.items():
        for code, level in enumerate(levels):
            if level.isascii() or level == level.encode("utf-8", "replace").decode():
                continue
            row = int(np.argmax(codes == code))
            raise DataError(f"{log.where(row)}: the {name} {level!a} is no Unicode text.", "Correct the log.")


def _scale_words(scale: Scale) -> str:
    better = "higher" if scale.higher_is_better else "lower"
    return f"bounds {scale.lower:g} to {scale.upper:g}, {better} being better"


def records(log: EvaluationLog) -> Iterator[Record]:
    """Yield the rows as records (for writers and tests; slow beside the columns)."""
    for row in range(len(log)):
        texts: dict[str, Any] = {name: levels[codes[row]] for name, (codes, levels) in log.texts.items()}
        numbers = {name: float(values[row]) for name, values in log.numbers.items()}
        yield Record(**(texts | numbers), outcome=OUTCOMES[log.outcome[row]], line=int(log.line[row]))

"""From a log to responses: one metric, one filter, each choice named, and rows that add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.joining import Items, by_appearance, combined, join_items
from psychoeval.responses.readers.log import ANY_METRIC, OUTCOMES, Dropped, EvaluationLog, Scale
from psychoeval.responses.readers.log_covariates import item_table, person_table
from psychoeval.responses.readers.name_spellings import spelled_alike
from psychoeval.responses.readers.scores import Cells, Threshold, check_scores, counts, means
from psychoeval.wording import some, some_of

Errors = Literal["missing", "wrong"]
Repeats = Literal["error", "trials", "first", "last"]

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What became of every row of the logs: the parts add up to `n_read`.

    Parameters
    ----------
    n_read : int
    dropped : tuple of Dropped
        Rows that are no response, by reason.
    other : mapping of str to int
        Rows of metrics, filters and benchmarks that were not chosen.
    outcomes : mapping of str to int
        How the chosen rows ended; ``right``, ``wrong`` and ``partial`` are those with a score.
    repeated : int
        Chosen rows left out because they repeat another.
    used : int
        Rows that are in the responses.
    missing : int
        Chosen rows that ended without a score and count as not administered.
    """

    n_read: int
    dropped: tuple[Dropped, ...]
    other: Mapping[str, int]
    outcomes: Mapping[str, int]
    repeated: int
    used: int
    missing: int

    @property
    def adds_up(self) -> bool:
        """Whether every row is accounted for."""
        lost = sum(d.n for d in self.dropped) + sum(self.other.values()) + self.repeated + self.missing
        return lost + self.used == self.n_read

    def sentences(self) -> tuple[str, ...]:
        """Return the summary in words."""
        ended = ", ".join(f"{n} {name}" for name, n in self.outcomes.items())
        parts = [f"{self.n_read} rows read; the {sum(self.outcomes.values())} chosen ended: {ended}."]
        parts += [f"{n} rows of {name} were not chosen." for name, n in self.other.items()]
        parts += [f"{d.n} rows left out: {d.reason} ({some_of(d.places, d.n)})." for d in self.dropped]
        if self.repeated:
            parts.append(f"{self.repeated} repeated rows left out.")
        return tuple(parts)


@dataclass(frozen=True, slots=True)
class Selected:
    """Responses, and what became of every row."""

    responses: Responses | ContinuousResponses
    summary: ImportSummary


def select(
    log: EvaluationLog,
    *,
    metric: str | Sequence[str] | None = None,
    filter: str | Sequence[str] | None = None,
    errors: Errors = "missing",
    threshold: Threshold = None,
    duplicates: Repeats = "error",
    bounds: tuple[float, float] | None = None,
    name: str = "responses",
    source: str = "",
) -> Selected:
    """Make responses from a log.

    Parameters
    ----------
    log : EvaluationLog
    metric, filter : str or list of str, optional
        Needed where a benchmark has several; only rows of these are used.
    errors : {"missing", "wrong"}
        What a response is that ended without a score (errored, refused, cancelled, not attempted, unscored): not
        administered, or a failure.
    threshold : float or "keep-mean", optional
        Scores at least this high (at most, where lower is better) are right, others wrong. ``"keep-mean"`` takes the
        threshold that changes the mean of all scores least.
    duplicates : {"error", "trials", "first", "last"}
        What a repeated system, item and trial is.
    bounds : (float, float), optional
        Of scores that are not 0 or 1, where the log does not say.
    name, source : str

    Returns
    -------
    Selected
        `Responses` where all scores are 0 or 1 or there is a threshold, `ContinuousResponses` otherwise.

    Raises
    ------
    DataError
        If the metric or filter must be chosen, rows repeat, no row is left, or scores lie outside their bounds.
    """
    check_scores(threshold, bounds)
    for option, value in (("metric", metric), ("filter", filter)):
        if (
            value is not None
            and not isinstance(value, str)
            and not (isinstance(value, Sequence) and value and all(isinstance(n, str) for n in value))
        ):
            raise SettingsError(f"{option}={value!r} is no name.", "Give a text, or several.")
    if errors not in ("missing", "wrong"):
        raise SettingsError(f"errors={errors!r} is unknown.", 'Give "missing" or "wrong".')
    if duplicates not in ("error", "trials", "first", "last"):
        raise SettingsError(f"duplicates={duplicates!r} is unknown.", "Give error, trials, first or last.")
    if not len(log):
        left_out = "; ".join(f"{d.n} rows left out: {d.reason}" for d in log.dropped)
        raise DataError(f"The logs hold no response{': ' if left_out else ''}{left_out}.", "Check the paths.")
    rows = np.ones(len(log), np.bool_)
    other: dict[str, int] = {}
    for column, wanted in (("metric", metric), ("filter", filter)):
        rows = _choose(log, column, wanted, rows, other)
    chosen = np.flatnonzero(rows)
    items = join_items(log, chosen)
    scale = _common_scale(log, rows)
    kept, notes = _settle_repeats(log, chosen, items, duplicates)
    scored = log.outcome[chosen] == OUTCOMES.index("scored")
    counted = kept if errors == "wrong" else kept[scored[kept]]
    values = log.numbers["score"][chosen]
    summary = ImportSummary(
        n_read=log.n_read,
        dropped=log.dropped,
        other=other,
        outcomes=_outcomes(log, rows, values, scale),
        repeated=len(chosen) - len(kept),
        used=len(counted),
        missing=len(kept) - len(counted),
    )
    told = [*log.notes, *items.notes, *notes, *summary.sentences(), *_suspicions(log, rows)]
    n_without = int((~scored[kept]).sum())
    if n_without:
        how = "count as wrong" if errors == "wrong" else "count as not administered"
        told.append(f'{n_without} responses without a score {how} (errors="{errors}").')
    codes, names = log.texts["person"]
    of_person, first = by_appearance(codes[chosen])
    person_ids = tuple(names[k] for k in codes[chosen][first])
    shape = (len(person_ids), len(items.ids))
    cells = Cells(of_person[counted], items.of_row[counted], values[counted], scale, shape)
    known = (
        person_table(log, chosen, of_person, len(person_ids)),
        item_table(log, chosen[by_appearance(items.of_row)[1]]),
    )
    del chosen, kept, scored, counted, values, of_person  # of a million rows 40 MB
    if threshold is not None or (cells.are_binary and bounds in (None, (0, 1))):
        successes, trials, said = counts(cells, threshold)
        responses: Responses | ContinuousResponses = Responses(
            successes, trials, person_ids, items.ids, *known, person_label="system", name=name, source=source,
            notes=(*told, *said),
        )  # fmt: skip
    else:
        scores, lower, upper, said = means(cells, bounds, lambda i, j: f"{person_ids[i]!r}, item {items.ids[j]!r}")
        responses = ContinuousResponses(
            scores, lower, upper, person_ids, items.ids, name=name, source=source, notes=(*told, *said)
        )
    return Selected(responses, summary)


def _choose(
    log: EvaluationLog,
    column: str,
    wanted: str | Sequence[str] | None,
    rows: NDArray[np.bool_],
    other: dict[str, int],
) -> NDArray[np.bool_]:
    """Return the rows of the metrics or filters that are wanted; one a benchmark."""
    codes, levels = log.texts[column]
    any_of = (codes == levels.index(ANY_METRIC)) if column == "metric" and ANY_METRIC in levels else False
    if wanted is not None:
        names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
        found = log.levels(column, rows)
        lacking = [n for n in names if n not in found]
        if lacking:
            listed = some(list(found), 12)
            raise DataError(f"There is no {column} {some(lacking)}; the logs have {listed}.", "Choose among these.")
        other |= {f"{column} {level!r}": n for level, n in found.items() if level not in (*names, ANY_METRIC)}
        rows = rows & (np.isin(codes, [levels.index(n) for n in names]) | any_of)
    benchmarks, benchmark_names = log.texts["benchmark"]
    for k in np.unique(benchmarks[rows]):
        found = log.levels(column, rows & (benchmarks == k) & ~np.asarray(any_of))
        if len(found) > 1:
            listed = ", ".join(
                f"{level!r} ({n} rows)" for level, n in sorted(found.items(), key=lambda kv: -kv[1])[:12]
            )
            of = f"Benchmark {benchmark_names[k]!r} has" if benchmark_names[k] else "The logs have"
            raise DataError(f"{of} {len(found)} {column}s: {listed}.", f"Choose one: {column}=.")
    return rows


def _common_scale(log: EvaluationLog, rows: NDArray[np.bool_]) -> Scale:
    """Return the scale of the metrics chosen.

    Raises
    ------
    DataError
        If they differ.
    """
    scales = {name: log.scales.get(name, Scale()) for name in log.levels("metric", rows) if name != ANY_METRIC}
    if len(set(scales.values())) > 1:
        raise DataError(f"The metrics {some(list(scales))} have different scales.", "Read their benchmarks apart.")
    return next(iter(scales.values()), Scale())


def _settle_repeats(
    log: EvaluationLog, chosen: NDArray[np.intp], items: Items, duplicates: Repeats
) -> tuple[NDArray[np.intp], list[str]]:
    """Return which of the chosen rows to use, and notes."""
    person = log.texts["person"][0][chosen]
    key = combined(person, items.of_row, log.texts["trial"][0][chosen])
    _, first, place, number = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    n = len(chosen) - len(first)
    everything = np.arange(len(chosen))
    if not n:
        return everything, []
    if duplicates == "trials":
        return everything, [f'{n} repeated rows count as further trials (duplicates="trials").']
    if duplicates == "first":
        return np.sort(first), [f'Of repeated rows the first is used (duplicates="first"): {n} left out.']
    if duplicates == "last":
        _, last = np.unique(key[::-1], return_index=True)
        return np.sort(len(chosen) - 1 - last), [
            f'Of repeated rows the last is used (duplicates="last"): {n} left out.'
        ]
    _, score = np.unique(log.numbers["score"][chosen], return_inverse=True)
    conflicting = len(np.unique(combined(place, log.outcome[chosen], score))) - len(first)
    starts = np.sort(first[number > 1])[:_SHOWN]
    shown = []
    for start in starts:
        again = int(np.flatnonzero(place == place[start])[1])
        shown.append(
            f"{log.texts['person'][1][person[start]]!r}, item {items.ids[items.of_row[start]]!r} in "
            f"{log.where(int(chosen[start]))} and {log.where(int(chosen[again]))}"
        )
    several = int((number > 1).sum())
    raise DataError(
        f"{several} responses (system, item, trial) occur more than once, {n - conflicting} rows repeating another "
        f"exactly and {conflicting} contradicting one: {some_of(shown, several, '; ')}.",
        'duplicates="trials" counts them as further trials; "first" and "last" keep one.',
    )


def _outcomes(log: EvaluationLog, rows: NDArray[np.bool_], values: NDArray[np.float64], scale: Scale) -> dict[str, int]:
    """Return how the chosen rows ended; a scored one is right, wrong or partial where scores lie within 0 and 1."""
    ended: dict[str, int] = {str(k): n for k, n in log.outcomes(rows).items()}
    scored = ended.pop("scored", 0)
    given = values[~np.isnan(values)]
    if given.size and given.min() >= 0 and given.max() <= 1:
        one, zero = int((given == 1).sum()), int((given == 0).sum())
        right, wrong = (one, zero) if scale.higher_is_better else (zero, one)
        parts = {"right": right, "wrong": wrong, "partial": scored - right - wrong}
    else:
        parts = {"scored": scored}
    return {k: n for k, n in (parts | ended).items() if n}


def _suspicions(log: EvaluationLog, rows: NDArray[np.bool_]) -> list[str]:
    """Return a note where systems have names that differ by spelling alone."""
    return [
        f"Perhaps one system under several names: {some(names)}." for names in spelled_alike(log.levels("person", rows))
    ]

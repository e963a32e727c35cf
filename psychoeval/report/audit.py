"""The audit of a data set, as one HTML file: items and systems without a model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from psychoeval import audit, plots
from psychoeval._version import __version__
from psychoeval.errors import DataError, SettingsError
from psychoeval.report.html import write_page
from psychoeval.report.pictures import Picture, picture
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import screen
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

#: Rows of a table beyond which it is closed.
_LONG: Final = 40
#: Factors beyond the first are looked at up to this many cells: each replication of the null fits the margins anew.
_MOST_CELLS: Final = 1_000_000
_TOP: Final = 8


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its heads, and rows of an id and values."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Any, ...]], ...]

    @property
    def long(self) -> bool:
        """Whether it is shown closed."""
        return len(self.rows) > _LONG


@dataclass(frozen=True, slots=True)
class Section:
    """A question, and what answers it."""

    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditContent:
    """What the template shows."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    version: str = __version__


def audit_report(
    responses: Responses, path: str | Path, *, replications: int = 1000, seed: int = 0, title: str | None = None
) -> Path:
    """Write the audit of a data set as one self-contained HTML file.

    What stands out, scores of persons with their errors, the classical item table, bins of difficulty, binned curves,
    stability over persons, and factors.

    Parameters
    ----------
    responses : Responses
    path : str or Path
    replications : int
        Of the bootstrap over persons.
    seed : int
        Of the bootstrap and of the null of parallel analysis.
    title : str, optional

    Returns
    -------
    Path

    Raises
    ------
    EngineUnavailableError
        Without Matplotlib or Jinja2.
    SettingsError
        If the file cannot be written.
    """
    return write_page("audit.html.j2", lambda: audit_content(responses, replications, seed, title), path)


def audit_content(responses: Responses, replications: int, seed: int, title: str | None = None) -> AuditContent:
    """Return what the report of an audit holds."""
    r, label = responses, responses.person_label
    lead = f"{r.n_persons} {label}s x {r.n_items} items, {r.n_observed} of {r.trials.size} cells observed."
    makers: tuple[Callable[[], Section], ...] = (
        lambda: _findings(r),
        lambda: _systems(r),
        lambda: _items(r),
        lambda: _bins(r),
        lambda: _curves(r),
        lambda: _stability(r, replications, seed),
        lambda: _factors(r, seed),
    )
    sections = tuple(_made(make) for make in makers)
    return AuditContent(title or f"{responses.name}: audit of the items", lead, sections)


def _made(make: Callable[[], Section]) -> Section:
    """Return a section, or one that says why it is not there."""
    try:
        return make()
    except (DataError, SettingsError) as error:
        return Section("Not computed", (f"{error.problem} {error.remedy}",))


def _findings(r: Responses) -> Section:
    found = [("Warning: " if f.severity == "warning" else "") + f.sentence for f in screen(r).findings]
    return Section("What stands out", (*(found or ["Nothing stands out."]), *r.notes))


def _systems(r: Responses) -> Section:
    means = audit.average_systems(r)
    frame = means.to_frame().sort_values("mean", ascending=False, na_position="last")
    heads = ("mean", "standard_error", "low", "high", "n_items", "n_trials", "status")
    return Section(f"Mean scores of {r.person_label}s", means.notes, (_table("By mean score", frame, heads),))


def _items(r: Responses) -> Section:
    found = audit.analyze_items(r)
    test = found.test
    weak = [i for i, bad in zip(found.item_ids, found.not_positive, strict=True) if bad]
    sentences = [
        f"Alpha {_number(test.alpha)} ({_number(test.alpha_low)} to {_number(test.alpha_high)}), omega "
        f"{_number(test.omega)}, error of measurement of a mean score {_number(test.error_of_measurement)}; "
        f"{test.n_persons} {r.person_label}s, {test.n_items} items, {test.rule}.",
    ]
    if weak:
        sentences.append(f"{len(weak)} items do not correlate positively with the rest: {some(weak, 8)}.")
    heads = (
        "status", "n_persons", "proportion_correct", "proportion_low", "proportion_high", "item_rest_correlation",
        "correlation_low", "correlation_high", "alpha_without",
    )  # fmt: skip
    return Section("Items", (*sentences, *found.notes), (_table("Item table", found.to_frame(), heads),))


def _bins(r: Responses) -> Section:
    found = audit.bin_difficulty(r)
    drawn = picture(
        "Discrimination by difficulty",
        "Mean correlation of items with the rest in bins of the share of right answers: where it is low, items say "
        "little about who is better.",
        "Mean rest correlations with intervals in five bins; the values are in the table.",
        lambda: plots.difficulty_bins([found]),
    )
    heads = ("n_items", "n_correlated", "mean", "standard_error", "sd", "not_positive")
    return Section("Difficulty and discrimination", found.notes, (_table("Bins", found.to_frame(), heads),), (drawn,))


def _curves(r: Responses) -> Section:
    found = audit.bin_curves(r)
    falling = np.flatnonzero(found.p_adjusted < 0.05)
    ids = [found.item_ids[j] for j in falling[np.argsort(found.trend[falling])].tolist()]
    sentence = (
        f"{len(ids)} items fall with the score on the rest beyond chance (false discovery rate 5%): {some(ids, 8)}."
        if ids
        else "No item falls with the score on the rest beyond chance (false discovery rate 5%)."
    )
    drawn = picture(
        "Binned curves", "Share of right answers in groups by the score on the other items; a good item rises.",
        "Curves of a few items over groups of rest score, with Wilson's intervals.",
        lambda: plots.binned_curves(found, noun=r.person_label),
    )  # fmt: skip
    return Section("Curves of items", (sentence, *found.notes), (), (drawn,))


def _stability(r: Responses, replications: int, seed: int) -> Section:
    found = audit.resample_systems(r, replications=replications, seed=seed)
    drawn = picture(
        "Items over samples",
        f"How far shares of right answers and correlations move when {r.person_label}s are drawn anew.",
        "Ranges of each item over samples, and the samples' correlations with all; the means are in the table.",
        lambda: plots.stability(found),
    )
    summary = found.summary()
    table = _table("Bootstrap", summary, tuple(summary.columns))
    return Section(f"Other {r.person_label}s", found.notes, (table,), (drawn,))


def _factors(r: Responses, seed: int) -> Section:
    if r.trials.size > _MOST_CELLS:
        return Section("Factors", (f"Not computed: {r.trials.size} cells are more than {_MOST_CELLS}.",))
    number = audit.parallel_analysis(r, replications=50, seed=seed).n_factors
    sentences = [
        f"Parallel analysis under fixed margins of {r.person_label}s and items finds {number} "
        f"factor{'s' if number > 1 else ''}, a general one among them."
    ]
    if number == 1:
        return Section("Factors", tuple(sentences))
    found = audit.analyze_factors(r, number, method="svd" if r.is_complete else "logistic", seed=seed)
    clusters = audit.cluster_items(found, seed=seed)
    sizes = np.bincount(clusters.cluster[clusters.cluster >= 0]).tolist()
    shares = ", ".join(f"{s:.0%}" for s in found.share)
    sentences.append(f"The rotated factors explain {shares}; items fall into clusters of {', '.join(map(str, sizes))}.")
    top = found.top_items(_TOP).set_index("item")
    table = _table(f"The {_TOP} items of largest loading on each factor", top, ("factor", "loading"))
    return Section("Factors", (*sentences, *found.notes), (table,))


def _table(title: str, frame: pd.DataFrame, heads: tuple[str, ...]) -> Table:
    rows = tuple(
        (str(name), tuple(_plain(v) for v in row))
        for name, row in zip(frame.index, frame[list(heads)].itertuples(index=False), strict=True)
    )
    return Table(title, tuple(h.replace("_", " ") for h in heads), rows)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "not defined"

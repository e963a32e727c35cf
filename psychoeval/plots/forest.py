"""Forest plot of abilities: every person's estimate and interval by every fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from psychoeval.irt.parameters import Abilities
from psychoeval.plots import by_id, canvas
from psychoeval.plots.canvas import FloatArray, Look
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SCALES: Final = ("logit", "proportion")


def ability_forest(
    fits: Sequence[FitResult], *, names: Sequence[str] | None = None, noun: str = "person", limit: int = 40
) -> Figure:
    """Draw abilities with 95% intervals, one row a person, one column of axes a scale.

    Logits and proportions never share an axis. Fits that are not believed are hollow and grey and do not set the
    limits of an axis. Estimates outside them, or infinite, are arrows at the edge.

    Parameters
    ----------
    fits : sequence of FitResult
        Aligned beforehand where they are to be read against each other.
    names : sequence of str, optional
        What to call the fits; by default their labels.
    noun : {"person", "system"}
    limit : int
        Most rows drawn; the rule by which they are chosen is written under the figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotComparableError
        If no fit has abilities.
    EngineUnavailableError
        Without Matplotlib.
    """
    table = by_id.abilities(fits)
    chosen = by_id.choose(table, limit, noun)
    scales = [s for s in _SCALES if any(_scale(f) == s for f in table.fits)]
    per_row = max(sum(_scale(f) == s for f in table.fits) for s in scales)
    height = 1.5 + chosen.rows.size * (0.1 + 0.052 * per_row)
    figure = canvas.new_figure(7.4, height)
    shown = canvas.looks(fits, names)
    axes = figure.subplots(1, len(scales), sharey=True, squeeze=False)[0]
    for ax, scale in zip(axes, scales, strict=True):
        columns = [k for k, f in enumerate(table.fits) if _scale(f) == scale]
        _draw(ax, table, columns, chosen.rows, [shown[id(table.fits[k])] for k in columns])
        having = [table.fits[k] for k in columns]
        unit = by_id.logit_unit(having, [shown[id(f)].name for f in having]) if scale == "logit" else ""
        ax.set_xlabel(f"ability ({unit})" if unit else "proportion correct", fontsize=8)
    labels = [canvas.text(table.ids[m], 36) + s for m, s in zip(chosen.rows, chosen.suffixes, strict=True)]
    axes[0].set_yticks(np.arange(len(labels)), labels, parse_math=False)
    axes[0].set_ylim(len(labels) - 0.4, -0.6)
    canvas.legend(figure, [shown[id(f)] for f in table.fits])
    canvas.caption(figure, f"{chosen.rule} Bars: 95% intervals ({_kinds(table.fits, shown)}). "
                   "Hollow and grey: not believed. "
                   "Bars may run on beyond the axis; arrows: estimates beyond it, or infinite.")  # fmt: skip
    return figure


def _scale(fit: FitResult) -> str:
    return "" if fit.abilities is None else fit.abilities.scale


def _kinds(fits: Sequence[FitResult], shown: Mapping[int, Look]) -> str:
    kinds: dict[str, list[str]] = {}
    for fit in fits:
        if fit.abilities is None:
            continue
        kinds.setdefault(interval_words(fit.abilities), []).append(shown[id(fit)].name)
    return "; ".join(f"{', '.join(labels)}: {kind}" for kind, labels in kinds.items())


def interval_words(abilities: Abilities) -> str:
    """Return how the intervals of abilities are made and what they are about."""
    if abilities.standard_error is None and abilities.effective_n is None:
        return "none"
    made = "Wilson" if abilities.effective_n is not None else "estimate ± 1.96 SE"
    return f"{made}, {abilities.uncertainty}"


def _within(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    # A few very wide intervals (extreme persons) would squeeze all others: nine in ten ends set the axis.
    ends = np.concatenate([low.ravel(), high.ravel()])
    ends = ends[np.isfinite(ends)]
    return np.concatenate([values.ravel(), np.quantile(ends, [0.05, 0.95]) if ends.size > 40 else ends])


def _draw(ax: Axes, table: by_id.SideBySide, columns: Sequence[int], rows: np.ndarray, shown: Sequence[Look]) -> None:
    canvas.style_axes(ax)
    trusted = [k for k in columns if table.fits[k].convergence.believed] or list(columns)
    low, high = canvas.span(_within(*(part[rows][:, trusted] for part in (table.values, table.low, table.high))))
    ax.set_xlim(low, high)
    ax.hlines(np.arange(rows.size) + 0.5, low, high, color="#ececec", linewidth=0.5, zorder=0)
    offsets = (np.arange(len(columns)) - (len(columns) - 1) / 2) * min(0.8 / len(columns), 0.2)
    for k, offset, look in zip(columns, offsets, shown, strict=True):
        y = np.arange(rows.size) + offset
        x = table.values[rows, k]
        inside = (x >= low) & (x <= high)
        ax.hlines(y, np.clip(table.low[rows, k], low, high), np.clip(table.high[rows, k], low, high),
                  color=look.color, linewidth=0.9)  # fmt: skip
        ax.plot(x[inside], y[inside], look.marker, color=look.color, markerfacecolor=look.face, markersize=3.4,
                markeredgewidth=0.8)  # fmt: skip
        for beyond, edge, arrow in ((x > high, high, ">"), (x < low, low, "<")):
            canvas.edge_marks(ax, np.full(beyond.sum(), edge), y[beyond], arrow, color=look.color, face=look.face)

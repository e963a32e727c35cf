"""Bump chart: how ranks move from fit to fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psychoeval.agreement.components import several
from psychoeval.errors import NotComparableError
from psychoeval.plots import by_id, canvas
from psychoeval.plots.canvas import FloatArray
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Lines drawn in color: the rows whose rank moves most.
HIGHLIGHTS = 6
#: Room, in columns, for the lines that lead from a name to its point.
LEAD = 0.45


def rank_bump(
    fits: Sequence[FitResult], *, names: Sequence[str] | None = None, noun: str = "person", limit: int = 40
) -> Figure:
    """Draw each person's rank in every fit, 1 the best, ties at their mean rank.

    Ranks need no common scale, so logits and proportions stand side by side. The rows whose rank moves most among
    believed fits are colored; columns of fits that are not believed are shaded and hollow.

    Parameters
    ----------
    fits : sequence of FitResult
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
        If no fit has abilities, or the data fall into components.
    EngineUnavailableError
        Without Matplotlib.
    """
    table = by_id.abilities(fits)
    if several(table.component):
        raise NotComparableError(
            f"The {noun}s fall into components that share no response, so no ranks stand on one axis.",
            "Draw the fits of each component alone.",
        )
    chosen = by_id.choose(table, limit, noun)
    ranked = by_id.ranks(table)[chosen.rows]
    moved = _range(ranked[:, table.believed] if table.believed.any() else ranked)
    marked = [int(m) for m in np.argsort(-moved, kind="stable")[:HIGHLIGHTS] if moved[m] > 0]
    figure = canvas.new_figure(7.4, 2.1 + 0.2 * chosen.rows.size)
    ax = figure.subplots()
    shown = canvas.looks(fits, names)
    _columns(ax, [shown[id(f)] for f in table.fits])
    _lines(ax, ranked, marked, table.believed)
    labels = [canvas.text(table.ids[m], 27) + s for m, s in zip(chosen.rows, chosen.suffixes, strict=True)]
    _ends(ax, ranked, labels)
    canvas.caption(figure, f"{chosen.rule} Ranks count all {len(table.ids)} {noun}s; rank 1 is the best, ties share "
                   f"their mean rank. Colored: the {len(marked)} whose rank moves most among believed fits. "
                   "Hollow on a shaded column: not believed.")  # fmt: skip
    return figure


def _range(ranked: FloatArray) -> FloatArray:
    known = np.isfinite(ranked)
    high = np.where(known, ranked, -np.inf).max(axis=1)
    low = np.where(known, ranked, np.inf).min(axis=1)
    return np.where(known.any(axis=1), high - low, 0.0)


def _columns(ax: Axes, shown: list[canvas.Look]) -> None:
    canvas.style_axes(ax, grid="")
    for k, look in enumerate(shown):
        if not look.believed:
            ax.axvspan(k - 0.35, k + 0.35, color="#efefef", zorder=0)
    ax.set_xticks(range(len(shown)), [s.short for s in shown], rotation=40, ha="left", rotation_mode="anchor",
                  parse_math=False)  # fmt: skip
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", length=0, labelsize=7.5)
    for side in ("bottom", "left"):
        ax.spines[side].set_visible(False)
    ax.set_xlim(-LEAD, len(shown) - 1 + LEAD)


def _lines(ax: Axes, ranked: FloatArray, marked: list[int], believed: np.ndarray) -> None:
    x = np.arange(ranked.shape[1])
    for m in range(len(ranked)):
        place = marked.index(m) if m in marked else -1
        color = canvas.COLORS[place % len(canvas.COLORS)] if place >= 0 else "#b0b0b0"
        marker = canvas.MARKERS[place % len(canvas.MARKERS)] if place >= 0 else "o"
        style = canvas.LINES[place % len(canvas.LINES)] if place >= 0 else "-"
        width, size, level = (1.8, 5.0, 3) if place >= 0 else (0.7, 2.6, 2)
        ax.plot(x, ranked[m], color=color, linewidth=width, linestyle=style, zorder=level)
        for part, face in ((believed, color), (~believed, "white")):
            ax.plot(x[part], ranked[m, part], marker, color=color, markerfacecolor=face, markersize=size,
                    markeredgewidth=0.9, zorder=level + 1)  # fmt: skip


def _ends(ax: Axes, ranked: FloatArray, names: list[str]) -> None:
    known = np.isfinite(ranked)
    rows = np.flatnonzero(known.any(axis=1))
    top, bottom = float(np.nanmin(ranked[rows])), float(np.nanmax(ranked[rows]))
    pad = max(0.6, 0.02 * (bottom - top))
    ax.set_ylim(bottom + pad, top - pad)
    first, last = known[rows].argmax(axis=1), ranked.shape[1] - 1 - known[rows, ::-1].argmax(axis=1)
    left, right = ranked[rows, first], ranked[rows, last]
    step = 0.98 * (bottom - top + 2 * pad) / max(len(rows), 1)
    twin = ax.secondary_yaxis("right")
    for axis, values, edge, starts in ((ax, left, -LEAD, first), (twin, right, ranked.shape[1] - 1 + LEAD, last)):
        places = _spread(values, step)
        pairs = [(names[m], f"{v:g}") for m, v in zip(rows, values, strict=True)]
        texts = ["  ".join(pair if axis is ax else pair[::-1]) for pair in pairs]
        axis.set_yticks(places, texts, parse_math=False)
        axis.tick_params(axis="y", length=0, labelsize=7, colors=canvas.INK)
        ax.plot(np.stack([np.full(len(rows), edge), starts]), np.stack([places, values]), color="#d0d0d0",
                linewidth=0.5, zorder=1)  # fmt: skip
    twin.spines["right"].set_visible(False)
    low, high = ax.get_ylim()
    every = np.concatenate([ax.get_yticks(), twin.get_yticks()])
    ax.set_ylim(max(low, every.max() + pad / 2), min(high, every.min() - pad / 2))


def _spread(places: FloatArray, step: float) -> FloatArray:
    """Return label positions in the order of `places`, at least `step` apart, centered on them."""
    order = np.argsort(places, kind="stable")
    out = places[order].astype(float)
    clusters: list[list[int]] = []
    for i in range(len(out)):
        clusters.append([i])
        while len(clusters) > 1 and _overlap(clusters[-2], clusters[-1], out, step):
            last = clusters.pop()
            clusters[-1] += last
    for cluster in clusters:
        out[cluster] = _laid(cluster, out, step)
    result = np.empty_like(out)
    result[order] = out
    return result


def _laid(cluster: list[int], places: FloatArray, step: float) -> FloatArray:
    center = places[cluster].mean()
    return np.asarray(center + (np.arange(len(cluster)) - (len(cluster) - 1) / 2) * step)


def _overlap(upper: list[int], lower: list[int], places: FloatArray, step: float) -> bool:
    return bool(_laid(lower, places, step)[0] - _laid(upper, places, step)[-1] < step - 1e-9)

"""Binned item curves: proportion correct by groups of like rest score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psychoeval.audit.curves import ItemCurves
from psychoeval.errors import NotComparableError
from psychoeval.plots import canvas
from psychoeval.wording import some

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3


def binned_curves(
    curves: ItemCurves, items: Sequence[str] | None = None, *, noun: str = "person", limit: int = 6
) -> Figure:
    """Draw the binned curves of a few items with their intervals.

    Parameters
    ----------
    curves : ItemCurves
    items : sequence of str, optional
        Ids; by default those whose curve falls most, then those that rise most.
    noun : {"person", "system"}
    limit : int
        Most items drawn by default.

    Raises
    ------
    NotComparableError
        If an item is unknown, or none has a curve.
    """
    chosen = _choose(curves, limit) if items is None else _find(curves, items)
    if not chosen:
        raise NotComparableError("No item has a curve: their scores do not vary.", "Name items= to draw them anyway.")
    rows = -(-len(chosen) // _COLUMNS)
    figure = canvas.new_figure(7.4, 0.9 + 2.1 * rows)
    axes = figure.subplots(rows, min(_COLUMNS, len(chosen)), sharex=True, sharey=True, squeeze=False).ravel()
    for ax, j in zip(axes, chosen, strict=False):
        _panel(ax, curves, j)
    for ax in axes[len(chosen) :]:
        ax.set_visible(False)
    for ax in axes[: len(chosen)]:
        ax.set_xlabel(f"group of {noun}s, weak to strong", fontsize=8)
        ax.tick_params(labelbottom=True)
    for ax in axes[::_COLUMNS]:
        ax.set_ylabel("proportion correct", fontsize=8)
    ties = "" if (curves.n_persons[chosen] > 0).all() else " Groups that ties left empty have no point."
    canvas.caption(
        figure,
        f"Points: mean scores of {curves.proportion.shape[1]} groups of {noun}s of like score on the other items, with "
        f"{curves.level:.0%} Wilson intervals.{ties} Orange: the curve falls; filled: beyond chance at a false "
        "discovery rate of 5% over all items.",
    )
    return figure


def _find(curves: ItemCurves, items: Sequence[str]) -> list[int]:
    place = {name: j for j, name in enumerate(curves.item_ids)}
    unknown = [name for name in items if name not in place]
    if unknown:
        raise NotComparableError(f"There is no item {some(unknown)}.", "Give ids of items in the data.")
    return [place[name] for name in items]


def _choose(curves: ItemCurves, limit: int) -> list[int]:
    order = np.argsort(curves.z, kind="stable")[: int(np.isfinite(curves.z).sum())]
    falling = order[curves.z[order] < 0][: max(limit // 2, 1)]
    rising = order[::-1][: limit - falling.size]
    return [*falling.tolist(), *(j for j in rising.tolist() if j not in falling)]


def _panel(ax: Axes, curves: ItemCurves, j: int) -> None:
    canvas.style_axes(ax, grid="y")
    there = np.flatnonzero(curves.n_persons[j] > 0)
    p, low, high = (values[j, there] for values in (curves.proportion, curves.low, curves.high))
    falls = bool(curves.decreasing[j])
    color = canvas.COLORS[1] if falls else canvas.COLORS[0]
    ax.errorbar(there + 1, p, yerr=(np.maximum(p - low, 0), np.maximum(high - p, 0)), color=color, linewidth=1.1,
                elinewidth=0.9, marker="o", markersize=4,
                markerfacecolor="white" if falls and not curves.clearly_decreasing[j] else color)  # fmt: skip
    ax.set_ylim(-0.04, 1.04)
    ax.set_xlim(0.5, curves.proportion.shape[1] + 0.5)
    canvas.whole_numbers(ax.xaxis)
    trend = "no trend" if np.isnan(curves.trend[j]) else f"trend {curves.trend[j]:+.2f}"
    canvas.heading(ax, f"{canvas.text(curves.item_ids[j], 26)}\n{trend}", size=8)

"""How item statistics move with other systems: values, their ranges, and correlations of whole samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychoeval.audit.resampling import Stability, TermStability
from psychoeval.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def stability(found: Stability) -> Figure:
    """Draw each item's range over samples by its value, and the samples' correlations with all persons.

    Parameters
    ----------
    found : Stability
    """
    figure = canvas.new_figure(7.4, 4.8)
    axes = figure.subplots(2, 2, height_ratios=(3, 2))
    terms = (("proportion correct", found.proportion_correct), ("rest correlation", found.item_rest_correlation))
    for column, (name, term) in enumerate(terms):
        _ranges(axes[0, column], name, term)
        _correlations(axes[1, column], name, term)
    canvas.caption(
        figure,
        f"Above: items by their value from all, lines from low to high over samples ({found.kind}). Below: "
        f"correlation, over items, of each sample with all. {found.notes[0]}",
    )
    return figure


def _ranges(ax: Axes, name: str, term: TermStability) -> None:
    canvas.style_axes(ax, grid="y")
    # A thousand lines on a thousand lines are a band: items in order need no more than one a pixel.
    order = np.argsort(term.full, kind="stable")
    order = order[np.isfinite(term.low[order]) & np.isfinite(term.full[order])]
    if order.size:
        order = order[np.unique(np.linspace(0, order.size - 1, min(order.size, 400)).astype(int))]
    x = np.arange(order.size)
    ax.vlines(x, term.low[order], term.high[order], color=canvas.PALE, linewidth=0.8)
    ax.plot(x, term.full[order], ".", color=canvas.COLORS[0], markersize=2.5)
    canvas.heading(ax, name)
    ax.set_xlabel("items in order", fontsize=8)
    ax.set_xticks([])


def _correlations(ax: Axes, name: str, term: TermStability) -> None:
    canvas.style_axes(ax, grid="y")
    known = term.correlation[np.isfinite(term.correlation)]
    if known.size:
        ax.hist(known, bins=min(30, max(5, known.size // 4)), color=canvas.COLORS[0])
    ax.set_xlabel(f"correlation of {name} with all", fontsize=8)
    ax.set_ylabel("samples", fontsize=8)
    canvas.whole_numbers(ax.yaxis)

"""Mean scores of systems with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychoeval.audit.system_means import SystemMeans
from psychoeval.plots import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def system_means(means: SystemMeans, *, noun: str = "person", limit: int = 50) -> Figure:
    """Draw mean scores with their intervals, best first.

    Parameters
    ----------
    means : SystemMeans
    noun : {"person", "system"}
    limit : int
        Most rows; of more persons every so-manieth in rank, best and worst among them.
    """
    order = np.argsort(-np.nan_to_num(means.mean, nan=-1.0), kind="stable")
    order = order[np.isfinite(means.mean[order])]
    total = order.size
    if total > limit:
        order = order[np.unique(np.linspace(0, total - 1, limit).round().astype(int))]
    figure = canvas.new_figure(7.4, 1.2 + 0.17 * max(order.size, 3))
    ax = figure.subplots()
    canvas.style_axes(ax)
    y = np.arange(order.size)
    ax.hlines(y, means.low[order], means.high[order], color=canvas.COLORS[0], linewidth=1.0)
    ax.plot(means.mean[order], y, "o", color=canvas.COLORS[0], markersize=3.6)
    ax.set_yticks(y, [canvas.text(means.person_ids[i], 44) for i in order], parse_math=False)
    ax.set_ylim(max(order.size, 1) - 0.4, -0.6)
    ax.set_xlim(*(min(max(v, -0.01), 1.01) for v in canvas.span(np.stack((means.low[order], means.high[order])))))
    ax.set_xlabel("mean score", fontsize=8)
    shown = f"{order.size} of {total} {noun}s, evenly by rank. " if order.size < total else ""
    unit = f"clusters of items ({means.cluster})" if means.cluster else "items"
    canvas.caption(figure, f"{shown}Bars: {means.level:.0%} intervals for a new sample of {unit}.")
    return figure

"""Scree plot with the line of parallel analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychoeval.audit.factors import ParallelAnalysis
from psychoeval.plots import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scree(found: ParallelAnalysis, *, limit: int = 15) -> Figure:
    """Draw the leading singular values of the residuals beside what margins alone give.

    Parameters
    ----------
    found : ParallelAnalysis
    limit : int
        Most values drawn.
    """
    n = min(limit, found.observed.size)
    x = np.arange(1, n + 1)
    figure = canvas.new_figure(5.6, 3.1)
    ax = figure.subplots()
    canvas.style_axes(ax, grid="y")
    observed, line = found.observed[:n], found.limit[:n]
    beyond = x < found.n_factors
    ax.plot(x, line, color=canvas.COLORS[1], linestyle="--", linewidth=1.2, label="95% quantile under the null")
    ax.plot(x, observed, color=canvas.COLORS[0], linewidth=1.1, label="observed")
    for which, face in ((beyond, canvas.COLORS[0]), (~beyond, "white")):
        ax.plot(x[which], observed[which], "o", color=canvas.COLORS[0], markerfacecolor=face, markersize=4.5)
    canvas.whole_numbers(ax.xaxis)
    ax.set_xlabel("factor beyond the general one", fontsize=8)
    ax.set_ylabel("singular value of residuals", fontsize=8)
    ax.legend(frameon=False, fontsize=8)
    many = found.n_factors - 1
    counted = "none is" if many == 0 else "1 is" if many == 1 else f"{many} are"
    canvas.caption(
        figure,
        f"Residuals after margins of persons and items and a slope of each item. Null: {found.replications} data sets "
        f"drawn from the margins at the observed mask, scaled to the observed sum of squares. Filled: counted as "
        f"factors ({counted}), up to the first below the line.",
    )
    return figure

"""Forest plot of paired differences between systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychoeval.audit.paired import PairComparisons
from psychoeval.plots import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pair_differences(pairs: PairComparisons, *, limit: int = 40, significance: float = 0.05) -> Figure:
    """Draw the difference of each pair with its interval, largest first; filled where it survives the correction.

    Parameters
    ----------
    pairs : PairComparisons
    limit : int
        Most pairs drawn: those of smallest adjusted p, then of largest difference.
    significance : float
        Of the adjusted p value.
    """
    p = np.nan_to_num(pairs.p_adjusted, nan=2.0)
    chosen = np.lexsort((-np.nan_to_num(np.abs(pairs.difference), nan=-1.0), p))[:limit]
    chosen = chosen[np.argsort(-np.nan_to_num(pairs.difference[chosen], nan=-2.0), kind="stable")]
    figure = canvas.new_figure(7.4, 1.3 + 0.19 * chosen.size)
    ax = figure.subplots()
    canvas.style_axes(ax)
    ax.axvline(0, color=canvas.GREY, linewidth=0.8)
    y = np.arange(chosen.size)
    ax.hlines(y, pairs.low[chosen], pairs.high[chosen], color=canvas.COLORS[0], linewidth=1.0)
    found = p[chosen] < significance
    for mask, face in ((found, canvas.COLORS[0]), (~found, "white")):
        ax.plot(
            pairs.difference[chosen][mask], y[mask], "o", color=canvas.COLORS[0], markerfacecolor=face, markersize=4
        )
    labels = [f"{canvas.text(pairs.first[k], 26)} - {canvas.text(pairs.second[k], 26)}" for k in chosen]
    ax.set_yticks(y, labels, parse_math=False)
    ax.set_ylim(chosen.size - 0.4, -0.6)
    ax.set_xlabel("difference in proportion correct", fontsize=8)
    kept = f"{chosen.size} of {len(pairs.first)} pairs, those of smallest p. " if chosen.size < len(pairs.first) else ""
    canvas.caption(
        figure,
        f"{kept}Bars: {pairs.level:.0%} intervals of each difference on its own. Filled: p below {significance:g} by "
        f"{pairs.test}, correction {pairs.correction}. {pairs.notes[0]}",
    )
    return figure

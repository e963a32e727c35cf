"""Intervals of ranks, with the letters of those that cannot be told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychoeval.plots import canvas
from psychoeval.trust.ranking import Ranking

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def rank_intervals(ranking: Ranking, *, noun: str = "person", limit: int = 60) -> Figure:
    """Draw each person's interval of ranks, the best first; thin the ranks that the tests of pairs leave possible.

    Parameters
    ----------
    ranking : Ranking
    noun : {"person", "system"}
    limit : int
        Most rows drawn, at evenly spaced ranks, first and last among them.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    EngineUnavailableError
        Without Matplotlib.
    """
    n = len(ranking.person_ids)
    order = np.argsort(ranking.rank, kind="stable")
    rows = canvas.spread_rows(order, limit)
    figure = canvas.new_figure(7.4, 1.7 + 0.165 * rows.size)
    ax = figure.subplots()
    canvas.style_axes(ax, grid="x")
    y = np.arange(rows.size)
    ax.hlines(y, ranking.tested_low[rows], ranking.tested_high[rows], color=canvas.PALE, linewidth=3.5)
    ax.hlines(y, ranking.low[rows], ranking.high[rows], color=canvas.COLORS[0], linewidth=1.6)
    ax.plot(ranking.rank[rows], y, "o", color=canvas.COLORS[0], markersize=3.5)
    ax.set_yticks(y, [_label(ranking, i) for i in rows], parse_math=False)
    ax.tick_params(axis="y", length=0, labelsize=7)
    ax.set_xlim(0.3, n + 0.7)
    ax.set_ylim(rows.size - 0.4, -0.6)
    ax.set_xlabel("rank (1 is the best)", fontsize=8)
    which = f"All {n} {noun}s" if rows.size == n else f"{rows.size} of {n} {noun}s, evenly spaced"
    letters = f"{noun.capitalize()}s that share a letter are not told apart. " if ranking.letters else ""
    canvas.caption(
        figure,
        f"{which}. Blue: {ranking.level:.0%} interval of each rank on its own, from {ranking.source}. Grey: ranks that "
        f"the tests of all pairs leave (correction: {ranking.correction}). {letters}"
        f"{ranking.uncertainty.capitalize()}.",
    )
    return figure


def _label(ranking: Ranking, i: int) -> str:
    letters = f"  {ranking.letters[i]}" if ranking.letters else ""
    return f"{canvas.text(ranking.person_ids[i], 40)}{letters}"

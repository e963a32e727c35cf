"""Heat map of the probability of each rank of each person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from psychoeval.irt.ranking import rank_counts
from psychoeval.plots import canvas
from psychoeval.plots.canvas import FloatArray
from psychoeval.results.draws import Draws

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Columns of the map; of more persons neighboring ranks share one.
MOST_COLUMNS: Final = 120


def rank_probabilities(draws: Draws, *, noun: str = "person", limit: int = 60) -> Figure:
    """Draw P(rank = r) of each person, one row a person, the best expected rank first.

    Ranks are taken in each draw, among all persons that were sampled, so that errors that persons share cancel;
    ties are put in random order.

    Parameters
    ----------
    draws : Draws
        With abilities.
    noun : {"person", "system"}
    limit : int
        Most rows drawn, at evenly spaced expected ranks, first and last among them.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotComparableError
        If a draw is not finite.
    DataError
        If there are no draws of abilities.
    EngineUnavailableError
        Without Matplotlib.
    """
    counts = rank_counts(draws.pooled("ability"), np.random.default_rng(0))
    n = len(counts)
    shares = counts / counts[0].sum()
    expected = shares @ np.arange(1, n + 1)
    order = np.argsort(expected, kind="stable")
    rows = canvas.spread_rows(order, limit)
    figure = canvas.new_figure(7.4, 1.7 + 0.165 * rows.size)
    ax = figure.subplots()
    _map(figure, ax, shares[rows], n)
    ax.plot(expected[rows], np.arange(rows.size), "|", color="#D55E00", markersize=6, markeredgewidth=1.1)
    labels = [f"{canvas.text(draws.person_ids[i], 30)}  {expected[i]:.1f}" for i in rows]
    ax.set_yticks(np.arange(rows.size), labels, parse_math=False)
    ax.tick_params(axis="y", length=0, labelsize=7)
    ax.set_xlabel("rank (1 is the best)", fontsize=8)
    first = int(np.argmax(shares[:, 0]))
    which = f"All {n} {noun}s" if rows.size == n else f"{rows.size} of {n} {noun}s, evenly spaced"
    canvas.caption(figure, f"{which}, by expected rank (number and orange bar), from {counts[0].sum():,} draws; ranks "
                   f"count all {n}. Most likely first: {canvas.text(draws.person_ids[first], 40)}, "
                   f"P(rank = 1) = {shares[first, 0]:.2f}.")  # fmt: skip
    return figure


def _map(figure: Figure, ax: Axes, shares: FloatArray, n: int) -> None:
    width = -(-n // MOST_COLUMNS)
    starts = np.arange(0, n, width)
    columns = np.add.reduceat(shares, starts, axis=1)
    canvas.style_axes(ax, grid="")
    # A power below 1 keeps small probabilities visible; edges are those of ranks, the last column may be narrower.
    edges = np.append(starts, n) + 0.5
    image = ax.pcolormesh(edges, np.arange(len(shares) + 1) - 0.5, np.sqrt(columns), cmap="Blues", vmin=0, vmax=1,
                          rasterized=True)  # fmt: skip
    ax.set_xlim(0.5, n + 0.5)
    ax.set_ylim(len(shares) - 0.5, -0.5)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ticks = np.array([0.01, 0.05, 0.2, 0.5, 1.0])
    bar = figure.colorbar(image, ax=ax, ticks=np.sqrt(ticks), shrink=min(1.0, 14 / len(shares)), aspect=18, pad=0.02)
    bar.ax.set_yticklabels([f"{t:g}" for t in ticks])
    bar.ax.tick_params(labelsize=7, length=2)
    ranks = "rank = r" if width == 1 else f"rank in a column of {width}"
    bar.set_label(f"P({ranks})", fontsize=8)

"""Mean rest correlation by bin of difficulty, of one or more data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psychoeval.audit.difficulty_bins import DifficultyBins
from psychoeval.errors import NotComparableError
from psychoeval.irt.intervals import wald_interval
from psychoeval.plots import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def difficulty_bins(data: Sequence[DifficultyBins]) -> Figure:
    """Draw mean rest correlations with 95% intervals over items, and the number of items, bin by bin.

    Parameters
    ----------
    data : sequence of DifficultyBins
        With the same edges.

    Raises
    ------
    NotComparableError
        Without data, or if the edges differ.
    """
    if not data or any(one.edges != data[0].edges for one in data):
        raise NotComparableError("There are no data sets with the same bins.", "Bin all by the same edges.")
    figure = canvas.new_figure(7.4, 4.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    labels = ("0", *data[0].labels, "1")
    width = 0.8 / len(data)
    for k, one in enumerate(data):
        color, marker = canvas.COLORS[k % len(canvas.COLORS)], canvas.MARKERS[k % len(canvas.MARKERS)]
        shift = (k - (len(data) - 1) / 2) * width
        low, high = wald_interval(one.mean, one.standard_error)
        # A single item has a mean and no interval.
        bars = np.nan_to_num(np.stack((one.mean - low, high - one.mean)))
        x = np.arange(1, len(labels) - 1) + shift * 0.4
        name = canvas.text(one.name, 40)
        above.errorbar(x, one.mean, yerr=bars, color=color, marker=marker, markersize=5, linewidth=1.1, label=name)
        counts = np.array([one.n_never, *one.n_items, one.n_always])
        below.bar(np.arange(len(labels)) + shift, counts, width * 0.92, color=color)
    for ax in (above, below):
        canvas.style_axes(ax, grid="y")
    above.axhline(0, color=canvas.GREY, linewidth=0.7)
    above.set_ylabel("mean rest correlation", fontsize=8)
    below.set_ylabel("items", fontsize=8)
    below.set_xticks(np.arange(len(labels)), labels)
    below.set_xlabel("proportion correct", fontsize=8)
    for written in above.legend(frameon=False, fontsize=8).get_texts():
        written.set_parse_math(False)
    shares = "; ".join(f"{canvas.text(one.name, 40)} {one.saturation:.0%}" for one in data)
    canvas.caption(
        figure,
        "Bars: 95% intervals over items, systems kept. Items at exactly 0 or 1 have no correlation. Saturation, items "
        f"with a proportion correct of .8 or more: {shares}.",
    )
    return figure

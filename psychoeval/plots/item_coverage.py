"""Systems above, items below, on one axis: where no items face a system, little is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from psychoeval.plots import canvas
from psychoeval.responses.cells import counted
from psychoeval.trust.item_coverage import ItemCoverage
from psychoeval.trust.thresholds import FEW_ITEMS, NEAR
from psychoeval.wording import some

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Items further than this from every system, in latent SDs, are off the axis and counted in the caption.
_REACH: Final = 2.0
_MOST_BINS: Final = 200


def item_coverage(coverage: ItemCoverage, *, noun: str = "person") -> Figure:
    """Draw abilities above the axis and difficulties below it (a Wright map), systems with few items near marked.

    Parameters
    ----------
    coverage : ItemCoverage
        From `psychoeval.trust.item_coverage.item_coverage`, or `Conditions.item_coverage`.
    noun : {"person", "system"}

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    EngineUnavailableError
        Without Matplotlib.
    """
    figure = canvas.new_figure(7.4, 4.4)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1))
    edges = _edges(coverage)
    few, finite = coverage.insufficient, np.isfinite(coverage.ability)
    center, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    bottom = np.zeros(center.size)
    for which, words, color, hatch in (
        (finite & ~few, f"more than {FEW_ITEMS.value:g} items near", canvas.COLORS[0], ""),
        (finite & few, f"at most {FEW_ITEMS.value:g} items near", canvas.COLORS[1], "////"),
    ):
        if which.any():
            height = np.histogram(coverage.ability[which], edges)[0]
            above.bar(center, height, width, bottom, color=color, edgecolor="white", linewidth=0.4, hatch=hatch,
                      label=words)  # fmt: skip
            bottom += height
    difficulty = coverage.difficulty[np.isfinite(coverage.difficulty)]
    below.bar(center, np.histogram(difficulty, edges)[0], width, color=canvas.GREY, edgecolor="white", linewidth=0.4)
    below.invert_yaxis()
    _style(above, below, noun)
    off = int(np.count_nonzero((difficulty < edges[0]) | (difficulty > edges[-1])))
    canvas.caption(figure, _words(coverage, noun, off))
    return figure


def _edges(coverage: ItemCoverage) -> canvas.FloatArray:
    """Return edges of bins over all abilities and over difficulties not far from them, one window wide if they can."""
    ability = coverage.ability[np.isfinite(coverage.ability)]
    difficulty = coverage.difficulty[np.isfinite(coverage.difficulty)]
    if not ability.size:
        ability = difficulty if difficulty.size else np.zeros(1)
    reach = _REACH * coverage.latent_sd
    shown = np.clip(difficulty, ability.min() - reach, ability.max() + reach)
    both = np.concatenate([ability, shown])
    width = max(coverage.window, float(np.ptp(both)) / _MOST_BINS) or 1.0
    first, last = np.floor(both.min() / width), np.floor(both.max() / width) + 1
    return np.arange(first, last + 1) * width


def _style(above: Axes, below: Axes, noun: str) -> None:
    for ax, what in ((above, f"{noun}s"), (below, "items")):
        canvas.style_axes(ax, grid="y")
        canvas.whole_numbers(ax.yaxis)
        ax.set_ylabel(what, fontsize=8)
    above.spines["bottom"].set_visible(False)
    above.tick_params(axis="x", length=0, labelbottom=False)
    below.spines["bottom"].set_visible(False)
    below.spines["top"].set_visible(True)
    below.spines["top"].set_color(canvas.GREY)
    below.set_xlabel("ability, and difficulty of items, in logits", fontsize=8)
    if above.patches:
        above.legend(frameon=False, fontsize=7.5, loc="best")


def _words(coverage: ItemCoverage, noun: str, off: int) -> str:
    """Say what is drawn, who is marked, and what is not drawn."""
    few, known = coverage.insufficient, coverage.known
    names = [name for name, bad in zip(coverage.person_ids, few, strict=True) if bad]
    infinite = int(np.count_nonzero(np.isinf(coverage.ability)))
    without = int(np.count_nonzero(np.isnan(coverage.difficulty)))
    words = (
        f"{coverage.label}. Hatched: {len(names)} of {counted(int(known.sum()), noun)} have at most "
        f"{FEW_ITEMS.value:g} of their items within {coverage.window:.3g} logits of their ability, {NEAR.value:g} "
        f"times the SD {coverage.sd_source}{': ' if names else ''}{some(names)}."
    )
    left_out = [
        f"{counted(infinite, noun)} with an infinite ability" * bool(infinite),
        f"{counted(without, 'item')} without a difficulty (constant, or never run)" * bool(without),
        f"{counted(off, 'item')} beyond the axis" * bool(off),
    ]
    return f"{words} Not drawn: {', '.join(filter(None, left_out))}." if any(left_out) else words

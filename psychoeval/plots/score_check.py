"""Posterior predictive check of the distribution of raw scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import NotComparableError
from psychoeval.plots import canvas
from psychoeval.plots.canvas import FloatArray
from psychoeval.results.draws import Draws

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BINS: Final = 30


def score_check(draws: Draws, *, noun: str = "person") -> Figure:
    """Draw the observed distribution of raw scores over what the fitted model gives when data are drawn from it.

    Left, persons in each group of scores: observed, and median, 50% and 90% intervals of the replications. Right, the
    SD of the scores. A model that fits gives its own data again, and more besides: agreement here is necessary, not
    sufficient.

    Parameters
    ----------
    draws : Draws
        With `replicated_scores` and `observed_scores`.
    noun : {"person", "system"}

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotComparableError
        If the draws hold no replicated or observed scores.
    EngineUnavailableError
        Without Matplotlib.
    """
    if draws.replicated_scores is None or draws.observed_scores is None:
        raise NotComparableError("The draws hold no replicated scores.", "Sample with replicated scores.")
    replicated = draws.replicated_scores.reshape(-1, len(draws.person_ids))
    edges = _edges(replicated, draws.observed_scores)
    observed, counts = np.histogram(draws.observed_scores, edges)[0], _counts(replicated, edges)
    figure = canvas.new_figure(7.4, 3.3)
    left, right = figure.subplots(1, 2, width_ratios=[2.2, 1])
    inside = _distribution(left, observed, counts, edges, noun)
    share = _spread(right, replicated.std(axis=1), float(draws.observed_scores.std()))
    canvas.caption(figure, f"{len(replicated):,} replications of the same {len(draws.person_ids)} {noun}s on the items "
                   f"they took. {inside} of {observed.size} observed counts lie in their 90% interval. The SD of the "
                   f"scores is larger than observed in {100 * share:.0f}% of the replications.")  # fmt: skip
    return figure


def _edges(replicated: NDArray[np.generic], observed: NDArray[np.generic]) -> FloatArray:
    """Return edges between whole scores, groups of equal width that hold all."""
    low = int(min(replicated.min(), observed.min()))
    high = int(max(replicated.max(), observed.max()))
    width = -(-(high - low + 1) // MOST_BINS)
    return np.arange(low, high + 1 + width, width, dtype=np.float64) - 0.5


def _counts(replicated: NDArray[np.generic], edges: FloatArray) -> FloatArray:
    """Return persons in each bin of each replication, (D, B); `replicated` is (D, N)."""
    bins = edges.size - 1
    place = np.searchsorted(edges, replicated, side="right") - 1
    place += bins * np.arange(len(replicated))[:, None]
    return np.bincount(place.ravel(), minlength=bins * len(replicated)).reshape(-1, bins).astype(np.float64)


def _distribution(ax: Axes, observed: NDArray[np.int_], counts: FloatArray, edges: FloatArray, noun: str) -> int:
    canvas.style_axes(ax, grid="y")
    low, first, middle, third, high = np.quantile(counts, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    for bottom, top, color, label in ((low, high, "#cfe3f1", "90% of replications"), (first, third, "#8fbfe0", "50%")):
        ax.stairs(top, edges, baseline=bottom, fill=True, color=color, label=label)
    ax.stairs(middle, edges, baseline=None, color=canvas.COLORS[0], linewidth=1.0, label="median")
    centers = (edges[:-1] + edges[1:]) / 2
    inside = (observed >= low) & (observed <= high)
    ax.plot(centers[inside], observed[inside], "o", color=canvas.INK, markersize=3.5, label="observed")
    if not inside.all():
        ax.plot(centers[~inside], observed[~inside], "D", color="#D55E00", markersize=4.5, label="observed, outside")
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, 1.08 * max(observed.max(), high.max()))
    canvas.whole_numbers(ax.xaxis, ax.yaxis)
    ax.set_xlabel("raw score", fontsize=8)
    width = edges[1] - edges[0]
    ax.set_ylabel(f"{noun}s" if width == 1 else f"{noun}s in {width:.0f} scores", fontsize=8)
    ax.legend(frameon=False, fontsize=7, loc="best")
    return int(inside.sum())


def _spread(ax: Axes, replicated: FloatArray, observed: float) -> float:
    canvas.style_axes(ax, grid="")
    ax.hist(replicated, bins=30, color="#8fbfe0")
    ax.axvline(observed, color=canvas.INK, linewidth=1.4)
    ax.set_xlim(*canvas.span(np.append(replicated, observed)))
    ax.set_xlabel("SD of the scores (line: observed)", fontsize=8)
    ax.set_ylabel("replications", fontsize=8)
    return float((replicated > observed).mean())

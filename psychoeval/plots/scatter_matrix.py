"""The frame of the scatter matrices: every fit against every other, one parameter on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import kendalltau

from psychoeval.agreement.ranks import tied_groups
from psychoeval.errors import NotComparableError
from psychoeval.plots import by_id, canvas
from psychoeval.plots.canvas import FloatArray, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More panels than 8 x 8 cannot be read on a page.
MOST_FITS = 8
#: Beyond this many points a vector picture grows large: they are drawn as pixels in it.
MANY_POINTS = 150
#: An axis that outliers of a believed fit stretch is cut at this many interquartile ranges beyond the quartiles.
FENCE = 6.0


def draw(table: by_id.SideBySide, shown: list[Look], what: str, noun: str) -> Figure:
    """Draw the matrix: points below the diagonal, correlation and Kendall's tau-b above it.

    Parameters
    ----------
    table : SideBySide
        On one scale, aligned.
    shown : list of Look
        Of the fits of the table.
    what, noun : str
        The quantity with its unit, and what one point is.

    Raises
    ------
    NotComparableError
        For fewer than two fits.
    """
    order = np.argsort(~table.believed, kind="stable")[:MOST_FITS]
    size = order.size
    if size < 2:
        raise NotComparableError(f"There is one fit with {what}; a scatter matrix needs two.", "Fit a second one.")
    side = min(7.4, 1.9 * size + 0.8)
    figure = canvas.new_figure(side, side + 0.5)
    axes = figure.subplots(size, size, squeeze=False)
    limits = _limits(table.values[:, order], table.believed[order])
    outside = 0
    for i, k in enumerate(order):
        for j, m in enumerate(order):
            ax = axes[i, j]
            ax.tick_params(labelsize=6.5, length=2, colors=canvas.INK)
            if i == j:
                _name(ax, shown[k])
            elif i > j:
                outside += _points(ax, table.values[:, m], table.values[:, k], limits, shown[k], shown[m])
            else:
                _numbers(ax, table.values[:, m], table.values[:, k])
            _edges(ax, i, j, size)
    words = f"{what}; each point is {noun}; the line is equality. Above the diagonal: Pearson's r, Kendall's tau-b and the number of points. Hollow and grey: a fit of the pair is not believed."  # noqa: E501
    if outside:
        words += f" Beyond the axes, at the edge as triangles, and counted by r and tau: {outside}."
    if len(table.fits) > size:
        words += f" {size} of {len(table.fits)} fits are shown, believed ones first."
    canvas.caption(figure, words[0].upper() + words[1:])
    return figure


def _limits(values: FloatArray, believed: np.ndarray) -> tuple[float, float]:
    trusted = values[:, believed] if believed.any() else values
    finite = trusted[np.isfinite(trusted)]
    if not finite.size:
        return -1.0, 1.0
    q1, q3 = np.quantile(finite, [0.25, 0.75])
    fence = FENCE * (q3 - q1) or np.inf
    return canvas.span(finite[(finite >= q1 - fence) & (finite <= q3 + fence)])


def _name(ax: Axes, look: Look) -> None:
    import textwrap

    ax.set_facecolor("#f4f4f4")
    ax.plot(0.5, 0.82, look.marker, color=look.color, markerfacecolor=look.face, markersize=6, transform=ax.transAxes)
    ax.text(0.5, 0.68, textwrap.fill(look.label, 15), ha="center", va="top", fontsize=7, color=canvas.INK,
            transform=ax.transAxes, parse_math=False)  # fmt: skip


def _points(ax: Axes, x: FloatArray, y: FloatArray, limits: tuple[float, float], row: Look, column: Look) -> int:
    low, high = limits
    ax.plot(limits, limits, color=canvas.GREY, linewidth=0.7, zorder=1)
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    inside = (x >= low) & (x <= high) & (y >= low) & (y <= high)
    trusted = row.believed and column.believed
    color = "#0072B2" if trusted else canvas.GREY
    size = 3.2 if x.size <= 60 else 2.2
    ax.plot(x[inside], y[inside], "o", color=color, markerfacecolor=color if trusted else "white", markersize=size,
            markeredgewidth=0.6, alpha=0.65, rasterized=x.size > MANY_POINTS)  # fmt: skip
    canvas.edge_marks(ax, np.clip(x[~inside], low, high), np.clip(y[~inside], low, high), "^", size=3.5)
    ax.set_xlim(low, high)
    ax.set_ylim(low, high)
    return int(np.count_nonzero(~inside))


def _numbers(ax: Axes, x: FloatArray, y: FloatArray) -> None:
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    lines = [f"n = {x.size}"]
    if x.size > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
        tau = float(kendalltau(tied_groups(x), tied_groups(y)).statistic)
        lines = [f"r = {np.corrcoef(x, y)[0, 1]:.3f}", f"tau = {tau:.3f}", *lines]
    ax.text(0.5, 0.5, "\n".join(lines), ha="center", va="center", fontsize=7.5, color=canvas.INK,
            transform=ax.transAxes)  # fmt: skip


def _edges(ax: Axes, row: int, column: int, size: int) -> None:
    for spine in ax.spines.values():
        spine.set_color("#bdbdbd")
    if row <= column:
        ax.set_xticks([])
        ax.set_yticks([])
        return
    if row < size - 1:
        ax.tick_params(labelbottom=False)
    if column > 0:
        ax.tick_params(labelleft=False)

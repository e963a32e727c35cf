"""The difficulty-discrimination plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psychoeval.errors import NotComparableError
from psychoeval.plots import canvas
from psychoeval.plots.by_id import informed
from psychoeval.plots.canvas import FloatArray, Look
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3
#: Interval bars of more items than this hide the points.
BARS_UP_TO = 40
#: A slope beyond this is a runaway (the check of the fit says so): it does not set the axis.
RUNAWAY = 10.0


def item_plane(fits: Sequence[FitResult], *, names: Sequence[str] | None = None) -> Figure:
    """Draw every item by difficulty and discrimination, one panel a fit.

    Fits with one common slope have no plane and are left out, and named. Classical statistics have a panel of their
    own axes: proportion correct (reversed, so that hard is right as elsewhere) and item-rest correlation.

    Parameters
    ----------
    fits : sequence of FitResult
    names : sequence of str, optional
        What to call the fits; by default their labels.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotComparableError
        If no fit has slopes that differ between items, nor classical statistics.
    EngineUnavailableError
        Without Matplotlib.
    """
    planes = [f for f in fits if _has_plane(f)]
    classical = [f for f in fits if _has_classical_plane(f) and not _has_plane(f)]
    shown = canvas.looks(fits, names)
    panels = [*planes, *classical]
    if not panels:
        raise NotComparableError("No fit has slopes that differ between items.", "Fit a 2PL, or ctt.")
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = canvas.new_figure(7.4 if columns > 1 else 4.4, 0.9 + 2.5 * rows)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    limits = _limits(planes)
    outside = 0
    for ax, fit in zip(axes, panels, strict=False):
        canvas.style_axes(ax, grid="both")
        canvas.heading(ax, _wrapped(shown[id(fit)].label), size=8)
        if not _has_plane(fit):
            _classical(ax, fit, shown[id(fit)])
        else:
            outside += _plane(ax, fit, shown[id(fit)], limits)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    words = "Each point is an item. Items the data say nothing about (constant, never run) are not drawn. Hollow and grey: not believed."  # noqa: E501
    if outside:
        words += f" Beyond the axes, at the edge as triangles: {outside}."
    common = [shown[id(f)].name for f in fits if f.item_parameters is not None and not _has_plane(f)]
    if common:
        words += f" Without a panel, because all items have one slope: {', '.join(common)}."
    if any(f.item_parameters and f.item_parameters.n_items > BARS_UP_TO for f in planes):
        words += f" Intervals are drawn for up to {BARS_UP_TO} items; all are in the item tables."
    canvas.caption(figure, words)
    return figure


def _has_plane(fit: FitResult) -> bool:
    if fit.item_parameters is None:
        return False
    a = fit.item_parameters.discrimination[informed(fit.item_parameters)]
    return bool(a.size > 1 and np.ptp(a) > 1e-9)


def _has_classical_plane(fit: FitResult) -> bool:
    s = fit.item_statistics
    return s is not None and bool(np.any(np.isfinite(s.proportion_correct) & np.isfinite(s.item_rest_correlation)))


def _limits(planes: Sequence[FitResult]) -> tuple[tuple[float, float], tuple[float, float]]:
    trusted = [f for f in planes if f.convergence.believed] or list(planes)
    b: list[FloatArray] = [np.empty(0)]
    a: list[FloatArray] = [np.empty(0)]
    for fit in trusted:
        p = fit.item_parameters
        assert p is not None
        steady = (
            informed(p) & p.difficulty_is_stable & (np.abs(p.discrimination) <= RUNAWAY) & np.isfinite(p.difficulty)
        )
        b.append(p.difficulty[steady])
        a.append(p.discrimination[steady])
    horizontal, vertical = np.concatenate(b), np.concatenate(a)
    if horizontal.size > 20:
        low, high = np.quantile(horizontal, [0.01, 0.99])
        horizontal = horizontal[(horizontal >= low) & (horizontal <= high)]
    few = 0.3 if horizontal.size <= BARS_UP_TO else 0.05  # room for the interval bars
    return canvas.span(horizontal, few), canvas.span(np.append(vertical, 0.0), few)


def _plane(ax: Axes, fit: FitResult, look: Look, limits: tuple[tuple[float, float], tuple[float, float]]) -> int:
    p = fit.item_parameters
    assert p is not None
    known = informed(p) & np.isfinite(p.difficulty)
    b, a = p.difficulty[known], p.discrimination[known]
    (left, right), (bottom, top) = limits
    inside = (b >= left) & (b <= right) & (a >= bottom) & (a <= top)
    if p.standard_errors is not None and known.sum() <= BARS_UP_TO:
        bar = 1.96 * np.array([p.standard_errors[t][known] for t in ("difficulty", "discrimination")])
        ax.hlines(a[inside], (b - bar[0])[inside], (b + bar[0])[inside], color=look.color, linewidth=0.6, alpha=0.6)
        ax.vlines(b[inside], (a - bar[1])[inside], (a + bar[1])[inside], color=look.color, linewidth=0.6, alpha=0.6)
    ax.plot(b[inside], a[inside], look.marker, color=look.color, markerfacecolor=look.face, markersize=3.2,
            markeredgewidth=0.7, alpha=0.75, rasterized=b.size > 300)  # fmt: skip
    canvas.edge_marks(ax, np.clip(b[~inside], left, right), np.clip(a[~inside], bottom, top), "^")
    ax.axhline(0.0, color=canvas.GREY, linewidth=0.7)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_xlabel("difficulty b (logits)", fontsize=8)
    ax.set_ylabel("discrimination a", fontsize=8)
    return int(np.count_nonzero(~inside))


def _classical(ax: Axes, fit: FitResult, look: Look) -> None:
    s = fit.item_statistics
    assert s is not None
    ax.plot(s.proportion_correct, s.item_rest_correlation, look.marker, color=look.color, markerfacecolor=look.face,
            markersize=3.2, markeredgewidth=0.7, alpha=0.75, rasterized=len(s.item_ids) > 300)  # fmt: skip
    ax.axhline(0.0, color=canvas.GREY, linewidth=0.7)
    ax.set_xlim(1.03, -0.03)
    ax.set_xlabel("proportion correct (hard to the right)", fontsize=8)
    ax.set_ylabel("item-rest correlation", fontsize=8)


def _wrapped(words: str) -> str:
    import textwrap

    return textwrap.fill(words, 34)

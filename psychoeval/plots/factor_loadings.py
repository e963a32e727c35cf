"""Loadings of the leading factors: all items on the first two, and the items that load most on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psychoeval.audit.clusters import ItemClusters
from psychoeval.audit.factors import Factors
from psychoeval.errors import NotComparableError
from psychoeval.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_FACTORS = 6


def factor_loadings(factors: Factors, clusters: ItemClusters | None = None, *, top: int = 6) -> Figure:
    """Draw items on the first two factors, by cluster, beside a table of the items that load most on each factor.

    Parameters
    ----------
    factors : Factors
        Two or more.
    clusters : ItemClusters, optional
        Colors and marks the items.
    top : int
        Items of each factor in the table.

    Raises
    ------
    NotComparableError
        With a single factor.
    """
    k = factors.loadings.shape[1]
    if k < 2:
        raise NotComparableError("There is one factor: its loadings are in the table.", "Two can be drawn in a plane.")
    rows = _top(factors, min(k, _MOST_FACTORS), top)
    figure = canvas.new_figure(7.4, max(3.6, 1.5 + 0.17 * rows.size))
    plane, table = figure.subplots(1, 2, width_ratios=(1.35, 1))
    _plane(plane, factors, clusters)
    _table(table, factors, rows)
    what = "correlations of items with factors" if factors.method == "svd" else "slopes of the logit"
    marked = "" if clusters is None else f" Color and mark: cluster (silhouette {clusters.silhouette:.2f})."
    shown = f" The first {_MOST_FACTORS} of {k} factors." if k > _MOST_FACTORS else ""
    canvas.caption(
        figure,
        f"Loadings are {what}, rotation {factors.rotation}.{marked} Right: the {top} items that load most on each "
        f"factor.{shown}",
    )
    return figure


def _top(factors: Factors, columns: int, top: int) -> NDArray[np.intp]:
    size = np.nan_to_num(np.abs(factors.loadings[:, :columns]), nan=-1.0)
    chosen = [j for c in range(columns) for j in np.argsort(-size[:, c], kind="stable")[:top].tolist()]
    return np.array(list(dict.fromkeys(j for j in chosen if size[j].max() >= 0)), dtype=np.intp)


def _plane(ax: Axes, factors: Factors, clusters: ItemClusters | None) -> None:
    canvas.style_axes(ax, grid="")
    ax.axhline(0, color=canvas.PALE, linewidth=0.8)
    ax.axvline(0, color=canvas.PALE, linewidth=0.8)
    known = np.isfinite(factors.loadings).all(axis=1)
    group = np.where(known, 0, -1) if clusters is None else clusters.cluster
    size = 3.2 if known.sum() < 800 else 1.8
    for c in range(int(group.max(initial=-1)) + 1):
        x, y = factors.loadings[group == c, 0], factors.loadings[group == c, 1]
        color, marker = canvas.COLORS[c % len(canvas.COLORS)], canvas.MARKERS[c % len(canvas.MARKERS)]
        ax.plot(x, y, marker, color=color, markersize=size, markeredgewidth=0, alpha=0.7,
                label=f"cluster {c + 1} ({x.size})")  # fmt: skip
    ax.set_xlabel("factor 1", fontsize=8)
    ax.set_ylabel("factor 2", fontsize=8)
    if clusters is not None:
        ax.legend(frameon=False, fontsize=7, markerscale=1.6, loc="lower left", bbox_to_anchor=(0, 1), ncols=2,
                  borderpad=0, handletextpad=0.2)  # fmt: skip


def _table(ax: Axes, factors: Factors, rows: NDArray[np.intp]) -> None:
    columns = min(factors.loadings.shape[1], _MOST_FACTORS)
    values = factors.loadings[rows, :columns]
    reach = float(np.abs(values).max(initial=1e-12))
    ax.imshow(values, cmap="RdBu", vmin=-reach, vmax=reach, aspect="auto")
    labels = [canvas.text(factors.item_ids[j], 26) for j in rows.tolist()]
    ax.set_yticks(np.arange(rows.size), labels, fontsize=7, parse_math=False)
    ax.set_xticks(np.arange(columns), [str(c + 1) for c in range(columns)], fontsize=7.5)
    ax.set_xlabel("factor", fontsize=8)
    ax.tick_params(length=0)
    for i, row in enumerate(values):
        for c, value in enumerate(row.tolist()):
            dark = abs(value) > 0.6 * reach
            ax.text(c, i, f"{value:.2f}", ha="center", va="center", fontsize=6.5, color="white" if dark else canvas.INK)

"""Public against held-out items, system by system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychoeval.audit.drift import Drift
from psychoeval.plots import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drift(found: Drift, *, noun: str = "system", limit: int = 50, significance: float = 0.05) -> Figure:
    """Draw each system's drift with its interval, largest first; filled where it survives the correction.

    Parameters
    ----------
    found : Drift
    noun : str
        What a row is.
    limit : int
        Most systems drawn: those of smallest adjusted p, then of largest drift.
    significance : float
        Of the adjusted p value.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    EngineUnavailableError
        Without Matplotlib.
    """
    p = np.nan_to_num(found.p_adjusted, nan=2.0)
    order = np.lexsort((-np.nan_to_num(found.drift, nan=-2.0), p))
    order = order[np.isfinite(found.drift[order])]
    chosen = order[:limit]
    chosen = chosen[np.argsort(-found.drift[chosen], kind="stable")]
    figure = canvas.new_figure(7.4, 1.5 + 0.19 * max(chosen.size, 3))
    ax = figure.subplots()
    canvas.style_axes(ax)
    ax.axvline(0, color=canvas.GREY, linewidth=0.8)
    y = np.arange(chosen.size)
    ax.hlines(y, found.low[chosen], found.high[chosen], color=canvas.COLORS[0], linewidth=1.0)
    signal = p[chosen] < significance
    for mask, color, face in ((~signal, canvas.COLORS[0], "white"), (signal, canvas.COLORS[1], canvas.COLORS[1])):
        ax.plot(found.drift[chosen][mask], y[mask], "o", color=color, markerfacecolor=face, markersize=4)
    ax.set_yticks(y, [canvas.text(found.person_ids[i], 44) for i in chosen], parse_math=False)
    ax.set_ylim(max(chosen.size, 1) - 0.4, -0.6)
    ax.set_xlabel(f"public less held-out score, beyond that of other {noun}s", fontsize=8)
    kept = f"{chosen.size} of {order.size} {noun}s, those of smallest p. " if chosen.size < order.size else ""
    together = f"all {found.n_tested} together" if found.simultaneous else "each on its own"
    canvas.caption(
        figure,
        f"{kept}Bars: {found.level:.0%} intervals, {together}. Filled: p ({found.alternative}) below {significance:g}, "
        f"correction {found.correction}, {found.n_tested} tests. {found.notes[2]}",
    )
    return figure

"""Ranks of the best persons by every fit, with the ranks that its claims leave open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psychoeval.errors import NotComparableError
from psychoeval.plots import canvas
from psychoeval.plots.canvas import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psychoeval.agreement.inference_result import InferenceAgreement


def rank_claims(
    found: InferenceAgreement, *, names: Sequence[str] | None = None, noun: str = "", limit: int = 20
) -> Figure:
    """Draw the rank of each of the best persons by every fit, and the ranks that its claims leave open.

    A bar reaches from 1 + the persons claimed to be above to N less those claimed to be below. Where two fits have
    equal bars and markers at one place, they conclude the same; bars that do not meet imply opposite claims.

    Parameters
    ----------
    found : InferenceAgreement
        From `psychoeval.agreement.inference.compare_inference`.
    names : sequence of str, optional
        All fits in the order of other pictures, so that each keeps its color; by default those that were compared.
    noun : str, optional
        What a person is called; by default as in `found`.
    limit : int
        Most rows drawn: the best by mean rank.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotComparableError
        If the persons fall into components: no ranks stand on one axis.
    EngineUnavailableError
        Without Matplotlib.
    """
    noun = noun or found.noun
    if not found.is_connected:
        raise NotComparableError(
            f"The {noun}s fall into components that share no response, so no ranks stand on one axis.",
            "Draw the fits of each component alone.",
        )
    known = np.isfinite(found.ranks)
    mean = np.where(known, found.ranks, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    order = np.argsort(np.where(known.any(axis=1), mean, np.inf), kind="stable")
    rows = order[: min(limit, int(known.any(axis=1).sum()))]
    shown = [_look(name, k) for name, k in _places(found.names, names)]
    figure = canvas.new_figure(7.4, 1.6 + rows.size * (0.13 + 0.075 * len(shown)))
    ax = figure.subplots()
    _draw(ax, found, rows, shown)
    labels = [canvas.text(found.person_ids[i], 36) for i in rows]
    ax.set_yticks(np.arange(rows.size), labels, parse_math=False)
    ax.set_ylim(rows.size - 0.4, -0.6)
    ax.set_xlabel("rank (1 is the best)", fontsize=8)
    canvas.whole_numbers(ax.xaxis)
    canvas.legend(figure, shown)
    total = len(found.person_ids)
    which = f"All {total} {noun}s" if rows.size == total else f"The best {rows.size} of {total} {noun}s"
    canvas.caption(figure, f"{which}, by mean rank over the believed fits. Marker: the rank, ties at their mean rank. "
                   f"Bar: the ranks left open by what the fit claims about pairs of {noun}s (level {found.level:g}, "
                   f"correction: {found.correction}); none where it gives no errors.")  # fmt: skip
    return figure


def _places(compared: Sequence[str], names: Sequence[str] | None) -> list[tuple[str, int]]:
    every = list(names or compared)
    every += [n for n in compared if n not in every]
    return [(n, every.index(n)) for n in compared]


def _look(name: str, k: int) -> Look:
    text = canvas.text(name, 60)
    color, marker = canvas.COLORS[k % len(canvas.COLORS)], canvas.MARKERS[k % len(canvas.MARKERS)]
    return Look(text, text, text, color, marker, "-", True)


def _draw(ax: Axes, found: InferenceAgreement, rows: np.ndarray, shown: Sequence[Look]) -> None:
    canvas.style_axes(ax)
    offsets = (np.arange(len(shown)) - (len(shown) - 1) / 2) * min(0.8 / len(shown), 0.2)
    for k, (look, offset) in enumerate(zip(shown, offsets, strict=True)):
        y = np.arange(rows.size) + offset
        ax.hlines(y, found.low[rows, k], found.high[rows, k], color=look.color, linewidth=2.0, alpha=0.45)
        ax.plot(found.ranks[rows, k], y, look.marker, color=look.color, markersize=3.6)
    low, high = 0.5, ax.get_xlim()[1]  # there is no rank 0
    ax.hlines(np.arange(rows.size - 1) + 0.5, low, high, color="#ececec", linewidth=0.5, zorder=0)
    ax.set_xlim(low, high)

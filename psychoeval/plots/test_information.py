"""The information of a test above, the standard error that it implies below, on one axis of abilities."""

# ruff: noqa: PT028 (the test is one of ability)

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from psychoeval.plots import canvas
from psychoeval.scoring import TestInformation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Standard errors are drawn up to this many thresholds, so that the tails do not flatten the middle.
_HIGHEST: Final = 4.0


def test_information(
    found: TestInformation,
    *,
    abilities: canvas.FloatArray | None = None,
    noun: str = "person",
) -> Figure:
    """Draw information and standard error against ability; where the error is below the threshold is shaded.

    Parameters
    ----------
    found : TestInformation
        From `psychoeval.scoring.test_information`.
    abilities : (N,) array, optional
        Of persons: a tick each at the bottom, those on the axis.
    noun : {"person", "system"}

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    EngineUnavailableError
        Without Matplotlib.
    """
    figure = canvas.new_figure(7.4, 4.8)
    above, below = figure.subplots(2, 1, sharex=True)
    order = np.argsort(found.ability, kind="stable")
    theta = found.ability[order]
    for ax in (above, below):
        canvas.style_axes(ax, grid="y")
        _shade(ax, found, theta)
    marker = "o" if theta.size == 1 else ""
    above.plot(theta, found.information[order], color=canvas.COLORS[0], linewidth=1.6, marker=marker)
    above.set_ylim(0.0, 1.08 * max(float(found.information.max()), np.finfo(float).tiny))
    above.set_ylabel("information", fontsize=8)
    error, highest = found.standard_error[order], _HIGHEST * found.threshold
    below.plot(theta, np.where(error <= highest, error, np.nan), color=canvas.COLORS[0], linewidth=1.6, marker=marker)
    below.axhline(found.threshold, color=canvas.COLORS[1], linewidth=1.0, linestyle="--")
    finite = error[error <= highest]
    below.set_ylim(0.0, 1.08 * max(float(finite.max(initial=0.0)), found.threshold))
    below.set_ylabel("standard error, in logits", fontsize=8)
    below.set_xlabel("ability, in logits", fontsize=8)
    if theta.size > 1:
        below.set_xlim(theta[0], theta[-1])
    ticks = _ticks(below, abilities, noun)
    canvas.caption(figure, _words(found, theta, bool((error > highest).any()), ticks))
    return figure


def _shade(ax: Axes, found: TestInformation, theta: canvas.FloatArray) -> None:
    """Shade the abilities that are measured well enough, as far as they are on the axis."""
    for low, high in found.below:
        if high > theta[0] and low < theta[-1]:
            ax.axvspan(max(low, theta[0]), min(high, theta[-1]), color=canvas.PALE, alpha=0.45, linewidth=0)


def _ticks(ax: Axes, abilities: canvas.FloatArray | None, noun: str) -> str:
    """Draw a tick for each ability on the axis; say how many are not."""
    if abilities is None:
        return ""
    low, high = ax.get_xlim()
    on = abilities[(abilities >= low) & (abilities <= high)]
    ax.plot(on, np.zeros(on.size), "|", color=canvas.INK, markersize=9, markeredgewidth=0.7, clip_on=False)
    off = abilities.size - on.size
    return f" Ticks: {on.size} {noun}s{f'; {off} are off the axis or have no ability' if off else ''}."


def _words(found: TestInformation, theta: canvas.FloatArray, cut: bool, ticks: str) -> str:
    """Say what is drawn."""
    n = len(found.item_ids)
    if not found.peak_information > 0:
        return f"{n} items, none of which measures: they were constant, or have a slope of 0.{ticks}"
    ranges = " and ".join(f"from {low:.2f} to {high:.2f}" for low, high in found.below)
    where = f"{ranges} (shaded)" if ranges else "nowhere"
    words = (
        f"{n} items, one trial each. Most information, {found.peak_information:.3g}, at {found.peak:.2f}. "
        f"The standard error is at most {found.threshold:.3g} (dashed) {where}. "
        f"Marginal reliability {found.reliability:.2f} for abilities with mean {found.latent_mean:.3g} and SD "
        f"{found.latent_sd:.3g}."
    )
    beyond = f" Standard errors above {_HIGHEST:g} thresholds are not drawn." if cut else ""
    return f"{words}{beyond}{ticks}"

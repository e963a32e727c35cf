"""Trace and rank plots of the parameters that mix worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import rankdata

from psychoeval.errors import NotComparableError
from psychoeval.plots import canvas
from psychoeval.plots.canvas import FloatArray
from psychoeval.results.draws import Draws
from psychoeval.results.sampling import Parameter, Sampling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Bars of a rank histogram.
BINS: Final = 20
#: Pieces of a trace, of which the range and the mean are drawn. Lines through all draws lie over one another where
#: chains mix, and took most of a report's size.
PIECES: Final = 40


def chain_traces(
    draws: Draws, sampling: Sampling | None = None, *, parameters: Sequence[tuple[str, str]] = (), limit: int = 5
) -> Figure:
    """Draw traces and rank histograms by chain, one row a parameter, the worst first.

    A trace shows the range and the mean of a chain's draws in each of `PIECES` pieces: bands that part are chains that
    do not mix, bands that climb or close up are chains that wander or are stuck. A rank histogram counts, for each
    chain, where its draws stand among the draws of all chains: flat at the dashed line where the chains mix (Vehtari et
    al. 2021, doi:10.1214/20-BA1221).

    Parameters
    ----------
    draws : Draws
    sampling : Sampling, optional
        Its diagnostics; made where they are not given.
    parameters : sequence of (quantity, id)
        Instead of the worst: ``("ability", "ann")``; of a quantity with one number a draw the id is ``""``.
    limit : int
        Most rows drawn of the worst.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotComparableError
        If a parameter is unknown, or none moves.
    EngineUnavailableError
        Without Matplotlib, or arviz-stats where `sampling` is not given.
    """
    run = draws.diagnose() if sampling is None else sampling
    rows = [_named(run, *p) for p in parameters] or list(run.worst(limit))
    if not rows:
        raise NotComparableError("No parameter of the draws moves.", "Look at what was sampled.")
    figure = canvas.new_figure(7.4, 1.3 + 1.45 * len(rows))
    axes = figure.subplots(len(rows), 2, squeeze=False, width_ratios=[1.7, 1])
    colors = [canvas.COLORS[k % len(canvas.COLORS)] for k in range(draws.n_chains)]
    for (left, right), row in zip(axes, rows, strict=True):
        values = draws.values[row.quantity].reshape(draws.n_chains, draws.n_draws, -1)[:, :, row.place]
        _trace(left, values, colors)
        words = f"{canvas.text(row.label, 44)}   R-hat {row.rhat:.3f}, ESS {row.ess_bulk:.0f} / {row.ess_tail:.0f}"
        canvas.heading(left, words, size=8)
        _ranks(right, values, colors)
    axes[-1, 0].set_xlabel("draw", fontsize=8)
    axes[-1, 1].set_xlabel("rank among all draws", fontsize=8)
    _legend(figure, draws, run, colors)
    canvas.caption(figure, f"{_rule(run, bool(parameters), len(rows))} Left: range and mean of the draws of each chain "
                   f"after warmup, in {min(PIECES, draws.n_draws)} pieces. Right: how many draws of each chain have a "
                   "rank in each twentieth; flat at the dashed line where chains mix. ESS: bulk / tail. Grade of the "
                   f"run: {run.grade}.")  # fmt: skip
    return figure


def _named(run: Sampling, quantity: str, one: str) -> Parameter:
    ids = {**dict.fromkeys(run.rhat, ("",)), "ability": run.person_ids}
    ids |= {name: run.item_ids for name in run.rhat if Draws.dims(name) == ("item",)}
    if quantity not in run.rhat or one not in ids[quantity]:
        raise NotComparableError(
            f"There are no draws of {quantity!r} for {one!r}.", f"Quantities are {', '.join(run.rhat)}; give an id."
        )
    return run.parameter(quantity, ids[quantity].index(one))


def _rule(run: Sampling, chosen: bool, shown: int) -> str:
    total = sum(np.size(v) for v in run.rhat.values())
    return "As asked for." if chosen else f"The {shown} of {total} parameters with the worst R-hat or ESS."


def _trace(ax: Axes, values: FloatArray, colors: Sequence[str]) -> None:
    canvas.style_axes(ax, grid="y")
    draws = values.shape[1]
    first = np.linspace(0, draws, min(PIECES, draws), endpoint=False).astype(np.intp)
    sizes = np.diff(first, append=draws)
    for chain, color in zip(values, colors, strict=True):
        low, high = np.minimum.reduceat(chain, first), np.maximum.reduceat(chain, first)
        middle = first + (sizes - 1) / 2
        ax.fill_between(middle, low, high, facecolor=(color, 0.13), edgecolor=(color, 0.8), linewidth=0.4)
        ax.plot(middle, np.add.reduceat(chain, first) / sizes, color=color, linewidth=0.9)
    finite = values[np.isfinite(values)]
    if finite.size:
        low, high = np.quantile(finite, [0.001, 0.999])
        ax.set_ylim(*canvas.span(np.array([low, high]), 0.12))
    ax.set_xlim(0, values.shape[1])


def _ranks(ax: Axes, values: FloatArray, colors: Sequence[str]) -> None:
    canvas.style_axes(ax, grid="y")
    ax.set_xlim(0, values.size)
    if not np.isfinite(values).all():
        ax.text(0.5, 0.5, "some draws are not finite", transform=ax.transAxes, ha="center", fontsize=7.5)
        return
    ranks = rankdata(values).reshape(values.shape)
    edges = np.linspace(0.5, values.size + 0.5, BINS + 1)
    for chain, color in zip(ranks, colors, strict=True):
        ax.stairs(np.histogram(chain, edges)[0], edges, color=color, linewidth=1.0)
    even = values.shape[1] / BINS
    ax.axhline(even, color=canvas.INK, linewidth=0.8, linestyle="--")
    ax.set_ylim(0, max(2.2 * even, ax.get_ylim()[1]))


def _legend(figure: Figure, draws: Draws, run: Sampling, colors: Sequence[str]) -> None:
    names = [f"chain {n}" + (" (suspect)" if n in run.suspect_chains else "") for n in draws.chain_numbers]
    looks = [canvas.Look(n, n, n, color, "", "-", True) for n, color in zip(names, colors, strict=True)]
    canvas.legend(figure, looks, lines=True, markers=False)

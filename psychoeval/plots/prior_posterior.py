"""How far the data moved slopes or guessing away from their prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from scipy.special import betainc, logit, ndtr

from psychoeval.errors import NotComparableError
from psychoeval.irt.models import Beta, ItemModel, LogitNormal, LogNormal, Normal
from psychoeval.plots import canvas
from psychoeval.plots.canvas import FloatArray
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Law = Callable[[FloatArray], FloatArray]

#: Intervals of equal prior probability in which an overlap is counted.
CELLS: Final = 25
#: Draws of the hyperparameters that make up the distribution of a population of items.
_POPULATION_DRAWS: Final = 400
_COLUMNS: Final = 4
_AXIS: Final = {"discrimination": "discrimination a", "guessing": "guessing c"}
_PRIOR_FACE: Final = "#d9d9d9"


def prior_posterior(
    fit: FitResult,
    term: Literal["discrimination", "guessing"] = "discrimination",
    *,
    items: Sequence[str] | None = None,
    limit: int = 11,
) -> Figure:
    """Draw prior and posterior of a few items, and the overlap of the two for all items.

    The overlap is the mass the two densities share, 0 to 1 (Garrett and Zeger 2000,
    doi:10.1111/j.0006-341X.2000.01055.x); near 1 the data say nothing about an item that its prior did not. Where
    the mean and SD of the slopes were sampled, the prior is the distribution of a further item, over the draws of both.

    Parameters
    ----------
    fit : FitResult
        With draws of the term, and a model with its prior or draws of its hyperparameters.
    term : {"discrimination", "guessing"}
    items : sequence of str, optional
        Ids; by default those with the largest and smallest overlap.
    limit : int
        Most items drawn by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotComparableError
        If the fit has no draws of the term, no prior of it, or not the items.
    EngineUnavailableError
        Without Matplotlib.
    """
    draws = fit.draws
    if draws is None or term not in draws.values:
        raise NotComparableError(f"The fit has no draws of {term}.", "Give a fit of a sampler whose model has it.")
    values = draws.pooled(term)
    if not np.isfinite(values).all() or np.ptp(values) == 0:
        raise NotComparableError(f"The draws of {term} do not move, or are not finite.", "Give a fit that samples it.")
    law, words = prior_law(draws, fit.model, term)
    shared = overlap(values, law)
    places = _places(draws, shared, items, limit)
    panels = len(places) + 1
    rows = -(-panels // _COLUMNS)
    figure = canvas.new_figure(7.4, 1.2 + 1.5 * rows)
    axes = figure.subplots(rows, min(_COLUMNS, panels), squeeze=False).ravel()
    _overlaps(axes[0], shared)
    limits = _limits(values[:, places], law, term)
    for ax, place in zip(axes[1:], places, strict=False):
        _panel(ax, values[:, place], law, limits)
        canvas.heading(ax, f"{canvas.text(draws.item_ids[place], 16)}   {shared[place]:.2f}", size=8)
    for ax in axes[panels:]:
        ax.set_visible(False)
    for ax in axes[max(1, panels - _COLUMNS) : panels]:
        ax.set_xlabel(_AXIS[term], fontsize=8)
    chosen = "Items as asked for" if items is not None else "Items with the largest and smallest overlap"
    canvas.caption(figure, f"{chosen}. Grey: {words}. Blue: posterior. Number: overlap, the mass that both densities "
                   "share; near 1 the data add nothing to the prior.")  # fmt: skip
    return figure


def prior_law(draws: Draws, model: ItemModel | None, term: str) -> tuple[Law, str]:
    """Return the distribution function of a term's prior, and what it is in words.

    Raises
    ------
    NotComparableError
        If it has none.
    """
    if term == "discrimination":
        if {"mean_log_discrimination", "sd_log_discrimination"} <= set(draws.values):
            mean, sd = draws.pooled("mean_log_discrimination"), draws.pooled("sd_log_discrimination")
            step = -(-mean.size // _POPULATION_DRAWS)
            return _population(mean[::step], sd[::step]), "distribution of the slopes of further items"
        priors = None if model is None else model.priors
        stated = None if priors is None else priors.discrimination or priors.log_discrimination
        if stated is not None:
            # A log-normal distribution of a and a normal distribution of log a are one distribution.
            if isinstance(stated, LogNormal):
                stated = Normal(stated.meanlog, stated.sdlog)
            return _population(np.array([stated.mean]), np.array([stated.sd])), "prior"
    guessing = None if model is None or term != "guessing" else model.guessing
    if isinstance(guessing, Beta):
        alpha, beta = guessing.alpha, guessing.beta
        return lambda c: np.asarray(betainc(alpha, beta, np.clip(c, 0, 1))), "prior"
    if isinstance(guessing, LogitNormal):
        mean_, sd_ = guessing.mean, guessing.sd
        return lambda c: np.asarray(ndtr((logit(np.clip(c, 0, 1)) - mean_) / sd_)), "prior"
    raise NotComparableError(f"The fit has no prior of {term}.", "Give a fit whose model has one.")


def _population(means: FloatArray, sds: FloatArray) -> Law:
    def law(a: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            log_a = np.log(np.maximum(a, 0.0))
        if means.size == 1:
            return np.asarray(ndtr((log_a - means[0]) / sds[0]))
        # A mixture at every draw of every item would be long: once on a grid, then between its points.
        low, high = (means - 8 * sds).min(), (means + 8 * sds).max()
        grid = np.linspace(low, high, 1001)
        mixture = ndtr((grid[:, None] - means) / sds).mean(axis=1)
        return np.asarray(np.interp(log_a, grid, mixture, left=0.0, right=1.0), dtype=np.float64)

    return law


def overlap(values: FloatArray, law: Law) -> FloatArray:
    """Return the mass that each item's posterior shares with the prior, (J,), from (D, J) draws.

    The integral of min(prior, posterior), counted in 25 intervals of equal prior probability: sum_k min(h_k, 1/25). A
    posterior wholly in the prior's tail has 1/25 and not less.
    """
    n, items = values.shape
    cells = np.minimum((law(values) * CELLS).astype(np.int64), CELLS - 1)
    counts = np.bincount((cells + CELLS * np.arange(items)).ravel(), minlength=CELLS * items).reshape(items, CELLS)
    return np.asarray(np.minimum(counts / n, 1 / CELLS).sum(axis=1))


def _places(draws: Draws, shared: FloatArray, items: Sequence[str] | None, limit: int) -> list[int]:
    if items is None:
        order = np.argsort(-shared, kind="stable")
        if order.size > limit:
            order = np.concatenate([order[: -(-limit // 2)], order[order.size - limit // 2 :]])
        return [int(i) for i in order]
    if unknown := [i for i in items if i not in draws.item_ids]:
        raise NotComparableError(f"There are no draws of item {unknown[0]!r}.", "Give ids of items in the fit.")
    return [draws.item_ids.index(i) for i in items]


def _limits(values: FloatArray, law: Law, term: str) -> tuple[float, float]:
    top = 1.0 if term == "guessing" else max(20.0, float(values.max()))
    grid = np.linspace(0.0, top, 4001)
    inside = grid[(law(grid) > 0.005) & (law(grid) < 0.99)]
    ends = np.concatenate([inside[[0, -1]] if inside.size else [], np.quantile(values, [0.002, 0.998])])
    low, high = canvas.span(ends, 0.03)
    return max(0.0, low), high


def _panel(ax: Axes, values: FloatArray, law: Law, limits: tuple[float, float]) -> None:
    canvas.style_axes(ax, grid="")
    edges = np.linspace(*limits, 61)
    prior = np.diff(law(edges)) / np.diff(edges)
    ax.stairs(prior, edges, fill=True, color=_PRIOR_FACE)
    fine = np.linspace(*limits, 46)
    counts = np.histogram(values, fine)[0]
    ax.stairs(counts / values.size / np.diff(fine), fine, color=canvas.COLORS[0], linewidth=1.1)
    ax.set_xlim(*limits)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)


def _overlaps(ax: Axes, shared: FloatArray) -> None:
    canvas.style_axes(ax, grid="y")
    edges = np.linspace(0, 1, 21)
    ax.stairs(np.histogram(shared, edges)[0], edges, fill=True, color=canvas.GREY)
    ax.set_xlim(0, 1)
    canvas.whole_numbers(ax.yaxis)
    canvas.heading(ax, f"all {shared.size} items", size=8)
    ax.set_xlabel("overlap", fontsize=8)
    ax.set_ylabel("items", fontsize=8)

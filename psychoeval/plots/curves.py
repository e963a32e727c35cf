"""Item curves of several fits against binned data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychoeval.agreement.alignment import estimate_transformation
from psychoeval.agreement.matching import match
from psychoeval.errors import NotComparableError
from psychoeval.irt.curves import probability
from psychoeval.irt.parameters import ItemParameters
from psychoeval.plots import canvas
from psychoeval.plots.binning import Binned, bin_persons
from psychoeval.plots.by_id import informed
from psychoeval.plots.canvas import FloatArray
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Pick:
    """An item to draw and why it was picked."""

    item: str
    why: str


def item_curves(
    fits: Sequence[FitResult],
    responses: Responses,
    items: Sequence[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    limit: int = 6,
) -> Figure:
    """Draw P(success | ability) of a few items by every fit, with the data.

    Points are the proportions correct of persons grouped by the ability that the reference fit gives them, with 95%
    Wilson intervals; the reference is the first believed fit with item parameters, else the first. Groups are formed
    with an ability that used the item itself, so points lean a little steeper than the curve that made them.

    Parameters
    ----------
    fits : sequence of FitResult
        Aligned beforehand. Fits without item parameters in logits are left out.
    responses : Responses
    items : sequence of str, optional
        Ids; by default those of `pick_items`.
    names : sequence of str, optional
        What to call the fits; by default their labels.
    limit : int
        Most items picked by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotComparableError
        If no fit has both item parameters and abilities in logits, or an item is unknown.
    EngineUnavailableError
        Without Matplotlib.
    """
    reference = reference_fit(fits)
    having = [(f, *_onto(f, reference)) for f in _with_curves(fits)]
    binned = bin_persons(responses, reference)
    picks = [Pick(i, "") for i in items] if items is not None else pick_items(fits, responses, limit)
    unknown = [p.item for p in picks if p.item not in responses.item_ids]
    if unknown or not picks:
        raise NotComparableError(f"There is no item {unknown or 'with a curve'}.", "Give ids of items in the data.")
    rows = -(-len(picks) // _COLUMNS)
    figure = canvas.new_figure(7.4, 1.3 + 2.15 * rows)
    axes = figure.subplots(rows, min(_COLUMNS, len(picks)), sharex=True, sharey=True, squeeze=False).ravel()
    shown = canvas.looks(fits, names)
    low, high = canvas.span(binned.ability, 0.25)
    grid = np.linspace(low, high, 121)
    for ax, pick in zip(axes, picks, strict=False):
        _panel(ax, pick, binned, responses.item_ids.index(pick.item))
        for fit, parameters, _ in having:
            look = shown[id(fit)]
            ax.plot(grid, _curve(parameters, pick.item, grid), color=look.color, linestyle=look.line, linewidth=1.3)
        ax.set_xlim(low, high)
    for ax in axes[len(picks) :]:
        ax.set_visible(False)
    for ax in axes[: len(picks)]:
        ax.set_xlabel("ability (logits)", fontsize=8)
        ax.tick_params(labelbottom=True)
    for ax in axes[::_COLUMNS]:
        ax.set_ylabel("P(success)", fontsize=8)
    canvas.legend(figure, [shown[id(f)] for f, _, _ in having], lines=True, markers=False)
    name = shown[id(reference)].name
    moved = "; ".join(f"{shown[id(f)].name} {words}" for f, _, words in having if words)
    frame = (
        f" For this picture alone the other fits' abilities were brought to its mean and SD: {moved}." if moved else ""
    )
    canvas.caption(
        figure,
        f"Points: proportion correct of {binned.ability.size} groups of {responses.person_label}s of like ability by "
        f"{name}, with 95% Wilson intervals.{frame} Because that ability used the item too, points lean a little "
        "steeper than a true curve. Grey: not believed.",
    )
    return figure


def reference_fit(fits: Sequence[FitResult]) -> FitResult:
    """Return the fit by whose abilities persons are grouped: the first believed one with curves, else the first.

    Raises
    ------
    NotComparableError
        If no fit has item parameters and abilities in logits.
    """
    having = _with_curves(fits)
    if not having:
        raise NotComparableError("No fit has item curves.", "Fit an item response model (map, mirt-em, ...).")
    return next((f for f in having if f.convergence.believed), having[0])


def _with_curves(fits: Sequence[FitResult]) -> list[FitResult]:
    return [
        f
        for f in fits
        if f.item_parameters is not None
        and f.abilities is not None
        and f.abilities.scale == "logit"
        and np.isfinite(f.abilities.estimate).any()
    ]


def pick_items(fits: Sequence[FitResult], responses: Responses, limit: int = 6) -> list[Pick]:
    """Return items worth a look with the reason: extremes of difficulty and slope, disagreement, worst fit to the data.

    Parameters
    ----------
    fits : sequence of FitResult
        Aligned beforehand.
    responses : Responses
    limit : int

    Returns
    -------
    list of Pick
        At most `limit`, each item once.
    """
    having = _with_curves(fits)
    reference = reference_fit(fits)
    parameters = reference.item_parameters
    assert parameters is not None
    binned = bin_persons(responses, reference)
    misfit = _misfit(parameters, binned, responses)
    compared = [f for f in having if f.convergence.believed] or having
    spread = _disagreement([_onto(f, reference)[0] for f in compared], parameters, binned)
    b = np.where(parameters.difficulty_is_stable, parameters.difficulty, np.nan)
    slopes = next((f.item_parameters for f in having if f.convergence.believed and _free(f)), None)
    a = _in_order_of(slopes or parameters, parameters)
    wanted = [
        ("believed fits differ most", spread, True),
        ("fits the data worst", misfit, True),
        ("hardest", b, True),
        ("easiest", b, False),
        ("steepest", a, True),
        ("flattest", a, False),
        (
            "middle difficulty",
            -np.abs(b - np.nanmedian(b[informed(parameters)])) if informed(parameters).any() else b,
            True,
        ),
    ]
    picks: dict[str, Pick] = {}
    for why, values, largest in wanted:
        finite = np.flatnonzero(np.isfinite(values) & informed(parameters))
        if not finite.size or np.ptp(values[finite]) < 1e-9:
            continue
        best = finite[np.argmax(values[finite] if largest else -values[finite])]
        item = parameters.item_ids[best]
        if item in picks:
            picks[item] = Pick(item, f"{picks[item].why}; {why}")
        elif len(picks) < limit:
            picks[item] = Pick(item, why)
    if parameters.n_items <= limit:
        for item in np.array(parameters.item_ids)[informed(parameters)]:
            picks.setdefault(str(item), Pick(str(item), ""))
    return list(picks.values())


def _free(fit: FitResult) -> bool:
    return fit.model is not None and fit.model.name in ("2PL", "3PL")


def _in_order_of(source: ItemParameters, target: ItemParameters) -> FloatArray:
    values = dict(zip(source.item_ids, source.discrimination, strict=True))
    return np.array([values.get(i, np.nan) for i in target.item_ids])


def _disagreement(fits: Sequence[ItemParameters], target: ItemParameters, binned: Binned) -> FloatArray:
    # Root mean square range of the curves over the groups: what a reader sees between the lines.
    high, low = np.full((2, binned.ability.size, target.n_items), np.nan)
    for p in fits:
        place = {i: k for k, i in enumerate(p.item_ids)}
        rows = np.array([place.get(i, -1) for i in target.item_ids])
        curve = probability(binned.ability, p.discrimination[rows], p.intercept[rows], p.guessing[rows])
        curve[:, rows < 0] = np.nan
        high, low = np.fmax(high, curve), np.fmin(low, curve)
    return np.asarray(np.sqrt(np.mean((high - low) ** 2, axis=0)))


def _misfit(parameters: ItemParameters, binned: Binned, responses: Responses) -> FloatArray:
    # Pearson's chi-square over the groups: a pointer to items worth a look, not a test.
    place = {i: k for k, i in enumerate(responses.item_ids)}
    columns = [place.get(i, -1) for i in parameters.item_ids]
    p = probability(binned.ability, parameters.discrimination, parameters.intercept, parameters.guessing)
    n, k = binned.trials[:, columns], binned.successes[:, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(n > 0, (k - n * p) ** 2 / (n * p * (1 - p)), 0.0)
    return np.where(np.array(columns) >= 0, terms.sum(axis=0), np.nan)


def _curve(p: ItemParameters, item: str, grid: FloatArray) -> FloatArray:
    if item not in p.item_ids:
        return np.full(grid.shape, np.nan)
    j = p.item_ids.index(item)
    return probability(grid, p.discrimination[j], p.intercept[j], p.guessing[j])


def _onto(fit: FitResult, reference: FitResult) -> tuple[ItemParameters, str]:
    """Return a fit's items on the ability scale of the reference, by mean and SD of the common persons, and the words.

    Points and curves must share a scale to be read against each other; what was done to it is said.
    """
    one, two, items = reference.abilities, fit.abilities, fit.item_parameters
    assert one is not None
    assert two is not None
    assert items is not None
    common = match(one.person_ids, two.person_ids)
    pair = one.estimate[common.first], two.estimate[common.second]
    step = None if fit is reference else estimate_transformation(None, None, pair, "scale and shift")
    if step is None or (abs(step.scale - 1) < 1e-3 and abs(step.shift) < 1e-3):
        return items, ""
    return step.items(items), f"× {step.scale:.3g} {'-' if step.shift < 0 else '+'} {abs(step.shift):.3g}"


def _panel(ax: Axes, pick: Pick, binned: Binned, column: int) -> None:
    canvas.style_axes(ax, grid="y")
    p, low, high = binned.proportions(column)
    ax.vlines(binned.ability, low, high, color=canvas.INK, linewidth=0.8)
    ax.plot(binned.ability, p, "o", color=canvas.INK, markersize=3.6)
    ax.set_ylim(-0.03, 1.03)
    name = canvas.text(pick.item, 30)
    canvas.heading(ax, f"{name}\n{_wrapped(pick.why)}" if pick.why else name, size=7.5)


def _wrapped(words: str) -> str:
    import textwrap

    return textwrap.fill(words, 36)

"""What every picture shares: the figure, text from data, one look for each fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import EngineUnavailableError, NotComparableError
from psychoeval.results.convergence import ConvergenceStatus
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

#: Okabe and Ito's colors without the yellow, which is too light on white.
COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# Lengths without a common divisor: 77 fits before color and marker repeat together.
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "p")
LINES: Final = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
GREY: Final = "#6b6b6b"
INK: Final = "#1a1a1a"
PALE: Final = "#d9d9d9"

STATUS_WORDS: Final[dict[ConvergenceStatus, str]] = {
    "converged": "converged",
    "not_iterative": "exact, no iterations",
    "sampled": "sampled",
    "imported": "imported, not judged",
    "iteration_limit": "stopped at the iteration limit",
    "interrupted": "interrupted by the user",
    "failed_check": "failed a check",
}


@dataclass(frozen=True, slots=True)
class Look:
    """How one fit is drawn: color, marker and line tell it apart together; hollow grey is not believed."""

    name: str
    label: str
    short: str
    color: str
    marker: str
    line: Any
    believed: bool

    @property
    def face(self) -> str:
        """Fill of the markers."""
        return self.color if self.believed else "white"


def looks(fits: Sequence[FitResult], names: Sequence[str] | None = None) -> dict[int, Look]:
    """Return the look of each fit by its `id`, the same in every picture made from the same fits in the same order.

    Parameters
    ----------
    fits : sequence of FitResult
    names : sequence of str, optional
        What to call them; by default their labels.

    Raises
    ------
    NotComparableError
        If there is not one name for each fit.
    """
    names = [f.label for f in fits] if names is None else names
    if len(names) != len(fits):
        raise NotComparableError(f"There are {len(names)} names for {len(fits)} fits.", "Give one name each.")
    out = {}
    for k, (fit, name) in enumerate(zip(fits, names, strict=True)):
        believed = fit.convergence.believed
        label = name if believed else f"{name} (not believed: {STATUS_WORDS[fit.convergence.status]})"
        color = COLORS[k % len(COLORS)] if believed else GREY
        short = name if believed else f"{name} (not believed)"
        marker, line = MARKERS[k % len(MARKERS)], LINES[k % len(LINES)]
        out[id(fit)] = Look(text(name, 60), text(label, 90), text(short, 60), color, marker, line, believed)
    return out


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of `width` x `height` inches, outside pyplot.

    Raises
    ------
    EngineUnavailableError
        If Matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EngineUnavailableError(
            "Pictures need Matplotlib, which is not installed.",
            "pip install psychoeval[report]; check with: psychoeval doctor",
        ) from error
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(w_pad=0.07, h_pad=0.06)  # type: ignore[call-arg]
    return figure


def cut(value: str, length: int) -> str:
    """Return `value` with its middle left out where it is longer than `length` characters."""
    if len(value) <= length:
        return value
    tail = length // 3
    return f"{value[: length - tail - 1]}…{value[-tail:]}"


@lru_cache(maxsize=1)
def _drawable() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap())


def text(value: str, length: int = 34) -> str:
    """Return text from data so that a figure can draw it.

    Control and line-breaking characters become spaces, characters the font lacks become a box, the middle of a
    long text is left out. Draw it with ``parse_math=False``: a dollar sign or backslash is itself.
    """
    known = _drawable()
    # A prefix and a suffix are all that is kept: ten thousand characters need not be walked.
    shortened = cut(value, length)
    drawn = "".join(" " if unicodedata.category(c)[0] in "CZ" else c if ord(c) in known else "□" for c in shortened)
    return drawn.strip() or "□"


def style_axes(ax: Axes, *, grid: str = "x") -> None:
    """Give axes the quiet look of the report."""
    ax.set_facecolor("white")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(GREY)
    ax.tick_params(colors=INK, labelsize=7.5, length=2.5)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(True, axis=grid, color="#e6e6e6", linewidth=0.6)  # type: ignore[arg-type]


def spread_rows(order: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    """Return at most `limit` of an order, evenly spaced, the first and the last among them."""
    n = order.size
    return order if n <= limit else order[np.unique(np.rint(np.linspace(0, n - 1, limit)).astype(int))]


def whole_numbers(*axes: Axis) -> None:
    """Put ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    for axis in axes:
        axis.set_major_locator(MaxNLocator(nbins="auto", integer=True))


def heading(ax: Axes, words: str, *, size: float = 9.0) -> None:
    """Put a title at the upper left of axes; it may hold text from data."""
    ax.set_title(words, loc="left", fontsize=size, color=INK, parse_math=False)


def caption(figure: Figure, words: str) -> None:
    """Write under the figure how it was made; it may hold text from data."""
    import textwrap

    columns = int(figure.get_figwidth() * 16.5)
    figure.supxlabel("\n".join(textwrap.wrap(words, columns)), x=0.01, ha="left", fontsize=7.5, color="#404040",
                     parse_math=False)  # fmt: skip


def legend(figure: Figure, shown: Sequence[Look], *, lines: bool = False, markers: bool = True) -> None:
    """Put one legend above all axes of a figure."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=s.color, marker=s.marker if markers else "", linestyle=s.line if lines else "",
               markerfacecolor=s.face, markersize=5.5)
        for s in shown
    ]  # fmt: skip
    widest = max(len(s.label) for s in shown)
    columns = max(1, min(len(shown), int(figure.get_figwidth() * 15 / (widest + 6))))
    box = figure.legend(handles, [s.label for s in shown], loc="outside upper left", ncols=columns, frameon=False,
                        fontsize=8, handletextpad=0.4, columnspacing=1.4)  # fmt: skip
    for written in box.get_texts():
        written.set_parse_math(False)


def edge_marks(ax: Axes, x: FloatArray, y: FloatArray, marker: str, *, color: str = "#D55E00", size: float = 4.0,
               face: str = "white") -> None:  # fmt: skip
    """Mark points that lie beyond the axes, on their edge."""
    if not x.size:  # an empty unclipped line has a place at the origin for the layout
        return
    (line,) = ax.plot(x, y, marker, color=color, markerfacecolor=face, markersize=size, markeredgewidth=0.8,
                      clip_on=False)  # fmt: skip
    line.set_in_layout(False)


def span(values: FloatArray, margin: float = 0.05) -> tuple[float, float]:
    """Return axis limits around the finite values; (-1, 1) where there is none."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    pad = margin * (high - low) or 0.5
    return low - pad, high + pad

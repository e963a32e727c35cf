"""How the report writes numbers and names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from psychoeval.plots.canvas import cut

#: Longer names are cut in their middle; the whole name is in the tooltip up to a length that keeps the file small.
NAME_LENGTH: Final = 48
TOOLTIP_LENGTH: Final = 600
NONE: Final = "–"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` decimals, in scientific notation where those say nothing; a dash for none."""
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value and (abs(value) < 0.5 * 10**-digits or abs(value) >= 1e7):
        return f"{value:.2g}"
    return f"{value:.{digits}f}"


def count(value: float | None) -> str:
    """Return a whole number with separated thousands; a dash for none."""
    return NONE if value is None else f"{int(value):,}"


def percent(value: float) -> str:
    """Return a share in per cent with one decimal, never rounded to a false 0 or 100."""
    text = f"{100 * value:.1f}"
    if (text == "100.0" and value < 1) or (text == "0.0" and value > 0):
        text = f"{100 * value:.2g}" if value < 0.5 else ">99.9"
    return f"{text} %"


def seconds(value: float | None) -> str:
    """Return a duration."""
    if value is None:
        return NONE
    if value < 1e-3:
        return "< 0.001 s"
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"


def setting(value: Any) -> str:
    """Return a setting, version or statistic as text."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return cut(str(value), 400)


def name(value: str) -> str:
    """Return a name from data, cut to what a table holds."""
    return cut(value, NAME_LENGTH)


def tooltip(value: str) -> str:
    """Return what the tooltip of a cut name says."""
    if len(value) <= TOOLTIP_LENGTH:
        return value
    return f"{cut(value, TOOLTIP_LENGTH)} ({len(value):,} characters in all)"


FILTERS: Final[dict[str, Callable[..., str]]] = {
    "number": number,
    "count": count,
    "percent": percent,
    "seconds": seconds,
    "setting": setting,
    "name": name,
    "tooltip": tooltip,
}

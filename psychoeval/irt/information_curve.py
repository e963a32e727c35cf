"""The curve of test information: its peak, where it is above a level, and the reliability that it implies."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

from psychoeval.irt.expected_score import total_information
from psychoeval.irt.own_nodes import log_linear
from psychoeval.irt.quadrature import Grid
from psychoeval.irt.score_equations import KnownItems

FloatArray = NDArray[np.float64]

#: Abilities at which a curve may be asked for.
MOST_NODES: Final = 1_000_001
#: Nodes of the search, besides the peaks of single items, of which at most so many are taken.
_SEARCH: Final = 2001
#: Of an ability, in logits.
_EXACT: Final = 1e-10
#: Half-width of the integration over a normal distribution, in SDs; nodes of it.
_WIDTH, _NODES = 8.0, 4001


def peak(items: KnownItems) -> tuple[float, float]:
    """Return the ability at which the information is largest, and the information; NaN and 0 without items.

    Each item's information has one peak, at b + log((1 + sqrt(1 + 8 c)) / 2) / a (Lord 1980, eq. 10-4), and falls to
    both sides: that of the test is largest between the first and the last of them.

    Parameters
    ----------
    items : KnownItems
        With slopes other than 0.
    """
    if not items.a.size:
        return float("nan"), 0.0
    nodes = _nodes(items)
    values = total_information(nodes, items)
    best = int(np.argmax(values))
    low, high = nodes[max(best - 1, 0)], nodes[min(best + 1, nodes.size - 1)]
    if low < high:
        found = minimize_scalar(
            lambda t: -_at(t, items), bounds=(low, high), method="bounded", options={"xatol": _EXACT}
        )
        if -found.fun > values[best]:
            return float(found.x), float(-found.fun)
    return float(nodes[best]), float(values[best])


def ranges_above(items: KnownItems, level: float) -> tuple[tuple[float, float], ...]:
    """Return the ranges of abilities at which the information is at least `level`, in ascending order.

    Parameters
    ----------
    items : KnownItems
        With slopes other than 0.
    level : float
        Above 0.
    """
    best, most = peak(items)
    if not most >= level:
        return ()
    nodes = np.union1d(_nodes(items), [best])
    step = 1.0
    while _at(nodes[0] - step, items) >= level or _at(nodes[-1] + step, items) >= level:
        step *= 2.0
    nodes = np.concatenate([[nodes[0] - step], nodes, [nodes[-1] + step]])
    above = total_information(nodes, items) >= level
    above[np.searchsorted(nodes, best)] = True  # rounding must not lose a peak of just this height
    ends = np.flatnonzero(above[1:] != above[:-1])
    at = [_crossing(nodes[k], nodes[k + 1], items, level) for k in ends]
    return tuple(zip(at[::2], at[1::2], strict=True))


def reliability(items: KnownItems, mean: float, sd: float, law: Grid | None = None) -> float:
    """Return E[I s^2 / (I s^2 + 1)] over the latent distribution: the reliability of posterior means.

    1 - E[1 / (I + 1 / s^2)] / s^2, with the posterior variance of a normal likelihood; Green, Bock, Humphreys, Linn &
    Reckase (1984), doi 10.1111/j.1745-3984.1984.tb01039.x. 0 without items.

    Parameters
    ----------
    items : KnownItems
    mean, sd : float
        Of the distribution.
    law : Grid, optional
        Its histogram, where it is not normal: linear between the nodes.
    """
    if law is None:
        nodes = mean + sd * np.linspace(-_WIDTH, _WIDTH, _NODES)
        weights = np.exp(-0.5 * ((nodes - mean) / sd) ** 2)
    else:
        nodes = np.linspace(law.nodes[0], law.nodes[-1], _NODES)
        weights = np.exp(log_linear(nodes, law))
    scaled = total_information(nodes, items) * sd**2
    return float(weights @ (scaled / (scaled + 1.0)) / weights.sum())


def _nodes(items: KnownItems) -> FloatArray:
    peaks = (np.log((1.0 + np.sqrt(1.0 + 8.0 * items.c)) / 2.0) - items.d) / items.a
    peaks = np.unique(peaks)
    even = np.linspace(peaks[0], peaks[-1], _SEARCH)
    if peaks.size > _SEARCH:
        peaks = peaks[np.linspace(0, peaks.size - 1, _SEARCH).round().astype(np.intp)]
    return np.union1d(even, peaks)


def _crossing(low: float, high: float, items: KnownItems, level: float) -> float:
    ends = _at(low, items) - level, _at(high, items) - level
    if ends[0] * ends[1] >= 0:  # a peak of just this height
        return float(low if abs(ends[0]) < abs(ends[1]) else high)
    return float(brentq(lambda t: _at(t, items) - level, low, high, xtol=_EXACT))


def _at(theta: float, items: KnownItems) -> float:
    return float(total_information(np.array([theta]), items)[0])

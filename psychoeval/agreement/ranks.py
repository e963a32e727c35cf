"""Agreement of two rankings: Kendall's tau-b, Spearman's rho, overlap at the top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, rankdata

FloatArray = NDArray[np.float64]

#: Sizes of the top group; those that do not leave somebody out are not computed.
TOP: Final = (1, 3, 5, 10)
#: Persons nearer than this share of the SD are tied: search routines leave equal answers up to 2e-6 apart (mirt's MAP
#: scores of equal answer patterns), and no ranking rests on less.
TIE_SHARE: Final = 1e-5
#: Differences of logits, points or proportions that are rounding, whatever the SD is: it may be rounding itself.
ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class RankComparison:
    """How two rankings of the same persons agree.

    Parameters
    ----------
    n : int
        Persons with an estimate in both; infinite ones are ranked first or last, tied with each other.
    kendall, spearman : float or None
        Tau-b and rho; None where one ranking is a single tie.
    top : mapping of k to share
        |both| / max(|top of first|, |top of second|); everybody tied with the k-th belongs to the top k.
    moved : tuple of (id, first rank, second rank)
        The five that move most; 1 is the best, ties at their mean rank.
    """

    n: int
    kendall: float | None
    spearman: float | None
    top: dict[int, float]
    moved: tuple[tuple[str, float, float], ...]


def tied_groups(values: FloatArray) -> NDArray[np.intp]:
    """Return whole numbers ordered as `values`, equal where neighbors are nearer than a 1e-5th of the SD, or 1e-12.

    Parameters
    ----------
    values : (N,) array
        Without NaN; infinities are larger or smaller than everything else.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    finite = values[np.isfinite(values)]
    tolerance = max(TIE_SHARE * float(finite.std()), ROUNDING) if finite.size else 0.0
    with np.errstate(invalid="ignore"):  # inf - inf: equal infinities are one group
        step = np.diff(ordered)
    groups = np.empty(values.size, dtype=np.intp)
    groups[order] = np.concatenate([[0], np.cumsum(step > tolerance)]) if values.size else []
    return groups


def ranks(values: FloatArray) -> FloatArray:
    """Return ranks, 1 the highest, ties at their mean rank, NaN where there is no value.

    Examples
    --------
    >>> ranks(np.array([0.2, np.inf, np.nan, 0.2]))
    array([2.5, 1. , nan, 2.5])
    """
    out = np.full(values.shape, np.nan)
    known = ~np.isnan(values)
    out[known] = rankdata(-tied_groups(values[known]))
    return out


def ranks_within(values: FloatArray, component: NDArray[np.int64]) -> FloatArray:
    """Return the rank of each person among those of its component, 1 the highest, ties at their mean rank, (N,).

    NaN where there is no value, and where there are several components and the person is in none.

    Examples
    --------
    >>> ranks_within(np.array([3.0, 1.0, 2.0, 9.0]), np.array([1, 1, 2, 2]))
    array([1., 2., 2., 1.])
    """
    out = np.full(values.shape, np.nan)
    for number in np.unique(component[component > 0]):
        within = component == number
        out[within] = ranks(values[within])
    return out


def rank_words(ranks: FloatArray, component: NDArray[np.int64] | None = None) -> list[str]:
    """Return mean ranks as readers know them: a tie as the ranks that it shares, "" where there is none.

    Parameters
    ----------
    ranks : (N,) array
    component : (N,) integer array, optional
        Where ranks are those within components: equal ranks of different ones are no tie.

    Examples
    --------
    >>> rank_words(np.array([2.5, 1.0, np.nan, 2.5]))
    ['2-3', '1', '', '2-3']
    """
    out = [""] * len(ranks)
    part = np.ones(len(ranks), dtype=np.int64) if component is None else component
    for number in np.unique(part):
        within = np.flatnonzero(part == number)
        _, place, size = np.unique(ranks[within], return_inverse=True, return_counts=True, equal_nan=True)
        half = (size[place] - 1) / 2
        for i, r, h in zip(within.tolist(), ranks[within], half, strict=True):
            out[i] = "" if np.isnan(r) else f"{r:.0f}" if not h else f"{r - h:.0f}-{r + h:.0f}"
    return out


def compare_ranks(
    ids: tuple[str, ...], first: FloatArray, second: FloatArray, component: NDArray[np.int64] | None = None
) -> RankComparison | None:
    """Compare two rankings of the persons `ids`; None if fewer than two have an estimate in both.

    Where the persons fall into components, ranks and pairs are those within a component: tau-b over these pairs, rho
    from ranks less their component's mean, and no top group.
    """
    part = np.ones(len(ids), dtype=np.int64) if component is None else component
    both = np.flatnonzero(~np.isnan(first) & ~np.isnan(second) & (part > 0))
    if both.size < 2:
        return None
    x, y, part = tied_groups(first[both]), tied_groups(second[both]), part[both]
    rank_x, rank_y = ranks_within(x.astype(float), part), ranks_within(y.astype(float), part)
    members = [part == c for c in np.unique(part)]
    moves = np.abs(rank_x - rank_y)
    worst = [i for i in np.argsort(-moves, kind="stable")[:5] if moves[i] > 0]
    return RankComparison(
        int(both.size),
        _kendall([(x[m], y[m]) for m in members]),
        _spearman([(rank_x[m], rank_y[m]) for m in members]),
        {k: _overlap(x, y, k) for k in TOP if k < both.size} if len(members) == 1 else {},
        tuple((ids[both[i]], float(rank_x[i]), float(rank_y[i])) for i in worst),
    )


def _kendall(parts: list[tuple[NDArray[np.intp], NDArray[np.intp]]]) -> float | None:
    """Return tau-b over the pairs within each part: (C - D) / sqrt(untied in x * untied in y), each summed."""
    if len(parts) == 1:
        (x, y), *_ = parts
        return float(kendalltau(x, y).statistic) if np.ptp(x) > 0 and np.ptp(y) > 0 else None
    excess = np.array([0.0, 0.0, 0.0])
    for x, y in parts:
        untied = np.array([_untied(x), _untied(y)], dtype=float)
        tau = kendalltau(x, y).statistic if untied.all() else 0.0
        excess += [tau * np.sqrt(untied.prod()), *untied]
    return float(excess[0] / np.sqrt(excess[1] * excess[2])) if excess[1:].all() else None


def _untied(groups: NDArray[np.intp]) -> int:
    _, sizes = np.unique(groups, return_counts=True)
    return int(groups.size * (groups.size - 1) - (sizes * (sizes - 1)).sum()) // 2


def _spearman(parts: list[tuple[FloatArray, FloatArray]]) -> float | None:
    x, y = (np.concatenate([p[k] - p[k].mean() for p in parts]) for k in (0, 1))
    return float(np.corrcoef(x, y)[0, 1]) if np.ptp(x) > 0 and np.ptp(y) > 0 else None


def _overlap(first: NDArray[np.intp], second: NDArray[np.intp], k: int) -> float:
    tops = [v >= np.sort(v)[-k] for v in (first, second)]
    return float(np.count_nonzero(tops[0] & tops[1]) / max(np.count_nonzero(t) for t in tops))

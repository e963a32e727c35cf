"""How ranks move between fits, and who is among the best by which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.ranks import ranks_within

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RankMoves:
    """How far persons move in rank between two fits.

    Parameters
    ----------
    n : int
        Persons ranked by both.
    mean, largest : float
        |rank by the first - rank by the second|; ties at their mean rank, so halves occur.
    furthest : tuple of (id, first rank, second rank)
        Up to three that move furthest; empty if none moves.
    """

    n: int
    mean: float
    largest: float
    furthest: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class TopGroup:
    """Who is among the best k, by which fit.

    Parameters
    ----------
    k : int
    ids : tuple of str, length M
        Persons that one fit at least puts there, those of most fits first.
    members : (M, K) bool array
        By each fit; everybody tied with the k-th belongs to the best k.
    """

    k: int
    ids: tuple[str, ...]
    members: NDArray[np.bool_]

    @property
    def contested(self) -> tuple[str, ...]:
        """Persons that some fits put there and others do not."""
        return tuple(i for i, row in zip(self.ids, self.members, strict=True) if not row.all())

    @property
    def agreed(self) -> tuple[str, ...]:
        """Persons that every fit puts there."""
        return tuple(i for i, row in zip(self.ids, self.members, strict=True) if row.all())

    def of(self, fit: int) -> tuple[str, ...]:
        """Return the best k by fit number `fit`, from 0."""
        return tuple(i for i, inside in zip(self.ids, self.members[:, fit], strict=True) if inside)


def ranks_of_fits(values: FloatArray, component: IntArray) -> FloatArray:
    """Return ranks within components by each of K fits, (N, K)."""
    return np.column_stack([ranks_within(column, component) for column in values.T])


def move_between(ids: tuple[str, ...], first: FloatArray, second: FloatArray) -> RankMoves | None:
    """Return how far persons move between two rankings, (N,) each; None below two ranked by both."""
    both = np.flatnonzero(np.isfinite(first) & np.isfinite(second))
    if both.size < 2:
        return None
    size = np.abs(first - second)[both]
    furthest = [both[m] for m in np.argsort(-size, kind="stable")[:3] if size[m] > 0]
    return RankMoves(
        int(both.size),
        float(size.mean()),
        float(size.max()),
        tuple((ids[i], float(first[i]), float(second[i])) for i in furthest),
    )


def top_groups(ids: tuple[str, ...], ranked: FloatArray, sizes: Sequence[int]) -> tuple[TopGroup, ...]:
    """Return the best k by each of K fits, for each k that leaves somebody out.

    Parameters
    ----------
    ids : tuple of str, length N
    ranked : (N, K) array
        Ranks, 1 the best, ties at their mean rank; NaN where a fit has none.
    sizes : sequence of int
    """
    out = []
    for k in dict.fromkeys(sizes):
        if k >= len(ids):
            continue
        # Tied persons share one mean rank, so everybody tied with the k-th has its rank.
        members = np.column_stack([column <= _last_rank(column, k) for column in ranked.T])
        rows = np.flatnonzero(members.any(axis=1))
        mean = np.where(np.isfinite(ranked[rows]), ranked[rows], len(ids)).mean(axis=1)
        rows = rows[np.lexsort((mean, -members[rows].sum(axis=1)))]
        out.append(TopGroup(k, tuple(ids[i] for i in rows), members[rows]))
    return tuple(out)


def _last_rank(column: FloatArray, k: int) -> float:
    known = np.sort(column[np.isfinite(column)])
    return float(known[min(k, known.size) - 1]) if known.size else -np.inf

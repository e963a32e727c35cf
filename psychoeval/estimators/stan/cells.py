"""The cells that were run, in the groups that the Stan programs go through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Groups:
    """Cells of one person (or one item) with equal counts, group after group; all positions from 1.

    Parameters
    ----------
    group : (G,) array
        The person or item of each group.
    count : (G,) array
        The count that its cells share.
    first : (G + 1,) array
        Where each group begins in `member`, and where the last one ends.
    member : (cells,) array
        The items or persons of the cells.
    """

    group: IntArray
    count: IntArray
    first: IntArray
    member: IntArray

    @classmethod
    def of(cls, counts: NDArray[np.integer], *, by_person: bool) -> Groups:
        """Return the groups of the cells with counts above 0.

        Parameters
        ----------
        counts : (N, J) integer array
        by_person : bool
            Whether a group is one person's, or one item's.

        Examples
        --------
        >>> groups = Groups.of(np.array([[1, 0, 2], [1, 1, 1]]), by_person=True)
        >>> groups.group.tolist(), groups.count.tolist(), groups.first.tolist(), groups.member.tolist()
        ([1, 1, 2], [1, 2, 1], [1, 2, 3, 6], [1, 3, 1, 2, 3])
        """
        table = counts if by_person else counts.T
        row, column = np.nonzero(table)
        count = table[row, column].astype(np.int64)
        order = np.lexsort((column, count, row))
        row, column, count = row[order], column[order], count[order]
        new = np.ones(row.size, dtype=bool)
        new[1:] = (np.diff(row) != 0) | (np.diff(count) != 0)
        first = np.append(np.flatnonzero(new), row.size)
        return cls(row[new] + 1, count[new], first + 1, column + 1)

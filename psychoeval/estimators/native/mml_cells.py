"""The data of a marginal fit: blocks of persons as floats, and what the models need to know of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.unsignedinteger[Any]]
Result = TypeVar("Result")

#: Persons worked on at a time, and cells (8 MiB of float64).
BLOCK_PERSONS: Final = 128
BLOCK_CELLS: Final = 2**20
#: Up to here the data are kept as floats (32 MiB); beyond it a block becomes float when it is used.
KEPT_CELLS: Final = 2**22


@dataclass(frozen=True)
class Cells:
    """Successes and trials of N persons and J items, both of whom were seen.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
        As small as they come; never copied as a whole beyond `KEPT_CELLS`.
    n_threads : int
    """

    successes: CountArray
    trials: CountArray
    n_threads: int = 1

    @property
    def n_persons(self) -> int:
        """N."""
        return int(self.successes.shape[0])

    @property
    def n_items(self) -> int:
        """J."""
        return int(self.successes.shape[1])

    @cached_property
    def equal_trials(self) -> int:
        """The number of trials of every cell where it is the same, 0 otherwise: then persons share their curves."""
        first = int(self.trials.flat[0])
        return first if bool((self.trials == first).all()) else 0

    @cached_property
    def item_successes(self) -> FloatArray:
        """(J,) successes of each item."""
        out: FloatArray = self.successes.sum(axis=0, dtype=np.uint64).astype(np.float64)
        return out

    @cached_property
    def item_trials(self) -> FloatArray:
        """(J,) trials of each item."""
        out: FloatArray = self.trials.sum(axis=0, dtype=np.uint64).astype(np.float64)
        return out

    @cached_property
    def most_trials(self) -> int:
        """Largest number of trials of a cell."""
        return int(self.trials.max())

    @cached_property
    def _kept(self) -> tuple[FloatArray | None, FloatArray | None]:
        if self.successes.size > KEPT_CELLS:
            return None, None
        trials = None if self.equal_trials else self.trials.astype(np.float64)
        return self.successes.astype(np.float64), trials

    def floats(self, rows: slice) -> FloatArray:
        """Return the successes of some persons as floats."""
        kept = self._kept[0]
        return _floats(self.successes if kept is None else kept, rows)

    def float_trials(self, rows: slice) -> FloatArray:
        """Return the trials of some persons as floats."""
        kept = self._kept[1]
        return _floats(self.trials if kept is None else kept, rows)

    def person_blocks(self) -> list[slice]:
        """Return slices of persons, `BLOCK_CELLS` cells each but 1 to `BLOCK_PERSONS` persons."""
        size = min(BLOCK_PERSONS, max(1, BLOCK_CELLS // self.n_items))
        return [slice(s, min(s + size, self.n_persons)) for s in range(0, self.n_persons, size)]

    def person_groups(self) -> list[list[slice]]:
        """Return the blocks in groups for sums over persons: one a thread, so that memory and order are fixed."""
        blocks = self.person_blocks()
        size = -(-len(blocks) // self.n_threads)
        return [blocks[start : start + size] for start in range(0, len(blocks), size)]

    def each(self, work: Callable[[Any], Result], jobs: Sequence[Any]) -> list[Result]:
        """Return `work` of every job in order, on `n_threads` threads: NumPy lets go of the interpreter."""
        if self.n_threads == 1 or len(jobs) == 1:
            return [work(job) for job in jobs]
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(pool.map(work, jobs))


def _floats(values: FloatArray | CountArray, rows: slice) -> FloatArray:
    out: FloatArray = np.asarray(values[rows], dtype=np.float64)
    return out

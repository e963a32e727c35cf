"""Columns of a long table that grows: texts as codes, and no memory for what is the same in all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class TextColumn:
    """Texts, each distinct one kept once."""

    def __init__(self) -> None:
        self._levels: dict[str, int] = {}
        self._codes = NumberColumn(np.int32)

    def extend(self, texts: Sequence[str]) -> None:
        """Add texts, at least one."""
        levels = self._levels
        if texts.count(texts[0]) == len(texts):  # most columns of a file
            self._codes.repeat(levels.setdefault(texts[0], len(levels)), len(texts))
            return
        for text in dict.fromkeys(texts):
            levels.setdefault(text, len(levels))
        self._codes.extend(list(map(levels.__getitem__, texts)))

    def build(self) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """Return codes (R,) and the distinct texts in order of first appearance; the column is used up."""
        levels = tuple(self._levels)
        self._levels = {}
        return self._codes.build(), levels


class NumberColumn:
    """Numbers of one dtype."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._blocks: list[NDArray[Any]] = []

    def extend(self, values: Sequence[float] | NDArray[Any]) -> None:
        """Add numbers.

        Raises
        ------
        OverflowError
            If a whole number does not fit.
        """
        block = np.array(values, self._dtype)
        if block.size and np.isnan(block).all():
            self.repeat(np.nan, block.size)
        else:
            self._blocks.append(block)

    def repeat(self, value: float, n: int) -> None:
        """Add a number `n` times."""
        self._blocks.append(np.broadcast_to(np.array(value, self._dtype), n))

    def build(self) -> NDArray[Any]:
        """Return the numbers (R,), read-only; the column is used up."""
        blocks, self._blocks = self._blocks, []
        if not blocks:
            return np.empty(0, self._dtype)
        first = blocks[0][:1]
        if all(block.strides == (0,) and np.array_equal(block[:1], first, equal_nan=True) for block in blocks):
            return np.broadcast_to(first[0], sum(map(len, blocks)))
        joined = np.concatenate(blocks)
        joined.flags.writeable = False
        return joined

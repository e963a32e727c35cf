"""Which persons and items two fits have in common: by id, never by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Matched:
    """Ids of two fits.

    Parameters
    ----------
    ids : tuple of str, length M
        Common ids, in the order of the first.
    first, second : (M,) integer arrays
        Their positions in each fit.
    only_first, only_second : tuple of str
        The others.
    """

    ids: tuple[str, ...]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of common ids M."""
        return len(self.ids)

    @property
    def is_complete(self) -> bool:
        """Whether both fits have the same ids."""
        return not self.only_first and not self.only_second


def match(first: Sequence[str], second: Sequence[str]) -> Matched:
    """Match two lists of unique ids.

    Examples
    --------
    >>> match(["a", "b"], ["b", "c", "a"]).second
    array([2, 0])
    """
    place = {text: i for i, text in enumerate(second)}
    common = [(text, i, place[text]) for i, text in enumerate(first) if text in place]
    shared = {text for text, _, _ in common}
    return Matched(
        tuple(text for text, _, _ in common),
        np.array([i for _, i, _ in common], dtype=np.intp),
        np.array([j for _, _, j in common], dtype=np.intp),
        tuple(text for text in first if text not in shared),
        tuple(text for text in second if text not in shared),
    )

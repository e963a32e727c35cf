"""Items dealt into blocks, by a seed and their ids alone: the parts of a rotation."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from psychoeval.errors import SettingsError

#: Of items that nobody answered.
NO_BAND = "no responses"


def deal_blocks(keys: Sequence[str], strata: Sequence[tuple[str, ...]], n_blocks: int, seed: int) -> NDArray[np.intp]:
    """Return the block of each item, from 0: evenly in every stratum, at random within it.

    Items are put in the order of their strata and, within one, of the SHA-256 of seed and key, and dealt out in turn,
    the first block being drawn too. In a stratum, in all strata whose labels begin alike, and in all, the blocks differ
    by one item at most; every item comes into each block equally often over seeds. The order of the items is of no
    importance, but an item more or less, or another stratum, may change all.

    Parameters
    ----------
    keys : sequence of str, length J
        All different.
    strata : sequence of tuple of str, length J
        Labels, the coarsest first.
    n_blocks, seed : int

    Raises
    ------
    SettingsError
        If keys repeat, or there are fewer items than blocks.

    Examples
    --------
    >>> deal_blocks(["a", "b", "c", "d"], [("x",)] * 4, 2, seed=0).tolist()
    [1, 0, 0, 1]
    """
    if len(set(keys)) < len(keys):
        raise SettingsError("Two items have one key.", "Give each item a key of its own.")
    if len(keys) < n_blocks:
        raise SettingsError(f"{len(keys)} items cannot make {n_blocks} blocks.", "Give a smaller number of rotations.")
    order = sorted(range(len(keys)), key=lambda j: (strata[j], _digest(seed, keys[j])))
    blocks = np.empty(len(keys), np.intp)
    blocks[order] = (np.arange(len(keys)) + int(_digest(seed, ""), 16) % n_blocks) % n_blocks
    return blocks


def difficulty_bands(proportion: NDArray[np.float64], benchmarks: Sequence[str], n_bands: int) -> list[str]:
    """Return each item's band of difficulty within its benchmark, hardest first; equal items share one.

    Parameters
    ----------
    proportion : (J,) array
        Mean score, NaN where nobody answered.
    benchmarks : sequence of str, length J
    n_bands : int
        Of about equal size.
    """
    out = [NO_BAND] * len(proportion)
    names = np.array(benchmarks, dtype=object)
    for name in dict.fromkeys(benchmarks):
        of_one = np.flatnonzero((names == name) & np.isfinite(proportion))
        middle = (rankdata(proportion[of_one].round(12)) - 0.5) / max(of_one.size, 1)
        for j, band in zip(of_one, np.minimum(middle * n_bands, n_bands - 1).astype(int), strict=True):
            out[j] = f"{band + 1:02d} of {n_bands}"
    return out


def _digest(seed: int, key: str) -> str:
    return hashlib.sha256(f"{seed}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()

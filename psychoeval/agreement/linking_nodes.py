"""Nodes and weights at which links by curves compare them, as they are asked for and in words."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psychoeval.errors import SettingsError
from psychoeval.irt.linking import normal_nodes
from psychoeval.irt.linking_curves import Direction
from psychoeval.wording import shorten

FloatArray = NDArray[np.float64]
Quadrature: TypeAlias = int | tuple[ArrayLike, ArrayLike]

#: Gauss-Hermite nodes beyond which weights leave double precision.
MOST_NODES: Final = 200
#: Size of nodes beyond which a times theta is no logit of anything.
FARTHEST_NODE: Final = 1e6


def find_nodes(quadrature: Quadrature) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights, which sum to 1: A and B are the same whatever their sum.

    Raises
    ------
    SettingsError
        By what is wrong.
    """
    if isinstance(quadrature, (int, np.integer)) and not isinstance(quadrature, bool):
        if not 2 <= quadrature <= MOST_NODES:
            raise SettingsError(
                f"{quadrature} nodes is out of range.", f"Give 2 to {MOST_NODES} Gauss-Hermite nodes, or your own."
            )
        return normal_nodes(int(quadrature))
    try:
        nodes, weights = (np.asarray(v, dtype=np.float64) for v in quadrature)  # type: ignore[union-attr]
    except (TypeError, ValueError):
        raise SettingsError(
            f"quadrature is {shorten(repr(quadrature))}.", "Give a whole number of nodes, or (nodes, weights)."
        ) from None
    good = nodes.ndim == 1 and nodes.shape == weights.shape and bool(np.isfinite(weights).all())
    if not good or (weights < 0).any() or np.count_nonzero(weights) < 2 or not (np.abs(nodes) <= FARTHEST_NODE).all():
        raise SettingsError(
            f"quadrature has nodes of shape {nodes.shape} and weights of shape {weights.shape}, or unusable values.",
            f"Give two or more nodes of size up to {FARTHEST_NODE:g}, and one weight each that is not negative.",
        )
    weights = weights / weights.max()
    return nodes, weights / weights.sum()


def curves_in_words(direction: Direction, n: int, quadrature: Quadrature) -> str:
    """Return where curves are compared, in words; `n` nodes."""
    where = {"forward": "the scale of onto", "backward": "the scale of given", "both": "each of the two scales"}
    what = "given nodes and weights" if isinstance(quadrature, tuple | list) else "Gauss-Hermite nodes of N(0, 1)"
    return f"curves compared on {where[direction]} at {n} {what}"

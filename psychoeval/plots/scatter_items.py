"""Scatter matrix of an item parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from psychoeval.plots import by_id, canvas, scatter_matrix
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNITS: Final = {
    "discrimination": "discrimination a",
    "difficulty": "difficulty b in logits",
    "intercept": "intercept d in logits",
    "guessing": "guessing c",
}


def item_scatter(
    fits: Sequence[FitResult], *, names: Sequence[str] | None = None, term: by_id.ItemTerm = "difficulty"
) -> Figure:
    """Draw one item parameter of every fit against that of every other.

    Parameters
    ----------
    fits : sequence of FitResult
        Aligned beforehand. Fits in which the parameter is one number for all items are left out.
    names : sequence of str, optional
        What to call the fits; by default their labels.
    term : {"difficulty", "discrimination", "intercept", "guessing"}

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotComparableError
        If fewer than two fits have the parameter.
    EngineUnavailableError
        Without Matplotlib.
    """
    shown = canvas.looks(fits, names)
    having = [f for f in fits if f.item_parameters is not None and _varies(getattr(f.item_parameters, term))]
    table = by_id.item_term(having, term)
    return scatter_matrix.draw(
        table, [shown[id(f)] for f in table.fits], _UNITS[term], "an item (constant and never-run ones are left out)"
    )


def _varies(values: canvas.FloatArray) -> bool:
    finite = values[np.isfinite(values)]
    return bool(finite.size and np.ptp(finite) > 1e-9)

"""Scatter matrix of abilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from psychoeval.plots import by_id, canvas, scatter_matrix
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from psychoeval.irt.parameters import AbilityScale


def ability_scatter(
    fits: Sequence[FitResult],
    *,
    names: Sequence[str] | None = None,
    scale: AbilityScale = "logit",
    noun: str = "person",
) -> Figure:
    """Draw the abilities of every fit against those of every other on one scale.

    Parameters
    ----------
    fits : sequence of FitResult
        Aligned beforehand. Those on the other scale are left out: a logit is no proportion.
    names : sequence of str, optional
        What to call the fits; by default their labels.
    scale : {"logit", "proportion"}
    noun : {"person", "system"}

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotComparableError
        If fewer than two fits have abilities on this scale.
    EngineUnavailableError
        Without Matplotlib.
    """
    shown = canvas.looks(fits, names)
    having = [f for f in fits if f.abilities is not None and f.abilities.scale == scale]
    table = by_id.abilities(having)
    of_table = [shown[id(f)] for f in table.fits]
    unit = by_id.logit_unit(table.fits, [look.name for look in of_table]) if scale == "logit" else ""
    what = f"ability in {unit}" if unit else "ability as proportion correct"
    return scatter_matrix.draw(table, of_table, what, f"a {noun}")

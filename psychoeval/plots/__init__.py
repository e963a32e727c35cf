"""Pictures of fits: each a function that returns a Matplotlib Figure and leaves pyplot alone."""

from __future__ import annotations

from psychoeval.plots.bump import rank_bump
from psychoeval.plots.curves import item_curves
from psychoeval.plots.forest import ability_forest
from psychoeval.plots.plane import item_plane
from psychoeval.plots.scatter_abilities import ability_scatter
from psychoeval.plots.scatter_items import item_scatter

__all__ = ["ability_forest", "ability_scatter", "item_curves", "item_plane", "item_scatter", "rank_bump"]

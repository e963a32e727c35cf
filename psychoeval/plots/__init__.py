"""Pictures of fits and audits: each a function that returns a Matplotlib Figure and leaves pyplot alone.

Without Matplotlib each raises `EngineUnavailableError`. Where it takes them, `noun` ("person" or "system") is what a
row is called, and `limit` is how many rows or panels are drawn at most: which, the caption says.
"""

from __future__ import annotations

from psychoeval.plots.binned_curves import binned_curves
from psychoeval.plots.bump import rank_bump
from psychoeval.plots.chain_traces import chain_traces
from psychoeval.plots.curves import item_curves
from psychoeval.plots.difficulty_bins import difficulty_bins
from psychoeval.plots.drift import drift
from psychoeval.plots.factor_loadings import factor_loadings
from psychoeval.plots.forest import ability_forest
from psychoeval.plots.item_coverage import item_coverage
from psychoeval.plots.pair_differences import pair_differences
from psychoeval.plots.plane import item_plane
from psychoeval.plots.prior_posterior import prior_posterior
from psychoeval.plots.rank_claims import rank_claims
from psychoeval.plots.rank_intervals import rank_intervals
from psychoeval.plots.rank_probabilities import rank_probabilities
from psychoeval.plots.scatter_abilities import ability_scatter
from psychoeval.plots.scatter_items import item_scatter
from psychoeval.plots.score_check import score_check
from psychoeval.plots.scree import scree
from psychoeval.plots.stability import stability
from psychoeval.plots.system_means import system_means
from psychoeval.plots.test_information import test_information

__all__ = [
    "ability_forest",
    "ability_scatter",
    "binned_curves",
    "chain_traces",
    "difficulty_bins",
    "drift",
    "factor_loadings",
    "item_coverage",
    "item_curves",
    "item_plane",
    "item_scatter",
    "pair_differences",
    "prior_posterior",
    "rank_bump",
    "rank_claims",
    "rank_intervals",
    "rank_probabilities",
    "score_check",
    "scree",
    "stability",
    "system_means",
    "test_information",
]

"""What conditions, metrics and statistics are called in sentences and tables."""

from __future__ import annotations

from typing import Final

#: Names of `psychoeval.trust.conditions`; "system" stands for what a row of the data is.
CONDITIONS: Final = {
    "systems": "Number of systems",
    "systems_for_items": "Number of systems for claims about items",
    "effective_systems": "Independent systems",
    "connectivity": "Connection of the data",
    "sparsity": "Share of missing cells",
    "difficulty_gap": "Difficulty gap",
    "missing_at_random": "Cells missing by ability",
    "saturation": "Easy items",
    "marginal_reliability": "Marginal reliability",
    "empirical_reliability": "Empirical reliability",
    "skewness": "Skewness of abilities",
    "item_coverage": "Items near the systems' abilities",
    "convergence": "Convergence of the fit",
}
#: Names of `recovery.METRICS`.
METRICS: Final = {
    "tau": "order of abilities: Kendall's tau with the true order",
    "tau_simple_average": "order of simple averages: Kendall's tau with the true order",
    "score_error": "expected scores of systems: mean absolute error",
    "item_error": "expected proportions correct of items: mean absolute error",
    "r_difficulty": "difficulties: correlation with the true ones",
    "r_discrimination": "discriminations: correlation with the true ones",
    "ability_coverage": "abilities: share of 95% intervals that hold the truth",
    "difficulty_coverage": "difficulties: share of 95% intervals that hold the truth",
    "discrimination_coverage": "discriminations: share of 95% intervals that hold the truth",
}
#: Names of `recovery.STATISTICS`.
STATISTICS: Final = {
    "mean_score": "mean of the scores",
    "score_sd": "SD of the scores",
    "score_skewness": "skewness of the scores",
    "proportion_sd": "SD of the items' proportions correct",
    "constant_items": "number of items that all or none got right",
    "item_rest_mean": "mean of the item-rest correlations",
    "item_rest_sd": "SD of the item-rest correlations",
}


def condition_words(name: str, noun: str) -> str:
    """Return what a condition is called, for persons or systems."""
    return CONDITIONS[name].replace("system", noun)


def metric_words(name: str, noun: str) -> str:
    """Return what a metric of recovery is called, for persons or systems."""
    return METRICS[name].replace("system", noun)

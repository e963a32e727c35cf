"""Items without a model: classical statistics, binned curves, resampling, factors, paired tests."""

from psychoeval.audit.classical import analyze_items
from psychoeval.audit.clusters import associate, cluster_items, correlate_subscores
from psychoeval.audit.curves import bin_curves
from psychoeval.audit.difficulty_bins import bin_difficulty, compare_difficulty_bins
from psychoeval.audit.drift import measure_drift
from psychoeval.audit.factors import analyze_factors, parallel_analysis
from psychoeval.audit.item_covariates import associate_covariates
from psychoeval.audit.low_rank import choose_rank
from psychoeval.audit.paired import compare_pairs
from psychoeval.audit.rank_neighbors import rank_neighbors
from psychoeval.audit.resampling import leave_groups_out, resample_systems
from psychoeval.audit.system_means import average_systems

__all__ = [
    "analyze_factors",
    "analyze_items",
    "associate",
    "associate_covariates",
    "average_systems",
    "bin_curves",
    "bin_difficulty",
    "choose_rank",
    "cluster_items",
    "compare_difficulty_bins",
    "compare_pairs",
    "correlate_subscores",
    "leave_groups_out",
    "measure_drift",
    "parallel_analysis",
    "rank_neighbors",
    "resample_systems",
]

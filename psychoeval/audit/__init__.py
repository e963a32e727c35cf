"""Items without a model: classical statistics, binned curves, resampling, factors, paired tests."""

from psychoeval.audit.classical import analyze_items
from psychoeval.audit.curves import bin_curves
from psychoeval.audit.difficulty_bins import bin_difficulty, compare_difficulty_bins
from psychoeval.audit.paired import compare_pairs
from psychoeval.audit.resampling import leave_groups_out, resample_systems
from psychoeval.audit.system_means import average_systems

__all__ = [
    "analyze_items",
    "average_systems",
    "bin_curves",
    "bin_difficulty",
    "compare_difficulty_bins",
    "compare_pairs",
    "leave_groups_out",
    "resample_systems",
]

"""Many replications of one task: kept row by row, run again from where they stopped."""

from psychoeval.studies.runner import Replications, replicate
from psychoeval.studies.store import RowStore

__all__ = ["Replications", "RowStore", "replicate"]

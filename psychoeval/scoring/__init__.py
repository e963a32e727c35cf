"""Abilities of persons under known items."""

from psychoeval.scoring.known_items import ScoringMethod, score
from psychoeval.scoring.plausible import plausible_values

__all__ = ["ScoringMethod", "plausible_values", "score"]

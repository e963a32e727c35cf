"""Abilities of persons under known items."""

from psychoeval.scoring.expected import expected_scores
from psychoeval.scoring.expected_result import ExpectedScores
from psychoeval.scoring.known_items import ScoringMethod, score
from psychoeval.scoring.plausible import plausible_values

__all__ = ["ExpectedScores", "ScoringMethod", "expected_scores", "plausible_values", "score"]

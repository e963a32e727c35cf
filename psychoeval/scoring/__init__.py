"""Abilities of persons under known items, what they say on the items' own scale, and how exactly items measure."""

from psychoeval.scoring.expected import expected_scores
from psychoeval.scoring.expected_result import ExpectedScores
from psychoeval.scoring.information import TestInformation, test_information
from psychoeval.scoring.item_files import ItemSource, read_item_parameters
from psychoeval.scoring.known_items import ScoringMethod, score
from psychoeval.scoring.plausible import plausible_values

__all__ = [
    "ExpectedScores",
    "ItemSource",
    "ScoringMethod",
    "TestInformation",
    "expected_scores",
    "plausible_values",
    "read_item_parameters",
    "score",
    "test_information",
]

"""May this ranking be believed: what is known of ranks and pairs, under which conditions, what refitting recovers."""

from psychoeval.trust.assessment import Assessment, assess, assess_comparison
from psychoeval.trust.claims import Claim, Reason
from psychoeval.trust.conditions import Conditions, describe_conditions
from psychoeval.trust.item_bootstrap import rank_over_items
from psychoeval.trust.ranking import Ranking, rank
from psychoeval.trust.refitting import Refitting, check_by_refitting

__all__ = [
    "Assessment",
    "Claim",
    "Conditions",
    "Ranking",
    "Reason",
    "Refitting",
    "assess",
    "assess_comparison",
    "check_by_refitting",
    "describe_conditions",
    "rank",
    "rank_over_items",
]

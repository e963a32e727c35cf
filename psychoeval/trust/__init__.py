"""May this ranking be believed: what is known of ranks and pairs, and what refitting recovers."""

from psychoeval.trust.item_bootstrap import rank_over_items
from psychoeval.trust.ranking import Ranking, rank
from psychoeval.trust.refitting import Refitting, check_by_refitting

__all__ = ["Ranking", "Refitting", "check_by_refitting", "rank", "rank_over_items"]

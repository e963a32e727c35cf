"""May this ranking be believed: what is known of ranks and pairs."""

from psychoeval.trust.item_bootstrap import rank_over_items
from psychoeval.trust.ranking import Ranking, rank

__all__ = ["Ranking", "rank", "rank_over_items"]

"""May this ranking be believed: what is known of ranks and pairs."""

from psychoeval.trust.ranking import Ranking, rank

__all__ = ["Ranking", "rank"]

"""Which pairs of systems to compare where all would be too many: neighbors in rank."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from psychoeval.errors import DataError
from psychoeval.irt.classical import row_moments
from psychoeval.responses.matrix import Responses

#: Systems up to which all pairs are compared.
ALL_PAIRS: Final = 6


def rank_neighbors(responses: Responses) -> tuple[tuple[tuple[str, str], ...], str]:
    """Return pairs of systems worth a test, the better one first, and the rule in words.

    Up to six systems make all pairs; of more, each is paired with the next in rank by mean score over the items it
    saw. Neighbors are chosen by the scores that are then compared, so their differences are the smallest there are,
    and none below 0 where both saw the same items: intervals are those of pairs named in advance.

    Parameters
    ----------
    responses : Responses

    Raises
    ------
    DataError
        With fewer than two persons who have responses.
    """
    mean = row_moments(responses.successes, responses.trials).mean
    known = np.flatnonzero(np.isfinite(mean))
    label = responses.person_label
    if known.size < 2:
        raise DataError(f"{known.size} {label}s have responses.", "A comparison needs two.")
    ids = [responses.person_ids[i] for i in known[np.argsort(-mean[known], kind="stable")].tolist()]
    if len(ids) <= ALL_PAIRS:
        pairs = tuple((a, b) for k, a in enumerate(ids) for b in ids[k + 1 :])
        return pairs, f"All pairs of {len(ids)} {label}s."
    rule = (
        f"Neighbors in rank by mean score, {len(ids) - 1} of {len(ids) * (len(ids) - 1) // 2} pairs; they were chosen "
        "by the scores that are compared, so most differences are small."
    )
    return tuple(pairwise(ids)), rule

"""Items that were not reached, and are stored as wrong."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from psychoeval.responses.cells import counted
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.findings import Finding
from psychoeval.wording import some

#: Shorter final runs of failures are not worth a word, however improbable.
_MIN_TRAILING: Final = 5
#: Expected number of persons flagged by chance, over the whole data set.
_FALSE_ALARMS: Final = 0.05


def trailing_failures(responses: Responses) -> NDArray[np.int64]:
    """Return the length of the run of failures that ends each person's observed responses, (N,)."""
    observed, success = responses.trials > 0, responses.successes > 0
    last_success = np.where(success.any(axis=1), responses.n_items - 1 - np.argmax(success[:, ::-1], axis=1), -1)
    so_far = np.cumsum(observed, axis=1, dtype=np.int32)
    before = np.where(last_success < 0, 0, so_far[np.arange(len(so_far)), last_success])
    return (so_far[:, -1] - before).astype(np.int64)


def unreached(responses: Responses) -> list[Finding]:
    """Flag runs improbable given the person's score and the items' difficulty (as the others show it).

    Given their sum, the successes inside the run have mean m and variance v_in v_out / (v_in + v_out) under a Rasch
    curve through the person's score; none at all is m / sqrt(variance) below it. A hard end of the test is no alarm.
    """
    runs = trailing_failures(responses)
    observed = np.count_nonzero(responses.trials, axis=1)
    k = responses.successes.sum(axis=1, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_chance = k * np.log1p(-runs / observed)
    candidates = np.flatnonzero((runs >= _MIN_TRAILING) & (k > 0) & (by_chance < np.log(_FALSE_ALARMS)))
    limit = float(-ndtri(_FALSE_ALARMS / responses.n_persons))
    totals = [m.sum(axis=0, dtype=np.float64) for m in (responses.successes, responses.trials)]
    flagged = [i for i in candidates.tolist() if _run_surprise(responses, i, int(runs[i]), totals) > limit]
    if not flagged:
        return []
    ids = tuple(responses.person_ids[i] for i in flagged)
    sentence = (
        f"{counted(len(ids), responses.person_label)} whose responses end in a long run of failures, in the order of "
        f"the items: {some([f'{responses.person_ids[i]} (the last {runs[i]})' for i in flagged])}. Were these items "
        "not reached, and stored as wrong? Then make the cells missing."
    )
    return [Finding("warning", "trailing_failures", sentence, ids)]


def _run_surprise(responses: Responses, i: int, run: int, totals: list[NDArray[np.float64]]) -> float:
    """Return how many standard deviations no success in the final run is below its expectation."""
    seen = np.flatnonzero(responses.trials[i])
    successes, trials = (m[i, seen].astype(np.float64) for m in (responses.successes, responses.trials))
    right, given = totals[0][seen] - successes, totals[1][seen] - trials
    logit = np.log((right + 0.5) / (given - right + 0.5))
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if trials @ expit(logit + middle) < successes.sum() else (low, middle)
    p = expit(logit + low)
    variance = trials * p * (1 - p)
    inside, outside = variance[-run:].sum(), variance[:-run].sum()
    spread = np.sqrt(inside * outside / (inside + outside)) if inside > 0 and outside > 0 else np.inf
    return float(trials[-run:] @ p[-run:] / spread)

"""Items that tell persons apart badly, or the wrong way round."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, norm

from psychoeval.irt.classical import item_rest_correlation, negative_item_rest
from psychoeval.responses.cells import counted
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.findings import Finding, pick
from psychoeval.responses.screening.repeats import MIN_COMPARED
from psychoeval.responses.screening.status import constancy
from psychoeval.wording import some

#: Correlation of two items' responses above which one is nearly the other; 19 of 20 points of variance shared.
NEAR_COPY: Final = 0.975
#: Expected share of items named against the rest by chance.
FALSE_DISCOVERIES: Final = 0.05
#: Items beyond which pairs are not compared: their correlations would fill 400 MB.
_MOST_PAIRED: Final = 10_000


def nearly_constant(responses: Responses) -> list[Finding]:
    """Find items on which one person alone differs from all others (of `MIN_COMPARED` or more)."""
    ran = np.count_nonzero(responses.trials, axis=0)
    solved = np.count_nonzero(responses.successes, axis=0)
    perfect = np.count_nonzero((responses.successes == responses.trials) & (responses.trials > 0), axis=0)
    alone = (np.minimum(solved, ran - perfect) == 1) & (ran >= MIN_COMPARED)
    ids = pick(responses.item_ids, alone & (constancy(responses, axis=0) == 0))
    if not ids:
        return []
    sentence = (
        f"{counted(len(ids), 'item')} on which one {responses.person_label} alone differs from all others: "
        f"{some(ids)}. They say next to nothing about the rest."
    )
    return [Finding("note", "nearly_constant_items", sentence, ids)]


def runs_against(responses: Responses) -> list[Finding]:
    """Find items whose correlation with the rest score is negative beyond chance: a key error, or another trait.

    One-sided tests r / SE < z, with the share of false alarms held to `FALSE_DISCOVERIES` (Benjamini and Hochberg).
    """
    if responses.n_persons < MIN_COMPARED:
        return []
    correlate = negative_item_rest if responses.is_complete else item_rest_correlation
    r, error, _ = correlate(responses.successes, responses.trials)
    tested = np.flatnonzero(np.isfinite(r))
    if not tested.size:
        return []
    # An error is there only where r is negative; where it is not, there is nothing against the item.
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(r[tested] < 0, norm.cdf(r[tested] / error[tested]), 1.0)
    adjusted = false_discovery_control(np.nan_to_num(p, nan=1.0))
    worst = tested[adjusted < FALSE_DISCOVERIES]
    worst = worst[np.argsort(r[worst])]
    if not worst.size:
        return []
    ids = tuple(responses.item_ids[j] for j in worst.tolist())
    shown = [f"{responses.item_ids[j]} ({r[j]:.2f})" for j in worst.tolist()]
    sentence = (
        f"{counted(len(ids), 'item')} that strong {responses.person_label}s fail and weak ones pass, beyond chance "
        f"(correlation with the rest): {some(shown)}. Is the key wrong?"
    )
    return [Finding("warning", "possible_key_errors", sentence, ids)]


def near_copies(responses: Responses) -> list[Finding]:
    """Find items that are nearly, and not exactly, an earlier one: correlation `NEAR_COPY` or more where both ran."""
    usable = np.flatnonzero(constancy(responses, axis=0) == 0)
    if responses.n_persons < MIN_COMPARED or usable.size < 2:
        return []
    if usable.size > _MOST_PAIRED:
        sentence = f"Pairs of items were not compared: there are {usable.size}, more than {_MOST_PAIRED}."
        return [Finding("note", "not_compared", sentence, ())]
    r = _pairwise(responses, usable)
    first, again = np.nonzero(np.triu(r >= NEAR_COPY, 1))
    equal = [
        bool(
            (responses.successes[:, usable[i]] == responses.successes[:, usable[j]]).all()
            and (responses.trials[:, usable[i]] == responses.trials[:, usable[j]]).all()
        )
        for i, j in zip(first.tolist(), again.tolist(), strict=True)
    ]
    pairs = [(usable[i], usable[j]) for i, j, same in zip(first, again, equal, strict=True) if not same]
    if not pairs:
        return []
    ids = tuple(dict.fromkeys(responses.item_ids[j] for _, j in pairs))
    shown = [f"{responses.item_ids[j]} ~ {responses.item_ids[i]}" for i, j in pairs]
    sentence = (
        f"{counted(len(ids), 'item')} answered almost as an earlier one (correlation {NEAR_COPY} or more): "
        f"{some(shown)}. Two copies of an item count as one."
    )
    return [Finding("note", "near_copies", sentence, ids)]


def _pairwise(responses: Responses, items: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return correlations over the persons that ran both items, (J, J); 0 below `MIN_COMPARED` persons."""
    trials = responses.trials[:, items]
    seen = (trials > 0).astype(np.float32)
    x = np.zeros(trials.shape, np.float32)
    np.divide(responses.successes[:, items], trials, out=x, where=trials > 0)
    n = seen.T @ seen
    sums = x.T @ seen  # of the row's item, over the persons of both
    squares = (x * x).T @ seen
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = x.T @ x - sums * sums.T / n
        variance = squares - sums**2 / n
        r = covariance / np.sqrt(variance * variance.T)
    r[~((n >= MIN_COMPARED) & (variance > 1e-6) & (variance.T > 1e-6))] = 0
    return np.asarray(r, np.float32)

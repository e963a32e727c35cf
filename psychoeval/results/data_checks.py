"""What the data alone say against a fit: no common factor, items the wrong way round, groups that share nothing."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from psychoeval.irt.classical import negative_item_rest
from psychoeval.responses.connectivity import components
from psychoeval.responses.matrix import Responses
from psychoeval.results.judgement import NAMED

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Sentences = tuple[str, ...]
Slopes = Literal["free", "positive", "equal"]

#: Standard errors below 0 at which an item-rest correlation is negative: 1 item of 700 by chance where all are 0.
REVERSED_ERRORS: Final = 3.0
#: Share of items that do not correlate with the rest. Simulated 2PL data give at most .04 (30 x 500), coin flips .4.
UNRELATED_SHARE: Final = 0.2
#: Below this chance alone passes that share: Rasch data of 20 x 50 give at most .16, of 10 x 50 up to .31.
FEW_PERSONS: Final = 20

_HELD: Final[dict[Slopes, str]] = {
    "free": "Slopes below 0 in the fit are the same finding",
    "positive": "Slopes are positive because log a is estimated, not because the data say so",
    "equal": "The model gives all items one slope, so the fit does not show it",
}


def factor_warning(responses: Responses, slopes: Slopes) -> Sentences:
    """Return a warning where many items do not correlate with the others, or some correlate negatively.

    Parameters
    ----------
    responses : Responses
        Of the persons and items that were fitted.
    slopes : {"free", "positive", "equal"}
        What the model lets them be.
    """
    correlation, error, n = negative_item_rest(responses.successes, responses.trials)
    known = np.isfinite(correlation)
    unrelated = known & (correlation <= 0)
    total = int(known.sum())
    if unrelated.sum() >= max(2.0, UNRELATED_SHARE * total):
        chance = (
            f" With {responses.n_persons} {responses.person_label}s it can be chance."
            if responses.n_persons < FEW_PERSONS
            else ""
        )
        return (
            f"{int(unrelated.sum())} of {total} items do not correlate positively with the rest: "
            f"{_lowest(responses, correlation, unrelated)}. Either the data hold almost no common factor, or items "
            f"work the wrong way round (a wrong key, reversed scoring). {_HELD[slopes]}.{chance}",
        )
    backwards = known & _negative(correlation, error, n)
    if not backwards.any():
        return ()
    return (
        f"{int(backwards.sum())} of {total} items correlate negatively with the rest: "
        f"{_lowest(responses, correlation, backwards)}. {_HELD[slopes]}: look at their keys, or leave them out.",
    )


def disconnected_warning(responses: Responses, link: str) -> Sentences:
    """Return a warning where the data fall into groups of persons and items that share no response.

    Parameters
    ----------
    responses : Responses
        Of the persons and items that were fitted.
    link : str
        What nevertheless puts them on one scale: "Only the priors link them".
    """
    groups = components(responses)
    if groups.n <= 1:
        return ()
    people = f"{responses.person_label}s"
    sizes = np.bincount(groups.person_component[groups.person_component >= 0], minlength=groups.n)[:NAMED]
    first = [int(np.argmax(groups.person_component == k)) for k in range(min(groups.n, NAMED))]
    return (
        f"The data fall into {groups.n} groups of {people} and items that share no response (sizes "
        f"{sizes.tolist()}{', ...' if groups.n > NAMED else ''}; for example "
        f"{', '.join(repr(responses.person_ids[i][:60]) for i in first)} lie in different ones). {link}: "
        f"do not compare {people} across groups.",
    )


def _lowest(responses: Responses, values: FloatArray, which: BoolArray) -> str:
    index = np.flatnonzero(which)
    index = index[np.argsort(values[index], kind="stable")]
    more = f" and {len(index) - NAMED} more" if len(index) > NAMED else ""
    return ", ".join(f"{responses.item_ids[i][:60]!r} ({values[i]:.3g})" for i in index[:NAMED]) + more


def _negative(correlation: FloatArray, error: FloatArray, n: NDArray[np.intp]) -> BoolArray:
    """Return which correlations are below 0 by their own errors and by Student's t, (J,).

    With few persons the distribution-free error is too small, and t holds: 10 persons on 500 Rasch items gave a
    negative item in half of all data sets by the first alone.
    """
    freedom = np.maximum(n - 2, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = correlation * np.sqrt(freedom / (1 - correlation**2))
    by_t = t < stdtrit(freedom, ndtr(-REVERSED_ERRORS))
    return np.asarray(by_t & (correlation + REVERSED_ERRORS * error < 0))

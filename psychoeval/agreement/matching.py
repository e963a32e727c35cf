"""What two fits, or a fit and responses, have in common: by id, never by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, NotComparableError
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult


@dataclass(frozen=True, slots=True)
class Matched:
    """Ids of two fits.

    Parameters
    ----------
    ids : tuple of str, length M
        Common ids, in the order of the first.
    first, second : (M,) integer arrays
        Their positions in each fit.
    only_first, only_second : tuple of str
        The others.
    """

    ids: tuple[str, ...]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of common ids M."""
        return len(self.ids)

    @property
    def is_complete(self) -> bool:
        """Whether both fits have the same ids."""
        return not self.only_first and not self.only_second


def match(first: Sequence[str], second: Sequence[str]) -> Matched:
    """Match two lists of unique ids.

    Examples
    --------
    >>> match(["a", "b"], ["b", "c", "a"]).second
    array([2, 0])
    """
    place = {text: i for i, text in enumerate(second)}
    common = [(text, i, place[text]) for i, text in enumerate(first) if text in place]
    shared = {text for text, _, _ in common}
    return Matched(
        tuple(text for text, _, _ in common),
        np.array([i for _, i, _ in common], dtype=np.intp),
        np.array([j for _, _, j in common], dtype=np.intp),
        tuple(text for text in first if text not in shared),
        tuple(text for text in second if text not in shared),
    )


def check_fit(fit: FitResult) -> None:
    """Refuse what is no fit.

    Raises
    ------
    DataError
    """
    if not isinstance(fit, FitResult):
        raise DataError(f"fit is a {type(fit).__name__}.", "Give a FitResult, as psychoeval.fit returns.")


def check_responses(responses: Responses) -> None:
    """Refuse what are no successes and trials.

    Raises
    ------
    DataError
    """
    if not isinstance(responses, Responses):
        raise DataError(
            f"responses is a {type(responses).__name__}.", "Give Responses: successes and trials of each cell."
        )


def is_of_other_data(fit: FitResult, responses: Responses) -> bool:
    """Whether the digest of a fit's data is known, and not that of the responses."""
    return fit.provenance.data_sha256 not in (None, "", responses.sha256)


def check_same_data(fit: FitResult, responses: Responses) -> None:
    """Refuse a fit of other data.

    Raises
    ------
    NotComparableError
        If its digest, or any person or item, is another.
    """
    other = is_of_other_data(fit, responses)
    if fit.abilities is not None:
        other |= not set(responses.person_ids) <= set(fit.abilities.person_ids)
    if fit.item_parameters is not None:
        other |= not set(responses.item_ids) <= set(fit.item_parameters.item_ids)
    if other:
        raise NotComparableError(f"{fit.label} was fitted to other responses.", "Give the responses of the fit.")

"""Persons of several fits by component: ranks and claims go no further than the data connect them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psychoeval.responses.connections import Connections
from psychoeval.results.fit_result import FitResult

IntArray = NDArray[np.int64]


def person_components(fits: Sequence[FitResult], person_ids: Sequence[str]) -> IntArray:
    """Return the component of each person, (N,): 1 where no fit says that there are several, -1 without responses.

    Parameters
    ----------
    fits : sequence of FitResult
        Of one data set; the first that knows a person's component says it (`FitResult.components`).
    person_ids : sequence of str, length N
    """
    known: dict[str, int] = {}
    for fit in fits:
        if fit.components is not None and fit.abilities is not None:
            known = dict(zip(fit.abilities.person_ids, fit.components.tolist(), strict=True)) | known
    return np.array([known.get(i, -1) for i in person_ids] if known else [1] * len(person_ids), dtype=np.int64)


def several(component: IntArray) -> bool:
    """Whether persons of more than one component are among them."""
    return np.unique(component[component > 0]).size > 1


def connection_words(found: Connections | None) -> tuple[str, ...]:
    """Return what keeps persons apart, what would join them and what hangs by one item or person; sentences."""
    if found is None:
        return ()
    return tuple(text for text in (found.problem, *found.remedies, *found.weak) if text)

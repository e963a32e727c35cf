"""Whether persons and items hang together: components, overlap, coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DisconnectedDataError
from psychoeval.responses.cells import counted
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some, some_of

_NAMED_COMPONENTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Sets of persons and items that share responses with each other and with no others.

    Parameters
    ----------
    n : int
        Number of components; persons and items without any response belong to none.
    person_component : (N,) integer array
        0 to n - 1 in the order of the first persons; -1 without responses.
    item_component : (J,) integer array
        Likewise.
    """

    n: int
    person_component: NDArray[np.int64]
    item_component: NDArray[np.int64]


def largest(sizes: Sequence[tuple[int, int]]) -> int:
    """Return the place of the component with most persons; of several, of that with most items; then the first.

    Parameters
    ----------
    sizes : sequence of (int, int)
        Persons and items of each component.
    """
    return max(range(len(sizes)), key=lambda c: (*sizes[c], -c))


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """How much of the matrix was observed, and how much of it links persons to each other.

    Parameters
    ----------
    fraction : float
        Observed cells over all cells.
    items_per_person : (N,) integer array
        Items each person was given.
    persons_per_item : (J,) integer array
        Persons each item was given to.
    linking_items : (N,) integer array
        Items of each person that another person was given too: what places it on the common scale.
    weakest_link : int
        Smallest of `linking_items` among persons with responses; 0 without any.
    """

    fraction: float
    items_per_person: NDArray[np.int64]
    persons_per_item: NDArray[np.int64]
    linking_items: NDArray[np.int64]
    weakest_link: int


def components(responses: Responses) -> Components:
    """Return the connected components of the graph in which a response joins a person and an item.

    Examples
    --------
    >>> nan = float("nan")
    >>> components(Responses.from_array([[1, nan], [nan, 0], [nan, 1]])).person_component
    array([0, 1, 1])
    """
    trials = responses.trials
    person = np.where(trials.any(axis=1), -2, -1)
    item = np.full(responses.n_items, -1)
    n = 0
    # Each row and column is looked at once: no edge list, which takes 16 bytes a response.
    for start in range(responses.n_persons):
        if person[start] != -2:
            continue
        new = np.array([start])
        while new.size:
            person[new] = n
            reached = np.flatnonzero((item == -1) & trials[new].any(axis=0))
            item[reached] = n
            candidates = np.flatnonzero(person == -2)
            new = candidates[trials[np.ix_(candidates, reached)].any(axis=1)]
        n += 1
    return Components(n, person, item)


def require_connected(responses: Responses) -> None:
    """Refuse responses that fall into components.

    Raises
    ------
    DisconnectedDataError
        Naming the components: nothing observed says how abilities in one compare with those in another.
    """
    found = components(responses)
    if found.n <= 1:
        return
    from psychoeval.responses.connections import connections  # it stands on this module

    label = responses.person_label
    parts = []
    for c in range(min(found.n, _NAMED_COMPONENTS)):
        persons = [responses.person_ids[i] for i in np.flatnonzero(found.person_component == c)]
        items = [responses.item_ids[k] for k in np.flatnonzero(found.item_component == c)]
        parts.append(
            f"({c + 1}) {counted(len(persons), label)} ({some(persons)}) with "
            f"{counted(len(items), 'item')} ({some(items)})"
        )
    raise DisconnectedDataError(
        f"The responses fall into {found.n} components that have no {label} and no item in common: "
        f"{some_of(parts, found.n, '; ')}. Across them abilities and difficulties cannot be compared.",
        " ".join(["Fit each component alone (select_component; --component 1).", *connections(responses).remedies]),
    )


def shared_items(responses: Responses) -> NDArray[np.int64]:
    """Return how many items each two persons were both given, (N, N); its diagonal holds the items of each.

    Examples
    --------
    >>> nan = float("nan")
    >>> shared_items(Responses.from_array([[1, nan, 0], [1, 0, nan]])).tolist()
    [[2, 1], [1, 2]]
    """
    seen = responses.observed.astype(np.float32)  # exact up to 2^24 items, and BLAS multiplies it
    return np.asarray(np.rint(seen @ seen.T), np.int64)


def coverage(responses: Responses) -> Coverage:
    """Return how much was observed, by person and by item, and the weakest link."""
    trials = responses.trials
    per_person = np.count_nonzero(trials, axis=1).astype(np.int64)
    per_item = np.count_nonzero(trials, axis=0).astype(np.int64)
    linking = np.count_nonzero(trials[:, per_item >= 2], axis=1).astype(np.int64)
    fraction = float(per_person.sum() / trials.size)
    seen = linking[per_person > 0]
    return Coverage(fraction, per_person, per_item, linking, int(seen.min()) if seen.size else 0)

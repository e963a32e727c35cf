"""What holds the data together, what hangs by one item or person, and which items and persons would join the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import SettingsError
from psychoeval.responses.cells import counted
from psychoeval.responses.connectivity import components, largest
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some, some_of

#: Items and persons proposed of each component: one alone would be a weak link.
PROPOSED: Final = 3
#: Components and weak links that are named; all are counted.
_NAMED: Final = 4
#: Responses looked at, over all nodes that are taken out, before the search for weak links is given up (seconds).
_MOST_WORK: Final = 300_000_000

IntArray = NDArray[np.int64]
#: The number of a component, from 1 in the order of the first persons; or the one with most persons.
ComponentChoice = int | Literal["largest"]


@dataclass(frozen=True, slots=True)
class Part:
    """A component: persons and items that share responses with each other and with no others.

    Parameters
    ----------
    number : int
        From 1, in the order of the first persons.
    person_ids, item_ids : tuple of str
    linking_items : tuple of str
        Up to three that tell most if persons of another component run them: n p (1 - p) is largest, with n persons of
        this component of whom the share p answered rightly.
    linking_persons : tuple of str
        Up to three that tell most if they run items of another component: n p (1 - p) over their n items.
    """

    number: int
    person_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    linking_items: tuple[str, ...]
    linking_persons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WeakLink:
    """One item or person without which a component falls apart.

    Parameters
    ----------
    kind : {"item", "person"}
    id : str
    sides : tuple of tuple of str
        Persons on each side without it, the largest side first; persons that would have no responses left are not
        counted.
    """

    kind: str
    id: str
    sides: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Connections:
    """How responses hang together.

    Parameters
    ----------
    parts : tuple of Part
        Components; one where all persons can be compared.
    without_responses : tuple of str
        Persons in no component.
    never_run : tuple of str
        Items in no component: they connect nobody until somebody runs them.
    weak_links : tuple of WeakLink, optional
        None where the data are so large that none was looked for.
    noun : str
        What a person is called.
    """

    parts: tuple[Part, ...]
    without_responses: tuple[str, ...]
    never_run: tuple[str, ...]
    weak_links: tuple[WeakLink, ...] | None
    noun: str

    @property
    def is_connected(self) -> bool:
        """Whether there is one component at most."""
        return len(self.parts) <= 1

    @property
    def problem(self) -> str:
        """Which components there are and what they forbid; "" where there is one."""
        if self.is_connected:
            return ""
        named = [
            f"({p.number}) {counted(len(p.person_ids), self.noun)} ({some(p.person_ids, 3)}) with "
            f"{counted(len(p.item_ids), 'item')} ({some(p.item_ids, 3)})"
            for p in self.parts[:_NAMED]
        ]
        return (
            f"The responses fall into {len(self.parts)} components that have no {self.noun} and no item in common: "
            f"{some_of(named, len(self.parts), '; ')}. Abilities are not comparable across them: ranks hold within a "
            "component, and nobody is the best over all."
        )

    @property
    def remedies(self) -> tuple[str, ...]:
        """What would join each component to the largest; a sentence each, for the first four."""
        if self.is_connected:
            return ()
        hub = self.parts[largest([(len(p.person_ids), len(p.item_ids)) for p in self.parts])]
        others = [p for p in self.parts if p is not hub]
        out = [self._remedy(hub, p) for p in others[:_NAMED]]
        if len(others) > _NAMED:
            out.append(f"{len(others) - _NAMED} more components are to be joined in the same way.")
        return tuple(out)

    def _remedy(self, hub: Part, part: Part) -> str:
        return (
            f"To join component {part.number} to component {hub.number}: let {self.noun}s of component {part.number} "
            f"run {some(hub.linking_items)} of component {hub.number}, or {self.noun}s of component {hub.number} run "
            f"{some(part.linking_items)} of component {part.number} (the items that tell most: of middle difficulty, "
            f"run by most); or let {some(part.linking_persons)} run items of component {hub.number}, or "
            f"{some(hub.linking_persons)} items of component {part.number}. Take several: one alone is a weak link."
        )

    @property
    def weak(self) -> tuple[str, ...]:
        """What hangs by one item or person; a sentence each, for the first four."""
        links = self.weak_links or ()
        out = [_weak_sentence(w, self.noun) for w in links[:_NAMED]]
        return (*out, f"{len(links) - _NAMED} more weak links.") if len(links) > _NAMED else tuple(out)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON content."""
        return asdict(self) | {
            "is_connected": self.is_connected,
            "problem": self.problem,
            "remedies": list(self.remedies),
            "weak": list(self.weak),
        }


def _weak_sentence(link: WeakLink, noun: str) -> str:
    what = "item" if link.kind == "item" else noun
    sides = [f"{counted(len(side), noun)} ({some(side, 2)})" for side in link.sides[:3]]
    return (
        f"{what.capitalize()} {some([link.id])} alone links {some_of(sides, len(link.sides), ' and ')}: a weak link, "
        f"on which every comparison between them rests. Have more {what}s in common."
    )


def connections(responses: Responses) -> Connections:
    """Return how responses hang together, with what would join components and what hangs by one item or person.

    Examples
    --------
    >>> nan = float("nan")
    >>> apart = Responses.from_array([[1, 0, nan, nan], [0, 1, nan, nan], [nan, nan, 1, 0], [nan, nan, 0, 0]])
    >>> [part.linking_items for part in connections(apart).parts]
    [('item-1', 'item-2'), ('item-3', 'item-4')]
    """
    found = components(responses)
    persons, items = np.array(responses.person_ids, dtype=object), np.array(responses.item_ids, dtype=object)
    person_information, item_information = _information(responses)
    parts = tuple(
        Part(
            c + 1,
            tuple(persons[found.person_component == c]),
            tuple(items[found.item_component == c]),
            tuple(items[_most(item_information, found.item_component == c)]),
            tuple(persons[_most(person_information, found.person_component == c)]),
        )
        for c in range(found.n)
    )
    return Connections(
        parts,
        tuple(persons[found.person_component < 0]),
        tuple(items[found.item_component < 0]),
        _weak_links(responses, found.person_component),
        responses.person_label,
    )


def select_component(responses: Responses, number: ComponentChoice) -> Responses:
    """Return the persons and items of one component.

    Parameters
    ----------
    responses : Responses
    number : int or "largest"
        From 1 in the order of the first persons; or the one with most persons, of several with most items.

    Raises
    ------
    SettingsError
        If there is no such component.
    """
    found = components(responses)
    if number == "largest" and found.n:
        sizes = [np.bincount(k[k >= 0], minlength=found.n) for k in (found.person_component, found.item_component)]
        number = 1 + largest(list(zip(*(s.tolist() for s in sizes), strict=True)))
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= found.n:
        there = "There is 1 component" if found.n == 1 else f"There are {found.n} components"
        raise SettingsError(
            f"component is {number!r}.", f'{there}: give a whole number from 1 to {found.n}, or "largest".'
        )
    return responses.select(persons=found.person_component == number - 1, items=found.item_component == number - 1)


def _information(responses: Responses) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return n p (1 - p) + a little n of each person (N,) and item (J,): ties, and all constant ones, go by n."""
    out = []
    for axis in (1, 0):
        n = np.count_nonzero(responses.trials, axis=axis)
        trials = responses.trials.sum(axis=axis, dtype=np.int64)
        p = responses.successes.sum(axis=axis, dtype=np.int64) / np.maximum(trials, 1)
        out.append(n * (p * (1 - p) + 1e-9))
    return out[0], out[1]


def _most(information: NDArray[np.float64], within: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the few members with most information."""
    members = np.flatnonzero(within)
    return members[np.argsort(-information[members], kind="stable")[:PROPOSED]]


def _weak_links(responses: Responses, person_component: IntArray) -> tuple[WeakLink, ...] | None:
    """Return the items and persons without which persons fall apart.

    Only inner nodes of a spanning tree can be such: a leaf is taken from the tree and the rest still hangs together.
    Breadth first the tree is shallow and has few inner nodes; each is taken out in turn.
    """
    if responses.is_complete:
        return ()
    row, column = np.nonzero(responses.trials)
    n, total = responses.n_persons, responses.n_persons + responses.n_items
    column = column + n
    candidates = _inner_nodes(row, column, total, person_component)
    if candidates.size * row.size > _MOST_WORK:
        return None
    links = []
    for node in candidates.tolist():
        keep = (row != node) & (column != node)
        touched = np.unique(column[row == node]) if node < n else np.unique(row[column == node])
        sides = _sides(row[keep], column[keep], total, n, touched)
        if len(sides) > 1:
            name = responses.person_ids[node] if node < n else responses.item_ids[node - n]
            named = tuple(tuple(responses.person_ids[i] for i in side) for side in sides)
            links.append(WeakLink("person" if node < n else "item", name, named))
    return tuple(links)


def _inner_nodes(row: IntArray, column: IntArray, total: int, person_component: IntArray) -> IntArray:
    """Return the nodes with children in a breadth-first tree of each component."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    graph = csr_array((np.ones(row.size, dtype=np.int8), (row, column)), shape=(total, total))
    parents = []
    for c in range(int(person_component.max(initial=-1)) + 1):
        root = int(np.argmax(person_component == c))
        nodes, before = breadth_first_order(graph, root, directed=False)
        parents.append(before[nodes[1:]])
    return np.unique(np.concatenate(parents)).astype(np.int64) if parents else np.empty(0, dtype=np.int64)


def _sides(row: IntArray, column: IntArray, total: int, n: int, touched: IntArray) -> list[IntArray]:
    """Return the persons of each group that hangs on one of the nodes `touched`, the largest group first."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(row.size, dtype=np.int8), (row, column)), shape=(total, total))
    _, label = connected_components(graph, directed=False)
    has_responses = np.zeros(total, dtype=bool)
    has_responses[row] = True
    persons = np.flatnonzero(has_responses[:n])
    sides = [persons[label[persons] == group] for group in np.unique(label[touched])]
    return sorted((s for s in sides if s.size), key=lambda s: (-s.size, int(s[0])))

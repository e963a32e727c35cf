"""Groups of systems whose items are compared, and which items can be at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from psychoeval.agreement.concurrent_data import GroupsLike, find_codes
from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

#: An intercept and a slope of each group leave fewer systems than this at most two degrees of freedom.
FEWEST_SYSTEMS: Final = 5
#: Groups below are said to have little power: studies of DIF ask for hundreds of persons a group.
SMALL_GROUP: Final = 30
TESTED: Final = "tested"


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of N persons.

    Parameters
    ----------
    names : tuple of str, length G
        The reference group first.
    codes : (N,) int array
        Places in `names`.
    run : (G, J) int array
        How many of each group have a response to each item.
    status : tuple of str, length J
        Why an item cannot be compared, "" for those that can.
    """

    names: tuple[str, ...]
    codes: IntArray
    run: IntArray
    status: tuple[str, ...]

    @property
    def sizes(self) -> IntArray:
        """Persons of each group with any response or none, (G,)."""
        return np.bincount(self.codes, minlength=len(self.names))

    @property
    def comparable(self) -> BoolArray:
        """Which items can be compared, (J,)."""
        return np.array([not s for s in self.status], dtype=bool)


def find_groups(responses: Responses, groups: GroupsLike, reference: str | None) -> Groups:
    """Return the groups by a covariate of the persons, or by a label each, and what each item lacks.

    Raises
    ------
    DataError
        If a label is missing, or there are not two groups or more.
    SettingsError
        If `reference` is no group.
    """
    codes, names = find_codes(responses, groups)
    noun = responses.person_label
    if len(names) < 2:
        raise DataError(f"All {noun}s are of one group, {names[0]!r}.", "Give groups to compare.")
    if len(names) > len(codes) // 2:
        raise DataError(f"There are {len(names)} groups of {len(codes)} {noun}s.", "Give fewer, larger groups.")
    if reference is not None and reference not in names:
        raise SettingsError(f"reference={reference!r} is no group.", f"The groups are {some(names)}.")
    sizes = np.bincount(codes)
    first = int(np.argmax(sizes)) if reference is None else names.index(reference)
    order = [first, *(k for k in range(len(names)) if k != first)]
    codes, names = np.argsort(order)[codes], tuple(names[k] for k in order)
    run = np.stack([(responses.trials[codes == k] > 0).sum(axis=0) for k in range(len(names))]).astype(np.intp)
    return Groups(names, codes, run, _status(responses, names, codes, run))


def _status(responses: Responses, names: tuple[str, ...], codes: IntArray, run: IntArray) -> tuple[str, ...]:
    """Return what the first group that lacks something lacks of each item."""
    status = np.full(responses.n_items, "", dtype=object)
    for k in reversed(range(len(names))):
        rows = codes == k
        right = responses.successes[rows].sum(axis=0, dtype=np.int64)
        total = responses.trials[rows].sum(axis=0, dtype=np.int64)
        status[right == 0] = f"constant in {names[k]}: all wrong"
        status[right == total] = f"constant in {names[k]}: all right"
        status[run[k] < FEWEST_SYSTEMS] = f"too few systems: fewer than {FEWEST_SYSTEMS} of {names[k]} ran it"
        status[run[k] == 0] = f"never run by {names[k]}"
    return tuple(str(s) for s in status)


def power_notes(groups: Groups, level: float) -> tuple[str, ...]:
    """Say what groups of few systems can show at all.

    On an item that half solve, without matching, the log odds ratio of two groups has the variance 4 / n1 + 4 / n2; the
    ratio found with 80 % power is (z + .84) times its root. Items that fewer or more solve, matching, and the
    adjustment for many tests ask for larger ones.
    """
    sizes = groups.sizes
    if sizes.min() >= SMALL_GROUP:
        return ()
    one, two = np.sort(sizes)[:2] if len(sizes) > 2 else sizes
    least = (ndtri(0.5 + level / 2) + ndtri(0.8)) * np.sqrt(4 / one + 4 / two)
    named = ", ".join(f"{name} {n}" for name, n in zip(groups.names, sizes, strict=True))
    return (
        f"Groups are small ({named}; below {SMALL_GROUP} little can be shown): even on an item that half solve, and "
        f"without adjustment for many items, DIF below {least:.1f} logits is missed more than one time in five. That "
        "nothing is flagged does not say that there is no DIF, and effects look large by chance. Trials of one system "
        "do not replace systems.",
    )

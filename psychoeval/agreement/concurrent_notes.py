"""What a reader of a calibration of several groups must know, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.modeled import Modeled
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters
from psychoeval.wording import some

BoolArray = NDArray[np.bool_]

#: Groups below say little about a mean (its error is above a fifth of an SD) and less about an SD.
SMALL_GROUP: Final = 30
#: Common items of a group below which one item that works differently moves the whole group.
FEW_LINKS: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Who ran what.

    Parameters
    ----------
    names : tuple of str, length G
    sizes : sequence of int, length G
        Persons that take part.
    runs : (G, j) array of bool
        Which of the items that take part each group ran.
    held : (j,) array of bool
        Which of them are fixed.
    reference : int, optional
    """

    names: tuple[str, ...]
    sizes: Sequence[int]
    runs: BoolArray
    held: BoolArray
    reference: int | None


def calibration_notes(
    data: Modeled, model: ItemModel, links: Links, fixed: ItemParameters | None, stopped: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return what to know of frame, items left out, small groups and weak links.

    Parameters
    ----------
    data : Modeled
    model : ItemModel
    links : Links
    fixed : ItemParameters, optional
    stopped : sequence of str
        Groups whose SD stopped at its bound.
    """
    people, ids = f"{data.responses.person_label}s", data.responses.item_ids
    notes = [_frame(links, model, people)]
    if lost := [i for i, kept in zip(ids, data.items, strict=True) if not kept]:
        notes.append(
            f"{len(lost)} items took no part, being constant or never run: {some(lost)}. Their responses are not "
            "in the log-likelihood, which does not compare with one of other items."
        )
    if fixed is not None and (absent := [i for i in fixed.item_ids if i not in set(ids)]):
        notes.append(f"{len(absent)} fixed items are not in the data: {some(absent)}.")
    if small := [f"{n} ({k})" for n, k in zip(links.names, links.sizes, strict=True) if k < SMALL_GROUP]:
        notes.append(f"Groups of few {people} say little of their mean and less of their SD: {some(small)}.")
    if stopped:
        notes.append(f"The SD of {some(list(stopped))} stopped at its bound: these {people} differ by no more than "
                     "chance (or are all right or all wrong). It has no error.")  # fmt: skip
    return (*notes, *_weak_links(links))


def _frame(links: Links, model: ItemModel, people: str) -> str:
    if links.reference is None:
        n = int(links.held.sum())
        return (f"The frame is that of {n} fixed item{'s' * (n != 1)}, taken as known; means and SDs of all groups "
                "are estimated.")  # fmt: skip
    law = "mean 0" if model.name == "Rasch" else "mean 0 and SD 1"
    return f"The frame is that of the {people} of {links.names[links.reference]!r}: {law}."


def _weak_links(links: Links) -> list[str]:
    """Say which groups hang on few items: ones that another group ran or that are held."""
    held, n = links.held, len(links.names)
    linking = held if held.any() else links.runs.sum(axis=0) > 1
    weak = [f"{name} ({int(r[linking].sum())})" for name, r in zip(links.names, links.runs, strict=True)
            if n + held.any() > 1 and r[linking].sum() < FEW_LINKS]  # fmt: skip
    if not weak:
        return []
    return [f"Fewer than {FEW_LINKS} items link a group to the frame, and one that works differently there moves "
            f"all of it: {some(weak)}."]  # fmt: skip

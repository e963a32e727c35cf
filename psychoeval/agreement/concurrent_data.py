"""Who takes part in a calibration of several groups, and which items are held: everything refused before a fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, DisconnectedDataError, ModelError, SettingsError
from psychoeval.estimators.native.modeled import Modeled
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.connectivity import components, require_connected
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status
from psychoeval.wording import some

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
GroupsLike = str | Mapping[str, object] | Sequence[object]


def find_codes(responses: Responses, groups: GroupsLike) -> tuple[IntArray, tuple[str, ...]]:
    """Return the group of each person, (N,), and the names of groups by first appearance.

    Labels are those of a column of `responses.persons`, of ids (a mapping, or a pandas Series by its index), or of the
    persons in their order (a sequence, an array, or a Series that counts its rows from 0).

    Raises
    ------
    DataError
        If labels are missing, too many, or of persons that do not exist.
    """
    if isinstance(groups, str):
        return group_codes(responses, groups, "persons")
    noun = responses.person_label
    given = _by_id(_one_column(groups), responses.n_persons)
    if isinstance(given, Mapping):
        known = set(responses.person_ids)
        if unknown := [i for i in given if i not in known]:
            raise DataError(f"groups names {some(unknown)}: no such {noun}.", _ids_wanted(groups, noun))
        if lacking := [i for i in responses.person_ids if i not in given]:
            raise DataError(
                f"groups has no label for {len(lacking)} {noun}s: {some(lacking)}.",
                f"Give one for each, or select the {noun}s that have one.",
            )
        labels = [given[i] for i in responses.person_ids]
    else:
        labels = given
    if len(labels) != responses.n_persons:
        raise DataError(
            f"There are {len(labels)} group labels for {responses.n_persons} {noun}s.",
            f"Give one for each {noun} in the order of the responses, or a mapping of ids to labels.",
        )
    import pandas as pd

    table = pd.DataFrame({"group": pd.Series(labels, dtype=object)})
    return group_codes(replace(responses, persons=table), "group", "persons")


def _one_column(groups: Any) -> Any:
    """Return the only column of a data frame as a Series, and anything else as it is."""
    if not hasattr(groups, "columns"):
        return groups
    if len(groups.columns) != 1:
        raise DataError(
            f"groups is a table of {len(groups.columns)} columns: {some([str(c) for c in groups.columns])}.",
            "Give one of its columns.",
        )
    return groups[groups.columns[0]]


def _by_id(groups: Any, n: int) -> Mapping[str, object] | list[object]:
    """Return labels by id, or in the order of the persons: of a Series whose index counts its rows from 0."""
    if isinstance(groups, Mapping):
        return groups
    usable = hasattr(groups, "__getitem__") and hasattr(groups, "__len__") and not isinstance(groups, bytes)
    if not usable or getattr(groups, "ndim", 1) != 1:
        shape = f" of shape {groups.shape}" if usable else ""
        raise DataError(
            f"groups is a {type(groups).__name__}{shape}.",
            "Give the name of a covariate, a mapping of ids to labels, or one label for each.",
        )
    index = getattr(groups, "index", None)
    if index is None or callable(index) or (len(groups) == n and list(index) == list(range(n))):
        return list(groups)
    ids = [str(i) for i in index]
    twice = [i for i, count in Counter(ids).items() if count > 1]
    if twice:
        raise DataError(f"The index of groups has {some(twice)} more than once.", "Give one label for each id.")
    return dict(zip(ids, groups, strict=True))


def _ids_wanted(groups: object, noun: str) -> str:
    if isinstance(groups, Mapping):
        return f"Name {noun}s of the responses."
    return (
        f"A Series is matched by its index: put the ids of {noun}s there, or give labels in their order (.to_numpy())."
    )


def find_reference(names: Sequence[str], codes: IntArray, reference: str | None, *, anchored: bool) -> int | None:
    """Return the group that sets the frame: the one named, else the largest; None where fixed items do.

    Raises
    ------
    SettingsError
        If `reference` is no group, or fixed items set the frame.
    """
    if reference is None:
        return None if anchored else int(np.argmax(np.bincount(codes, minlength=len(names))))
    if anchored:
        raise SettingsError(
            f"reference={reference!r} was given with fixed_items, which set the frame themselves.", "Leave it out."
        )
    if reference not in names:
        raise SettingsError(f"reference={reference!r} is no group.", f"The groups are {some(list(names))}.")
    return names.index(reference)


def find_fixed(item_ids: Sequence[str], fixed: ItemParameters, model: ItemModel) -> IntArray:
    """Return the place of each item in `fixed`, -1 for those that are not held, (J,).

    Raises
    ------
    DataError
        If none is in the data, or one has no parameters.
    ModelError
        If the model cannot hold one.
    """
    place = {i: k for k, i in enumerate(fixed.item_ids)}
    at = np.array([place.get(i, -1) for i in item_ids], dtype=np.intp)
    held = at[at >= 0]
    if not held.size:
        raise DataError(
            f"None of the {fixed.n_items} fixed items is in the data: {some(fixed.item_ids)}.",
            f"Give items of the responses ({some(list(item_ids))}), under the same ids.",
        )
    ids = [fixed.item_ids[k] for k in held]
    _refuse(DataError, ids, ~fixed.estimated[held], "no parameters", "Leave them out.")
    a, c = fixed.discrimination[held], fixed.guessing[held]
    _refuse(ModelError, ids, a <= 0, "a slope that is not positive", "Turn their scoring round, or leave them out.")
    _refuse(ModelError, ids, (c < 0) | (c >= 1), "guessing outside [0, 1)", "Give c as a probability.")
    if not model.guessing_is_estimated:
        given = float(model.guessing) if isinstance(model.guessing, (int, float)) else 0.0
        _refuse(
            ModelError, ids, np.abs(c - given) > 1e-12, f"guessing other than {given:g}, which the {model.name} has",
            "Take a 3PL whose guessing is estimated, or leave them out.",
        )  # fmt: skip
    if model.name == "Rasch":
        _refuse(ModelError, ids, a != 1.0, "slopes other than 1", "Take the 1PL or 2PL, or leave them out.")
    if model.name == "1PL":
        _refuse(
            ModelError, ids, np.abs(a / a[0] - 1.0) > 1e-9, f"slopes other than {ids[0]!r}'s, and a 1PL has one",
            "Take the 2PL, or leave them out.",
        )  # fmt: skip
    return at


def _refuse(
    error: type[DataError] | type[ModelError], ids: Sequence[str], bad: BoolArray, what: str, remedy: str
) -> None:
    if bad.any():
        named = some([i for i, b in zip(ids, bad, strict=True) if b])
        raise error(f"{int(bad.sum())} of the fixed items have {what}: {named}.", remedy)


def taking_part(responses: Responses, fixed: BoolArray, *, constant_items: bool) -> Modeled:
    """Return who takes part: items that vary or are held (with priors all that were run), and who ran any of them.

    Raises
    ------
    DataError
        If no item is left.
    """
    items, persons = item_status(responses), person_status(responses)
    run = np.array([s != "no_responses" for s in items], dtype=bool)
    kept = run if constant_items else run & (fixed | np.array([s == "estimated" for s in items], dtype=bool))
    if not kept.any():
        raise DataError(
            f"None of the {len(items)} items can be estimated: all are constant or were never run.",
            "Look at the data, or hold the items by priors (priors='weak').",
        )
    if fixed.any() and not (kept & fixed).any():
        names = some([i for i, f in zip(responses.item_ids, fixed, strict=True) if f])
        raise DataError(f"No fixed item was run by anyone: {names}.", "Fix items that the data have responses to.")
    seen = np.asarray(responses.trials[:, kept].any(axis=1))
    part = responses.select(persons=np.flatnonzero(seen), items=np.flatnonzero(kept))
    return Modeled(responses, kept, seen, items, persons, part)


def check_sizes(names: Sequence[str], codes: IntArray, noun: str) -> None:
    """Refuse groups of fewer than two persons: they have no SD.

    Raises
    ------
    DataError
    """
    sizes = np.bincount(codes, minlength=len(names))
    few = [f"{name} ({n})" for name, n in zip(names, sizes, strict=True) if n < 2]
    if few:
        raise DataError(
            f"A group needs two {noun}s with responses, and better many: {some(few)}.",
            f"Join groups, or leave these {noun}s out and score them on the items (psychoeval.score).",
        )


def check_linked(data: Modeled, codes: IntArray, names: Sequence[str], fixed: BoolArray) -> None:
    """Refuse groups between which nothing sets the scale: no common item, and no fixed one.

    Raises
    ------
    DisconnectedDataError
        Naming the groups and items.
    """
    part = data.part
    runs = np.stack([part.trials[codes == k].any(axis=0) for k in range(len(names))])
    sets = _linked_groups(runs)
    lone = [s for s in sets if not (runs[s].any(axis=0) & fixed).any()] if fixed.any() else sets[1:]
    if lone:
        own = [i for i, r in zip(part.item_ids, np.atleast_1d(runs[lone[0]].any(axis=0)), strict=True) if r]
        what = "ran no fixed item, and share none" if fixed.any() else "share no item"
        raise DisconnectedDataError(
            f"The groups {some([names[k] for k in lone[0]])} {what} with the others; they ran {some(own)}.",
            "Calibrate them apart, or add items that link them.",
        )
    if not part.is_complete and not fixed.any():
        require_connected(part)
    elif not part.is_complete:
        _require_anchored(part, fixed)


def check_freedom(model: ItemModel, n_parameters: int, part: Responses, codes: IntArray) -> None:
    """Refuse more parameters than the possible patterns of responses in all groups can tell apart.

    Raises
    ------
    ModelError
        With the two counts.
    """
    most = [part.trials[codes == k].max(axis=0).astype(np.float64) for k in range(int(codes.max()) + 1)]
    # In logarithms: 2^5000 has no double.
    if max(float(np.log(m + 1.0).sum()) for m in most) > np.log(n_parameters + 1.0):
        return
    freedom = sum(int(np.prod(m + 1.0)) - 1 for m in most)
    if n_parameters > freedom:
        raise ModelError(
            f"Too few degrees of freedom: the {model.name} of {part.n_items} items in {len(most)} groups has "
            f"{n_parameters} parameters, and the responses only {freedom} degrees of freedom.",
            "Give more items, hold some (fixed_items), or take a model with fewer parameters.",
        )


def _linked_groups(runs: BoolArray) -> list[list[int]]:
    """Return the sets of groups that common items hold together."""
    left, out = list(range(len(runs))), []
    while left:
        found = [left.pop(0)]
        while more := [k for k in left if (runs[k] & runs[found].any(axis=0)).any()]:
            found += more
            left = [k for k in left if k not in more]
        out.append(sorted(found))
    return out


def _require_anchored(part: Responses, fixed: BoolArray) -> None:
    found = components(part)
    for c in range(found.n):
        own = found.item_component == c
        if not (own & fixed).any():
            ids = [i for i, o in zip(part.item_ids, own, strict=True) if o]
            persons = [i for i, o in zip(part.person_ids, found.person_component == c, strict=True) if o]
            raise DisconnectedDataError(
                f"The {part.person_label}s {some(persons)} ran no fixed item, and share none with those who did: "
                f"{some(ids)}.",
                f"Leave them out, or add {part.person_label}s or items that link them.",
            )

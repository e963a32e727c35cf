"""The two sides of a link: items and their covariance, which anchors take part, and what a reader must know of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.matching import Matched, match
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.irt.linking import has_one_slope, orientation
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.fit_result import FitResult
from psychoeval.wording import some

FloatArray = NDArray[np.float64]

#: Anchors up to which the covariance of a common slope with all items is spread out: two matrices of 72 MB.
MOST_OF_ONE_SLOPE: Final = 1000


@dataclass(frozen=True, slots=True)
class Side:
    """What takes part of a fit, or of a table of items.

    Parameters
    ----------
    label : str
    items : ItemParameters, optional
    abilities : Abilities, optional
    believed : bool
        Whether the fit is believed; tables and imported fits are not judged.
    """

    label: str
    items: ItemParameters | None
    abilities: Abilities | None
    believed: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Anchors:
    """M common items with finite parameters on both sides.

    Parameters
    ----------
    ids : tuple of str, length M
    first, second : (M, 3) arrays
        a, d, c.
    used : (M,) bool array
        Whether an anchor takes part in A and B; the others are only looked at.
    covariance : (first, second), each (M, 3, 3) or (3 M, 3 M), optional
    notes : tuple of str
    """

    ids: tuple[str, ...]
    first: FloatArray
    second: FloatArray
    used: NDArray[np.bool_]
    covariance: tuple[FloatArray, FloatArray] | None
    notes: tuple[str, ...]


def side(given: FitResult | ItemParameters, name: str) -> Side:
    """Return what takes part of an argument.

    Raises
    ------
    SettingsError
        If it is neither a fit nor items.
    """
    if isinstance(given, ItemParameters):
        return Side(name, given, None)
    if not isinstance(given, FitResult):
        raise SettingsError(
            f"{name} is of type {type(given).__name__}.", "Give a FitResult or ItemParameters; import_fit reads tables."
        )
    believed = given.convergence.believed or given.convergence.status == "imported"
    return Side(f"{name} ({given.label})", given.item_parameters, given.abilities, believed)


def anchors(given: ItemParameters, onto: ItemParameters, labels: Sequence[str], exclude: Sequence[str]) -> Anchors:
    """Return the anchors: common items, less those without parameters or with runaway ones, which a note names.

    Raises
    ------
    NotComparableError
        If none is left.
    SettingsError
        If an item to exclude is not common.
    """
    common = match(given.item_ids, onto.item_ids)
    if not common.n:
        raise NotComparableError(
            f"No item is common: {labels[0]} has {some(given.item_ids, 3)}, {labels[1]} has {some(onto.item_ids, 3)}.",
            "Give the same ids to the same items, or link by common persons (on='persons').",
        )
    left_out = _excluded(exclude, common.ids, "items")
    keep, notes = _fit_to_link(given, onto, common)
    ids = tuple(i for i, kept in zip(common.ids, keep, strict=True) if kept)
    used = np.array([i not in left_out for i in ids], dtype=bool)
    if not used.any():
        raise NotComparableError(
            f"None of {common.n} common items can be an anchor. {' '.join(notes)}",
            "Fit items that are neither constant nor runaway on both sides, or exclude fewer.",
        )
    at = common.first[keep], common.second[keep]
    first, second = (_parameters(p, i) for p, i in zip((given, onto), at, strict=True))
    notes += _sign_notes(ids, first, second)
    covariance, remarks = _covariances((given, onto), at, labels)
    return Anchors(ids, first, second, used, covariance, (*notes, *remarks))


def _excluded(exclude: Sequence[str], common: Sequence[str], noun: str) -> set[str]:
    left_out, known = set(exclude), set(common)
    if unknown := [i for i in exclude if i not in known]:
        raise SettingsError(f"{some(unknown)} cannot be excluded: not common {noun}.", f"Name common {noun}.")
    return left_out


def _parameters(items: ItemParameters, at: NDArray[np.intp]) -> FloatArray:
    return np.stack([items.discrimination[at], items.intercept[at], items.guessing[at]], axis=1)


def _fit_to_link(
    given: ItemParameters, onto: ItemParameters, common: Matched
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Return which common items can be anchors, and what is said of the others."""
    finite = given.estimated[common.first] & onto.estimated[common.second]
    runaway = finite & np.array(
        [
            "runaway" in (given.status[i], onto.status[j])
            for i, j in zip(common.first, common.second, strict=True)
        ],
        dtype=bool,
    )  # fmt: skip
    notes = []
    for what, which in (("have no parameters on one side", ~finite), ("are runaway on one side", runaway)):
        if which.any():
            names = [i for i, chosen in zip(common.ids, which, strict=True) if chosen]
            notes.append(f"{len(names)} of {common.n} common items {what} and take no part: {some(names)}.")
    return finite & ~runaway, tuple(notes)


def _sign_notes(ids: tuple[str, ...], first: FloatArray, second: FloatArray) -> tuple[str, ...]:
    sign = orientation(first, second)
    notes = []
    if sign < 0:
        notes.append(
            "Most anchors have slopes of opposite signs: the two scales run in opposite directions, and A < 0."
        )
    against = np.sign(first[:, 0] * second[:, 0]) * sign < 0
    if against.any():
        names = [i for i, chosen in zip(ids, against, strict=True) if chosen]
        notes.append(f"Slopes of {some(names)} have the sign that the other anchors' do not: look at their keys.")
    guessed = [bool((items[:, 2] > 0).any()) for items in (first, second)]
    if guessed[0] != guessed[1]:
        notes.append("Only one side has lower asymptotes: the models differ, and curves cannot meet.")
    return tuple(notes)


def _covariances(
    both: tuple[ItemParameters, ItemParameters], at: tuple[NDArray[np.intp], NDArray[np.intp]], labels: Sequence[str]
) -> tuple[tuple[FloatArray, FloatArray] | None, tuple[str, ...]]:
    """Return the covariances of the anchors on both sides, or None and the reason."""
    found, notes = [], []
    for items, index, label in zip(both, at, labels, strict=True):
        covariance, remark = _covariance(items, index)
        if covariance is None:
            notes.append(f"A and B have no standard errors: {label}: {remark}")
        elif remark:
            notes.append(f"{label}: {remark}")
        found.append(covariance)
    one, two = found
    return (None if one is None or two is None else (one, two)), tuple(notes)


def _covariance(items: ItemParameters, at: NDArray[np.intp]) -> tuple[FloatArray | None, str]:
    if items.covariance is None:
        return None, items.no_errors_because or "its items have no errors."
    blocks = items.covariance[at]
    if unknown := [items.item_ids[i] for i, block in zip(at, blocks, strict=True) if not np.isfinite(block).all()]:
        return None, f"{some(unknown)} have no errors."
    if items.joint_covariance is not None and (whole := _from_joint(items, at, blocks)) is not None:
        return whole, ""
    remark = "errors of different items are taken as independent, because only each item's own covariance is known."
    if not has_one_slope(items.discrimination[at]) or not blocks[0, 0, 0] > 0 or at.size == 1:
        return blocks, remark
    if at.size > MOST_OF_ONE_SLOPE:
        return None, f"a slope common to more than {MOST_OF_ONE_SLOPE} anchors needs the joint covariance of the items."
    return _sharing_one_slope(blocks), remark


def _from_joint(items: ItemParameters, at: NDArray[np.intp], blocks: FloatArray) -> FloatArray | None:
    """Return the (3 M, 3 M) part of the joint covariance, None if it lacks a parameter that the blocks say is free.

    Rows of parameters that are fixed are 0: also of the slope of a Rasch model, whose label stands for the latent SD.
    """
    assert items.joint_covariance is not None
    place = {label: k for k, label in enumerate(items.joint_labels)}
    rows = []
    for m, i in enumerate(at):
        for t, term in enumerate(("a", "d", "c")):
            found = place.get((items.item_ids[i], term), place.get(("", term)))
            free = blocks[m, t, t] > 0
            if free and found is None:
                return None
            rows.append(found if free and found is not None else -1)
    padded = np.pad(items.joint_covariance, ((0, 1), (0, 1)))  # -1 is a row of zeros
    return np.asarray(padded[np.ix_(rows, rows)])


def _sharing_one_slope(blocks: FloatArray) -> FloatArray:
    """Return the (3 M, 3 M) covariance of items with one slope, otherwise independent given it."""
    m = len(blocks)
    by_slope = blocks[:, :, 0].reshape(-1)
    out: FloatArray = np.outer(by_slope, by_slope) / blocks[0, 0, 0]
    for j in range(m):
        out[3 * j : 3 * j + 3, 3 * j : 3 * j + 3] = blocks[j]
    return out


@dataclass(frozen=True, slots=True, eq=False)
class PersonAnchors:
    """M common persons with finite abilities in logits on both sides.

    Parameters
    ----------
    ids : tuple of str, length M
    first, second : (M,) arrays
    used : (M,) bool array
    error_variances : (first, second), each (M,)
        To be added to the variance of the estimates (`psychoeval.irt.linking_persons`).
    notes : tuple of str
    """

    ids: tuple[str, ...]
    first: FloatArray
    second: FloatArray
    used: NDArray[np.bool_]
    error_variances: tuple[FloatArray, FloatArray]
    notes: tuple[str, ...]


def common_abilities(one: Side, two: Side, exclude: Sequence[str]) -> PersonAnchors:
    """Return the common persons, less those without a finite ability.

    Raises
    ------
    NotComparableError
        If a side has no abilities in logits, or no person is common.
    SettingsError
        If a person to exclude is not common.
    """
    both = []
    for of in (one, two):
        if of.abilities is None or of.abilities.scale != "logit":
            what = "no abilities" if of.abilities is None else "abilities that are proportions"
            raise NotComparableError(f"{of.label} has {what}.", "Give fits with abilities in logits, or common items.")
        both.append(of.abilities)
    common = match(both[0].person_ids, both[1].person_ids)
    if not common.n:
        raise NotComparableError(
            f"No item and no person is common: {one.label} has {some(both[0].person_ids, 3)}, {two.label} has "
            f"{some(both[1].person_ids, 3)}.",
            "Two calibrations need common items or persons; give the same ids to the same.",
        )
    left_out = _excluded(exclude, common.ids, "persons")
    values = [a.estimate[at] for a, at in zip(both, (common.first, common.second), strict=True)]
    keep = np.isfinite(values[0]) & np.isfinite(values[1])
    notes = []
    if not keep.all():
        lost = [i for i, kept in zip(common.ids, keep, strict=True) if not kept]
        notes.append(f"{len(lost)} of {common.n} common persons have no finite ability and take no part: {some(lost)}.")
    ids = tuple(i for i, kept in zip(common.ids, keep, strict=True) if kept)
    variances = []
    for of, abilities, at in zip((one, two), both, (common.first[keep], common.second[keep]), strict=True):
        added, remark = _error_variances(abilities, at)
        variances.append(added)
        notes += [f"{of.label}: {remark}"] if remark else []
    used = np.array([i not in left_out for i in ids], dtype=bool)
    first, second = values[0][keep], values[1][keep]
    return PersonAnchors(ids, first, second, used, (variances[0], variances[1]), tuple(notes))


def _error_variances(abilities: Abilities, at: NDArray[np.intp]) -> tuple[FloatArray, str]:
    """Return what is to be added to squared deviations for the true variance, and what to know of it."""
    sign = {"EAP": 1.0, "MAP": 1.0, "ML": -1.0, "WLE": -1.0}.get(abilities.method)
    if sign is None or abilities.standard_error is None:
        why = "have no standard errors" if sign is not None else f"were scored by {abilities.method!r}"
        return np.zeros(at.size), f"abilities {why}: their SD is taken as it is, shrunken or inflated by their errors."
    error = abilities.standard_error[at]
    return np.where(np.isfinite(error), sign * error**2, 0.0), ""

"""The items that an expected score is about, and how much each counts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, PsychoevalWarning, SettingsError
from psychoeval.irt.expected_score import probabilities
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.quadrature import person_blocks
from psychoeval.irt.score_equations import KnownItems
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

FloatArray = NDArray[np.float64]


class Taken(NamedTuple):
    """Averages over the items of a set that each of N persons took, (N,) each.

    Parameters
    ----------
    observed, expected, variance : (N,) arrays
        NaN for persons who took none.
    n_items : (N,) integer array
    """

    observed: FloatArray
    expected: FloatArray
    variance: FloatArray
    n_items: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class ItemSet:
    """J items with G weighted groups.

    Parameters
    ----------
    item_ids : tuple of str, length J
    index : (J,) integer array
        Their positions among the known items.
    items : KnownItems
        Their parameters; what was constant in the data has a = 0 and d = +-inf.
    within : (J,) array
        Weights within a group, in any unit.
    group : (J,) integer array
    group_weights : (G,) array
        They sum to 1.
    words : str
        What the score is a mean of.
    """

    item_ids: tuple[str, ...]
    index: NDArray[np.intp]
    items: KnownItems
    within: FloatArray
    group: NDArray[np.intp]
    group_weights: FloatArray
    words: str

    @property
    def weights(self) -> FloatArray:
        """Weight of each item in the score, (J,); they sum to 1."""
        total = np.bincount(self.group, self.within, self.group_weights.size)
        return np.asarray(self.within * (self.group_weights / total)[self.group])

    def taken(self, responses: Responses, theta: FloatArray) -> Taken:
        """Return what each person's average over the items taken is, and what it should be; persons as in `theta`.

        The mean over the groups of the means of the items taken, by the weights of the groups of which any was taken:
        what a table of averages shows. With u_ij the weight of a cell in it, its expectation is sum_j u_ij P_ij and its
        variance sum_j u_ij^2 P_ij (1 - P_ij) / n_ij at the abilities `theta` (N,).
        """
        place = {name: j for j, name in enumerate(responses.item_ids)}
        known = np.array([name in place for name in self.item_ids], dtype=bool)
        columns = np.array([place[name] for name in self.item_ids if name in place], dtype=np.intp)
        items = KnownItems(self.items.a[known], self.items.d[known], self.items.c[known])
        member = (self.group[known][:, None] == np.arange(self.group_weights.size)) * self.within[known][:, None]
        values, count = np.full((3, theta.size), np.nan), np.zeros(theta.size, dtype=np.intp)
        for rows in person_blocks(theta.size, 4 * max(1, columns.size)):
            n = responses.trials[rows][:, columns].astype(np.float64)
            seen = n > 0
            share = responses.successes[rows][:, columns] / np.maximum(n, 1.0)
            totals = seen @ member  # (B, G)
            share_of_group = np.where(totals > 0, self.group_weights, 0.0)
            share_of_group /= np.maximum(share_of_group.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            per_weight = np.divide(share_of_group, totals, out=np.zeros_like(totals), where=totals > 0)
            p = probabilities(theta[rows], items)
            u = seen * (per_weight @ member.T)
            # Sums within a group first, so that equal counts of successes have equal averages to the last bit.
            means = [((cells * seen) @ member * per_weight).sum(axis=1) for cells in (share, p)]
            found = np.stack([*means, (u**2 * p * (1.0 - p) / np.maximum(n, 1.0)).sum(axis=1)])
            values[:, rows] = np.where(u.any(axis=1), found, np.nan)
            count[rows] = seen.sum(axis=1)
        return Taken(values[0], values[1], values[2], count)


def item_set(
    items: ItemParameters,
    wanted: Sequence[str] | None,
    benchmarks: Mapping[str, str] | None,
    weights: Mapping[str, float] | None,
) -> ItemSet:
    """Return the items of a score with their weights; see `psychoeval.scoring.expected_scores`.

    Items that were constant in the data count as 0 or 1; others without parameters are left out, with a warning.

    Raises
    ------
    DataError
        If an item is unknown, or none has parameters, or a benchmark has none that has.
    SettingsError
        If weights or benchmarks are not what they must be.
    """
    chosen = _chosen(items, wanted)
    constant = np.isin(np.array(items.status), ("constant_all_0", "constant_all_1")) & ~items.estimated
    usable = (items.estimated | constant)[chosen]
    lost = [items.item_ids[j] for j in chosen[~usable]]
    if not usable.any():
        raise DataError(f"None of {len(lost)} items has parameters: {some(lost)}.", "Choose items that were estimated.")
    group_of, group_names = _groups([items.item_ids[j] for j in chosen], benchmarks)
    index, group = chosen[usable], group_of[usable]
    empty = [name for g, name in enumerate(group_names) if g not in group]
    if empty:
        raise DataError(f"No item of {some(empty)} has parameters.", "Leave out these benchmarks' items.")
    if lost:
        warnings.warn(
            f"{len(lost)} of {chosen.size} items have no parameters and are no part of the expected scores: "
            f"{some(lost)}.",
            PsychoevalWarning,
            stacklevel=4,
        )
    ids = tuple(items.item_ids[j] for j in index)
    within, group_weights = np.ones(index.size), np.ones(len(group_names))
    if weights is not None and benchmarks is None:
        within = _weights(weights, ids, "item", chosen=[items.item_ids[j] for j in chosen])
    elif weights is not None:
        group_weights = _weights(weights, group_names, "benchmark", chosen=group_names)
    always = np.array([items.status[j] == "constant_all_1" for j in index], dtype=bool)
    fixed = constant[index]
    known = KnownItems(
        np.where(fixed, 0.0, items.discrimination[index]),
        np.where(fixed, np.where(always, np.inf, -np.inf), items.intercept[index]),
        np.where(fixed, 0.0, items.guessing[index]),
    )
    words = f"{index.size} items"
    if benchmarks is not None:
        words = f"{len(group_names)} benchmarks, {'weighted' if weights else 'each counting the same'} ({words})"
    elif weights is not None:
        words = f"{words}, weighted"
    return ItemSet(ids, index, known, within, group, group_weights / group_weights.sum(), words)


def _chosen(items: ItemParameters, wanted: Sequence[str] | None) -> NDArray[np.intp]:
    """Return the positions of the chosen items."""
    if wanted is None:
        return np.arange(items.n_items)
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise SettingsError(f"items is {wanted!r}.", "Give the ids of the items as a list.")
    place = {name: j for j, name in enumerate(items.item_ids)}
    names = list(wanted)
    if unknown := [name for name in names if name not in place]:
        raise DataError(
            f"{len(unknown)} of {len(names)} items have no known parameters: {some(unknown)}.", "Name known items."
        )
    if not names or len(set(names)) < len(names):
        raise SettingsError("items names an item twice, or none.", "Name each item once; weights= counts one more.")
    return np.array([place[name] for name in names], dtype=np.intp)


def _groups(ids: Sequence[str], benchmarks: Mapping[str, str] | None) -> tuple[NDArray[np.intp], list[str]]:
    """Return the group of each item, and the names of the groups."""
    if benchmarks is None:
        return np.zeros(len(ids), dtype=np.intp), ["all"]
    if not isinstance(benchmarks, Mapping):
        raise SettingsError(f"benchmarks is a {type(benchmarks).__name__}.", "Give a mapping of item id to benchmark.")
    if missing := [i for i in ids if i not in benchmarks]:
        raise SettingsError(f"benchmarks does not say of which {some(missing)} are.", "Name one for each item.")
    names = list(dict.fromkeys(str(benchmarks[i]) for i in ids))
    place = {name: g for g, name in enumerate(names)}
    return np.array([place[str(benchmarks[i])] for i in ids], dtype=np.intp), names


def _weights(given: Mapping[str, float], names: Sequence[str], what: str, *, chosen: Sequence[str]) -> FloatArray:
    """Return the weights of `names`, which are all `chosen` ones that have parameters."""
    if not isinstance(given, Mapping):
        raise SettingsError(f"weights is a {type(given).__name__}.", f"Give a mapping of {what} to weight.")
    odd = [name for name in given if name not in set(chosen)] or [name for name in chosen if name not in given]
    if odd:
        raise SettingsError(f"weights and {what}s do not match: {some(odd)}.", f"Give each {what} one weight.")
    values = np.array([_weight(given[name], name) for name in names])
    if not values.sum() > 0:
        raise SettingsError(f"The weights of all {what}s are 0.", "Give one a positive weight.")
    return values


def _weight(value: object, name: str) -> float:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or value < 0:  # type: ignore[call-overload, operator]
        raise SettingsError(f"The weight of {name!r} is {value!r}.", "Give a finite number from 0.")
    return float(value)  # type: ignore[arg-type]

"""Estimates of several fits side by side, matched by id and never by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.alignment import standardisation
from psychoeval.agreement.components import person_components, several
from psychoeval.agreement.ranks import ranks_within
from psychoeval.errors import NotComparableError
from psychoeval.irt.intervals import wald_interval
from psychoeval.irt.parameters import ItemParameters
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]
#: Of a scale and origin that were divided out and are back to rounding.
ROUNDING = 1e-9
ItemTerm = Literal["discrimination", "difficulty", "intercept", "guessing"]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Values of K fits for the ids of all of them.

    Attributes
    ----------
    ids : tuple of str, length M
        In the order of the first fit that has each.
    fits : tuple of FitResult, length K
    values, low, high : (M, K) arrays
        Estimate and 95% interval, NaN where a fit has none.
    """

    ids: tuple[str, ...]
    fits: tuple[FitResult, ...]
    values: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def component(self) -> NDArray[np.int64]:
        """Component of each row where they are persons, (M,); 1 where there is one (`FitResult.components`)."""
        return person_components(self.fits, self.ids)

    @property
    def believed(self) -> NDArray[np.bool_]:
        """Which fits may be believed, (K,)."""
        return np.array([f.convergence.believed for f in self.fits], dtype=bool)


Column: TypeAlias = tuple[tuple[str, ...], FloatArray]


def _stack(fits: Sequence[FitResult], columns: Sequence[Column]) -> SideBySide:
    ids = tuple(dict.fromkeys(i for own, _ in columns for i in own))
    place = {i: m for m, i in enumerate(ids)}
    out = np.full((3, len(ids), len(columns)), np.nan)
    for k, (own, numbers) in enumerate(columns):
        out[:, [place[i] for i in own], k] = numbers
    return SideBySide(ids, tuple(fits), *out)


def logit_unit(fits: Sequence[FitResult], names: Sequence[str]) -> str:
    """Return the unit of abilities in logits: divided by the latent SD in the fits whose abilities are N(0, 1).

    A fit has another unit where its latent distribution is not known (cml has none), or was left as it is.
    """
    others = [name for fit, name in zip(fits, names, strict=True) if not _in_latent_sds(fit)]
    if not others:
        return "logits / latent SD"
    return "logits" if len(others) == len(fits) else f"logits / latent SD; {', '.join(others)}: logits"


def _in_latent_sds(fit: FitResult) -> bool:
    step = standardisation(fit)
    return step is not None and abs(step.scale - 1.0) < ROUNDING and abs(step.shift) < ROUNDING


def abilities(fits: Sequence[FitResult]) -> SideBySide:
    """Return the abilities of the fits that have any.

    Raises
    ------
    NotComparableError
        If none has.
    """
    having = [f for f in fits if f.abilities is not None]
    if not having:
        raise NotComparableError("No fit has abilities.", "Give fits of estimators that score persons.")
    scored = [fit.abilities for fit in having if fit.abilities is not None]
    return _stack(having, [(a.person_ids, np.stack([a.estimate, *a.interval()])) for a in scored])


def item_term(fits: Sequence[FitResult], term: ItemTerm) -> SideBySide:
    """Return one item parameter of the fits that have item parameters; NaN for items the data say nothing about.

    Raises
    ------
    NotComparableError
        If none has.
    """
    having = [f for f in fits if f.item_parameters is not None]
    if not having:
        raise NotComparableError("No fit has item parameters.", "Give fits of an item response model.")
    columns: list[Column] = []
    for parameters in (fit.item_parameters for fit in having if fit.item_parameters is not None):
        value, errors = getattr(parameters, term), parameters.standard_errors
        error = np.full(value.shape, np.nan) if errors is None else errors[term]
        block = np.stack([value, *wald_interval(value, error)])
        columns.append((parameters.item_ids, np.where(informed(parameters), block, np.nan)))
    return _stack(having, columns)


def informed(parameters: ItemParameters) -> NDArray[np.bool_]:
    """Return which items the data say something about, (J,): constant ones have at most their prior."""
    empty = ("constant_all_0", "constant_all_1", "no_responses")
    return np.asarray(parameters.estimated & np.array([s not in empty for s in parameters.status]), dtype=np.bool_)


def ranks(table: SideBySide) -> FloatArray:
    """Return ranks down each column within components, (M, K): 1 the highest, ties at their mean rank, else NaN."""
    component = table.component
    return np.column_stack([ranks_within(column, component) for column in table.values.T])


def consensus(table: SideBySide) -> FloatArray:
    """Return each row's mean rank over the believed fits, or over all where none is believed, (M,)."""
    use = table.believed if table.believed.any() else np.ones(len(table.fits), bool)
    ranked = ranks(table)[:, use]
    known = np.isfinite(ranked)
    total, count = np.where(known, ranked, 0.0).sum(axis=1), known.sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.inf)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Rows to draw, best first: their positions, what to add to each name, and the rule in words."""

    rows: NDArray[np.intp]
    suffixes: tuple[str, ...]
    rule: str


def choose(table: SideBySide, limit: int, noun: str) -> Chosen:
    """Choose at most `limit` rows, best mean rank first.

    All of them; else one for each distinct set of estimates; else rows at evenly spaced ranks, first and last among
    them.

    Parameters
    ----------
    table : SideBySide
    limit : int
    noun : str
        ``"person"`` or ``"system"``, for the words.
    """
    component = table.component
    apart = several(component)
    # Persons without responses are in no component, and last.
    order = np.lexsort((consensus(table), np.where(component > 0, component, len(component) + 1)))
    chosen = _chosen(table, order, limit, noun)
    if not apart:
        return chosen
    marks = [f" [{component[m]}]" if component[m] > 0 else "" for m in chosen.rows]
    return Chosen(
        chosen.rows,
        tuple(s + mark for s, mark in zip(chosen.suffixes, marks, strict=True)),
        f"{chosen.rule} They fall into components, numbered in brackets, that share nothing: ranks hold within a "
        "component, and abilities are not comparable across.",
    )


def _chosen(table: SideBySide, order: NDArray[np.intp], limit: int, noun: str) -> Chosen:
    total = order.size
    if total <= limit:
        return Chosen(order, ("",) * total, f"All {total} {noun}s, by mean rank over the fits that are believed.")
    _, first, inverse, counts = np.unique(
        np.round(table.values[order], 6), axis=0, return_index=True, return_inverse=True, return_counts=True,
        equal_nan=True,
    )  # fmt: skip
    if first.size <= limit:
        picked = np.sort(first)
        alike = counts[np.ravel(inverse)[picked]]
        return Chosen(
            order[picked],
            tuple(f" × {c}" for c in alike),
            f"The {total} {noun}s have {first.size} distinct sets of estimates: one row each, named after the first "
            f"{noun} that has it, × the number of {noun}s that share it.",
        )
    picked = np.unique(np.linspace(0, total - 1, limit).round().astype(int))
    return Chosen(
        order[picked],
        ("",) * picked.size,
        f"{picked.size} of {total} {noun}s, at evenly spaced mean ranks from the first to the last.",
    )

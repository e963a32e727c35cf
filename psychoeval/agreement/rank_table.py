"""Persons ranked by several fits side by side, within their component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.alignment import standardised
from psychoeval.agreement.components import IntArray, person_components, several
from psychoeval.agreement.ranks import ranks_within
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]


def rank_table(names: Sequence[str], fits: Sequence[FitResult], columns: Sequence[str], level: float) -> pd.DataFrame:
    """Return one row a person, best mean rank over the believed fits first; see `Comparison.rank_table`."""
    import pandas as pd

    having = [(n, f) for n, f in zip(names, fits, strict=True) if f.abilities is not None]
    person_ids = tuple(dict.fromkeys(i for _, f in having if f.abilities for i in f.abilities.person_ids))
    component = person_components(fits, person_ids)
    place = {text: i for i, text in enumerate(person_ids)}
    blocks = {n: _block(f, place, component, level) for n, f in having}
    content: dict[str, Any] = {"component": component} if several(component) else {}
    content |= {"person": list(person_ids), "mean_rank": _mean_rank([f for _, f in having], blocks)}
    for name, block in blocks.items():
        content |= {f"{name} {column}": block[column] for column in columns}
    table = pd.DataFrame(content)
    if several(component):
        # Persons without responses are in no component, and last.
        table["last"] = table["component"] < 0
        order = table.sort_values(["last", "component", "mean_rank"], kind="stable", ignore_index=True)
        return order.drop(columns="last")
    return table.sort_values("mean_rank", kind="stable", ignore_index=True)


def _block(fit: FitResult, place: dict[str, int], component: IntArray, level: float) -> dict[str, FloatArray]:
    """Return rank, estimate and interval of each person by one fit, NaN where it has none; in the standard frame."""
    abilities = standardised(fit)[0].abilities
    assert abilities is not None
    at = [place[i] for i in abilities.person_ids]
    low, high = abilities.interval(level)
    out = {}
    for column, value in {"estimate": abilities.estimate, "conf_low": low, "conf_high": high}.items():
        out[column] = np.full(len(place), np.nan)
        out[column][at] = value
    return out | {"rank": ranks_within(out["estimate"], component)}


def _mean_rank(fits: Sequence[FitResult], blocks: dict[str, dict[str, FloatArray]]) -> FloatArray:
    """Return the mean rank over the believed fits, or over all where none is believed."""
    if not blocks:
        return np.empty(0)
    ranked = np.stack([b["rank"] for b in blocks.values()], axis=1)
    believed = np.array([f.convergence.believed for f in fits])
    used = ranked[:, believed] if believed.any() else ranked
    known = np.isfinite(used)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, used, 0.0).sum(axis=1) / known.sum(axis=1))

"""Item tables: every item of every fit, constants included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

_HEADS: Final = {
    "discrimination": "a",
    "difficulty": "b",
    "intercept": "d",
    "guessing": "c",
    "proportion_correct": "p",
    "item_rest_correlation": "r (item-rest)",
}
_PARAMETERS: Final = ("discrimination", "difficulty", "intercept", "guessing")
_STATISTICS: Final = ("proportion_correct", "item_rest_correlation")


@dataclass(frozen=True, slots=True)
class ItemsTable:
    """One fit's items: `terms` are the columns (estimate and standard error each), `rows` one an item.

    `common` states the parameters that all items share and that have no column, and an origin other than abilities'.
    """

    label: str
    believed: bool
    terms: tuple[str, ...]
    rows: tuple[tuple[int, str, int, float, str, tuple[tuple[float, float], ...]], ...]
    common: tuple[str, ...]
    n_estimated: int
    errors_note: str


def items_table(name: str, fit: FitResult, responses: Responses) -> ItemsTable | None:
    """Return the table of a fit's items, or None where it has none.

    Rows hold position in the data, id, trials, proportion correct, status, and estimate and standard error of each
    term.
    """
    source = fit.item_parameters if fit.item_parameters is not None else fit.item_statistics
    if source is None:
        return None
    errors = source.standard_errors or {}
    terms, common, columns = [], [], []
    for term in _PARAMETERS if fit.item_parameters is not None else _STATISTICS:
        estimate = getattr(source, term)
        error = np.asarray(errors.get(term, np.full(estimate.shape, np.nan)))
        if not np.isfinite(estimate).any():
            continue
        if _is_common(estimate, error):
            spread = np.nanmax(error, initial=0.0)
            se = f" (SE {spread:.3f})" if spread > 0 else ""
            common.append(f"{_HEADS[term]} = {np.nanmean(estimate):.3f}{se} for all items")
        else:
            terms.append(_HEADS[term])
            columns.append((estimate, error))
    if origin := (fit.statistics or {}).get("identification"):
        common.append(f"the origin of b and d: {origin}, not the mean of the abilities")
    ids = source.item_ids
    status: tuple[str, ...] = source.status
    place = {i: k for k, i in enumerate(responses.item_ids)}
    trials = responses.trials.sum(axis=0, dtype=np.int64)
    successes = responses.successes.sum(axis=0, dtype=np.int64)
    rows = []
    for m, (item, state) in enumerate(zip(ids, status, strict=True)):
        j = place.get(item, -1)
        n = int(trials[j]) if j >= 0 else 0
        p = int(successes[j]) / n if n else float("nan")
        values = tuple((float(e[m]), float(s[m])) for e, s in columns)
        rows.append((j + 1, item, n, p, state.replace("_", " "), values))
    note = "" if fit.item_parameters is None else fit.item_parameters.no_errors_because
    return ItemsTable(name, fit.convergence.believed, tuple(terms), tuple(rows), tuple(common),
                      sum(s == "estimated" for s in status), note)  # fmt: skip


def _is_common(estimate: np.ndarray, error: np.ndarray) -> bool:
    finite = np.isfinite(estimate)
    errors = error[finite & np.isfinite(error)]
    return bool(finite.any() and np.ptp(estimate[finite]) < 1e-9 and finite.sum() > 1
                and (not errors.size or np.ptp(errors) < 1e-9))  # fmt: skip

"""What priors do to the items: both fits of a pair beside the modes under the priors of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.alignment import standardised
from psychoeval.agreement.matching import match
from psychoeval.agreement.pair import PairComparison
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    from psychoeval.agreement.comparison import Comparison

FloatArray = NDArray[np.float64]

#: Rows of a table; those that differ most, in posterior SDs.
MOST_ROWS: Final = 20
_TERMS: Final = (("a", "discrimination"), ("d", "intercept"))


@dataclass(frozen=True, slots=True)
class ShrinkageRow:
    """One parameter of an item, abilities N(0, 1): five values and the posterior SD; NaN where one is not known."""

    item: str
    term: str
    other: float
    other_mode: float
    posterior_mode: float
    mean: float
    median: float
    sd: float

    @property
    def moved(self) -> float:
        """Posterior mean minus the other fit's value, in posterior SDs."""
        return (self.mean - self.other) / self.sd if self.sd > 0 else float("nan")


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """A posterior beside another fit that differs from it in the priors alone."""

    posterior: str
    other: str
    explained: bool
    words: str
    rows: tuple[ShrinkageRow, ...]
    n_rows: int


def shrinkage(comparison: Comparison) -> tuple[Shrinkage, ...]:
    """Return a table for each pair whose difference was held against its priors."""
    known = dict(zip(comparison.names, comparison.fits, strict=True))
    out = []
    for pair in comparison.pairs:
        effect = pair.prior_effect
        if effect is None or effect.explained is None:
            continue
        second = known[pair.second].convergence.status == "sampled"
        posterior, other = (pair.second, pair.first) if second else (pair.first, pair.second)
        modes = effect.modes if second else effect.modes[::-1]
        rows = _rows(pair, known[other], known[posterior], modes)
        worst = sorted(rows, key=lambda r: -abs(r.moved) if np.isfinite(r.moved) else 0.0)[:MOST_ROWS]
        shown = [r for r in rows if any(r is w for w in worst)]
        out.append(Shrinkage(posterior, other, effect.explained, effect.words, tuple(shown), len(rows)))
    return tuple(out)


def _rows(
    pair: PairComparison, other: FitResult, posterior: FitResult, modes: tuple[FitResult | None, FitResult | None]
) -> list[ShrinkageRow]:
    ids = pair.items.ids
    rows = []
    for letter, term in _TERMS:
        own, at_other, at_posterior, mean = (_values(f, term, ids) for f in (other, *modes, posterior))
        middle, sd = _median(posterior, term, ids), _errors(posterior, term, ids)
        rows += [
            ShrinkageRow(item, letter, own[k], at_other[k], at_posterior[k], mean[k], middle[k], sd[k])
            for k, item in enumerate(ids)
        ]
    return rows


def _values(fit: FitResult | None, term: str, ids: tuple[str, ...]) -> FloatArray:
    items = None if fit is None else standardised(fit)[0].item_parameters
    return np.full(len(ids), np.nan) if items is None else _at(getattr(items, term), items.item_ids, ids)


def _errors(fit: FitResult, term: str, ids: tuple[str, ...]) -> FloatArray:
    items = standardised(fit)[0].item_parameters
    errors = None if items is None else items.standard_errors
    return np.full(len(ids), np.nan) if items is None or errors is None else _at(errors[term], items.item_ids, ids)


def _median(fit: FitResult, term: str, ids: tuple[str, ...]) -> FloatArray:
    """Return the medians of the draws, NaN where they were not kept or are on another scale (Rasch slopes)."""
    draws = fit.draws
    if draws is None or term not in draws.values:
        return np.full(len(ids), np.nan)
    return _at(np.median(draws.pooled(term), axis=0), draws.item_ids, ids)


def _at(values: FloatArray, having: tuple[str, ...], ids: tuple[str, ...]) -> FloatArray:
    found = match(ids, having)
    out = np.full(len(ids), np.nan)
    out[found.first] = values[found.second]
    return out

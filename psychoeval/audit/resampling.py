"""How far item statistics would change with other systems: bootstrap, and leaving groups out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.audit.settings import check_level, check_whole, generator
from psychoeval.errors import DataError
from psychoeval.irt.classical import FloatArray, item_rest_correlation, row_moments
from psychoeval.irt.weighted import weighted_item_statistics
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status

if TYPE_CHECKING:
    import pandas as pd

_TERMS: Final = ("proportion_correct", "item_rest_correlation")


@dataclass(frozen=True, slots=True, eq=False)
class TermStability:
    """One item statistic in R samples of the persons.

    Parameters
    ----------
    full : (J,) array
        From all persons.
    standard_error : (J,) array
        Bootstrap: SD over samples. Groups left out: of the jackknife, sqrt((G - 1) / G sum of squared deviations).
        NaN where fewer than two samples have a value.
    low, high : (J,) arrays
        Quantiles over samples.
    n_samples : (J,) array
        Samples with a value: an item that is constant in a sample has no rest correlation there.
    correlation : (R,) array
        Pearson's, over items, of each sample's values with those of all persons.
    shift : (R,) array
        Largest absolute change of an item.
    """

    full: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    n_samples: NDArray[np.intp]
    correlation: FloatArray
    shift: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """Stability of item statistics over systems.

    Parameters
    ----------
    item_ids, status : tuple of str, length J
    proportion_correct, item_rest_correlation : TermStability
    samples : tuple of str, length R
        Names of the groups left out; empty for a bootstrap.
    n_left : (R,) array
        Persons in each sample (distinct ones, for a bootstrap).
    kind : str
        ``"bootstrap"``, or ``"without each "`` and the covariate.
    level : float
        Of the quantiles.
    notes : tuple of str
    """

    item_ids: tuple[str, ...]
    status: tuple[str, ...]
    proportion_correct: TermStability
    item_rest_correlation: TermStability
    samples: tuple[str, ...]
    n_left: NDArray[np.intp]
    kind: str
    level: float
    notes: tuple[str, ...]

    def summary(self) -> pd.DataFrame:
        """Return the published summary, one row a statistic: correlations with all systems, mean error, mean width."""
        import pandas as pd

        rows = {}
        for name in _TERMS:
            term: TermStability = getattr(self, name)
            r = term.correlation[np.isfinite(term.correlation)]
            rows[name] = {
                "correlation_mean": r.mean() if r.size else np.nan,
                "correlation_min": r.min() if r.size else np.nan,
                "mean_standard_error": _mean(term.standard_error),
                "mean_interval_width": _mean(term.high - term.low),
                "n_items": int(np.isfinite(term.standard_error).sum()),
                "n_samples": term.correlation.size,
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item."""
        import pandas as pd

        columns: dict[str, object] = {"status": self.status}
        for name in _TERMS:
            term: TermStability = getattr(self, name)
            columns[name] = term.full
            for field in ("standard_error", "low", "high", "n_samples"):
                columns[f"{name}_{field}"] = getattr(term, field)
        return pd.DataFrame(columns, index=pd.Index(self.item_ids, name="item"))

    def samples_frame(self) -> pd.DataFrame:
        """Return one row a sample: persons left, correlations with all persons, largest changes."""
        import pandas as pd

        columns: dict[str, object] = {"n_left": self.n_left}
        for name in _TERMS:
            term: TermStability = getattr(self, name)
            columns[f"{name}_correlation"], columns[f"{name}_shift"] = term.correlation, term.shift
        return pd.DataFrame(columns, index=pd.Index(self.samples or range(1, self.n_left.size + 1), name="sample"))


def resample_systems(
    responses: Responses, *, replications: int = 1000, seed: int | np.random.Generator = 0, level: float = 0.9
) -> Stability:
    """Bootstrap the systems: draw as many with replacement, and compute every item's statistics again.

    Rows are drawn whole, missing cells with them. Systems are taken as independent: where many share a base model,
    leave families out instead (`leave_groups_out`).

    Parameters
    ----------
    responses : Responses
    replications : int
        2 or more.
    seed : int or numpy.random.Generator
    level : float
        Of the percentile intervals.

    Raises
    ------
    SettingsError
        For fewer than 2 replications or a level outside (0, 1).
    """
    check_whole("replications", replications, 2)
    check_level(level)
    n = responses.n_persons
    weights = generator(seed).multinomial(n, np.full(n, 1 / n), size=replications).astype(float)
    notes = (f"{replications} samples of {n} {responses.person_label}s with replacement, rows whole; "
             f"{level:.0%} percentile intervals.")  # fmt: skip
    return _stability(responses, weights, (), "bootstrap", level, (notes,), jackknife=False)


def leave_groups_out(responses: Responses, *, group: str, level: float = 0.9) -> Stability:
    """Leave each developer, family or other group of systems out, and compute every item's statistics again.

    The jackknife's standard error takes groups as the independent units; with groups of very unequal size it is rough.

    Parameters
    ----------
    responses : Responses
    group : str
        Column of `responses.persons`.
    level : float
        Of the quantiles over groups left out: how far the statistic moves, no confidence interval.

    Raises
    ------
    DataError
        Without such a covariate, where it is missing, or with a single group.
    SettingsError
        For a level outside (0, 1).
    """
    check_level(level)
    codes, names = group_codes(responses, group, "persons")
    if len(names) < 2:
        raise DataError(f"All {responses.person_label}s have the same {group!r}, {names[0]!r}.", "Give another column.")
    weights = (codes != np.arange(len(names))[:, None]).astype(float)
    largest = int(np.bincount(codes).max())
    notes = (f"{len(names)} groups by {group!r}, the largest of {largest} {responses.person_label}s, left out in turn; "
             f"{level:.0%} of the values lie between low and high.")  # fmt: skip
    return _stability(responses, weights, names, f"without each {group}", level, (notes,), jackknife=True)


def _stability(
    responses: Responses,
    weights: FloatArray,
    samples: tuple[str, ...],
    kind: str,
    level: float,
    notes: tuple[str, ...],
    *,
    jackknife: bool,
) -> Stability:
    s, t = responses.successes, responses.trials
    p, r = (
        _Collector(row_moments(s.T, t.T).mean, len(weights)),
        _Collector(item_rest_correlation(s, t)[0], len(weights)),
    )
    for part, proportion, correlation in weighted_item_statistics(s, t, weights):
        p.add(part, proportion, level)
        r.add(part, correlation, level)
    without = int(np.count_nonzero(np.isnan(r.full)))
    lost = int(np.count_nonzero(np.isfinite(r.full) & (r.count < len(weights))))
    further = [f"{without} items have no rest correlation in the full data (constant or never run)."] * bool(without)
    if lost:
        further.append(f"{lost} items are constant in some samples, which have no rest correlation of them.")
    return Stability(
        responses.item_ids,
        item_status(responses),
        p.finish(jackknife),
        r.finish(jackknife),
        samples,
        np.count_nonzero(weights, axis=1),
        kind,
        level,
        (*notes, *further),
    )


class _Collector:
    """Takes blocks of (R, B) values of a statistic and keeps J and R numbers: R x J are never held."""

    def __init__(self, full: FloatArray, samples: int) -> None:
        self.full = full
        self.center = float(np.nanmean(full)) if np.isfinite(full).any() else 0.0
        self.count = np.zeros(full.size, dtype=np.intp)
        self.variance, self.low, self.high = (np.full(full.size, np.nan) for _ in range(3))
        # Over items: number, sums, squares and products of the full value x and the sample's y.
        self.sums = np.zeros((6, samples))
        self.shift = np.full(samples, np.nan)

    def add(self, part: slice, values: FloatArray, level: float) -> None:
        known = np.isfinite(values) & np.isfinite(self.full[part])
        self.count[part] = n = np.count_nonzero(known, axis=0)
        y = np.where(known, values - self.center, 0.0)
        x = np.where(known, self.full[part] - self.center, 0.0)
        self.sums += [v.sum(axis=1) for v in (known, x, y, x * x, y * y, x * y)]
        self.shift = np.fmax(self.shift, np.max(np.where(known, np.abs(y - x), -np.inf), axis=1))
        mean = y.sum(axis=0) / np.maximum(n, 1)
        squares = np.sum((y - mean) ** 2, axis=0, where=known)
        np.divide(squares, n - 1, out=self.variance[part], where=n > 1)
        tail = (1 - level) / 2
        self.low[part], self.high[part] = _quantiles(np.where(known, values, np.nan), n, (tail, 1 - tail))

    def finish(self, jackknife: bool) -> TermStability:
        n, x, y, xx, yy, xy = self.sums
        safe = np.maximum(n, 1)
        spread = (xx - x * x / safe) * (yy - y * y / safe)
        r = np.full(n.size, np.nan)
        usable = (n > 2) & (spread > 1e-24)
        np.divide(xy - x * y / safe, np.sqrt(np.where(usable, spread, 1.0)), out=r, where=usable)
        factor = (self.count - 1) ** 2 / np.maximum(self.count, 1) if jackknife else 1.0
        error = np.sqrt(self.variance * factor)
        shift = np.where(np.isfinite(self.shift), self.shift, np.nan)
        return TermStability(self.full, error, self.low, self.high, self.count, np.clip(r, -1, 1), shift)


def _quantiles(values: FloatArray, n: NDArray[np.intp], shares: tuple[float, ...]) -> list[FloatArray]:
    """Return linear-interpolation quantiles of the known values of each column, as NumPy's; one pass for any NaN."""
    ordered = np.sort(values, axis=0)  # NaN last
    out = []
    for share in shares:
        place = share * np.maximum(n - 1, 0)
        below = np.floor(place).astype(np.intp)
        above = np.minimum(below + 1, np.maximum(n - 1, 0))
        low, high = (np.take_along_axis(ordered, k[None], axis=0)[0] for k in (below, above))
        out.append(np.where(n > 0, low + (place - below) * (high - low), np.nan))
    return out


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")

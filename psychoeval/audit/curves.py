"""Item curves without a model: proportion correct in groups of persons with like scores on the other items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import false_discovery_control, rankdata

from psychoeval.audit.settings import check_level, check_whole
from psychoeval.irt.classical import BoolArray, FloatArray, Moments, mean_error, rest_blocks, row_moments
from psychoeval.irt.intervals import wilson_interval
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status

if TYPE_CHECKING:
    import pandas as pd

#: Expected share of false alarms among the items called clearly decreasing.
FALSE_ALARMS: Final = 0.05
#: Rest scores closer than this are ties: their sums differ by rounding alone.
_TIE: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ItemCurves:
    """Binned curves of J items over B groups of persons, from the weakest to the strongest by rest score.

    Parameters
    ----------
    item_ids, status : tuple of str, length J
    n_persons : (J, B) array
        In each group; ties stay together, so that groups may be unequal or empty.
    rest : (J, B) array
        Mean rest score of the group: per item, relative to the items' means. NaN in empty groups.
    proportion, low, high : (J, B) arrays
        Mean score of the group on the item and Wilson's interval. NaN in empty groups.
    trend : (J,) array
        Correlation of score and group number; NaN for constant items.
    z, p_value : (J,) arrays
        Of the trend, trend sqrt(n - 1), and its one-sided normal probability of a fall as large by chance.
    p_adjusted : (J,) array
        For all items at once, by Benjamini and Hochberg.
    level : float
        Of the intervals.
    notes : tuple of str
    """

    item_ids: tuple[str, ...]
    status: tuple[str, ...]
    n_persons: NDArray[np.intp]
    rest: FloatArray
    proportion: FloatArray
    low: FloatArray
    high: FloatArray
    trend: FloatArray
    z: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    level: float
    notes: tuple[str, ...]

    @property
    def decreasing(self) -> BoolArray:
        """Items whose curve falls: a trend below 0, by chance or not, (J,)."""
        return np.asarray(self.trend < 0)

    @property
    def clearly_decreasing(self) -> BoolArray:
        """Items whose curve falls beyond chance, at a false discovery rate of 5 % over all items, (J,)."""
        return np.asarray(self.p_adjusted < FALSE_ALARMS)

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item and group, groups from 1."""
        import pandas as pd

        j, groups = self.proportion.shape
        columns = {name: getattr(self, name).ravel() for name in ("n_persons", "rest", "proportion", "low", "high")}
        flags = {name: np.repeat(getattr(self, name), groups) for name in ("trend", "p_value", "p_adjusted")}
        return pd.DataFrame(
            {
                "item": np.repeat(np.array(self.item_ids, dtype=object), groups),
                "group": np.tile(np.arange(1, groups + 1), j),
                **columns,
                **flags,
                "decreasing": np.repeat(self.decreasing, groups),
                "clearly_decreasing": np.repeat(self.clearly_decreasing, groups),
            }
        )


def bin_curves(responses: Responses, *, groups: int = 6, level: float = 0.95) -> ItemCurves:
    """Bin every item's curve over groups of persons of like rest score.

    Persons who saw an item are ranked by their score on the others (the rest score of
    `psychoeval.irt.classical.item_rest_correlation`), ties at their mean rank, and the person of rank R of n falls into
    group floor(B (R - 1/2) / n): B groups of equal size but for ties, whatever the order of the rows. The mean score of
    a group is over persons, of successes over trials; Wilson's interval takes several trials of a person for no more
    than the spread between persons allows.

    A falling curve is a wrong key, a trick question, or a skill that comes with weakness; among few systems also
    chance. The trend is tested against exchangeable scores: its correlation r has variance 1 / (n - 1) under
    permutation (for 0/1 scores the Cochran-Armitage test; Armitage 1955, doi 10.2307/3001775).

    Parameters
    ----------
    responses : Responses
    groups : int
        B, 2 or more.
    level : float
        Of the intervals.

    Raises
    ------
    SettingsError
        With fewer than 2 groups, or a level outside (0, 1).
    """
    check_whole("groups", groups, 2)
    check_level(level)
    j = responses.n_items
    size, rest = np.zeros((j, groups), dtype=np.intp), np.full((j, groups), np.nan)
    cells = {name: np.full((j, groups), np.nan) for name in Moments._fields}
    trend, z = np.full(j, np.nan), np.full(j, np.nan)
    means = row_moments(responses.successes.T, responses.trials.T).mean
    for part, x, y, used in rest_blocks(responses.successes, responses.trials):
        group = _groups(y, used, groups)
        trend[part], z[part] = _trend(x, group, used)
        trials = responses.trials[:, part].T.astype(float)
        for b in range(groups):
            member = group == b
            n = size[part, b] = np.count_nonzero(member, axis=1)
            for name, values in zip(cells, _moments(x, trials, member, n), strict=True):
                cells[name][part, b] = values
            np.divide(y.sum(axis=1, where=member), n, out=rest[part, b], where=n > 0)
        cells["mean"][part] += means[part, None]
    # Sums of centered scores leave rounding beyond 0 and 1.
    proportion = _snap(np.clip(cells["mean"], 0, 1))
    flat = Moments(*(v.ravel() for v in (proportion, cells["variance"], cells["n"], cells["trials"])))
    low, high = wilson_interval(proportion, mean_error(flat)[1].reshape(j, groups), level)
    p = np.asarray(ndtr(z))
    return ItemCurves(
        responses.item_ids,
        item_status(responses),
        size,
        rest,
        proportion,
        low,
        high,
        trend,
        z,
        p,
        _adjusted(p),
        level,
        _notes(responses, size, trend),
    )


def _groups(rest: FloatArray, used: BoolArray, groups: int) -> NDArray[np.intp]:
    """Return the group of each person, (B items, N), -1 for those who do not count."""
    # Persons who do not count rank behind all others.
    rounded = np.where(used, np.round(rest / _TIE) * _TIE, np.inf)
    rank = rankdata(rounded, axis=1)
    n = np.count_nonzero(used, axis=1)[:, None]
    group = np.floor(groups * (rank - 0.5) / np.maximum(n, 1)).astype(np.intp)
    return np.where(used, np.minimum(group, groups - 1), -1)


def _moments(x: FloatArray, trials: FloatArray, member: BoolArray, n: NDArray[np.intp]) -> tuple[FloatArray, ...]:
    """Return mean, variance, number and trials of the scores of one group, (B items,) each."""
    safe = np.maximum(n, 1)
    mean = x.sum(axis=1, where=member) / safe
    deviation = np.where(member, x - mean[:, None], 0.0)
    variance = np.einsum("ij,ij->i", deviation, deviation) / np.maximum(n - 1, 1)
    empty = n == 0
    return (
        np.where(empty, np.nan, mean),
        np.where(n > 1, variance, np.nan),
        n.astype(float),
        trials.sum(axis=1, where=member),
    )


def _trend(x: FloatArray, group: NDArray[np.intp], used: BoolArray) -> tuple[FloatArray, FloatArray]:
    n = np.count_nonzero(used, axis=1)
    safe = np.maximum(n, 1)
    a, b = (np.where(used, v - (v.sum(axis=1, where=used) / safe)[:, None], 0.0) for v in (x, group.astype(float)))
    product, aa, bb = (np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (a, a), (b, b)))
    usable = (aa > 1e-12) & (bb > 1e-12) & (n > 2)
    r = np.full(n.size, np.nan)
    np.divide(product, np.sqrt(np.where(usable, aa * bb, 1.0)), out=r, where=usable)
    return r, r * np.sqrt(np.maximum(n - 1, 0))


def _snap(proportion: FloatArray) -> FloatArray:
    return np.where(proportion < 1e-12, 0.0, np.where(proportion > 1 - 1e-12, 1.0, proportion))


def _adjusted(p: FloatArray) -> FloatArray:
    out, known = np.full(p.size, np.nan), np.isfinite(p)
    if known.any():
        out[known] = false_discovery_control(p[known])
    return out


def _notes(responses: Responses, size: NDArray[np.intp], trend: FloatArray) -> tuple[str, ...]:
    label = responses.person_label
    tested = int(np.isfinite(trend).sum())
    notes = [
        f"Groups of {label}s by their score on the other items, ties together: {int(size.min())} to {int(size.max())} "
        f"{label}s a group. {int((trend < 0).sum())} of {tested} curves fall; clearly means beyond chance at a false "
        f"discovery rate of {FALSE_ALARMS:.0%}."
    ]
    if not responses.is_complete:
        notes.append("Missing cells: an item's groups hold those who saw it and another item.")
    if tested < responses.n_items:
        notes.append(f"{responses.n_items - tested} items have no trend: their scores, or the groups, do not vary.")
    return tuple(notes)

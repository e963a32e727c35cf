"""Discrimination by difficulty: mean rest correlation in bins of proportion correct, and saturation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.irt.classical import FloatArray, item_rest_correlation, row_moments
from psychoeval.irt.paired import holm
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status

if TYPE_CHECKING:
    import pandas as pd

#: The published bins.
EDGES: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
#: Mean r in these bins: MMLU (66 systems, 567 items) and MMLU-Pro (72 systems, 1,000 items), arXiv:2604.03244.
PUBLISHED: Final = {
    "MMLU": (-0.0174, 0.1444, 0.4161, 0.4605, 0.3803),
    "MMLU-Pro": (0.0615, 0.2933, 0.4708, 0.5876, 0.4967),
}
#: Items answered right at least this often tell strong systems apart no longer.
EASY: Final = 0.8
#: Means of counts may miss an edge they equal by rounding.
_ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class DifficultyBins:
    """Items in B bins of proportion correct, and those at exactly 0 and 1 apart.

    Parameters
    ----------
    name : str
        Of the data.
    edges : tuple of float, length B + 1
        Bins are closed below and open above, but the first is open at 0: (0, .2), [.2, .4), ..., [.8, 1).
    n_items, n_correlated : (B,) arrays
        Items in the bin, and those of them with a rest correlation.
    mean, standard_error, sd : (B,) arrays
        Of the rest correlations in the bin; the error is sd / sqrt(n) over items, systems kept. NaN in empty bins.
    not_positive : (B,) array
        Share of rest correlations of 0 or below; NaN in empty bins.
    n_never, n_always, n_unseen : int
        Items nobody, everybody got right, and never run.
    saturation : float
        Share of the items that were run with proportion correct of .8 or more, those at 1 included.
    headroom : float
        What the best system's mean leaves to gain.
    item_ids : tuple of str, length J
    bin : (J,) array
        From 0; -1 for the items apart.
    proportion_correct, item_rest_correlation : (J,) arrays
    notes : tuple of str
    """

    name: str
    edges: tuple[float, ...]
    n_items: NDArray[np.intp]
    n_correlated: NDArray[np.intp]
    mean: FloatArray
    standard_error: FloatArray
    sd: FloatArray
    not_positive: FloatArray
    n_never: int
    n_always: int
    n_unseen: int
    saturation: float
    headroom: float
    item_ids: tuple[str, ...]
    bin: NDArray[np.intp]
    proportion_correct: FloatArray
    item_rest_correlation: FloatArray
    notes: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the bins."""
        return _labels(self.edges)

    def correlations(self, bin: int) -> FloatArray:
        """Return the rest correlations of the items of a bin."""
        r = self.item_rest_correlation[self.bin == bin]
        return np.asarray(r[np.isfinite(r)])

    def to_frame(self) -> pd.DataFrame:
        """Return one row a bin, and one each for the items at exactly 0 and 1, which have no correlation."""
        import pandas as pd

        columns = ("n_items", "n_correlated", "mean", "standard_error", "sd", "not_positive")
        bins = pd.DataFrame({name: getattr(self, name) for name in columns}, index=pd.Index(self.labels, name="p"))
        apart = pd.DataFrame({"n_items": [self.n_never, self.n_always], "n_correlated": 0}, index=["0", "1"])
        return pd.concat([apart.loc[["0"]], bins, apart.loc[["1"]]]).rename_axis("p")

    def items_frame(self) -> pd.DataFrame:
        """Return one row an item."""
        import pandas as pd

        names = ("bin", "proportion_correct", "item_rest_correlation")
        return pd.DataFrame({n: getattr(self, n) for n in names}, index=pd.Index(self.item_ids, name="item"))


@dataclass(frozen=True, slots=True, eq=False)
class BinComparison:
    """Rest correlations of two data sets, bin by bin; NaN where a bin is empty in one of them.

    Parameters
    ----------
    names, labels : tuple of str
        Of the two data sets, of the B bins.
    n : (2, B) array
        Rest correlations in each bin.
    mean : (2, B) array
    u, p_value, p_adjusted : (B,) arrays
        Mann-Whitney U of the first data set, its two-sided p, and that by Holm for all bins at once.
    superiority : (B,) array
        U / (n1 n2): probability that an item of the first has the larger correlation, ties half.
    """

    names: tuple[str, str]
    labels: tuple[str, ...]
    n: NDArray[np.intp]
    mean: FloatArray
    u: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    superiority: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """Return one row a bin."""
        import pandas as pd

        columns = {f"{what}_{k + 1}": getattr(self, what)[k] for what in ("n", "mean") for k in range(2)}
        tests = {name: getattr(self, name) for name in ("u", "p_value", "p_adjusted", "superiority")}
        return pd.DataFrame({**columns, **tests}, index=pd.Index(self.labels, name="p"))


def bin_difficulty(responses: Responses, *, edges: tuple[float, ...] = EDGES) -> DifficultyBins:
    """Average items' rest correlations in bins of their proportion correct.

    Scores are successes over trials; missing cells are left out, and rest correlations are those of
    `psychoeval.irt.classical.item_rest_correlation`. Items at exactly 0 or 1 have none and are counted apart.

    Parameters
    ----------
    responses : Responses
    edges : tuple of float
        Rising, from 0 to 1.

    Raises
    ------
    SettingsError
        For other edges.
    """
    if len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or not all(a < b for a, b in pairwise(edges)):
        raise SettingsError(f"edges are {edges!r}.", "Give rising numbers from 0 to 1, such as (0, .2, .4, .6, .8, 1).")
    p = row_moments(responses.successes.T, responses.trials.T).mean
    r = item_rest_correlation(responses.successes, responses.trials)[0]
    status = np.array(item_status(responses))
    place = np.searchsorted(np.array(edges), np.nan_to_num(p) + _ROUNDING, side="right") - 1
    place = np.where(status == "estimated", np.clip(place, 0, len(edges) - 2), -1)
    parts = [r[(place == b) & np.isfinite(r)] for b in range(len(edges) - 1)]
    size = np.array([x.size for x in parts])
    sd = np.array([x.std(ddof=1) if x.size > 1 else np.nan for x in parts])
    ran = np.isfinite(p)
    means = row_moments(responses.successes, responses.trials).mean
    return DifficultyBins(
        responses.name,
        tuple(edges),
        np.bincount(place[place >= 0], minlength=len(parts)),
        size,
        np.array([x.mean() if x.size else np.nan for x in parts]),
        sd / np.sqrt(np.maximum(size, 1)),
        sd,
        np.array([(x <= 0).mean() if x.size else np.nan for x in parts]),
        int((status == "constant_all_0").sum()),
        int((status == "constant_all_1").sum()),
        int((status == "no_responses").sum()),
        float((p[ran] >= EASY - _ROUNDING).mean()) if ran.any() else float("nan"),
        1 - float(np.nanmax(means)) if ran.any() else float("nan"),
        responses.item_ids,
        place,
        p,
        r,
        _notes(responses, status, int(np.isnan(r[place >= 0]).sum())),
    )


def compare_difficulty_bins(first: DifficultyBins, second: DifficultyBins) -> BinComparison:
    """Test whether items of like difficulty discriminate better in one data set than in another, bin by bin.

    Mann-Whitney's U with its normal approximation (ties and continuity corrected), exact for at most 8 items of one
    side without ties. The test takes items as independent and the systems as they are: two sets of systems of unlike
    spread differ in their correlations without any item being better.

    Parameters
    ----------
    first, second : DifficultyBins
        With the same edges.

    Raises
    ------
    NotComparableError
        If the edges differ.
    """
    if first.edges != second.edges:
        raise NotComparableError(f"The bins differ: {first.edges} and {second.edges}.", "Bin both by the same edges.")
    pairs = [(first.correlations(b), second.correlations(b)) for b in range(len(first.mean))]
    tests = [mannwhitneyu(x, y) if x.size and y.size else None for x, y in pairs]
    n = np.array([[x.size for x, _ in pairs], [y.size for _, y in pairs]])
    u = np.array([np.nan if t is None else float(t.statistic) for t in tests])
    p = np.array([np.nan if t is None else float(t.pvalue) for t in tests])
    return BinComparison(
        (first.name, second.name),
        first.labels,
        n,
        np.stack((first.mean, second.mean)),
        u,
        p,
        holm(p),
        u / np.maximum(n.prod(axis=0), 1),
    )


def _labels(edges: tuple[float, ...]) -> tuple[str, ...]:
    pairs = list(pairwise(edges))
    return tuple(f"{'[' if k else '('}{a:g}, {b:g})" for k, (a, b) in enumerate(pairs))


def _notes(responses: Responses, status: NDArray[np.str_], undefined: int) -> tuple[str, ...]:
    notes = [f"{responses.n_persons} {responses.person_label}s, {responses.n_items} items; scores are successes over "
             "trials, rest correlations from everybody who saw the item and another."]  # fmt: skip
    apart = int((status != "estimated").sum())
    if apart:
        notes.append(f"{apart} items stand in no bin: at exactly 0 or 1, or never run.")
    if undefined:
        notes.append(f"{undefined} items in bins have no rest correlation: their scores, or the rest, do not vary.")
    return tuple(notes)

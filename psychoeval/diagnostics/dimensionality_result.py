"""What contrasts among residuals say of the number of dimensions, and in which words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.diagnostics.fitted import JUDGED
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

#: DETECT below which data are taken as essentially of one dimension, and from which on several are weak, moderate or
#: strong (Roussos & Ozbek 2006, J. Educ. Meas. 43, 215-243, doi:10.1111/j.1745-3984.2006.00014.x).
WEAK: Final = 0.2
MODERATE: Final = 0.4
STRONG: Final = 1.0
#: Chance of as large a first contrast in data of one dimension, below which it is taken as there.
ALPHA: Final = 0.05
#: Adjusted Rand index from which on two partitions are called alike.
ALIKE: Final = 0.5
#: Persons below which a second dimension of usual strength is likely to be missed.
FEW_PERSONS: Final = 100
#: Items of either side that are named.
NAMED: Final = 5


@dataclass(frozen=True, slots=True, eq=False)
class Dimensionality:
    """Contrasts among the residuals of J items, beside data of one dimension.

    Parameters
    ----------
    label : str
        Of the fit.
    item_ids : tuple of str, length J
    because : tuple of str, length J
        Why an item takes no part, "" for those that do.
    n_persons : int
    person_label : str
    eigenvalues : (K,) array
        Largest ones of the correlations of residuals (Q3), falling; of all items they sum to their number.
    limit : (K,) array
        95 % quantile of each in data drawn from the fit.
    replications : int
        Data sets drawn.
    n_contrasts : int
        Leading eigenvalues that all exceed their limits.
    p_first : float
        Chance of a first eigenvalue as large in data of one dimension, (1 + exceeding) / (1 + replications).
    loadings : (J,) array
        Of items on the strongest contrast, NaN as `because` says. The sign tells the two sides apart.
    cluster : (J,) array
        Clusters of items from 0, NaN for items in none.
    clusters_given : bool
        Whether they were given; else they are the audit's.
    detect, detect_chance, p_detect : float
        DETECT at these clusters, its mean in data of one dimension, and the chance of one as large.
    detect_ratio : float
        r: 1 if every covariance has the sign that the clusters say.
    agreement : float
        Adjusted Rand index of the contrast's two sides and the clusters.
    notes : tuple of str
    """

    label: str
    item_ids: tuple[str, ...]
    because: tuple[str, ...]
    n_persons: int
    person_label: str
    eigenvalues: FloatArray
    limit: FloatArray
    replications: int
    n_contrasts: int
    p_first: float
    loadings: FloatArray
    cluster: FloatArray
    clusters_given: bool
    detect: float
    detect_chance: float
    p_detect: float
    detect_ratio: float
    agreement: float
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (f"<Dimensionality of {len(self.item_ids)} items, {self.label}: {self.n_contrasts} contrasts; see "
                "verdict, to_frame(), contrasts_frame(), notes>")  # fmt: skip

    @property
    def share(self) -> float:
        """Share of the variance of the residuals that the strongest contrast has."""
        return float(self.eigenvalues[0] / self._used)

    @property
    def detect_excess(self) -> float:
        """DETECT less its mean in data of one dimension, which the thresholds are for."""
        return self.detect - self.detect_chance

    @property
    def too_few(self) -> bool:
        """Whether there are too few persons for the absence of a contrast to mean much."""
        return self.n_persons < max(FEW_PERSONS, self._used)

    @property
    def _used(self) -> int:
        return sum(not b for b in self.because)

    def strongest(self, n: int = NAMED) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the `n` items with the largest loadings of the strongest contrast, and those of the other side."""
        order = [j for j in np.argsort(-np.abs(np.nan_to_num(self.loadings)), kind="stable") if self.loadings[j] != 0]
        sides = ([j for j in order if self.loadings[j] > 0], [j for j in order if self.loadings[j] < 0])
        one, other = (tuple(self.item_ids[j] for j in side[:n]) for side in sides)
        return one, other

    @property
    def verdict(self) -> str:
        """Whether one dimension is enough, in words."""
        if not self.replications:
            return "Not known: no data could be drawn from the fit and fitted."
        share, least = f"{100 * self.share:.1f} %", f"{100 * self.limit[0] / self._used:.1f} %"
        if self.p_first > ALPHA:
            start = (f"No second dimension shows: the strongest contrast has {share} of the variance of the residuals, "
                     f"and data of one dimension have up to {least} (p = {self.p_first:.2f}).")  # fmt: skip
            if not self.too_few:
                return f"{start} One dimension is enough as far as these data tell."
            return (f"{start} That does not show that one is enough: {self.n_persons} {self.person_label}s on "
                    f"{self._used} items would hide any contrast below that limit.")  # fmt: skip
        one, other = self.strongest()
        return (f"There is more than one dimension: the strongest contrast has {share} of the variance of the "
                f"residuals, data of one dimension up to {least} (p = {self.p_first:.2f}). It sets {some(one)} against "
                f"{some(other)}. {self._size()} {self._clusters()}").rstrip()  # fmt: skip

    def _size(self) -> str:
        d = self.detect_excess
        if np.isnan(d):
            return "Its size is not known: there are no clusters."
        words = ("and matters little: scores on one scale stay usable" if d < WEAK else
                 "and is weak" if d < MODERATE else "and is moderate: look at the parts as well" if d < STRONG else
                 "and is strong: one scale is not enough, report the parts")  # fmt: skip
        return f"DETECT is {d:.2f} above chance, {words}."

    def _clusters(self) -> str:
        whose = "the given clusters" if self.clusters_given else "the clusters of the audit's factors"
        if np.isnan(self.agreement):
            return ""
        alike = "are much like" if self.agreement >= ALIKE else "are not"
        return f"Its two sides {alike} {whose} (adjusted Rand index {self.agreement:.2f})."

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item, in the order of the responses."""
        import pandas as pd

        status = [b or JUDGED for b in self.because]
        columns = {"loading": self.loadings, "cluster": self.cluster, "status": status}
        return pd.DataFrame(columns, index=pd.Index(self.item_ids, name="item"))

    def contrasts_frame(self) -> pd.DataFrame:
        """Return one row a contrast."""
        import pandas as pd

        columns = {"eigenvalue": self.eigenvalues, "share": self.eigenvalues / self._used, "limit": self.limit}
        index = pd.Index(range(1, self.eigenvalues.size + 1), name="contrast")
        return pd.DataFrame(columns | {"above": self.eigenvalues > self.limit}, index=index)

"""Clusters of items by their loadings, and what they go with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from psychoeval.audit.factors import Factors
from psychoeval.audit.settings import generator
from psychoeval.errors import DataError, SettingsError
from psychoeval.irt.intervals import correlation_interval
from psychoeval.responses.ids_and_counts import is_missing
from psychoeval.responses.matrix import Responses

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

_STARTS: Final = 20
_MOST_PAIRS: Final = 4_000
_MIN_EXTERNAL: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class ItemClusters:
    """Items grouped by k-means on their loadings.

    Parameters
    ----------
    cluster : (J,) intp array
        From 0, by falling size; -1 for items without loadings.
    silhouette : float
        Mean over items of (b - a) / max(a, b): a the mean distance within the cluster, b that to the next one.
        Source: Rousseeuw (1987), doi 10.1016/0377-0427(87)90125-7.
    tried : tuple of (int, float)
        Numbers of clusters and their silhouettes.
    """

    cluster: NDArray[np.intp]
    silhouette: float
    tried: tuple[tuple[int, float], ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row a number of clusters that was tried."""
        import pandas as pd

        return pd.DataFrame(self.tried, columns=["clusters", "silhouette"]).set_index("clusters")


@dataclass(frozen=True, slots=True)
class Association:
    """How clusters go with a property of the items.

    Parameters
    ----------
    cramers_v : float
        sqrt(chi^2 / (n min(r - 1, c - 1))).
    p_value : float
        By permutation of the property over items, (1 + exceedances) / (1 + replications).
    expected : float
        Mean V under permutation: V is above 0 without any association.
    n_items : int
    """

    cramers_v: float
    p_value: float
    expected: float
    n_items: int


@dataclass(frozen=True, slots=True)
class FactorCorrelation:
    """Correlation over persons of a factor's subscore with an outside score; NaN where one does not vary."""

    factor: int
    external: str
    correlation: float
    low: float
    high: float
    n_persons: int


def cluster_items(factors: Factors, n_clusters: int | None = None, *, most: int = 8, seed: int = 0) -> ItemClusters:
    """Group items by k-means on their loadings, the best of 20 starts.

    Parameters
    ----------
    factors : Factors
    n_clusters : int, optional
        By default the number from 2 to `most` with the largest silhouette.
    most : int
    seed : int

    Raises
    ------
    SettingsError
        If there are fewer items than clusters.
    """
    known = np.isfinite(factors.loadings).all(axis=1)
    x = factors.loadings[known]
    numbers = [n_clusters] if n_clusters is not None else list(range(2, most + 1))
    if min(numbers) < 2 or max(numbers) >= len(x):
        raise SettingsError(f"{max(numbers)} clusters of {len(x)} items with loadings.", "Take 2 or more, and fewer.")
    rng = generator(seed)
    found = [_k_means(x, k, rng) for k in numbers]
    sizes = [_silhouette(x, labels, rng) for labels in found]
    best = int(np.argmax(sizes))
    cluster = np.full(len(factors.loadings), -1, np.intp)
    cluster[known] = found[best]
    return ItemClusters(cluster, sizes[best], tuple(zip(numbers, sizes, strict=True)))


def associate(clusters: ItemClusters, property_of_item: Any, *, replications: int = 999, seed: int = 0) -> Association:
    """Test whether clusters go with a property of the items, such as the letter of the right answer.

    Parameters
    ----------
    clusters : ItemClusters
    property_of_item : sequence of length J
        Texts or numbers, taken as categories; items where it is None or NaN are left out.
    replications : int
    seed : int

    Raises
    ------
    DataError
        If lengths differ, or clusters or property do not vary.
    """
    texts: list[str] = ["" if is_missing(v) else str(v) for v in property_of_item]
    if len(texts) != len(clusters.cluster):
        raise DataError(f"{len(texts)} values for {len(clusters.cluster)} items.", "Give one an item.")
    used = np.array([t != "" for t in texts]) & (clusters.cluster >= 0)
    _, rows = np.unique(clusters.cluster[used], return_inverse=True)
    names, columns = np.unique(np.array(texts)[used], return_inverse=True)
    if used.sum() < 2 or rows.max(initial=0) < 1 or len(names) < 2:
        raise DataError("The clusters or the property do not vary.", "There is nothing to associate.")
    shape = (int(rows.max()) + 1, len(names))
    v = _cramers_v(rows, columns, shape)
    rng = generator(seed)
    null = np.array([_cramers_v(rows, rng.permutation(columns), shape) for _ in range(replications)])
    p = float((1 + (null >= v - 1e-12).sum()) / (1 + replications))
    return Association(v, p, float(null.mean()), int(used.sum()))


def correlate_subscores(
    factors: Factors, responses: Responses, external: dict[str, Any], level: float = 0.95
) -> tuple[FactorCorrelation, ...]:
    """Correlate subscores with outside scores: convergent where they should agree, discriminant where not.

    A factor's subscore is the mean score of the items that load most on it; intervals are Fisher's.

    Parameters
    ----------
    factors : Factors
    responses : Responses
        Those that were analyzed.
    external : mapping of name to (N,) values
        NaN where unknown.
    level : float

    Raises
    ------
    DataError
        If lengths differ or fewer than 4 persons have both scores.
    """
    strongest = np.argmax(np.nan_to_num(np.abs(factors.loadings), nan=-1.0), axis=1)
    known = np.isfinite(factors.loadings).all(axis=1)
    out = []
    for k in range(factors.loadings.shape[1]):
        items = known & (strongest == k)
        seen = responses.observed[:, items]
        total = np.nansum(responses.proportions[:, items], axis=1)
        n = seen.sum(axis=1)
        subscore = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
        for name, given in external.items():
            values = np.asarray(given, float)
            if values.shape != subscore.shape:
                raise DataError(f"{name} has {values.size} values for {len(subscore)} persons.", "Give one each.")
            both = np.isfinite(values) & np.isfinite(subscore)
            if both.sum() < _MIN_EXTERNAL:
                raise DataError(f"{name}: {both.sum()} persons have both scores.", f"{_MIN_EXTERNAL} are needed.")
            r, low, high = _correlation(subscore[both], values[both], level)
            out.append(FactorCorrelation(k + 1, name, r, low, high, int(both.sum())))
    return tuple(out)


def _correlation(x: FloatArray, y: FloatArray, level: float) -> tuple[float, float, float]:
    """Return Pearson's r with Fisher's interval."""
    if x.std() < 1e-12 or y.std() < 1e-12 * max(1.0, float(np.abs(y).max())):
        return (float("nan"),) * 3
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    if abs(r) >= 1:  # the same score: Fisher's scale ends here
        return r, r, r
    error = (1 - r**2) / np.sqrt(x.size - 3)
    low, high = correlation_interval(np.array([r]), np.array([error]), level)
    return r, float(low[0]), float(high[0])


def _k_means(x: FloatArray, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return labels by falling size of the start with the smallest sum of squares and no empty cluster."""
    best, least = np.zeros(len(x), np.intp), np.inf
    for _ in range(_STARTS):
        centers, labels = kmeans2(x, k, minit="++", seed=rng, missing="warn", iter=50)
        cost = float(((x - centers[labels]) ** 2).sum())
        if cost < least and len(np.unique(labels)) == k:
            best, least = labels.astype(np.intp), cost
    order = np.argsort(-np.bincount(best, minlength=k), kind="stable")
    rank = np.empty(k, np.intp)
    rank[order] = np.arange(k)
    return rank[best]


def _silhouette(x: FloatArray, labels: NDArray[np.intp], rng: np.random.Generator) -> float:
    """Return the mean silhouette; of more than 4,000 items that of a random draw."""
    if len(np.unique(labels)) < 2:
        return -1.0
    if len(x) > _MOST_PAIRS:
        chosen = rng.choice(len(x), _MOST_PAIRS, replace=False)
        x, labels = x[chosen], labels[chosen]
    square = (x**2).sum(axis=1)
    distance = np.sqrt(np.maximum(square[:, None] + square - 2 * x @ x.T, 0))
    members = np.eye(int(labels.max()) + 1)[labels]
    sizes = members.sum(axis=0)
    total = distance @ members
    own = sizes[labels]
    within = total[np.arange(len(x)), labels] / np.maximum(own - 1, 1)
    others = np.where(members > 0, np.inf, total / np.maximum(sizes, 1))
    others[:, sizes == 0] = np.inf
    nearest = others.min(axis=1)
    width = np.where(own > 1, (nearest - within) / np.maximum(np.maximum(nearest, within), 1e-300), 0)
    return float(width.mean())


def _cramers_v(rows: NDArray[np.intp], columns: NDArray[np.intp], shape: tuple[int, int]) -> float:
    table = np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    chi2 = float(((table - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi2 / (table.sum() * min(shape[0] - 1, shape[1] - 1))))

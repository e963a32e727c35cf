"""Systems that fail alike beyond their scores: families, which make N smaller than it looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import false_discovery_control, norm

from psychoeval.irt.margins import logit_margins, slope_free_residuals
from psychoeval.responses.cells import counted
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.findings import Finding
from psychoeval.wording import some_of

#: Mean residual correlation within a family: below it systems share taste, above it errors.
FAMILY: Final = 0.3
#: Expected share of pairs named by chance.
FALSE_DISCOVERIES: Final = 0.01
#: Effective over nominal number of systems below which it is a warning.
FEW: Final = 0.75
_MIN_SHARED: Final = 30
_MOST_CELLS: Final = 4_000_000
_MOST_SYSTEMS: Final = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class Relatedness:
    """How far systems agree beyond what their scores and the items' difficulties imply.

    Parameters
    ----------
    correlation : (N, N) array
        Of residuals over shared items; 0 where fewer than 30 are shared, 1 on the diagonal.
    significant : (N, N) bool array
        Pairs above 0 beyond chance, false discovery rate 1 %.
    family : (N,) intp array
        Number of each system's family, -1 for systems that stand alone.
    effective : float
        Number of independent systems with as much total residual correlation: N^2 / (N + sum_ij (r_ij^2 - v_ij)), r
        centered and v its variance under independence.
    n_items : int
        Items that were used.
    """

    correlation: NDArray[np.float64]
    significant: NDArray[np.bool_]
    family: NDArray[np.intp]
    effective: float
    n_items: int


def relatedness(responses: Responses, seed: int = 0) -> Relatedness:
    """Correlate what is left of systems' responses after both margins: Yen's Q3, of persons and not of items.

    Residuals of logit margins (`psychoeval.irt.margins`), a slope of each item on ability taken out as well: items of
    unequal discrimination make strong systems alike. Under independence Q3 is about -1 / (N - 1), where the tests
    are centered; its variance is sum_j w_ij w_kj / (sum_j w_ij sum_j w_kj), w = n p (1 - p). Of very large data items
    are drawn at random. Families are clusters of average linkage at a mean correlation of `FAMILY`, joined only by
    pairs beyond chance. Source: Yen (1984), doi 10.1177/014662168400800201.

    Parameters
    ----------
    responses : Responses
    seed : int
        Of the draw of items.
    """
    most = max(_MIN_SHARED, _MOST_CELLS // responses.n_persons)
    chosen = np.arange(responses.n_items)
    if responses.n_items > most:
        chosen = np.sort(np.random.default_rng(seed).choice(responses.n_items, most, replace=False))
    successes, trials = responses.successes[:, chosen], responses.trials[:, chosen]
    z, weight = slope_free_residuals(successes, trials, logit_margins(successes, trials))
    seen = (trials > 0).astype(np.float32)
    enough = (seen @ seen.T >= _MIN_SHARED) & ~np.eye(len(z), dtype=bool)
    norm2, total = (z * z) @ seen.T, weight @ seen.T
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where(enough, np.clip((z @ z.T) / np.sqrt(norm2 * norm2.T), -1, 1), 0)
        by_chance = np.where(enough, (weight @ weight.T) / (total * total.T), 0)
    r, by_chance = (np.nan_to_num(m).astype(np.float64) for m in (r, by_chance))
    # Both margins were fitted: independent systems have this mean.
    centered = np.where(enough, r + 1 / (len(r) - 1), 0)
    significant = _beyond_chance(centered, by_chance)
    effective = len(r) ** 2 / (len(r) + max(float((centered**2 - by_chance).sum()), 0.0))
    np.fill_diagonal(r, 1)
    return Relatedness(r, significant, _clusters(r, significant), effective, len(chosen))


def _beyond_chance(centered: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the pairs whose correlation exceeds 0 by one-sided tests, false discovery rate `FALSE_DISCOVERIES`."""
    rows, columns = np.nonzero(np.triu(variance > 0, 1))
    out = np.zeros(centered.shape, np.bool_)
    if rows.size:
        p = norm.sf(centered[rows, columns] / np.sqrt(variance[rows, columns]))
        out[rows, columns] = false_discovery_control(p) < FALSE_DISCOVERIES
    return out | out.T


def _clusters(r: NDArray[np.float64], significant: NDArray[np.bool_]) -> NDArray[np.intp]:
    n = len(r)
    if n < 2:
        return np.full(n, -1, np.intp)
    distance = 1 - np.where(significant, r, 0)
    np.fill_diagonal(distance, 0)
    found = fcluster(linkage(squareform(distance, checks=False), "average"), 1 - FAMILY, "distance")
    sizes = np.bincount(found)
    kept = [c for c in dict.fromkeys(found.tolist()) if sizes[c] > 1]
    number = {c: k for k, c in enumerate(kept)}
    return np.array([number.get(c, -1) for c in found.tolist()], np.intp)


def families(responses: Responses) -> list[Finding]:
    """Find families of systems, and say how many independent ones there are."""
    label = responses.person_label
    if not 3 <= responses.n_persons <= _MOST_SYSTEMS or responses.n_items < _MIN_SHARED:
        return []
    found = relatedness(responses)
    groups = [np.flatnonzero(found.family == k) for k in range(found.family.max() + 1)]
    if not groups:
        return []
    ids = tuple(responses.person_ids[i] for g in groups for i in g.tolist())
    named = [
        " + ".join(responses.person_ids[i] for i in g.tolist()[:4]) + (" + ..." if len(g) > 4 else "") for g in groups
    ]
    few = found.effective < FEW * responses.n_persons
    sentence = (
        f"{counted(len(groups), 'group')} of {label}s that fail on the same items beyond what scores and difficulties "
        f"imply (mean residual correlation {FAMILY} or more): {some_of(named[:3], len(named), '; ')}. The "
        f"{responses.n_persons} {label}s count as about {found.effective:.0f} independent ones."
    )
    if few:
        sentence += " Standard errors that treat them as independent are too small."
    return [Finding("warning" if few else "note", "families", sentence, ids)]

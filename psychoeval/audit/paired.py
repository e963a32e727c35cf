"""Two systems on the same items, and many such pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import false_discovery_control

from psychoeval.audit.settings import check_level, check_whole, generator
from psychoeval.errors import DataError, SettingsError
from psychoeval.irt.classical import BLOCK_CELLS, BoolArray, FloatArray
from psychoeval.irt.clustered import Grouping
from psychoeval.irt.paired import PairFigures, compare_differences, holm, mcnemar, t_test, without_spread
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

Test = Literal["t", "mcnemar-exact", "mcnemar-mid", "bootstrap"]
Correction = Literal["holm", "benjamini-hochberg", "none"]
PairStatus = Literal["tested", "no_spread", "too_few_items"]

#: A table of more pairs than this is no table: name a reference system, or the pairs.
MOST_PAIRS: Final = 50_000
_P_VALUES: Final[dict[str, str]] = {
    "t": "p_t", "mcnemar-exact": "p_mcnemar_exact", "mcnemar-mid": "p_mcnemar_mid", "bootstrap": "p_bootstrap",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class PairComparisons:
    """Differences of M pairs of persons on the items both saw; NaN where `status` or `notes` say why.

    Parameters
    ----------
    first, second : tuple of str, length M
    status : tuple of str, length M
        ``tested``; ``no_spread``, all differences are equal; ``too_few_items``, fewer than two units in common.
    n_items, n_clusters : (M,) arrays
        In common; `n_clusters` counts the items where there are no clusters.
    difference : (M,) array
        Mean over these items of first minus second score.
    standard_error, low, high : (M,) arrays
        Between items, or clusters; Student's t with units - 1 degrees of freedom. Without spread an error is unknown
        and the interval is the difference -+ z^2 / (n + z^2), Wilson's limit for what was never seen.
    t, p_t : (M,) arrays
        Paired t test, between clusters where there are any.
    first_only, second_only : (M,) arrays
        Items that only one got right; NaN for pairs with more than one trial in a cell.
    p_mcnemar_exact, p_mcnemar_mid : (M,) arrays
        These take items as independent whatever the clusters.
    bootstrap_low, bootstrap_high, p_bootstrap : (M,) arrays
        Percentile interval over items (or clusters) drawn with replacement; NaN without replications.
    p_adjusted : (M,) array
        Of the chosen test, for all pairs at once.
    test, correction : str
    level : float
    notes : tuple of str
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    status: tuple[PairStatus, ...]
    n_items: NDArray[np.intp]
    n_clusters: NDArray[np.intp]
    difference: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    t: FloatArray
    p_t: FloatArray
    first_only: FloatArray
    second_only: FloatArray
    p_mcnemar_exact: FloatArray
    p_mcnemar_mid: FloatArray
    bootstrap_low: FloatArray
    bootstrap_high: FloatArray
    p_bootstrap: FloatArray
    p_adjusted: FloatArray
    test: Test
    correction: Correction
    level: float
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row a pair."""
        import pandas as pd

        names = [name for name in self.__slots__ if name not in ("test", "correction", "level", "notes")]
        return pd.DataFrame({name: getattr(self, name) for name in names})


def compare_pairs(
    responses: Responses,
    pairs: Sequence[tuple[str, str]] | None = None,
    *,
    reference: str | None = None,
    cluster: str | None = None,
    test: Test = "t",
    correction: Correction = "holm",
    replications: int = 0,
    seed: int | np.random.Generator = 0,
    level: float = 0.95,
) -> PairComparisons:
    """Compare systems in pairs on the items both of them saw.

    The difference of an item is that of two scores, successes over trials; the item is the unit, or the cluster of
    items, and repeated trials make its score finer, never the sample larger. Items that one of the two did not see
    are left out of the pair. McNemar's test is for single trials.

    Parameters
    ----------
    responses : Responses
    pairs : sequence of (str, str), optional
        Ids of persons; by default every pair, or each person against `reference`.
    reference : str, optional
    cluster : str, optional
        Column of `responses.items`: items of one cluster are dependent. Error between G clusters with the factor
        sqrt(G / (G - 1)).
    test : {"t", "mcnemar-exact", "mcnemar-mid", "bootstrap"}
        Whose p values are adjusted.
    correction : {"holm", "benjamini-hochberg", "none"}
        Holm: the chance of any false finding; Benjamini-Hochberg: the share of false ones among the findings.
    replications : int
        Of the bootstrap, 0 for none; the same draws for all pairs.
    seed : int or numpy.random.Generator
    level : float
        Of all intervals, each on its own.

    Raises
    ------
    SettingsError
        For an unknown test, correction or level, both `pairs` and `reference`, or a bootstrap without replications.
    DataError
        For an unknown id, no pair, more than 50,000 pairs, or a covariate that is not there.
    """
    _check(test, correction, replications, level, pairs is not None and reference is not None, cluster)
    rows = _rows(responses, pairs, reference)
    codes = group_codes(responses, cluster, "items")[0] if cluster else np.arange(responses.n_items)
    groups = Grouping(codes)
    counts = bootstrap_counts(groups.starts.size, replications, seed)
    parts = [compare_differences(d, both, groups, counts, level) for d, both in _differences(responses, rows)]
    f = PairFigures(*(np.concatenate(values) for values in zip(*parts, strict=True)))
    single = _single_trials(responses, rows)
    first_only, second_only = (np.where(single, v, np.nan) for v in (f.first_only, f.second_only))
    exact, mid = mcnemar(first_only, second_only)
    df = f.n_clusters - 1.0
    t, p_t = t_test(f.difference, f.error, df)
    few = f.n_clusters < 2
    flat = ~few & np.isnan(f.error)
    reach = np.where(flat, without_spread(f.n_clusters, level), stdtrit(np.maximum(df, 1), 0.5 + level / 2) * f.error)
    status: list[PairStatus] = [
        "too_few_items" if a else "no_spread" if b else "tested" for a, b in zip(few, flat, strict=True)
    ]
    p_values = {"p_t": p_t, "p_mcnemar_exact": exact, "p_mcnemar_mid": mid, "p_bootstrap": f.p_bootstrap}
    return PairComparisons(
        tuple(responses.person_ids[i] for i in rows[0]),
        tuple(responses.person_ids[i] for i in rows[1]),
        tuple(status),
        f.n_items.astype(np.intp),
        f.n_clusters.astype(np.intp),
        f.difference,
        f.error,
        np.maximum(f.difference - reach, -1),
        np.minimum(f.difference + reach, 1),
        t,
        p_t,
        first_only,
        second_only,
        exact,
        mid,
        f.bootstrap_low,
        f.bootstrap_high,
        f.p_bootstrap,
        adjust(p_values[_P_VALUES[test]], correction),
        test,
        correction,
        level,
        _notes(status, single, cluster, test, correction, replications),
    )


def _check(test: str, correction: str, replications: int, level: float, two_choices: bool, cluster: str | None) -> None:
    check_level(level)
    check_whole("replications", replications, 0)
    for name, value, known in (("test", test, get_args(Test)), ("correction", correction, get_args(Correction))):
        if value not in known:
            raise SettingsError(f"{name} is {value!r}.", f"Choose one of {', '.join(known)}.")
    if test == "bootstrap" and replications < 100:
        raise SettingsError(f"A bootstrap test with {replications} replications.", "Give replications=1000 or more.")
    if two_choices:
        raise SettingsError("Both pairs and a reference are given.", "Give one of them.")
    if cluster and test.startswith("mcnemar"):
        raise SettingsError(
            f"McNemar's test takes items as independent, and they are clustered by {cluster!r}.",
            'Take test="t" or "bootstrap", which draw whole clusters.',
        )


def _rows(
    responses: Responses, pairs: Sequence[tuple[str, str]] | None, reference: str | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    place = {name: i for i, name in enumerate(responses.person_ids)}
    label = responses.person_label
    asked = {name for pair in pairs or () for name in pair} | ({reference} if reference is not None else set())
    unknown = sorted(asked - place.keys())
    if unknown:
        raise DataError(f"There is no {label} {some(unknown)}.", f"The {label}s are {some(responses.person_ids)}.")
    n = responses.n_persons
    if pairs is not None:
        first, second = (np.array([place[pair[k]] for pair in pairs], dtype=np.intp) for k in range(2))
    elif reference is not None:
        first = np.delete(np.arange(n), place[reference])
        second = np.full(n - 1, place[reference])
    else:
        if n * (n - 1) // 2 > MOST_PAIRS:
            raise DataError(f"{n} {label}s make {n * (n - 1) // 2} pairs.", "Name a reference=, or the pairs.")
        first, second = np.triu_indices(n, 1)
    if not first.size or (first == second).any():
        raise DataError(f"There is no pair of two {label}s.", f"Name two different {label}s.")
    return first, second


def bootstrap_counts(n_clusters: int, replications: int, seed: int | np.random.Generator) -> FloatArray:
    """Return how often each cluster is drawn, (R, G)."""
    rng = generator(seed)
    return rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=replications).astype(float)


def _differences(
    responses: Responses, rows: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> Iterator[tuple[FloatArray, BoolArray]]:
    """Yield blocks of pairs: differences of scores, 0 where one of the two is missing, and where neither is."""
    step = max(1, BLOCK_CELLS // 4 // responses.n_items)
    for start in range(0, rows[0].size, step):
        part = [r[start : start + step] for r in rows]
        trials = [responses.trials[i] for i in part]
        both = np.asarray((trials[0] > 0) & (trials[1] > 0))
        a, b = (responses.successes[i] / np.maximum(t, 1) for i, t in zip(part, trials, strict=True))
        yield np.where(both, a - b, 0.0), both


def _single_trials(responses: Responses, rows: tuple[NDArray[np.intp], NDArray[np.intp]]) -> BoolArray:
    most = responses.trials.max(axis=1)
    return np.asarray((most[rows[0]] <= 1) & (most[rows[1]] <= 1))


def adjust(p: FloatArray, correction: Correction) -> FloatArray:
    """Return p values adjusted for all tests; NaN values are no tests."""
    if correction == "holm":
        return holm(p)
    out, known = p.copy(), np.isfinite(p)
    if correction == "benjamini-hochberg" and known.any():
        out[known] = false_discovery_control(p[known])
    return out


def _notes(
    status: Sequence[PairStatus],
    single: BoolArray,
    cluster: str | None,
    test: Test,
    correction: Correction,
    replications: int,
) -> tuple[str, ...]:
    unit = f"clusters of items ({cluster})" if cluster else "items, taken as independent (no passages or variants)"
    notes = [f"Each pair on the items both saw; errors between {unit}."]
    if correction != "none":
        notes.append(f"p values of {test!r} are adjusted for {len(status)} pairs by {correction}; intervals are not.")
    if test == "bootstrap" and correction == "holm" and 2 * len(status) / (replications + 1) > 0.05:
        notes.append(f"{replications} replications are too few: no p value can be below .05 after Holm's correction.")
    if not single.all():
        notes.append(f"{int((~single).sum())} pairs have cells of several trials: no McNemar test, which is for one.")
    if cluster:
        notes.append("McNemar's p values ignore the clusters.")
    reasons = {"no_spread": "differ by the same on every unit", "too_few_items": "share fewer than two units"}
    for kind, what in reasons.items():
        count = sum(s == kind for s in status)
        if count:
            notes.append(f"{count} pairs {what}: no t test.")
    return tuple(notes)

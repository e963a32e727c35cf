"""Public against held-out items, for every system: a signal of contamination, and no proof of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from psychoeval.audit.drift_notes import DriftStatus, drift_notes
from psychoeval.audit.paired import Correction, adjust
from psychoeval.audit.parts import join_parts, mark_public
from psychoeval.audit.settings import check_level, check_whole
from psychoeval.errors import DataError, SettingsError
from psychoeval.irt.classical import BLOCK_CELLS, BoolArray, FloatArray, score_blocks
from psychoeval.irt.clustered import Grouping
from psychoeval.irt.paired import t_test
from psychoeval.irt.part_contrast import Contrast, Pool, bands_of, contrast_parts, less_pool
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

Alternative = Literal["better-on-public", "two-sided"]
Moments: TypeAlias = tuple[FloatArray, FloatArray, NDArray[np.intp], NDArray[np.intp]]

#: Bands of difficulty beyond this number are no bands.
MOST_BANDS: Final = 20


@dataclass(frozen=True, slots=True, eq=False)
class Drift:
    """How much better each of N persons does on public than on held-out items than others do; NaN as `status` says.

    Parameters
    ----------
    person_ids, status : tuple of str, length N
        ``tested``; ``one_part``, no band of difficulty has items of both parts that it saw; ``no_pool``, nobody else
        saw its items; ``too_few_items``, too few units for an error; ``no_spread``, it differs from the pool by the
        same on every item.
    public_mean, held_out_mean : (N,) arrays
        Of its scores, whatever the others did.
    n_public, n_held_out : (N,) arrays
        Items seen.
    n_compared : (N,) array
        Items seen by others too, in bands with items of both parts.
    drift : (N,) array
        Public less held-out of its scores less the pool's, within bands of difficulty.
    standard_error, df, low, high : (N,) arrays
        Items sampled; Student's t.
    t, p_better_on_public, p_two_sided : (N,) arrays
    p_adjusted : (N,) array
        Of `alternative`, for all persons that are tested.
    pool_difference : float
        Mean of public less held-out means over the pool: what is taken off.
    n_pool, n_bands, n_tested : int
    alternative, correction : str
    simultaneous : bool
        Whether the intervals hold together (Bonferroni) or each on its own.
    level : float
    notes : tuple of str
    """

    person_ids: tuple[str, ...]
    status: tuple[DriftStatus, ...]
    public_mean: FloatArray
    held_out_mean: FloatArray
    n_public: NDArray[np.intp]
    n_held_out: NDArray[np.intp]
    n_compared: NDArray[np.intp]
    drift: FloatArray
    standard_error: FloatArray
    df: FloatArray
    low: FloatArray
    high: FloatArray
    t: FloatArray
    p_better_on_public: FloatArray
    p_two_sided: FloatArray
    p_adjusted: FloatArray
    pool_difference: float
    n_pool: int
    n_bands: int
    n_tested: int
    alternative: Alternative
    correction: Correction
    simultaneous: bool
    level: float
    notes: tuple[str, ...]

    def signals(self, significance: float = 0.05) -> tuple[str, ...]:
        """Return the persons whose adjusted p is below `significance`, smallest p first."""
        p = np.nan_to_num(self.p_adjusted, nan=2.0)
        order = np.lexsort((-np.nan_to_num(self.drift), p))
        return tuple(self.person_ids[i] for i in order if p[i] < significance)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a person."""
        import pandas as pd

        arrays = [n for n in self.__slots__ if n != "person_ids" and isinstance(getattr(self, n), np.ndarray)]
        columns = {"status": self.status, **{name: getattr(self, name) for name in arrays}}
        return pd.DataFrame(columns, index=pd.Index(self.person_ids, name="id"))


def measure_drift(
    public: Responses,
    held_out: Responses | Sequence[str],
    *,
    reference: Sequence[str] | None = None,
    bands: int = 5,
    cluster: str | None = None,
    alternative: Alternative = "better-on-public",
    correction: Correction = "holm",
    simultaneous: bool = False,
    level: float = 0.95,
) -> Drift:
    """Compare each system's public with its held-out score, against the same difference of the others.

    A system's mean on public items less that on held-out ones holds whatever makes one part harder. So each score is
    taken less the mean of the other systems on that item, and the two parts are compared within bands of the
    difficulty that all systems show: a strong system gains less on easy items than others do, and without bands that
    would pass for drift where the parts differ in difficulty. The unit is the item (or cluster of items): repeated
    trials make its score finer, never the sample larger. Items a system did not see are left out for it; systems are
    centered at the middle of their two means before the pool is averaged, so that who saw an item matters little.

    A signal is no proof. It may also come from tuning on the public part, from runs or graders that differed between
    the parts, and from parts that differ in kind, not only in difficulty. It misses what all systems share.

    In 2PL worlds without contamination .049 to .055 of the p values of systems are below .05, also where the parts
    differ in difficulty; any signal after Holm's correction occurs in .05 to .085 of data sets, since the tails of
    means of few items are a little heavier than Student's (``benchmarks/drift_error.py``).

    Parameters
    ----------
    public : Responses
        On the public items; on all of them if `held_out` are ids.
    held_out : Responses or sequence of str
        On the held-out items, systems matched by id; or the held-out items' ids, all others being public.
    reference : sequence of str, optional
        Persons that are the pool (such as those older than the public part), by default all; nobody is in its own.
    bands : int
        Of difficulty; 1 for the plain difference in differences.
    cluster : str, optional
        Column of the items' covariates: items of one cluster are dependent.
    alternative : {"better-on-public", "two-sided"}
        Whose p values are adjusted.
    correction : {"holm", "benjamini-hochberg", "none"}
        Holm: the chance of any false signal; Benjamini-Hochberg: the share of false ones among the signals.
    simultaneous : bool
        Whether intervals hold for all systems together, by Bonferroni.
    level : float

    Raises
    ------
    DataError
        If an item is in both parts, a part is empty, an id or covariate is not there, there are fewer than two systems,
        or none of the pool saw items of both parts.
    SettingsError
        For an unknown setting.
    """
    _check(alternative, correction, level, bands)
    if isinstance(held_out, Responses):
        responses, is_public = join_parts(public, held_out)
    else:
        responses, is_public = public, mark_public(public, held_out)
    members = _pool_members(responses, reference)
    groups = Grouping(group_codes(responses, cluster, "items")[0]) if cluster else None
    means = _part_means(responses, is_public)
    contrasts, alone = _contrasts(responses, is_public, members, means, bands, groups)
    return _result(responses, means, contrasts, alone, members, bands, cluster, alternative, correction, simultaneous,
                   level)  # fmt: skip


def _check(alternative: str, correction: str, level: float, bands: int) -> None:
    check_level(level)
    check_whole("bands", bands, 1)
    if bands > MOST_BANDS:
        raise SettingsError(f"bands is {bands}.", f"Give at most {MOST_BANDS}.")
    for name, value, known in (
        ("alternative", alternative, get_args(Alternative)), ("correction", correction, get_args(Correction))
    ):  # fmt: skip
        if value not in known:
            raise SettingsError(f"{name} is {value!r}.", f"Choose one of {', '.join(known)}.")


def _pool_members(responses: Responses, reference: Sequence[str] | None) -> BoolArray:
    label = responses.person_label
    if responses.n_persons < 2:
        raise DataError(f"There is one {label}.", f"Drift is told against other {label}s: give two or more.")
    if reference is None:
        return np.ones(responses.n_persons, dtype=bool)
    if isinstance(reference, str) or not len(reference):
        raise SettingsError(f"reference is {reference!r}.", f"Give a list of ids of {label}s.")
    unknown = sorted(set(reference) - set(responses.person_ids))
    if unknown:
        raise DataError(f"There is no {label} {some(unknown)}.", f"The {label}s are {some(responses.person_ids)}.")
    return np.isin(responses.person_ids, list(reference))


def _part_means(responses: Responses, public: BoolArray) -> Moments:
    """Return each person's mean on public and on held-out items, NaN if none, and how many of each it saw."""
    shape = (2, responses.n_persons)
    total, count = np.zeros(shape), np.zeros(shape, np.intp)
    for part, scores, seen in score_blocks(responses.successes, responses.trials, BLOCK_CELLS // 4):
        for k, z in enumerate((public, ~public)):
            total[k, part], count[k, part] = scores[:, z].sum(axis=1), np.count_nonzero(seen[:, z], axis=1)
    mean = np.divide(total, count, out=np.full(shape, np.nan), where=count > 0)
    return mean[0], mean[1], count[0], count[1]


def _contrasts(
    responses: Responses, public: BoolArray, members: BoolArray, means: Moments, bands: int, groups: Grouping | None
) -> tuple[Contrast, BoolArray]:
    """Return the contrast of every person, and who shares no item with the pool."""
    center = (means[0] + means[1]) / 2
    both = np.isfinite(center)
    if not (members & both).any():
        raise DataError(
            f"No {responses.person_label} of the pool saw items of both parts.", "Is the part of each item right?"
        )
    center = np.nan_to_num(center)
    everybody, pool = (_pool(responses, who & both, center) for who in (np.ones_like(both), members))
    # By all, not by the others of each: noise in bands would favor the easier part alike for everybody, and here the
    # drifts of all cancel as they do without bands.
    mean = np.divide(everybody.total, everybody.n_seen, out=np.full(public.size, np.nan), where=everybody.n_seen > 0)
    band = bands_of(mean, bands)
    parts, alone = [], []
    for part, scores, seen in _blocks(responses):
        values, known = less_pool(scores, seen, pool, center[part], (members & both)[part])
        parts.append(contrast_parts(values, known, band, public, groups))
        alone.append(~known.any(axis=1))
    return Contrast(*(np.concatenate(v) for v in zip(*parts, strict=True))), np.concatenate(alone)


def _blocks(responses: Responses) -> Iterator[tuple[slice, FloatArray, BoolArray]]:
    # About fifteen arrays of persons x items are alive in a block.
    return score_blocks(responses.successes, responses.trials, BLOCK_CELLS // 16)


def _pool(responses: Responses, members: BoolArray, center: FloatArray) -> Pool:
    total, count = np.zeros(responses.n_items), np.zeros(responses.n_items)
    for part, scores, seen in _blocks(responses):
        of_pool = seen & members[part, None]
        total += np.where(of_pool, scores - center[part, None], 0.0).sum(axis=0)
        count += np.count_nonzero(of_pool, axis=0)
    return Pool(total, count)


def _result(
    responses: Responses, means: Moments, c: Contrast, alone: BoolArray, members: BoolArray, bands: int,
    cluster: str | None, alternative: Alternative, correction: Correction, simultaneous: bool, level: float,
) -> Drift:  # fmt: skip
    t, two_sided = t_test(c.difference, c.error, np.nan_to_num(c.df))
    better = np.where(np.isnan(t), np.nan, stdtr(np.where(c.df > 0, c.df, 1.0), -t))
    status = _status(c, alone, means)
    tested = int(np.isfinite(t).sum())
    outside = (1 - level) / (max(tested, 1) if simultaneous else 1)
    reach = stdtrit(np.where(c.df > 0, c.df, 1.0), 1 - outside / 2) * c.error
    p = better if alternative == "better-on-public" else two_sided
    full = members & np.isfinite(means[0] + means[1])
    pool_difference = float((means[0] - means[1])[full].mean())
    return Drift(
        responses.person_ids, status, *means, c.n_items, c.difference, c.error, c.df,
        np.maximum(c.difference - reach, -2), np.minimum(c.difference + reach, 2),
        t, better, two_sided, adjust(p, correction), pool_difference, int(full.sum()), bands, tested,
        alternative, correction, simultaneous, level,
        drift_notes(responses, status, int(full.sum()), pool_difference, bands, cluster, alternative, correction,
                    simultaneous, tested),
    )  # fmt: skip


def _status(c: Contrast, alone: BoolArray, means: Moments) -> tuple[DriftStatus, ...]:
    none, few, flat = np.isnan(c.difference), np.isnan(c.df), np.isnan(c.error)
    both = (means[2] > 0) & (means[3] > 0)
    kinds: tuple[DriftStatus, ...] = ("one_part", "no_pool", "one_part", "too_few_items", "no_spread", "tested")
    found = np.select([~both, alone, none, few, flat], np.arange(5), 5)
    return tuple(kinds[k] for k in found)

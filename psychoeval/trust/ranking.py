"""How far a ranking is known: intervals of ranks, P(A > B), groups that cannot be told apart, top k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.ranks import ranks
from psychoeval.audit.paired import Correction, adjust
from psychoeval.audit.settings import check_level, check_whole, generator
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.irt import ranking as rank_math
from psychoeval.irt.classical import BoolArray, FloatArray
from psychoeval.irt.item_samples import proportions_posterior
from psychoeval.irt.parameters import Abilities, Uncertainty
from psychoeval.results.fit_result import FitResult
from psychoeval.trust.estimates import abilities_of, check_size, estimates, one_component
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

#: Draws times persons that are held at most: 2 GiB.
MOST_VALUES: Final = 1 << 28
#: Above so many persons no letters are given: nobody could read them.
MOST_LETTERS: Final = 200


@dataclass(frozen=True, eq=False)
class Ranking:
    """A ranking of N persons with its uncertainty.

    Parameters
    ----------
    person_ids : tuple of str, length N
        Those with an estimate.
    estimate, standard_error : (N,) arrays
    rank : (N,) array
        1 the best, ties at their mean rank.
    low, high : (N,) int arrays
        Interval of each person's rank in the draws, of at least `level`: each one on its own.
    tested_low, tested_high : (N,) int arrays
        1 + persons told apart from above, N - persons told apart from below. Under Holm's correction all N intervals
        hold together with confidence `level` (as in Klein, Wright & Wieczorek 2020, doi 10.1111/rssa.12553).
    above : (N, N) float32 array
        P(row is above column); one half on the diagonal.
    p_adjusted : (N, N) array
        Two-sided p of each difference, corrected for the number of pairs; 1 on the diagonal.
    counts : (N, N) int array
        How often person i has rank r + 1 in the draws.
    best_together : (N - 1,) array
        P(the k with the highest estimates are the best k), all of them together, for k = 1 to N - 1.
    letters : tuple of str, length N
        Persons that share a letter are not told apart; empty above 200 persons, or `irt.ranking.MOST_GROUPS` letters.
    level, correction : float, str
    uncertainty : {"items fixed", "items estimated", "items sampled"}
        Whether "A above B" is about these items as if known, with their estimates' errors, or about items like these.
    source : str
        What the draws are.
    notes : tuple of str
    """

    person_ids: tuple[str, ...]
    estimate: FloatArray
    standard_error: FloatArray
    rank: FloatArray
    low: NDArray[np.intp]
    high: NDArray[np.intp]
    tested_low: NDArray[np.intp]
    tested_high: NDArray[np.intp]
    above: NDArray[np.float32]
    p_adjusted: FloatArray
    counts: NDArray[np.int64]
    best_together: FloatArray
    letters: tuple[str, ...]
    level: float
    correction: Correction
    uncertainty: Uncertainty
    source: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Ranking of {len(self.person_ids)}; see to_frame(), probability_above(), notes>"

    @cached_property
    def told_apart(self) -> BoolArray:
        """Pairs whose order is known at this level, (N, N)."""
        return np.asarray(self.p_adjusted < 1 - self.level)

    def top(self, k: int) -> FloatArray:
        """Return each person's probability of being among the best k, (N,).

        Raises
        ------
        SettingsError
            If k is not between 1 and N.
        """
        n = len(self.person_ids)
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= n:
            raise SettingsError(f"k is {k!r}.", f"Give a whole number from 1 to {n}.")
        return np.asarray(self.counts[:, :k].sum(axis=1) / self.counts[0].sum())

    def probability_above(self, first: str, second: str) -> float:
        """Return P(first is above second).

        Raises
        ------
        NotComparableError
            For a person that is not ranked.
        """
        for name in (first, second):
            if name not in self.person_ids:
                raise NotComparableError(f"{name!r} is not in this ranking.", "Give the id of a ranked person.")
        return float(self.above[self.person_ids.index(first), self.person_ids.index(second)])

    def to_frame(self, top: Sequence[int] = (1, 3, 10)) -> pd.DataFrame:
        """Return one row a person, the best first, with P(among the best k) for each k of `top` below N."""
        import pandas as pd

        columns = {
            "rank": self.rank, "estimate": self.estimate, "standard_error": self.standard_error,
            "rank_low": self.low, "rank_high": self.high,
            "tested_low": self.tested_low, "tested_high": self.tested_high,
        }  # fmt: skip
        table = pd.DataFrame(columns, index=pd.Index(self.person_ids, name="person"))
        if self.letters:
            table["letters"] = self.letters
        for k in top:
            if k < len(self.person_ids):
                table[f"p_top_{k}"] = self.top(k)
        return table.iloc[np.argsort(self.rank, kind="stable")]


def rank(
    fit: FitResult,
    *,
    level: float = 0.95,
    correction: Correction = "holm",
    draws: int = 4000,
    seed: int | np.random.Generator = 0,
    component: int | None = None,
) -> Ranking:
    """Rank the persons of a fit, with what is known of each rank and of each pair.

    Ranks and P(A > B) come from draws of the abilities: those of a sampler; else from the normal posterior
    (EAP or MAP and its posterior SD); else, where estimates have errors and no prior (simple average, additive, ML,
    WLE), from the posterior of abilities that are normal among persons, mean and SD estimated (`irt.ranking.shrink`).
    Pairs are tested by z = difference / its standard error, of the estimates as they are. Scores and ML are unshrunken;
    EAP and MAP are shrunken, so that p is twice the posterior probability of the other order, if both are normal.
    Proportions rest on a number of items, and are tested with what so few allow (`irt.ranking.few_units_p`).

    Parameters
    ----------
    fit : FitResult
        With abilities and their standard errors, or draws.
    level : float
    correction : {"holm", "benjamini-hochberg", "none"}
        For the number of pairs. Holm: the chance of any false difference; Benjamini-Hochberg: the share of false ones
        among those declared, as Williams, Jones & Tukey (1999), doi 10.3102/10769986024001042, use it for comparisons
        of many groups; none: each pair on its own.
    draws : int
        To take where the fit has none.
    seed : int or numpy.random.Generator
    component : int, optional
        Where the data fall into components: the number of the one to rank, from 1 (`FitResult.components`).

    Raises
    ------
    DisconnectedDataError
        If the data fall into components and none is named: nothing ranks persons across them.
    NotComparableError
        If the fit has no abilities, no errors, infinite ones, fewer than two persons, or more than 2,000.
    SettingsError
        For a setting out of range.
    """
    check_settings(level, correction, draws)
    abilities = one_component(fit, abilities_of(fit), component)
    random = generator(seed)
    if fit.draws is not None and "ability" in fit.draws.values:
        ranked = set(abilities.person_ids)
        at = [k for k, name in enumerate(fit.draws.ids("ability")) if name in ranked]
        sample, ids = fit.draws.pooled("ability")[:, at], tuple(fit.draws.ids("ability")[k] for k in at)
        check_size(len(ids))
        mean, covariance = sample.mean(axis=0), np.atleast_2d(np.cov(sample, rowvar=False))
        n_units = None
        source = f"{len(sample):,} draws of the sampler"
    else:
        ids, mean, covariance, n_units = estimates(abilities, fit.label)
        if abilities.method in ("EAP", "MAP"):
            posterior, source = (mean, covariance), f"normal posterior, {abilities.method} and posterior SD"
        else:
            shrunk = (rank_math.shrink(mean, covariance) if n_units is None
                      else proportions_posterior(mean, covariance, n_units))  # fmt: skip
            posterior = shrunk.mean, shrunk.covariance
            source = (f"normal errors, shrunk to a normal distribution of abilities with mean {shrunk.center:.3g} and "
                      f"SD {shrunk.spread:.3g}, both estimated")  # fmt: skip
        sample = draw_abilities(*posterior, draws, random)
        source = f"{draws:,} draws; {source}"
    notes = _notes(fit, abilities, ids)
    p = rank_math.pair_p(mean, covariance, n_units)
    return ranking_of(ids, mean, covariance, p, sample, level=level, correction=correction, source=source, notes=notes,
                      uncertainty=abilities.uncertainty, random=random)  # fmt: skip


def ranking_of(
    ids: tuple[str, ...],
    estimate: FloatArray,
    covariance: FloatArray,
    p_values: FloatArray,
    sample: FloatArray,
    *,
    level: float,
    correction: Correction,
    uncertainty: Uncertainty,
    source: str,
    notes: tuple[str, ...],
    random: np.random.Generator,
) -> Ranking:
    """Return the ranking of N estimates, by the (N, N) covariance of their errors, p of pairs and (D, N) draws."""
    n = len(ids)
    counts = rank_math.rank_counts(sample, random)
    low, high = rank_math.rank_limits(counts, level)
    p = adjusted(p_values, correction)
    apart, above = p < 1 - level, estimate[:, None] > estimate
    order = np.argsort(-estimate, kind="stable")
    letters = rank_math.display_letters(apart, order) if n <= MOST_LETTERS else ()
    return Ranking(
        ids,
        estimate,
        np.sqrt(np.diag(covariance)),
        ranks(estimate),
        low,
        high,
        1 + np.count_nonzero(apart & above.T, axis=1),
        n - np.count_nonzero(apart & above, axis=1),
        rank_math.share_above(sample),
        p,
        counts,
        rank_math.best_together(sample, order),
        tuple(" ".join(_letter(k) for k in groups) for groups in letters),
        level,
        correction,
        uncertainty,
        source,
        notes,
    )


def adjusted(p: FloatArray, correction: Correction) -> FloatArray:
    """Return (N, N) symmetric p values adjusted over the N (N - 1) / 2 pairs; 1 on the diagonal."""
    out = np.ones(p.shape)
    rows, columns = np.triu_indices(len(p), 1)
    out[rows, columns] = out[columns, rows] = adjust(p[rows, columns], correction)
    return out


def check_settings(level: float, correction: Correction, draws: int) -> None:
    """Refuse settings out of range."""
    check_level(level)
    check_whole("draws", draws, 100)
    if correction not in get_args(Correction):
        known = ", ".join(map(repr, get_args(Correction)))
        raise SettingsError(f"correction is {correction!r}.", f"Give one of {known}.")


def draw_abilities(
    mean: FloatArray, covariance: FloatArray, draws: int, random: np.random.Generator, df: float = np.inf
) -> FloatArray:
    """Return (D, N) normal draws, or with `df` degrees of freedom Student's.

    Raises
    ------
    SettingsError
        If they are too many to be held.
    """
    n = mean.size
    if draws * n > MOST_VALUES:
        raise SettingsError(f"{draws:,} draws of {n:,} persons are too many.", f"Ask for {MOST_VALUES // n:,} at most.")
    return rank_math.normal_draws(mean, covariance, draws, random, df)


def _notes(fit: FitResult, abilities: Abilities, ids: tuple[str, ...]) -> tuple[str, ...]:
    left_out = [name for name in abilities.person_ids if name not in set(ids)]
    notes = [f"Not ranked, without an estimate: {some(left_out)}."] * bool(left_out)
    if abilities.covariance is None and fit.draws is None:
        notes.append("Errors are taken as independent between persons, as they are where the items are known.")
    if not fit.convergence.believed:
        notes.append(f"The fit is not to be believed: {fit.convergence.status}.")
    return (*notes, *fit.convergence.warnings)


def _letter(k: int) -> str:
    """Return a, b, ..., z, aa, ab, ... of 0, 1, ..."""
    out = chr(ord("a") + k % 26)
    return out if k < 26 else _letter(k // 26 - 1) + out

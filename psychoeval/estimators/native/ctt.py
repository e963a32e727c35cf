"""Classical test theory: item statistics, alpha, and the standard error of measurement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np

from psychoeval.errors import SettingsError
from psychoeval.estimators.native.simple_average import check_cluster, seen_items
from psychoeval.estimators.settings import check_between, is_choice
from psychoeval.irt.classical import (
    BoolArray,
    CountArray,
    FloatArray,
    item_rest_correlation,
    mean_error,
    row_moments,
)
from psychoeval.irt.clustered import mean_error_between_clusters
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities
from psychoeval.irt.reliability import (
    MissingRule,
    Reliability,
    TakenRule,
    alpha_complete,
    alpha_of_clusters,
    alpha_pairwise,
    feldt_interval,
    kr20,
    measurement_error,
    taken_rule,
    why_no_alpha,
)
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, ItemStatistics
from psychoeval.results.provenance import Provenance
from psychoeval.wording import some

Counts = tuple[CountArray, CountArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class CTT:
    """Proportion correct and item-rest correlation of items; alpha, KR-20 and the standard error of measurement.

    Persons score the mean over the items they saw, unadjusted for their difficulty. Coverage of the 95 % intervals
    measured in 2PL worlds (benchmarks/interval_coverage.py and coverage_proportions.py), of the expected score on all
    items of the test: complete data .95-.97, to 1.00 with 10 items of a hundred trials (items of unequal slopes count
    as error), cells missing at random .95-.96; .71 with 10 x 10 cells of a hundred trials half missing, where pairwise
    covariances often leave no error, and .32-.60 where systems saw items near their own level. Of items, about all
    persons like these: proportions .93-.96, item-rest correlations .89-.91 with 30 persons, .93-.94 with 100, .94-.95
    with 400; of alpha (Feldt, complete) .92-1.00.

    Parameters
    ----------
    missing : {"auto", "listwise", "available"}
        Rule for incomplete data. ``"listwise"``: item-rest correlation, alpha and standard error of measurement from
        the persons who saw every item. ``"available"``: the correlation from everybody who saw the item, with the
        mean of the item-centered scores on the others they saw; alpha and the error from pairwise covariances.
        ``"auto"``: listwise where at least half of the persons are complete. The rule taken and its n are in the
        statistics. Proportions correct always come from everybody who saw the item. Items nobody saw are set
        aside; constant items stay.
    level : float
        Of Feldt's interval of alpha.
    cluster : str, optional
        Column of `Responses.items` that groups dependent items (questions on one passage). The error of a person's
        mean is then that between clusters, as `SimpleAverage` has it, about passages like these; and the statistics
        hold alpha of the clusters' scores, which shared passages do not raise (Wainer and Thissen 1996, doi
        10.1111/j.1745-3992.1996.tb00803.x).

    Raises
    ------
    SettingsError
        For an unknown rule, a level outside (0, 1) or a column that is no name.
    """

    name: ClassVar[str] = "ctt"
    missing: MissingRule = "auto"
    level: float = 0.95
    cluster: str | None = None

    def __post_init__(self) -> None:
        if not is_choice(self.missing, get_args(MissingRule)):
            raise SettingsError(f"missing is {self.missing!r}.", f"Choose one of {', '.join(get_args(MissingRule))}.")
        check_between(0.0, 1.0, level=self.level)
        check_cluster(self.cluster)

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Compute the statistics; `model` is not used.

        Returns
        -------
        FitResult
            `item_statistics`; `abilities`, the mean over the items seen with its standard error of measurement,
            sqrt((mean item variance - mean item covariance) / items seen): item difficulties are held fixed, a
            person's reactions to single items count as error. A person who saw n of J items has the error of that
            choice besides, variance of the difficulties (1 / n - 1 / J), right where cells are missing at random
            (absolute error of a random subset; Brennan 2001, Generalizability Theory). `statistics`, the whole-test
            figures.

        Raises
        ------
        DataError
            If the items have no column `cluster`.
        """
        moments = row_moments(responses.successes, responses.trials)
        used: BoolArray = np.asarray(responses.trials.any(axis=0))
        everybody = _columns((responses.successes, responses.trials), used)
        whole = everybody[1].all(axis=1) & used.any()
        complete = everybody if whole.all() else (everybody[0][whole], everybody[1][whole])
        rule = taken_rule(self.missing, int(whole.sum()), int(np.count_nonzero(moments.n)))
        statistics, reliability = self._reliability(everybody, complete, rule)
        items = _item_statistics(responses, used, complete if rule == "listwise" else everybody)
        notes = (*_alpha_notes(reliability, items, rule), *_item_notes(items))
        seen = seen_items(responses, moments)
        error = np.sqrt(measurement_error(reliability, moments.n) ** 2 + _of_items_seen(items, moments.n))
        abilities = Abilities(
            responses.person_ids, moments.mean, error, method="mean", scale="proportion", uncertainty="items fixed",
            status=person_status(responses), n_units=moments.n,
        )  # fmt: skip
        unit: dict[str, Any] = {"standard_errors": "of measurement, these items held fixed, items independent"}
        if self.cluster is not None:
            abilities, unit = _between_clusters(abilities, responses, self.cluster)
        return FitResult(
            estimator=self.name,
            model=None,
            convergence=Convergence("not_iterative", warnings=notes if seen is None else (*notes, seen.warning)),
            provenance=Provenance(engine="numpy"),
            item_statistics=items,
            abilities=abilities,
            statistics={**statistics, **unit, "notes": " ".join(notes)},
        )

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return what is computed, in words."""
        unit = "" if self.cluster is None else f"; SE between clusters of items ({self.cluster})"
        rules = f"missing={self.missing!r}, level={self.level:g}"
        return f"ctt: proportion correct, item-rest correlation, alpha; {rules}{unit}"

    def _reliability(self, everybody: Counts, complete: Counts, rule: TakenRule) -> tuple[dict[str, Any], Reliability]:
        listwise = alpha_complete(*complete)
        pairwise = listwise if complete is everybody else alpha_pairwise(*everybody)
        chosen = listwise if rule == "listwise" else pairwise
        low, high = feldt_interval(listwise.alpha, listwise.n, listwise.k, self.level)
        varying = alpha_complete(*_columns(complete, _varies(complete)))
        binary = int(complete[1].max(initial=0)) == 1
        sem = float(measurement_error(chosen, np.array([float(chosen.k)]))[0])
        statistics = {
            "missing_rule": rule,
            "n_listwise": listwise.n,
            "n_items": listwise.k,
            "alpha": chosen.alpha,
            # Feldt's interval needs one sample size: there is none for pairwise covariances.
            "alpha_low": low if rule == "listwise" else None,
            "alpha_high": high if rule == "listwise" else None,
            "alpha_level": self.level,
            "alpha_listwise": listwise.alpha,
            "alpha_listwise_without_constant": varying.alpha,
            "alpha_pairwise": pairwise.alpha,
            "mean_covariance": chosen.mean_covariance,
            "kr20": kr20(complete[0]) if binary else None,
            "sem": sem,
            "sem_total_score": sem * chosen.k,
        }
        return statistics, chosen


def _between_clusters(abilities: Abilities, responses: Responses, column: str) -> tuple[Abilities, dict[str, Any]]:
    """Return abilities with errors between clusters of items, and what the statistics say of them."""
    codes, names = group_codes(responses, column, "items")
    counts = responses.successes, responses.trials
    error, effective_n, clusters = mean_error_between_clusters(*counts, codes)
    unit = {
        "standard_errors": f"between clusters of items ({column}); Wilson intervals with Student's t",
        "n_clusters": len(names),
        "alpha_of_clusters": alpha_of_clusters(*counts, codes),
    }
    between = replace(
        abilities, standard_error=error, uncertainty="items sampled", effective_n=effective_n,
        n_units=clusters.astype(float),
    )  # fmt: skip
    return between, unit


def _columns(counts: Counts, keep: BoolArray) -> Counts:
    return counts if keep.all() else (counts[0][:, keep], counts[1][:, keep])


def _varies(counts: Counts) -> BoolArray:
    # On scores, not counts: 1 of 1 and 2 of 2 are equal.
    return np.asarray(row_moments(counts[0].T, counts[1].T).variance > 0)


def _of_items_seen(items: ItemStatistics, n_items: FloatArray) -> FloatArray:
    """Return the variance of the mean difficulty of a random subset of the items that anybody saw, (N,)."""
    p, error = items.proportion_correct, items.standard_errors["proportion_correct"]
    known = np.isfinite(p)
    j = int(np.count_nonzero(known))
    spread = max(0.0, float(np.var(p[known], ddof=1) - np.mean(error[known] ** 2))) if j > 1 else 0.0
    out = np.zeros(n_items.shape)
    np.divide(spread * (j - n_items), j * n_items, out=out, where=n_items > 0)
    return out


def _item_statistics(responses: Responses, used: BoolArray, source: Counts) -> ItemStatistics:
    moments = row_moments(responses.successes.T, responses.trials.T)
    p_error, effective_n = mean_error(moments)
    r, r_error = np.full(used.shape, np.nan), np.full(used.shape, np.nan)
    r[used], r_error[used], _ = item_rest_correlation(*source)
    return ItemStatistics(
        responses.item_ids,
        moments.mean,
        r,
        {"proportion_correct": p_error, "item_rest_correlation": r_error},
        status=item_status(responses),
        effective_n=effective_n,
    )


def _alpha_notes(reliability: Reliability, items: ItemStatistics, rule: TakenRule) -> tuple[str, ...]:
    notes: list[str] = []
    if np.isnan(reliability.alpha):
        notes.append(why_no_alpha(reliability, rule))
    if reliability.alpha < 0:
        backward = [i for i, r in zip(items.item_ids, items.item_rest_correlation, strict=True) if r < 0]
        notes.append(
            f"Alpha is negative ({reliability.alpha:.4g}) because the items' average covariance is "
            f"{reliability.mean_covariance:.4g} < 0: they do not measure one thing in one direction. Items against "
            f"the rest: {some(backward)}; check their keys."
        )
    if rule == "available" and reliability.pairs_left_out:
        notes.append(
            f"{reliability.pairs_left_out} of {reliability.k * (reliability.k - 1) // 2} pairs of items were never "
            "taken together by two persons: alpha and the errors take the mean covariance of the other pairs for them."
        )
    return tuple(notes)


def _item_notes(items: ItemStatistics) -> tuple[str, ...]:
    undefined = [
        i
        for i, p, r in zip(items.item_ids, items.proportion_correct, items.item_rest_correlation, strict=True)
        if np.isnan(r) and not np.isnan(p)
    ]
    if not undefined:
        return ()
    return (
        f"No item-rest correlation where the scores, or the scores on the rest, do not vary: {len(undefined)} of "
        f"{len(items.item_ids)} items ({some(undefined)}). They count in every other figure.",
    )

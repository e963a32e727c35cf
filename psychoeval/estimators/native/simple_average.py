"""The simple average: what leaderboards report, with an honest error and a warning where it misleads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from psychoeval.errors import SettingsError
from psychoeval.irt.classical import FloatArray, Moments, mean_error, mean_of_seen, row_moments
from psychoeval.irt.clustered import mean_error_between_clusters
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import person_status
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleAverage:
    """Mean over the items a person saw of the mean over trials.

    The standard error takes the item as the unit, s / sqrt(n) with s^2 over n - 1, and the items as a sample of
    items like them, answered independently (no passages or families); intervals are Wilson's. See
    `psychoeval.irt.classical.mean_error` for scores without spread.

    Coverage of the 95 % intervals measured in 2PL worlds (benchmarks/coverage_proportions.py), for the score on all
    items like these: .94-.96 from 10 items of one trial or 20 of ten, .82-.88 with 5 to 10 items of a hundred trials,
    and down to .53 where systems saw items near their own level. With 100 or 200 items, complete or 30 % missing at
    random (benchmarks/interval_coverage.py), .94-.96 with one trial and .92-.96 with ten, Monte Carlo error .02: all
    systems share the items.

    Parameters
    ----------
    cluster : str, optional
        Column of `Responses.items` that groups dependent items (questions on one passage, variants of one task): the
        unit is then the cluster, error sqrt(G / (G - 1)) sqrt(sum over clusters of (sum of residuals)^2) / n and
        Student's t in the interval (`psychoeval.irt.clustered`).
    """

    name: ClassVar[str] = "simple-average"
    cluster: str | None = None

    def __post_init__(self) -> None:
        check_cluster(self.cluster)

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Average each person's scores; `model` is not used.

        Returns
        -------
        FitResult
            Abilities on the proportion scale, NaN for persons without responses.
        """
        moments = row_moments(responses.successes, responses.trials)
        error, effective_n = mean_error(moments)
        n_units = moments.n
        unit: dict[str, object] = {"standard_errors": "between items (n - 1), items independent; Wilson intervals"}
        if self.cluster is not None:
            codes, names = group_codes(responses, self.cluster, "items")
            error, effective_n, clusters = mean_error_between_clusters(responses.successes, responses.trials, codes)
            n_units = clusters.astype(float)
            unit = {
                "standard_errors": f"between clusters of items ({self.cluster}); Wilson intervals with Student's t",
                "n_clusters": len(names),
            }
        coverage = seen_items(responses, moments)
        return FitResult(
            estimator=self.name,
            model=None,
            convergence=Convergence("not_iterative", warnings=() if coverage is None else (coverage.warning,)),
            provenance=Provenance(engine="numpy"),
            abilities=Abilities(
                responses.person_ids,
                moments.mean,
                error,
                method="mean",
                scale="proportion",
                uncertainty="items sampled",
                status=person_status(responses),
                effective_n=effective_n,
                n_units=n_units,
            ),
            statistics={
                "coverage": responses.n_observed / responses.trials.size,
                "items_seen_min": int(moments.n.min()),
                "items_seen_max": int(moments.n.max()),
                "easiness_seen_min": None if coverage is None else coverage.hardest[1],
                "easiness_seen_max": None if coverage is None else coverage.easiest[1],
                **unit,
            },
        )

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return what is computed, in words."""
        unit = "items" if self.cluster is None else f"clusters of items ({self.cluster})"
        return f"simple-average: mean over the items seen of the mean over trials; SE between {unit}; Wilson intervals"


def check_cluster(column: object) -> None:
    """Refuse what is no name of a covariate of the items, nor None."""
    if not isinstance(column, (str, type(None))):
        raise SettingsError(f"cluster is {column!r}.", "Give the name of a covariate of the items, or None.")


@dataclass(frozen=True, slots=True)
class SeenItems:
    """Who saw the hardest and who the easiest items, by mean proportion correct of the items seen.

    Parameters
    ----------
    hardest, easiest : (person id, mean proportion correct of the items that person saw)
    warning : str
        The sentence for a user.
    """

    hardest: tuple[str, float]
    easiest: tuple[str, float]
    warning: str


def seen_items(responses: Responses, moments: Moments) -> SeenItems | None:
    """Return how far the items seen differ, or None where all persons with responses saw the same items.

    Parameters
    ----------
    responses : Responses
    moments : Moments
        Of the persons, (N,).
    """
    someone = np.flatnonzero(moments.n > 0)
    n_used_items = int(np.count_nonzero(responses.trials.any(axis=0)))
    if someone.size < 2 or bool(np.all(moments.n[someone] == n_used_items)):
        return None
    item_mean = row_moments(responses.successes.T, responses.trials.T).mean
    easiness: FloatArray = mean_of_seen(item_mean, responses.trials)[someone]
    low, high = (int(someone[k]) for k in (easiness.argmin(), easiness.argmax()))
    hardest, easiest = ((responses.person_ids[k], float(easiness[np.searchsorted(someone, k)])) for k in (low, high))
    who = responses.person_label
    counts = moments.n[someone]
    warning = (
        f"The {who}s did not see the same items ({responses.n_observed / responses.trials.size:.1%} of the cells, "
        f"{int(counts.min())} to {int(counts.max())} of {n_used_items} items a {who}). The items that {hardest[0]!r} "
        f"saw have a mean proportion correct of {hardest[1]:.3f}, those of {easiest[0]!r} {easiest[1]:.3f}: averages "
        "over different items are not directly comparable (where strong systems took the hard items, even these "
        "figures hide part of the gap). Compare with additive or an item response model."
    )
    return SeenItems(hardest, easiest, warning)

"""Rankings for items like these: the bootstrap over items, or over clusters of items."""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np

from psychoeval.agreement.matching import check_responses
from psychoeval.audit.paired import Correction, bootstrap_counts
from psychoeval.audit.settings import check_whole, generator
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.irt.classical import BoolArray
from psychoeval.irt.clustered import clustered_mean_error
from psychoeval.irt.item_samples import items_sampled_posterior
from psychoeval.irt.item_weights import weighted_additive, weighted_averages
from psychoeval.irt.ranking import pair_p
from psychoeval.responses.connectivity import require_connected
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.trust.estimates import check_size
from psychoeval.trust.ranking import MOST_VALUES, Ranking, check_settings, draw_abilities, ranking_of
from psychoeval.wording import some

Score = Literal["additive", "simple-average"]
#: Below this share of usable samples there is no bootstrap.
LEAST_USABLE: Final = 0.5
#: Fewest items or clusters: with 4 an exact test of a pair cannot go below .125, and an error has 3 degrees of freedom.
LEAST_UNITS: Final = 5
#: Below so many clusters errors lean on normal means (Cameron & Miller 2015, doi 10.3368/jhr.50.2.317: few, below 20).
FEW_CLUSTERS: Final = 20


def rank_over_items(
    responses: Responses,
    *,
    score: Score = "additive",
    cluster: str | None = None,
    replications: int = 1000,
    level: float = 0.95,
    correction: Correction = "holm",
    draws: int = 4000,
    seed: int | np.random.Generator = 0,
) -> Ranking:
    """Rank the systems so that "A above B" is a claim about items like these, not about these items alone.

    Items (or clusters of items, whole) are drawn with replacement, with all their responses, and every system is
    scored again. The covariance of the scores over samples holds what systems have in common, since they meet the
    same items: differences are known better than scores are. Pairs are tested by Student's t with G - 1 degrees of
    freedom, G the items or clusters (`irt.ranking.few_units_p`), scores as they are. Ranks and P(A > B) come from the
    posterior of normal abilities given these errors, drawn with the same degrees of freedom; a covariance from G items
    is first made regular, else as many systems as items look known for certain (`irt.item_samples`).

    Scores near 1 are no normal ones, so that few items say too much of the very best: of 60 systems on 40 items (Rasch,
    abilities and difficulties standard normal) the one most probably best had P .56 on average and was the best in .51
    of 1,500 worlds; where P was .8 or more, .90 and .81. Of 60 on 400 items .84 and .86 (250 worlds).

    Parameters
    ----------
    responses : Responses
    score : {"additive", "simple-average"}
        Additive: system and item effects by least squares, right where systems saw different items.
    cluster : str, optional
        Column of `responses.items`, such as the benchmark or the passage: its items are drawn together. Below 20
        clusters a note says so. Of 3,000 worlds of 6 equal systems that differ by cluster of 60 items (SD .1), each
        with 5, 6, 8, 12, 20 or 50 clusters, .043 to .050 had any false claim under Holm.
    replications : int
        Samples of items, 100 or more.
    level, correction, draws, seed
        As in `rank`.

    Raises
    ------
    DataError
        Without the covariate, or if (additive) the cells do not connect all systems.
    NotComparableError
        With fewer than two systems, or five items or clusters, or if most samples leave a system without items.
    SettingsError
        For a setting out of range.
    """
    check_responses(responses)
    check_settings(level, correction, draws)
    check_size(responses.n_persons)
    check_whole("replications", replications, 100)
    if replications * responses.n_items > MOST_VALUES:
        raise SettingsError(
            f"{replications:,} samples of {responses.n_items:,} items are too many.",
            f"Ask for {MOST_VALUES // responses.n_items:,} at most.",
        )
    if score not in get_args(Score):
        raise SettingsError(f"score is {score!r}.", "Give 'additive' or 'simple-average'.")
    random = generator(seed)
    seen = responses.trials.any(axis=0)
    codes = group_codes(responses, cluster, "items")[0] if cluster else np.arange(responses.n_items)
    codes = np.unique(codes[seen], return_inverse=True)[1]
    n_clusters = int(codes.max(initial=-1)) + 1
    _check_units(n_clusters, cluster)
    if score == "additive":
        require_connected(responses)
    successes, trials = responses.successes[:, seen], responses.trials[:, seen]
    scored = weighted_additive if score == "additive" else weighted_averages
    estimate = scored(successes, trials, np.ones((1, codes.size)))[0]
    samples = scored(successes, trials, bootstrap_counts(n_clusters, replications, random)[:, codes])
    usable = np.asarray(np.isfinite(samples).all(axis=1))
    _check_usable(usable, responses)
    covariance = np.cov(samples[usable], rowvar=False) * n_clusters / (n_clusters - 1)
    n_items = np.count_nonzero(trials, axis=1).astype(float)
    df = n_clusters - 1.0
    shrunk = items_sampled_posterior(estimate, covariance, n_items, df)
    units = clustered_mean_error(successes, trials, codes).n_clusters.astype(float) if cluster else n_items
    p = pair_p(estimate, covariance, units, items=cluster is None)
    unit = f"{n_clusters} clusters of items by {cluster!r}" if cluster else f"{n_clusters} items"
    left_out = int((~usable).sum())
    notes = [f"{left_out} samples of items left a {responses.person_label} without items, or apart from the others; "
             "they are left out, which makes errors look too small."] * bool(left_out)  # fmt: skip
    if cluster and n_clusters < FEW_CLUSTERS:
        notes.append(f"{n_clusters} clusters are few: errors have {n_clusters - 1} degrees of freedom, and take "
                     "clusters to be alike in size and their means to be near to normal.")  # fmt: skip
    certain = [name for name, v in zip(responses.person_ids, np.diag(covariance), strict=True) if not v > 0]
    if certain:
        notes.append(f"{some(certain)}: the score is the same on all items, which shows no error and is no certainty.")
    return ranking_of(
        responses.person_ids,
        estimate,
        covariance,
        p,
        draw_abilities(shrunk.mean, shrunk.covariance, draws, random, df),
        level=level,
        correction=correction,
        uncertainty="items sampled",
        source=f"{draws:,} draws; {score} scores, errors from {replications:,} samples of {unit}, shrunk to a normal "
        f"distribution with mean {shrunk.center:.3g} and SD {shrunk.spread:.3g}, both estimated; Student's t with "
        f"{n_clusters - 1} degrees of freedom",
        notes=tuple(notes),
        random=random,
    )


def _check_units(n_units: int, cluster: str | None) -> None:
    if n_units < LEAST_UNITS:
        what, instead = ("clusters", "drop `cluster` if items are independent, ") if cluster else ("items", "")
        raise NotComparableError(
            f"There are {n_units} {what} with responses, too few to tell what others like them would say: at least "
            f"{LEAST_UNITS} are needed.",
            f"Give more {what}, {instead}or take items as fixed (`rank`).",
        )


def _check_usable(usable: BoolArray, responses: Responses) -> None:
    if usable.mean() < LEAST_USABLE:
        raise NotComparableError(
            f"{int((~usable).sum())} of {usable.size} samples of items leave a {responses.person_label} without "
            "items, or apart from the others.",
            "Leave out those that saw few items, or take items as fixed (`rank`).",
        )

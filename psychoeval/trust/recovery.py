"""What a fit recovers of a simulated truth, and whether data look like simulated ones: numbers by name."""

from __future__ import annotations

import warnings
from typing import Final

import numpy as np
from scipy.stats import kendalltau, skew

from psychoeval.agreement.matching import match
from psychoeval.agreement.ranks import tied_groups
from psychoeval.agreement.scores import expected_scores, item_is_usable, mean_probabilities
from psychoeval.irt.classical import FloatArray, item_rest_correlation, row_moments
from psychoeval.irt.intervals import wald_interval
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.trust.worlds import World

#: What `recovered` computes, in the order of tables.
METRICS: Final = (
    "tau", "tau_simple_average", "score_error", "item_error", "r_difficulty", "r_discrimination",
    "ability_coverage", "difficulty_coverage", "discrimination_coverage",
)  # fmt: skip
#: What `data_statistics` computes.
STATISTICS: Final = (
    "mean_score", "score_sd", "score_skewness", "proportion_sd", "constant_items", "item_rest_mean", "item_rest_sd",
)  # fmt: skip


def recovered(world: World, fit: FitResult) -> dict[str, float | None]:
    """Return what a fit found of a simulated truth; None where it says nothing of that.

    tau: Kendall's tau-b of abilities; tau_simple_average that of the persons' mean scores in the same data, which needs
    no fit. score_error: mean over persons of |expected score on all items, true - fitted|;
    item_error the same over items. r: Pearson's over the items estimated. Coverage: of the printed 95 % intervals, the
    truth taken to the origin and unit of these persons (theta - mean) / SD, the SD left out for Rasch, where the items
    set the unit; on the proportion scale the true score is the expected one on all items. Source: METHODS of
    arXiv 2607.15190.
    """
    abilities = fit.abilities
    out: dict[str, float | None] = dict.fromkeys(METRICS)
    out["tau_simple_average"] = _tau(row_moments(world.responses.successes, world.responses.trials).mean, world.ability)
    if abilities is None:
        return out
    order = match(world.responses.person_ids, abilities.person_ids).second
    estimate = abilities.estimate[order]
    both = ~np.isnan(estimate) & ~np.isnan(world.ability)
    out["tau"] = _tau(estimate, world.ability)
    # Items that were never run have no true score.
    items = world.items.select(item_is_usable(world.items))
    person_score, item_score = mean_probabilities(world.ability, items)
    if abilities.scale == "proportion":
        low, high = (limit[order] for limit in abilities.interval())
        out["score_error"] = float(np.mean(np.abs(estimate - person_score)[both]))
        out["ability_coverage"] = _coverage(low, high, person_score)
        return out
    scores = expected_scores(fit, items.item_ids, world.responses.person_ids)
    if scores is not None:
        out["score_error"] = float(np.mean(np.abs(scores[0] - person_score)[both]))
        known = np.isfinite(scores[1])
        out["item_error"] = float(np.mean(np.abs(scores[1] - item_score)[known])) if known.any() else None
    return out | _parameters(world, fit, order)


def _parameters(world: World, fit: FitResult, order: np.ndarray) -> dict[str, float | None]:
    out: dict[str, float | None] = {}
    assert fit.abilities is not None
    theta = world.ability[np.isfinite(world.ability)]
    center = float(theta.mean())
    unit = 1.0 if fit.model is not None and fit.model.name == "Rasch" else float(theta.std())
    if unit > 0:
        low, high = (limit[order] for limit in fit.abilities.interval())
        out["ability_coverage"] = _coverage(low, high, (world.ability - center) / unit)
    found = fit.item_parameters
    if found is None or not unit > 0:
        return out
    found = found.select(match(world.items.item_ids, found.item_ids).second)
    both = found.estimated & world.items.estimated
    truth = {
        "difficulty": (world.items.difficulty - center) / unit,
        "discrimination": world.items.discrimination * unit,
    }
    errors = found.standard_errors or {}
    for term, true in truth.items():
        values = getattr(found, term)
        out[f"r_{term}"] = _correlation(values[both], true[both])
        if term in errors:
            error = np.where(errors[term] > 0, errors[term], np.nan)
            out[f"{term}_coverage"] = _coverage(*wald_interval(values, error), np.where(both, true, np.nan))
    return out


def data_statistics(responses: Responses) -> dict[str, float]:
    """Return statistics of a data set that a fitted model should reproduce, by name.

    Mean, SD and skewness of the persons' mean scores; SD of the items' proportions correct and the number that are
    constant; mean and SD of the item-rest correlations.
    """
    s, t = responses.successes, responses.trials
    score, proportion = row_moments(s, t).mean, row_moments(s.T, t.T).mean
    score, proportion = score[np.isfinite(score)], proportion[np.isfinite(proportion)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal scores have no skewness: NaN
        skewness = float(skew(score))
    r = item_rest_correlation(s, t)[0]
    r = r[np.isfinite(r)]
    constant = np.count_nonzero((proportion == 0) | (proportion == 1))
    found = (score.mean(), score.std(), skewness, proportion.std(), constant,
             r.mean() if r.size else np.nan, r.std() if r.size else np.nan)  # fmt: skip
    return dict(zip(STATISTICS, map(float, found), strict=True))


def _tau(estimate: FloatArray, true: FloatArray) -> float | None:
    both = ~np.isnan(estimate) & ~np.isnan(true)
    groups = tied_groups(estimate[both])
    return float(kendalltau(groups, true[both]).statistic) if groups.size and np.ptp(groups) > 0 else None


def _coverage(low: FloatArray, high: FloatArray, truth: FloatArray) -> float | None:
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(truth)
    return float(np.mean(((low <= truth) & (truth <= high))[known])) if known.any() else None


def _correlation(x: FloatArray, y: FloatArray) -> float | None:
    if x.size < 3 or not (np.ptp(x) > 1e-9 and np.ptp(y) > 1e-9):
        return None
    return float(np.corrcoef(x, y)[0, 1])

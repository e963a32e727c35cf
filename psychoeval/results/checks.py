"""Judge a marginal fit by its consequences before it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.parameters import UNSTABLE_SLOPE, ItemParameters
from psychoeval.irt.quadrature import Grid, Posterior, marginal_posterior, posterior_grid
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import LatentDistribution

FloatArray = NDArray[np.float64]

#: Slopes and intercepts (logits) that no item of an achievement or AI benchmark has: at a = 10 success goes from 1 %
#: to 99 % within one logit; at d = 20 the chance of failing is 2e-9.
RUNAWAY_SLOPE: Final = 10.0
RUNAWAY_INTERCEPT: Final = 20.0
#: Share of runaway items above which the scale of the others is theirs, and no longer judged.
RUNAWAY_SHARE: Final = 0.01
#: Steeper than well-identified items are: on 100 x 1000 with true slopes up to 2.6 a free fit gives up to 8.
STEEP_SLOPE: Final = 4.0
#: A guessing parameter below the first is 0 for every purpose; with a standard error above the second it could as well
#: be 0 as that of a four-choice item (LSAT7's free 3PL: four at 1e-4, one at .30 with .14, log-likelihood up by .75).
GUESSING_ZERO: Final = 1e-3
GUESSING_ERROR: Final = 0.1
#: Reported against recomputed log-likelihood, relative. mirt 1.48 agrees to 1e-14 (lsat7, 500 x 40 to 1000 x 1000).
REPORTED_TOLERANCE: Final = 1e-8
#: Change of the log-likelihood on the fine grid. 1 is what AIC charges for a parameter: more can turn a comparison of
#: models. Where mirt is right (500 x 40, 300 x 200, 1000 x 100) the change is below 2e-6.
LOG_LIKELIHOOD_FAILURE: Final = 1.0
LOG_LIKELIHOOD_WARNING: Final = 0.1
#: Relative error of the scale. Where mirt stops by its default criterion it is at most 7e-4 (300 x 200), where it is
#: known to be wrong 3.7 % (100 x 1000) to 24 % (Rasch, 150 x 1400); published fits of 5,041 x 249 items: 6.9 %.
SCALE_FAILURE: Final = 0.01
SCALE_WARNING: Final = 0.003
#: A stochastic fit is allowed half a standard error of the latent SD, about 1 / sqrt(2 N), before it is warned about.
SCALE_STANDARD_ERRORS: Final = 0.5
#: A person's mean is off by a tenth of a posterior SD, or the posterior SD by a tenth: intervals begin to mislead.
PERSON_OFF: Final = 0.1
#: Share of persons off that makes it a failure of the fit and not a remark on some persons.
PERSONS_OFF_FAILURE: Final = 0.05
#: Posterior weight on the outermost nodes of the engine's grid.
EDGE_WARNING: Final = 1e-3
#: log of the smallest positive double, 4.9e-324: a smaller likelihood is 0 in an engine that does not use logarithms.
LOG_SMALLEST: Final = float(np.log(np.nextafter(0.0, 1.0)))
#: Items named in a sentence.
NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a check found.

    Parameters
    ----------
    failures : tuple of str
        Why the answer is not to be believed; sentences for a user.
    warnings : tuple of str
        What else a user should know.
    details : mapping of str to float
        The figures behind the sentences.
    """

    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    details: Mapping[str, float] = field(default_factory=dict)

    def __add__(self, other: Judgement) -> Judgement:
        return Judgement(
            self.failures + other.failures, self.warnings + other.warnings, {**self.details, **other.details}
        )


def judge_marginal_fit(
    responses: Responses,
    items: ItemParameters,
    latent: LatentDistribution,
    *,
    reported_log_likelihood: float | None,
    log_likelihood_kind: Literal["marginal", "simulated"],
    grid: Grid,
    start_slopes: FloatArray | None = None,
    start_intercepts: FloatArray | None = None,
    penalised: bool = False,
) -> Judgement:
    """Judge a marginal fit: whether it is an answer, and whether it survives a finer and wider integration.

    Parameters
    ----------
    responses : Responses
        N persons, J items; counts and missing cells are allowed.
    items : ItemParameters
        In the order of `responses`; items without finite parameters take no part.
    latent : LatentDistribution
        Normal.
    reported_log_likelihood : float, optional
        The engine's own, without the binomial constant and the priors; None if it gives none.
    log_likelihood_kind : {"marginal", "simulated"}
        A simulated one is set beside the recomputed one, and nothing is demanded of it.
    grid : Grid
        The engine's own, on the scale of `items`.
    start_slopes, start_intercepts : (J,) arrays, optional
        The engine's start values; NaN for items it did not see.
    penalised : bool
        Whether items have priors: then the posteriors need not reproduce the latent law, and the scale is not judged.

    Returns
    -------
    Judgement
        Details: ``log_likelihood_reported``, ``log_likelihood_own_grid``, ``log_likelihood_fine_grid``, ``grid_step``,
        ``fine_grid_step``, ``fine_grid_limit``, ``fine_grid_nodes``, ``smallest_posterior_sd``,
        ``median_posterior_sd``, ``largest_edge_mass``, ``scale_own_grid``, ``scale_fine_grid``, ``persons_off``,
        ``largest_mean_difference`` (in posterior SDs), ``smallest_sd_ratio``, ``largest_sd_ratio`` (own over fine).

    Notes
    -----
    At a maximum of the unpenalised likelihood the mean and SD of the latent law equal those of the mixed posteriors,
    m = mean(EAP), s^2 = mean(SD^2 + (EAP - m)^2): the law's origin and unit are exchangeable with the items'. A ratio
    s / sd above 1 says how much too small the slopes are (the expansion step of Liu, Rubin and Wu 1998,
    doi:10.1093/biomet/85.4.755).
    """
    estimated = items.estimated
    if not estimated.any():
        return Judgement(("No item has an estimate: the engine returned no finite item parameter.",))
    data = (responses.successes[:, estimated], responses.trials[:, estimated])
    parameters = (items.discrimination[estimated], items.intercept[estimated], items.guessing[estimated])
    seen = data[1].any(axis=1)
    data = (data[0][seen], data[1][seen])
    own = marginal_posterior(*data, *parameters, grid)
    fine_grid, fine = posterior_grid(*data, *parameters, mean=latent.mean, sd=latent.sd)
    simulated = log_likelihood_kind == "simulated"
    people = f"{responses.person_label}s"
    found = _judge_items(items, people)
    # Where the engine left persons out (underflow) or items run away, a wrong scale has that cause, not its own.
    scale_applies = (
        not penalised
        and (reported_log_likelihood is None or np.isfinite(reported_log_likelihood))
        and found.details["runaway_items"] <= RUNAWAY_SHARE * estimated.sum()
    )
    return (
        found
        + (Judgement() if penalised else _judge_guessing(items))
        + _judge_start(items, start_slopes, start_intercepts)
        + _judge_reported(reported_log_likelihood, simulated, own, people, items.n_items)
        + _judge_scale(own, fine, latent, simulated, judge=scale_applies)
        + _judge_grid(own, fine, grid, fine_grid, simulated, people)
    )


def _named(items: ItemParameters, which: NDArray[np.bool_], *, by: FloatArray) -> str:
    """Name the worst few of `which` with their values."""
    index = np.flatnonzero(which)
    index = index[np.argsort(-by[index], kind="stable")]
    a, d = items.discrimination, items.intercept
    texts = [f"{items.item_ids[i][:60]!r} (slope {a[i]:.3g}, intercept {d[i]:.3g})" for i in index[:NAMED]]
    more = len(index) - NAMED
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _judge_items(items: ItemParameters, people: str) -> Judgement:
    a, d = np.abs(items.discrimination), np.abs(items.intercept)
    n = int(items.estimated.sum())
    failures, warnings = [], []
    lost = ~items.estimated & np.isin(np.array(items.status), ("estimated", "runaway"))
    if lost.any():
        failures.append(
            f"The engine returned no number for {int(lost.sum())} of {items.n_items} items: "
            f"{_named(items, lost, by=a)}."
        )
    runaway = (a > RUNAWAY_SLOPE) | (d > RUNAWAY_INTERCEPT)
    if runaway.any():
        failures.append(
            f"{int(runaway.sum())} of {n} items ran away: "
            f"{_named(items, runaway, by=np.maximum(a / RUNAWAY_SLOPE, d / RUNAWAY_INTERCEPT))}. "
            f"A slope above {RUNAWAY_SLOPE:g} or an intercept beyond {RUNAWAY_INTERCEPT:g} is no property of an item: "
            f"there are too few {people} for this model, and its parameters grow without end. "
            "Fit the Rasch model, or give the items priors (priors='weak')."
        )
    steep = (a > STEEP_SLOPE) & ~runaway
    if steep.any():
        warnings.append(
            f"{int(steep.sum())} of {n} items have slopes above {STEEP_SLOPE:g}: {_named(items, steep, by=a)}. "
            f"Such slopes usually come from too few {people}; priors on the items (priors='weak') hold them."
        )
    flat = a < UNSTABLE_SLOPE
    if flat.any():
        warnings.append(
            f"{int(flat.sum())} of {n} items have slopes near 0: {_named(items, flat, by=-a)}. "
            "They hardly measure the ability, and their difficulty (-intercept / slope) means nothing."
        )
    return Judgement(tuple(failures), tuple(warnings), {"runaway_items": float(runaway.sum())})


def _judge_guessing(items: ItemParameters) -> Judgement:
    errors = items.standard_errors
    c = items.guessing
    if errors is None or not (errors["guessing"] > 0).any():
        return Judgement()
    with np.errstate(invalid="ignore"):
        weak = items.estimated & ((c < GUESSING_ZERO) | ~(errors["guessing"] <= GUESSING_ERROR))
    if not weak.any():
        return Judgement()
    index = np.flatnonzero(weak)
    texts = [
        f"{items.item_ids[i][:60]!r} ({c[i]:.3f}, standard error {errors['guessing'][i]:.2g})" for i in index[:NAMED]
    ]
    more = f" and {len(index) - NAMED} more" if len(index) > NAMED else ""
    return Judgement(
        warnings=(
            f"The data say next to nothing about the guessing of {len(index)} of {int(items.estimated.sum())} items: "
            f"{', '.join(texts)}{more}. A value at 0 or with a standard error above {GUESSING_ERROR:g} is no finding "
            "about an item. Fix it (guessing=0.2), give it a prior (the 3PL's default), or fit the 2PL.",
        )
    )


def _judge_start(items: ItemParameters, slopes: FloatArray | None, intercepts: FloatArray | None) -> Judgement:
    if intercepts is None:
        return Judgement()
    # Equal to the last bit: an estimate that moved at all differs. Slopes that the model fixes always "stay".
    unmoved = items.intercept == intercepts
    if slopes is not None:
        unmoved &= items.discrimination == slopes
    if not unmoved.any():
        return Judgement()
    return Judgement(
        (
            f"{int(unmoved.sum())} of {int(items.estimated.sum())} items still have the values the engine started "
            f"from, to the last digit: {_named(items, unmoved, by=np.abs(items.intercept))}. "
            "They were never estimated and say nothing about the items.",
        )
    )


def _judge_reported(reported: float | None, simulated: bool, own: Posterior, people: str, n_items: int) -> Judgement:
    recomputed = float(own.log_marginal.sum())
    details = {"log_likelihood_own_grid": recomputed}
    if reported is None:
        return Judgement(details=details)
    details["log_likelihood_reported"] = reported
    if not np.isfinite(reported):
        underflown = int((own.log_marginal < LOG_SMALLEST).sum())
        details["persons_underflown"] = float(underflown)
        because = "" if underflown == 0 else (
            f" The cause is underflow: for {underflown} of {len(own.mean)} {people} the probability of all responses "
            f"together is below 1e-323, which the engine's arithmetic holds as 0 ({n_items} items). More iterations "
            "or a finer grid do not help: fit fewer items at a time, or use an estimator that works with logarithms "
            "throughout ('map')."
        )  # fmt: skip
        sentence = (
            "The engine gives no likelihood for its answer (it is not a number), so nothing it says about having "
            f"converged can be believed.{because}"
        )
        return Judgement((sentence,), details=details)
    if simulated or abs(reported - recomputed) <= REPORTED_TOLERANCE * max(1.0, abs(recomputed)):
        return Judgement(details=details)
    sentence = (
        f"The engine reports a log-likelihood of {reported:.4f}, but the parameters it returns give {recomputed:.4f} "
        "in the same computation: the two do not belong together. Fit again with more iterations; if it stays so, "
        "use another estimator."
    )
    return Judgement((sentence,), details=details)


def _scale(found: Posterior, latent: LatentDistribution) -> float:
    center = found.mean.mean()
    return float(np.sqrt((found.sd**2 + (found.mean - center) ** 2).mean()) / latent.sd)


def _judge_scale(
    own: Posterior, fine: Posterior, latent: LatentDistribution, simulated: bool, *, judge: bool
) -> Judgement:
    on_own, on_fine = _scale(own, latent), _scale(fine, latent)
    details = {"scale_own_grid": on_own, "scale_fine_grid": on_fine}
    off = abs(on_fine - 1.0)
    allowed = SCALE_WARNING
    if simulated:
        allowed = max(allowed, SCALE_STANDARD_ERRORS / np.sqrt(2.0 * len(fine.mean)))
    if not judge or off <= allowed:
        return Judgement(details=details)
    if abs(on_own - 1.0) > off / 2:
        cause = (
            "The engine stopped before it reached the maximum: the common scale of all slopes is its slowest direction."
        )
        remedy = "Allow more iterations (max_iterations=5000) and a smaller tolerance (tolerance=1e-6)."
    else:
        cause = (
            "The engine reached the maximum on its own grid of abilities, but that grid is too coarse or too narrow "
            "for these data."
        )
        remedy = _refit(own)
    what = "the slopes are" if latent.sd == 1.0 else "the SD of the abilities is"
    sentence = (
        f"The abilities spread {on_fine:.3f} times as widely as the fit assumes: {what} too "
        f"{'small' if on_fine > 1 else 'large'} by about {100 * off:.1f} %. {cause} {remedy}"
    )
    if off > SCALE_FAILURE and not simulated:
        return Judgement((sentence,), details=details)
    return Judgement(warnings=(sentence,), details=details)


def _judge_grid(
    own: Posterior, fine: Posterior, grid: Grid, fine_grid: Grid, simulated: bool, people: str
) -> Judgement:
    change = float(own.log_marginal.sum() - fine.log_marginal.sum())
    mean_off = np.abs(own.mean - fine.mean) / fine.sd
    ratio = own.sd / fine.sd
    off = int(((mean_off > PERSON_OFF) | (np.abs(ratio - 1.0) > PERSON_OFF)).sum())
    n = len(fine.mean)
    details = {
        "log_likelihood_fine_grid": float(fine.log_marginal.sum()),
        "grid_step": grid.step, "fine_grid_step": fine_grid.step,
        "fine_grid_limit": float(fine_grid.nodes[-1]), "fine_grid_nodes": float(len(fine_grid.nodes)),
        "smallest_posterior_sd": float(fine.sd.min()), "median_posterior_sd": float(np.median(fine.sd)),
        "largest_edge_mass": float(own.edge_mass.max()), "persons_off": float(off),
        "largest_mean_difference": float(mean_off.max()),
        "smallest_sd_ratio": float(ratio.min()), "largest_sd_ratio": float(ratio.max()),
    }  # fmt: skip
    remedy = _refit(own)
    failures: list[str] = []
    warnings: list[str] = []
    if abs(change) > LOG_LIKELIHOOD_WARNING and not simulated:
        sentence = (
            f"The log-likelihood {own.log_marginal.sum():.3f} is {'higher' if change > 0 else 'lower'} by "
            f"{abs(change):.3g} than an exact computation with the same parameters: the engine adds up over "
            f"{len(grid.nodes)} abilities from {grid.nodes[0]:.3g} to {grid.nodes[-1]:.3g}, which is not enough for "
            f"these data. Do not compare models by it (AIC, BIC, likelihood ratio). {remedy}"
        )
        (failures if abs(change) > LOG_LIKELIHOOD_FAILURE else warnings).append(sentence)
    if off:
        sentence = (
            f"For {off} of {n} {people} the ability or its uncertainty, computed on the engine's grid of abilities, "
            f"is off by more than a tenth of that uncertainty (standard errors {ratio.min():.2f} to {ratio.max():.2f} "
            f"times the right ones). {remedy}"
        )
        (failures if off > PERSONS_OFF_FAILURE * n and not simulated else warnings).append(sentence)
    warnings += _grid_remarks(own, fine, grid, people, harmless=not off and not failures)
    return Judgement(tuple(failures), tuple(warnings), details)


def _refit(own: Posterior) -> str:
    if own.edge_mass.max() > EDGE_WARNING:
        return "Fit again with more and wider abilities (quadrature_points=241, quadrature_limit=12)."
    return "Fit again with more abilities (quadrature_points=241)."


def _grid_remarks(own: Posterior, fine: Posterior, grid: Grid, people: str, *, harmless: bool) -> list[str]:
    remarks = []
    coarse = int((fine.sd < grid.step).sum())
    if coarse:
        remarks.append(
            f"The engine's abilities are {grid.step:.2g} logits apart, more than the uncertainty about {coarse} "
            f"of {len(fine.sd)} {people} (as small as {fine.sd.min():.2g})."
            + (" A finer computation gives the same answer here." if harmless else "")
        )
    edge = int((own.edge_mass > EDGE_WARNING).sum())
    if edge:
        remarks.append(
            f"{edge} of {len(fine.sd)} {people} at the edge of the abilities that the engine considers "
            f"({grid.nodes[0]:.3g} to {grid.nodes[-1]:.3g}): what lies beyond is cut off, and the uncertainty looks "
            "smaller than it is."
        )
    return remarks

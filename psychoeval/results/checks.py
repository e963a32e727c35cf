"""Judge a marginal fit by its consequences before it is believed."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.classical import CountArray
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.quadrature import Grid, Posterior, marginal_posterior, posterior_grid
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.results.grid_checks import judge_grid, judge_scale, judge_unit
from psychoeval.results.item_checks import judge_guessing, judge_items, judge_start
from psychoeval.results.judgement import Judgement

FloatArray = NDArray[np.float64]

#: Share of runaway items above which the scale of the others is theirs, and no longer judged.
RUNAWAY_SHARE: Final = 0.01
#: Reported against recomputed log-likelihood, relative. mirt 1.48 agrees to 1e-14 (lsat7, 500 x 40 to 1000 x 1000).
REPORTED_TOLERANCE: Final = 1e-8
#: Gain of the log-likelihood by one parameter that a likelihood-ratio test rejects at .05: half of 3.84.
REJECTED: Final = 1.92
#: log of the smallest positive double, 4.9e-324: a smaller likelihood is 0 in an engine that does not use logarithms.
LOG_SMALLEST: Final = float(np.log(np.nextafter(0.0, 1.0)))


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
        Whether items have priors: then the posteriors need not reproduce the latent distribution, and the scale is not
        judged.

    Returns
    -------
    Judgement
        Details: ``log_likelihood_reported``, ``log_likelihood_own_grid``, ``log_likelihood_fine_grid``, ``grid_step``,
        ``fine_grid_step``, ``fine_grid_limit``, ``fine_grid_nodes``, ``smallest_posterior_sd``,
        ``median_posterior_sd``, ``largest_edge_mass``, ``scale_own_grid``, ``scale_fine_grid``, ``persons_off``,
        ``largest_mean_difference`` (in posterior SDs), ``smallest_sd_ratio``, ``largest_sd_ratio`` (own over fine),
        ``log_likelihood_other_sd`` (Rasch: the best at half, twice the SD and at 1).

    Notes
    -----
    At a maximum of the unpenalised likelihood the mean and SD of the latent distribution equal those of the mixed
    posteriors, m = mean(EAP), s^2 = mean(SD^2 + (EAP - m)^2): the distribution's origin and unit are exchangeable with
    the items'. A ratio s / sd above 1 says how much too small the slopes are (the expansion step of Liu, Rubin and Wu
    1998, doi:10.1093/biomet/85.4.755).
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
    found = judge_items(items, people, penalised=penalised)
    # Where the engine left persons out (underflow) or items run away, a wrong scale has that cause, not its own.
    scale_applies = (
        not penalised
        and (reported_log_likelihood is None or np.isfinite(reported_log_likelihood))
        and found.details["runaway_items"] <= RUNAWAY_SHARE * estimated.sum()
    )
    return (
        found
        + (Judgement() if penalised else judge_guessing(items))
        + judge_start(items, start_slopes, start_intercepts)
        + _judge_reported(reported_log_likelihood, simulated, own, people, items.n_items)
        + judge_scale(own, fine, latent, simulated, judge=scale_applies)
        + (judge_unit(fine, latent) if penalised else Judgement())
        + judge_grid(own, fine, grid, fine_grid, simulated, people)
        + (Judgement() if penalised else _judge_latent_sd(data, parameters, latent, float(fine.log_marginal.sum())))
    )


def _judge_latent_sd(
    data: tuple[CountArray, CountArray], parameters: tuple[FloatArray, ...], latent: LatentDistribution, reached: float
) -> Judgement:
    """Fail a Rasch fit whose likelihood, with the same items, is higher at another SD of the abilities.

    A stochastic search can end at an SD that is too small, where the likelihood hardly changes with it: at 0 its
    derivative by the SD is 0 whatever the data, and the spread of the posteriors (`judge_scale`) says nothing.
    """
    if not (parameters[0] == 1.0).all():
        return Judgement()
    found = {
        sd: float(posterior_grid(*data, *parameters, mean=latent.mean, sd=sd)[1].log_marginal.sum())
        for sd in (1.0, latent.sd / 2, 2 * latent.sd)
    }
    best = max(found, key=lambda sd: found[sd])
    details = {"log_likelihood_other_sd": found[best]}
    if found[best] - reached <= REJECTED:
        return Judgement(details=details)
    sentence = (
        f"The SD of the abilities, {latent.sd:.2g}, is not at a maximum: with the same items the log-likelihood is "
        f"{found[best] - reached:.1f} higher at an SD of {best:.2g}. Fit again with another seed and more iterations, "
        "or with an estimator that is not stochastic ('mml', 'mirt-em')."
    )
    return Judgement((sentence,), details=details)


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

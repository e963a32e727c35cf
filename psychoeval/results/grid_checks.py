"""Judge the integration over the abilities: whether the answer survives a finer and wider grid."""

from __future__ import annotations

from typing import Final

import numpy as np

from psychoeval.irt.quadrature import MAX_NODES, Grid, Posterior
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.results.judgement import Judgement

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
#: Under priors on the items: spread of the abilities off by a tenth, or their mean by a tenth of the latent SD.
UNIT_WARNING: Final = 0.1
#: A person's mean is off by a tenth of a posterior SD, or the posterior SD by a tenth: intervals begin to mislead.
PERSON_OFF: Final = 0.1
#: Share of persons off that makes it a failure of the fit and not a remark on some persons.
PERSONS_OFF_FAILURE: Final = 0.05
#: Posterior weight on the outermost nodes of the engine's grid.
EDGE_WARNING: Final = 1e-3

_MORE_CYCLES: Final = "Allow more iterations (max_iterations=5000) and a smaller tolerance (tolerance=1e-6)."


def judge_scale(
    own: Posterior, fine: Posterior, latent: LatentDistribution, simulated: bool, *, judge: bool
) -> Judgement:
    """Hold the spread of the posteriors against the latent distribution.

    At a maximum of the likelihood they are equal, because origin and unit of the abilities are exchangeable with the
    items'. A grid on which the likelihood is not what it is has maxima of its own, where they need not be (published
    fits of 5,041 x 249 items: mirt, started again at its own estimates, stays).
    """
    on_own, on_fine = _scale(own, latent), _scale(fine, latent)
    details = {"scale_own_grid": on_own, "scale_fine_grid": on_fine}
    off = abs(on_fine - 1.0)
    allowed = SCALE_WARNING
    if simulated:
        allowed = max(allowed, SCALE_STANDARD_ERRORS / np.sqrt(2.0 * len(fine.mean)))
    if not judge or off <= allowed:
        return Judgement(details=details)
    misread = 0.0 if simulated else float(own.log_marginal.sum() - fine.log_marginal.sum())
    if abs(on_own - 1.0) > off / 2 and abs(misread) <= LOG_LIKELIHOOD_WARNING:
        cause = (
            "The engine stopped before it reached the maximum: the common scale of all slopes is its slowest direction."
        )
        remedy = _MORE_CYCLES
    elif abs(on_own - 1.0) > off / 2:
        cause = (
            "Either the engine stopped before it reached the maximum (the common scale of all slopes is its slowest "
            "direction), or it stands on a maximum that only its own grid of abilities has: that grid misreads the "
            f"likelihood by {abs(misread):.2g}. To tell: start again from these estimates with more iterations on the "
            "same grid. Where they move the engine had stopped early; where they stay it is the grid, and more "
            "iterations do not help."
        )
        remedy = f"{_refit(own)} On it: {_MORE_CYCLES[0].lower()}{_MORE_CYCLES[1:]}"
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


def judge_unit(fine: Posterior, latent: LatentDistribution) -> Judgement:
    """Warn where priors on the items, and not the data, set origin and unit of the abilities."""
    spread, center = _scale(fine, latent), float(fine.mean.mean())
    if abs(spread - 1.0) <= UNIT_WARNING and abs(center - latent.mean) <= UNIT_WARNING * latent.sd:
        return Judgement()
    sentence = (
        f"The abilities spread {spread:.2f} times as widely as the fit assumes, around {center:.2f}: the priors on the "
        "items, and not the data, set the unit and the origin of this scale. Ranks are not affected; compare slopes "
        "and abilities with other fits only after alignment."
    )
    return Judgement(warnings=(sentence,))


def judge_grid(own: Posterior, fine: Posterior, grid: Grid, fine_grid: Grid, simulated: bool, people: str) -> Judgement:
    """Hold likelihood and abilities on the engine's grid against a fine one."""
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
            f"{abs(change):.3g} than a fine computation with the same parameters: the engine adds up over "
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
    if len(fine_grid.nodes) >= MAX_NODES:
        warnings.append(
            f"The fine computation stopped at {MAX_NODES} abilities, {fine_grid.step:.2g} logits apart: slopes "
            "this steep would need more, and what is said of it is itself not exact."
        )
    warnings += _grid_remarks(own, fine, grid, people, harmless=not off and not failures)
    return Judgement(tuple(failures), tuple(warnings), details)


def _scale(found: Posterior, latent: LatentDistribution) -> float:
    center = found.mean.mean()
    return float(np.sqrt((found.sd**2 + (found.mean - center) ** 2).mean()) / latent.sd)


def _refit(own: Posterior) -> str:
    if own.edge_mass.max() > EDGE_WARNING:
        return "Fit again with more and wider abilities (quadrature_points=241, quadrature_limit=12)."
    return "Fit again with more abilities (quadrature_points=241)."


def _grid_remarks(own: Posterior, fine: Posterior, grid: Grid, people: str, *, harmless: bool) -> list[str]:
    remarks = []
    coarse = int((fine.sd < grid.step).sum())
    if coarse:
        remarks.append(
            f"The engine computes on a grid of abilities {grid.step:.2g} logits apart, wider than the posterior SD of "
            f"{coarse} of {len(fine.sd)} {people} (as small as {fine.sd.min():.2g})."
            + (" A finer computation gives the same answer here." if harmless else "")
        )
    edge = int((own.edge_mass > EDGE_WARNING).sum())
    if edge:
        remarks.append(
            f"{edge} of {len(fine.sd)} {people} lie at the edge of the abilities that the engine considers "
            f"({grid.nodes[0]:.3g} to {grid.nodes[-1]:.3g}): what lies beyond is cut off, and the uncertainty looks "
            "smaller than it is."
        )
    return remarks

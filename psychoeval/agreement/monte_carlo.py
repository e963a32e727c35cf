"""Monte Carlo errors of a sampled fit's posterior means, for each value that a comparison looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.parameters import in_place
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult
from psychoeval.results.sampling import Sampling
from psychoeval.results.sampling_figures import convergence_figures

FloatArray = NDArray[np.float64]
MonteCarlo = Callable[[FitResult], Mapping[str, FloatArray]]

_ITEM_TERMS = ("discrimination", "intercept", "guessing")


def monte_carlo_errors(fit: FitResult) -> dict[str, FloatArray]:
    """Return the Monte Carlo standard errors of a fit's estimates in the standard frame, by term.

    ``discrimination``, ``intercept``, ``guessing`` (J,) and ``ability`` (N,), those that are known, NaN where nothing
    was sampled; empty for a fit that was not sampled. In the frame of N(0, 1) the slope of a Rasch posterior is its
    latent SD, and an ability the ratio of two means, whose error is that of theta / s - (mean theta / s^2) sd.

    Persons with the same responses have one estimate, the mean of their draws taken together, and the error of that
    mean where the draws are there; else each person's own, which is an upper bound.

    Parameters
    ----------
    fit : FitResult
    """
    run = fit.sampling
    if run is None:
        return {}
    out: dict[str, FloatArray] = {}
    if fit.item_parameters is not None:
        ids = fit.item_parameters.item_ids
        places = _places(run.item_ids, ids)
        for term in _ITEM_TERMS:
            if term in run.mcse_mean:
                out[term] = in_place(run.mcse_mean[term], places, len(ids))
        if "latent_sd" in run.mcse_mean and "discrimination" not in out:
            shared = np.full(len(run.item_ids), float(run.mcse_mean["latent_sd"]))
            out["discrimination"] = in_place(shared, places, len(ids))
    if fit.abilities is not None and "ability" in run.mcse_mean:
        places = _places(run.person_ids, fit.abilities.person_ids)
        found = _of_abilities(fit, run, fit.abilities.estimate[places])
        out["ability"] = in_place(found, places, len(fit.abilities.person_ids))
    return out


def cached_monte_carlo() -> MonteCarlo:
    """Return `monte_carlo_errors`, computed once for each fit."""
    known: dict[int, Mapping[str, FloatArray]] = {}

    def errors(fit: FitResult) -> Mapping[str, FloatArray]:
        if id(fit) not in known:
            known[id(fit)] = monte_carlo_errors(fit)
        return known[id(fit)]

    return errors


def _of_abilities(fit: FitResult, run: Sampling, estimates: FloatArray) -> FloatArray:
    """Return the errors of the abilities of the persons sampled, (N,), in the standard frame."""
    latent = 1.0 if fit.latent_distribution is None else fit.latent_distribution.sd
    same, group = np.unique(estimates, return_inverse=True)
    if fit.draws is None or (same.size == estimates.size and "latent_sd" not in run.mcse_mean):
        return np.asarray(run.mcse_mean["ability"] / latent)
    # Estimates that are equal are means over one group; NaN in any draw makes every error NaN, as it should.
    return convergence_figures(_group_draws(fit.draws, group.reshape(-1), same.size))[3][group.reshape(-1)]


def _group_draws(draws: Draws, group: NDArray[np.intp], n_groups: int) -> FloatArray:
    """Return draws of the mean ability of each group in the standard frame, (C, S, G)."""
    theta = draws.values["ability"]
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(n_groups))
    counts = np.bincount(group, minlength=n_groups)
    means = np.add.reduceat(theta[:, :, order], starts, axis=2) / counts
    if "latent_sd" not in draws.values:
        return np.asarray(means)
    sd = draws.values["latent_sd"]
    unit = float(sd.mean())
    return np.asarray(means / unit - (means.mean(axis=(0, 1)) / unit**2) * (sd - unit)[:, :, None])


def _places(some: tuple[str, ...], ids: tuple[str, ...]) -> NDArray[np.intp]:
    place = {name: i for i, name in enumerate(ids)}
    return np.array([place[name] for name in some], dtype=np.intp)

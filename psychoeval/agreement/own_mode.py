"""The marginal mode under a fit's own model and priors, by the native estimator: what its numbers should be near."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from psychoeval.agreement.matching import is_of_other_data
from psychoeval.errors import PsychoevalError
from psychoeval.estimators.native.mml import MML, Scoring
from psychoeval.irt.densities import Normal, density_label
from psychoeval.irt.models import ItemModel
from psychoeval.irt.priors import ItemPopulation, Priors
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.results.grid_checks import UNIT_WARNING

#: Cells of the data above which no model is fitted again to explain a difference; below it takes seconds.
MOST_CELLS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class OwnMode:
    """A marginal mode, and the densities under which it is one in words ("" without priors).

    Parameters
    ----------
    fit : FitResult
    priors : str
    """

    fit: FitResult
    priors: str


Modes = Callable[[FitResult], OwnMode | str]


def own_mode(fit: FitResult, responses: Responses | None) -> OwnMode | str:
    """Return the marginal mode under a fit's own model and priors, or why there is none.

    A population of items stands there with the posterior means of its own means and SDs. Densities of a are restated
    for log a where the fit is a posterior: its distribution is the same, and the mode of log a, whose posterior is the
    more symmetric, lies nearer the mean.

    Parameters
    ----------
    fit : FitResult
    responses : Responses, optional
        What it was fitted to.
    """
    if responses is None:
        return "the responses are not at hand"
    if is_of_other_data(fit, responses):
        return "the responses at hand are others"
    if responses.trials.size > MOST_CELLS:
        return f"the data have more than {MOST_CELLS:,} cells"
    model = stated_model(fit)
    if isinstance(model, str):
        return model
    method = "EAP" if fit.abilities is None else fit.abilities.method
    scoring: Scoring = method if method in ("MAP", "ML", "WLE") else "EAP"
    try:
        found = MML(ability_method=scoring).fit(responses, model)
    except PsychoevalError as error:
        return f"mml does not fit its model: {error.problem}"
    if not found.convergence.believed:
        return f"mml with its model is not believed: {' '.join(found.convergence.failures)}".rstrip(": ")
    population = fit.model is not None and fit.model.priors is not None and fit.model.priors.population is not None
    if not population:
        return OwnMode(found, _words(model.priors))
    pinned = _pinned(found)
    return pinned or OwnMode(found, f"{_words(model.priors)}, at the posterior means of its population")


def _pinned(mode: FitResult) -> str:
    """Return that means held where they are set origin and unit of the scale, or "" where the persons set them.

    A population's own means move with origin and unit, so that the posterior leaves both to the persons. Held still
    under many items and few persons they do not: 35 systems on 500 tasks came out .90 times as widely spread, around
    .17 (0 in the posterior). Estimated with the items, they let the unit collapse there.
    """
    a, latent = mode.abilities, mode.latent_distribution
    if a is None or a.standard_error is None or latent is None or a.method != "EAP":
        return ""
    known = np.isfinite(a.estimate) & np.isfinite(a.standard_error)
    center = float(a.estimate[known].mean())
    spread = float(np.sqrt(np.mean(a.standard_error[known] ** 2 + (a.estimate[known] - center) ** 2))) / latent.sd
    if abs(spread - 1.0) <= UNIT_WARNING and abs(center - latent.mean) <= UNIT_WARNING * latent.sd:
        return ""
    return (
        "held at their posterior means its population's means set origin and unit of the scale, which the posterior "
        f"leaves to the persons: abilities spread {spread:.2f} times as widely as assumed, around {center:.2f}"
    )


def stated_model(fit: FitResult) -> ItemModel | str:
    """Return the model of a fit with densities that are all stated, or why there is none."""
    if fit.model is None:
        return "it has no item response model"
    if fit.log_likelihood_kind == "item_marginal":
        return "it integrates the items out over a population, and mml does not"
    priors = fit.model.priors
    if priors is None:
        return fit.model
    if priors.population is not None:
        stated = _of_population(fit, fit.model, priors.population)
        return stated if isinstance(stated, str) else replace(fit.model, priors=stated)
    if fit.convergence.status == "sampled" and priors.discrimination is not None:
        of_a = priors.discrimination
        priors = replace(priors, discrimination=None, log_discrimination=Normal(of_a.meanlog, of_a.sdlog))
    return replace(fit.model, priors=priors)


def cached_modes(responses: Responses | None) -> Modes:
    """Return `own_mode` on the responses, computed once for each fit."""
    known: dict[int, OwnMode | str] = {}

    def modes(fit: FitResult) -> OwnMode | str:
        if id(fit) not in known:
            known[id(fit)] = own_mode(fit, responses)
        return known[id(fit)]

    return modes


def _of_population(fit: FitResult, model: ItemModel, population: ItemPopulation) -> Priors | str:
    """Return the distribution of the items at the posterior means of its parameters; of a common slope its density."""
    given: dict[str, Any] = dict(fit.statistics or {})
    names = ["mean_difficulty", "sd_difficulty"]
    if model.name in ("2PL", "3PL"):
        names += ["mean_log_discrimination", "sd_log_discrimination"]
    missing = [n for n in names if not isinstance(given.get(n), float)]
    if missing:
        return f"the posterior mean of {missing[0]} is not known"
    slope = None if model.name == "Rasch" else population.mean_log_discrimination
    if len(names) > 2:
        slope = Normal(given["mean_log_discrimination"], given["sd_log_discrimination"])
    return Priors(log_discrimination=slope, difficulty=Normal(given["mean_difficulty"], given["sd_difficulty"]))


def _words(priors: Priors | None) -> str:
    if priors is None:
        return ""
    short = {
        name: replace(prior, mean=round(prior.mean, 3), sd=round(prior.sd, 3)) if isinstance(prior, Normal) else prior
        for name, prior in (
            ("log a", priors.log_discrimination),
            ("a", priors.discrimination),
            ("d", priors.intercept),
            ("b", priors.difficulty),
        )
    }
    text = ", ".join(f"{name} ~ {density_label(prior)}" for name, prior in short.items() if prior is not None)
    return f"{text}, means estimated" if priors.estimated_means else text

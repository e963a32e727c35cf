"""Conditions of a fit: reliability, skewness of its abilities, items near them, convergence."""

from __future__ import annotations

from typing import Final

import numpy as np

from psychoeval.responses.cells import counted
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.trust import thresholds as limits
from psychoeval.trust.ability_figures import empirical_reliability, marginal_reliability, skewness, skewness_interval
from psychoeval.trust.condition import Condition, held_to
from psychoeval.trust.item_coverage import SHRUNK, ItemCoverage, abilities_in_order
from psychoeval.wording import some

#: Of marginal and empirical reliability, in `ability_figures`.
SHRUNK_FORMULAS: Final = ("1 - E / s^2", "V / (V + E)")
OTHER_FORMULAS: Final = ("s^2 / (s^2 + E)", "1 - E / V")
NO_ABILITIES: Final = "The fit has no abilities."
UNKNOWN_ERRORS: Final = "The abilities have no standard errors."
IMPORTED: Final = "Abilities of another program: whether their errors are posterior SDs is not known."
FEW_VALUES: Final = "Too few abilities are finite, or all are the same."


def reliabilities(responses: Responses, fit: FitResult) -> list[Condition]:
    """Hold marginal and empirical reliability, two numbers, to one threshold."""
    marginal = empirical = np.nan
    formulas, latent = SHRUNK_FORMULAS, fit.latent_distribution
    unless = unless_marginal = ""
    if fit.abilities is None:
        unless = NO_ABILITIES
    elif fit.abilities.method == "imported":
        unless = IMPORTED
    else:
        method = fit.abilities.method
        estimate, error = abilities_in_order(responses, fit.abilities)
        empirical = empirical_reliability(estimate, error, method)
        formulas = SHRUNK_FORMULAS if method in SHRUNK else OTHER_FORMULAS
        unless = UNKNOWN_ERRORS if not np.isfinite(error).any() else "" if np.isfinite(empirical) else FEW_VALUES
        if latent is None or fit.abilities.scale != "logit":
            unless_marginal = "The fit has no latent distribution."
        else:
            marginal = marginal_reliability(error[np.isfinite(estimate)], method, latent.sd)
    said = f"E the mean squared error of the {_kind(fit)}"
    sd = f", s = {latent.sd:.3g} the latent SD" if latent is not None else ""
    words = f"{formulas[0]}, {said}{sd}.", f"{formulas[1]}, {said}, V their variance."
    return [
        held_to(limits.RELIABILITY, "marginal_reliability", marginal, ">=", words[0], unless=unless or unless_marginal),
        held_to(limits.RELIABILITY, "empirical_reliability", empirical, ">=", words[1], unless=unless),
    ]


def skew(
    responses: Responses, fit: FitResult, reliability: Condition, *, level: float, replications: int, seed: int
) -> Condition:
    """Hold the absolute skewness of the estimates to its threshold.

    It is that of the abilities only where the estimates are reliable: an easy test skews those of any persons.
    """
    value, interval, words, unless = np.nan, (np.nan, np.nan), "Not known.", ""
    if fit.abilities is None:
        return _skewed(value, interval, words, NO_ABILITIES)
    estimate = abilities_in_order(responses, fit.abilities)[0]
    finite = estimate[np.isfinite(estimate)]
    if finite.size > 2:
        value = float(skewness(finite))
    if not np.isfinite(value):
        return _skewed(value, interval, words, FEW_VALUES)
    interval = skewness_interval(finite, level, replications, np.random.default_rng(seed))
    words = (f"{value:.2f} for the {_kind(fit)}, {level:.0%} interval {interval[0]:.2f} to {interval[1]:.2f} from "
             f"{replications:,} bootstrap samples of {finite.size}.")  # fmt: skip
    bounds = (-limits.SKEWNESS.value, limits.SKEWNESS.value)
    if any(interval[0] <= bound <= interval[1] for bound in bounds):
        words += " The interval holds values on both sides of the threshold."
    if reliability.not_applicable:
        unless = f"Whether the estimates show the shape of the abilities is not known: {reliability.not_applicable}"
    elif not reliability.met:
        unless = (
            f"With an empirical reliability of {reliability.value:.2f} it is that of the test as much as of abilities."
        )
    return _skewed(value, interval, words, unless)


def _skewed(value: float, interval: tuple[float, float], words: str, unless: str) -> Condition:
    return held_to(limits.SKEWNESS, "skewness", value, "size <=", words, interval=interval, unless=unless)


def near_items(found: ItemCoverage | None, why: str, label: str) -> Condition:
    """Hold the share of systems with at most 5 items near their ability to its threshold."""
    if found is None:
        return held_to(limits.FEW_COVERED, "item_coverage", np.nan, "<=", "Not known.", unless=why)
    few = [name for name, bad in zip(found.person_ids, found.insufficient, strict=True) if bad]
    words = (
        f"{len(few)} of {counted(int(found.known.sum()), label)} ({found.share:.0%}) have at most "
        f"{limits.FEW_ITEMS.value:g} items with a difficulty within {found.window:.3g} logits of their ability "
        f"({limits.NEAR.value:g} times the SD {found.sd_source}), so that little is known of them"
        f"{': ' if few else ''}{some(few)}."
    )
    return held_to(limits.FEW_COVERED, "item_coverage", found.share, "<=", words)


def convergence(fit: FitResult) -> Condition:
    """Hold how the fit ended to what may be believed; another program's is not judged."""
    found = fit.convergence
    words = " ".join([f"{found.status.replace('_', ' ')}.".capitalize(), *found.failures[:1], *found.warnings[:1]])
    unless = "The fit is another program's, whose end is not judged." if found.status == "imported" else ""
    return held_to(limits.CONVERGED, "convergence", float(found.believed), ">=", words, unless=unless)


def _kind(fit: FitResult) -> str:
    return "abilities" if fit.abilities is None else f"{fit.abilities.method} estimates ({fit.abilities.uncertainty})"

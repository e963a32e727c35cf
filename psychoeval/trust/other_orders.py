"""The order of other estimators beside that of the fit, and which of them could not differ from it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Final

from psychoeval.agreement.matching import match
from psychoeval.agreement.ranks import compare_ranks
from psychoeval.errors import ConvergenceWarning, PsychoevalError
from psychoeval.fitting import fit as fit_one
from psychoeval.fitting.one import item_model
from psychoeval.registry import entry
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.trust.claims_items import EQUAL_SLOPES

#: By default. Of complete data the first two go by the sum of right answers, as a Rasch fit does; the third may differ.
OTHERS: Final = ("simple-average", "additive", "mml 2PL")
#: Estimators whose order of complete data is that of the sums, as is that of every fit with equal slopes.
SUMS: Final = ("simple-average", "additive", "ctt")


def parsed(label: str) -> tuple[str, str | None]:
    """Return estimator and model of a label such as ``"mml 2PL"``.

    Raises
    ------
    ModelError, SettingsError
        If there is no such estimator or model.
    """
    name, _, model = label.strip().partition(" ")
    entry(name)
    if model:
        item_model(model.strip())
    return name, model.strip() or None


def agreement_with(
    others: Sequence[tuple[str, str | None]], responses: Responses, judged: FitResult, missing: dict[str, str]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return tau-b of the order of a fit with that of each other estimator, by label, and who could not differ from it.

    Parameters
    ----------
    others : sequence of (estimator, model)
        Without a model, that of the fit is taken where one is needed. The fit itself is left out.
    responses : Responses
    judged : FitResult
    missing : dict
        Receives why another has no order, by its label.
    """
    tau: dict[str, float] = {}
    forced = []
    for name, model in others:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # it is said below
                second = fit_one(responses, name, model or (judged.model if entry(name).models else None))
        except PsychoevalError as error:
            missing[name if model is None else f"{name} {model}"] = f"{error.problem} {error.remedy}"
            continue
        if judged.abilities is None or second.abilities is None or second.label == judged.label:
            continue
        if not second.convergence.believed:
            missing[second.label] = f"The fit is not to be believed: {second.convergence.status.replace('_', ' ')}."
            continue
        ids = judged.abilities.person_ids
        order = match(ids, second.abilities.person_ids).second
        ranks = compare_ranks(ids, judged.abilities.estimate, second.abilities.estimate[order])
        if ranks is not None and ranks.kendall is not None:
            tau[second.label] = ranks.kendall
            if _goes_by_sums(judged, responses) and _goes_by_sums(second, responses):
                forced.append(second.label)
    return tau, tuple(forced)


def _goes_by_sums(fit: FitResult, responses: Responses) -> bool:
    """Whether a fit orders persons by the sum of right answers, whatever the data: sufficient with equal slopes."""
    same = responses.is_complete and bool((responses.trials == responses.trials[:1, :1]).all())
    return same and (fit.estimator in SUMS if fit.model is None else fit.model.name in EQUAL_SLOPES)

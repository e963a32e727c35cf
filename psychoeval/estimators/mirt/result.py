"""From mirt's reply to a judged result."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from psychoeval.estimators.mirt.contract import Answer, JobSettings, read_answer
from psychoeval.estimators.mirt.design import Design
from psychoeval.estimators.mirt.scores import make_abilities, orient
from psychoeval.estimators.mirt.syntax import has_slope_curvature, prior_without_effect
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import UNSTABLE_SLOPE
from psychoeval.rbridge.protocol import Reply
from psychoeval.results.checks import judge_marginal_fit
from psychoeval.results.convergence import Convergence
from psychoeval.results.data_checks import Slopes, disconnected_warning, factor_warning
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import Provenance

#: Below this a 3PL with free guessing is poorly determined: its g runs to 0 or .4 (600 x 15, g = .25).
FREE_GUESSING_MIN_PERSONS: Final = 1000


def make_result(
    name: str, settings: JobSettings, design: Design, model: ItemModel, reply: Reply, bridge: str
) -> FitResult:
    """Return the result of a reply without error, judged.

    Parameters
    ----------
    name : str
        Of the estimator.
    settings, design, model
        What the job was made from.
    reply : dict
    bridge : str
        Which one brought it.
    """
    answer, flipped = orient(read_answer(reply, design, model, settings), design)
    abilities, remarks = make_abilities(answer, design, settings.ability_method)
    kind: Literal["marginal", "simulated"] = "simulated" if settings.method == "MHRM" else "marginal"
    log_likelihood = float(reply["log_likelihood"][0])
    judgement = judge_marginal_fit(
        design.responses,
        answer.items,
        answer.latent,
        reported_log_likelihood=log_likelihood,
        log_likelihood_kind=kind,
        grid=answer.grid,
        start_slopes=answer.start_slopes,
        start_intercepts=answer.start_intercepts,
        penalised=model.is_penalised,
    )
    modeled = design.modeled
    warnings = (
        *judgement.warnings,
        *factor_warning(modeled, _slopes(model)),
        *disconnected_warning(modeled, "Only the assumption that all abilities come from one distribution links them"),
        *_remarks(reply, settings, answer, design, model),
        *remarks,
    )
    convergence = _convergence(settings, reply).judged(judgement.failures, warnings)
    provenance = Provenance(
        engine="r",
        versions={"R": reply["r_version"][0], "mirt": reply["mirt_version"][0]},
        bridge=bridge,
        seed=settings.seed,
        call=reply["call"][0],
        details={**judgement.details, **_details(reply, settings, design, model), "flipped": flipped},
    )
    return FitResult(
        name,
        model,
        convergence,
        provenance,
        abilities=abilities,
        item_parameters=answer.items,
        latent_distribution=answer.latent,
        log_likelihood=log_likelihood,
        log_likelihood_kind=kind,
        log_likelihood_error=float(reply["log_likelihood_error"][0]) if kind == "simulated" else None,
        n_parameters=model.n_parameters(len(design.items)),
        n_persons=len(design.persons),
    )


def _convergence(settings: JobSettings, reply: Reply) -> Convergence:
    return Convergence(
        "converged" if reply["converged"][0] else "iteration_limit",
        iterations=int(reply["iterations"][0]),
        tolerance=settings.tolerance,
        messages=(*(reply.get("messages") or ()), *(reply.get("warnings") or ()), *(reply.get("console") or ())),
    )


def _remarks(reply: Reply, settings: JobSettings, answer: Answer, design: Design, model: ItemModel) -> list[str]:
    remarks = [prior_without_effect(model)]
    if not reply["converged"][0]:
        remarks.append(
            f"mirt stopped at its limit of {settings.max_iterations} cycles, before the largest change of a parameter "
            f"fell below {settings.tolerance:g}. Allow more (max_iterations=), or hold the items by priors "
            "(priors='weak')."
        )
    people = f"{design.responses.person_label}s"
    if model.guessing == "free" and len(design.persons) < FREE_GUESSING_MIN_PERSONS:
        remarks.append(
            f"Free guessing parameters from {len(design.persons)} {people} are hardly determined (they run to 0 or to "
            f".4); below {FREE_GUESSING_MIN_PERSONS} give them a prior (the 3PL's default) or fix them."
        )
    if model.name == "Rasch" and answer.latent.sd < UNSTABLE_SLOPE:
        remarks.append(
            f"The SD of the abilities is {answer.latent.sd:.2g}: no common factor was found, and the {people} do not "
            "differ by more than chance. Check for reversed items and wrong keys."
        )
    if settings.se_type is not None and answer.items.covariance is None:
        remarks.append(f"There are no standard errors: {answer.items.no_errors_because}{_no_maximum(model)}")
    elif settings.se_type is not None and not has_slope_curvature(model) and not reply["second_order_test"][0]:
        remarks.append(
            "mirt's information matrix is not positive definite: this is no proper maximum, and its standard errors "
            "mean little."
        )
    if reply.get("scoring_error"):
        remarks.append(f"mirt could not score the {people}: {reply['scoring_error'][0]}")
    return [r for r in remarks if r]


def _slopes(model: ItemModel) -> Slopes:
    if model.name in ("Rasch", "1PL"):
        return "equal"
    return "free" if model.has_free_slopes else "positive"


def _no_maximum(model: ItemModel) -> str:
    if model.is_penalised:
        return ""
    return (
        " Where the information matrix cannot be inverted, the answer may not be a maximum (a saddle point, or "
        "parameters that the data do not determine)."
    )


def _details(reply: Reply, settings: JobSettings, design: Design, model: ItemModel) -> dict[str, Any]:
    details: dict[str, Any] = {
        "engine_fit_seconds": float(reply["fit_seconds"][0]),
        "engine_scoring_seconds": float(reply["scoring_seconds"][0]),
        "call_characters": int(reply["call_characters"][0]),
        "items_given": len(design.items),
        "columns_given": int(design.columns.sum()),
        "persons_given": len(design.persons),
        "log_prior": float(reply["log_prior"][0]),
    }
    if settings.se_type is not None and has_slope_curvature(model):
        details["slope_prior_curvature_corrected"] = True
    if np.isfinite(reply["condition_number"][0]):
        details["condition_number"] = float(reply["condition_number"][0])
    return details

"""From draws to a judged result."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.brms.contract import JobSettings, failed_chains
from psychoeval.estimators.brms.design import Design
from psychoeval.estimators.brms.posterior import read_draws
from psychoeval.estimators.brms.syntax import Program
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.rbridge.protocol import Reply
from psychoeval.results.convergence import Convergence
from psychoeval.results.data_checks import Slopes, disconnected_warning, factor_warning
from psychoeval.results.draws import ITEM_TERMS, PERSON_TERMS, Draws
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.item_checks import judge_items
from psychoeval.results.provenance import Provenance
from psychoeval.results.sampling import diagnose

FloatArray = NDArray[np.float64]

#: Persons up to which the covariance of all abilities is kept.
MAX_COVARIANCE: Final = 2000


def make_result(
    name: str, settings: JobSettings, design: Design, model: ItemModel, program: Program, reply: Reply, call: str
) -> FitResult:
    """Return the result of a reply with draws, judged.

    Parameters
    ----------
    name : str
        Of the estimator.
    settings, design, model, program
        What the job was made from.
    reply : dict
    call : str
        The formula and densities, as `brm()` takes them.

    Notes
    -----
    Estimates are posterior means, errors posterior SDs, both over all chains that ended; difficulties follow from the
    means of slope and intercept, as everywhere here, and their own draws are in `FitResult.draws`.
    """
    draws = read_draws(reply, design, program, settings.samples, settings.max_treedepth)
    sampling = diagnose(draws)
    items = _items(draws, design, model)
    people = f"{design.responses.person_label}s"
    judgement = judge_items(items, people, penalised=True)
    unfit = sampling.grade == "do not use"
    failures = (*(sampling.reasons if unfit else ()), *judgement.failures)
    modeled = design.modeled
    warnings = (
        *(() if unfit else sampling.reasons),
        *judgement.warnings,
        *_failed(reply, settings),
        *factor_warning(modeled, _slopes(model)),
        *disconnected_warning(modeled, "Only the priors link them"),
        *_remarks(reply, model),
    )
    return FitResult(
        name,
        model,
        _convergence(settings, reply).judged(failures, warnings),
        _provenance(settings, reply, draws, design, call),
        abilities=_abilities(draws, design),
        item_parameters=items,
        latent_distribution=_latent(draws),
        n_persons=len(design.persons),
        statistics=_statistics(draws),
        sampling=sampling,
        draws=draws,
    )


def _items(draws: Draws, design: Design, model: ItemModel) -> ItemParameters:
    d = draws.pooled("intercept")
    a = draws.pooled("discrimination") if "discrimination" in draws.values else np.ones_like(d)
    fixed = float(model.guessing) if isinstance(model.guessing, (int, float)) else 0.0
    c = draws.pooled("guessing") if "guessing" in draws.values else np.full_like(d, fixed)
    means = [values.mean(axis=0) for values in (a, d, c)]
    if "discrimination" not in draws.values:
        means[0] = np.ones_like(means[1])
    if "guessing" not in draws.values:
        means[2] = np.full_like(means[1], fixed)  # a mean of equal numbers may differ from them in the last digit
    return ItemParameters(
        design.responses.item_ids,
        design.fill_items(means[0]),
        design.fill_items(means[1]),
        design.fill_items(means[2]),
        covariance=design.fill_items(_blocks([a, d, c], means)),
        status=design.item_status,
    )


def _blocks(values: list[FloatArray], means: list[FloatArray]) -> FloatArray:
    """Return the covariances (J, 3, 3) of three parameters of each item over the draws (D, J)."""
    out = np.empty((means[0].size, 3, 3))
    centered = [v - m for v, m in zip(values, means, strict=True)]
    for i in range(3):
        for k in range(i + 1):
            out[:, i, k] = out[:, k, i] = np.einsum("dj,dj->j", centered[i], centered[k]) / (len(values[0]) - 1)
    return out


def _abilities(draws: Draws, design: Design) -> Abilities:
    theta = draws.pooled("ability")
    n = design.responses.n_persons
    covariance = None
    if n <= MAX_COVARIANCE:
        covariance = np.full((n, n), np.nan)
        covariance[np.ix_(design.persons, design.persons)] = np.cov(theta, rowvar=False)
    return Abilities(
        design.responses.person_ids,
        design.fill_persons(theta.mean(axis=0)),
        design.fill_persons(theta.std(axis=0, ddof=1)),
        "EAP",
        status=design.person_status,
        covariance=covariance,
    )


def _latent(draws: Draws) -> LatentDistribution:
    if "latent_sd" not in draws.values:
        return LatentDistribution()
    sd = draws.pooled("latent_sd")
    return LatentDistribution(sd=float(sd.mean()), sd_standard_error=float(sd.std(ddof=1)))


def _statistics(draws: Draws) -> dict[str, Any]:
    """Return posterior mean and SD of each parameter that is common to items or persons."""
    out: dict[str, Any] = {}
    for name in draws.values:
        if name not in (*ITEM_TERMS, *PERSON_TERMS):
            values = draws.pooled(name)
            out[name], out[f"{name}_posterior_sd"] = float(values.mean()), float(values.std(ddof=1))
    return out


def _convergence(settings: JobSettings, reply: Reply) -> Convergence:
    return Convergence(
        "sampled",
        iterations=settings.warmup + settings.samples,
        messages=(*(reply.get("messages") or ()), *(reply.get("warnings") or ())),
    )


def _failed(reply: Reply, settings: JobSettings) -> list[str]:
    return [
        f"Chain {number} of {settings.chains} failed and is left out: {said}"
        for number, said in failed_chains(reply).items()
    ]


def _remarks(reply: Reply, model: ItemModel) -> list[str]:
    remarks = []
    if reply.get("cache_problem"):
        remarks.append(
            f"The built program was not kept, and the next fit builds it again: {reply['cache_problem'][0]}. Make "
            "room, or set XDG_CACHE_HOME to a folder that can be written."
        )
    if model.name == "Rasch" and model.priors is not None and model.priors.has_slope:
        remarks.append("The Rasch model fixes every slope at 1, so the prior on slopes has no effect on it.")
    return remarks


def _slopes(model: ItemModel) -> Slopes:
    return "equal" if model.name in ("Rasch", "1PL") else "positive"


def _provenance(settings: JobSettings, reply: Reply, draws: Draws, design: Design, call: str) -> Provenance:
    code = str(reply["stan_code"][0])
    warmup, sampling = (reply[f"{phase}_seconds"] for phase in ("warmup", "sampling"))
    return Provenance(
        engine="r",
        versions={name: version[0] for name, version in reply["versions"].items()},
        bridge="rscript",
        seed=settings.seed,
        call=call,
        details={
            "stan_code": code,
            "stan_code_sha256": hashlib.sha256(code.encode()).hexdigest(),
            "built_program_from_cache": bool(reply["from_cache"][0]),
            "build_seconds": float(reply["build_seconds"][0]),
            "warmup_seconds": [float(s) for s in warmup],
            "sampling_seconds": [float(s) for s in sampling],
            "chains_used": [int(k) for k in draws.chain_numbers],
            "items_given": len(design.items),
            "persons_given": len(design.persons),
        },
    )

"""From draws to a judged result."""

from __future__ import annotations

import hashlib

from psychoeval.estimators.brms.contract import JobSettings, failed_chains
from psychoeval.estimators.brms.design import Design
from psychoeval.estimators.brms.posterior import read_draws
from psychoeval.estimators.brms.syntax import Program
from psychoeval.irt.models import ItemModel
from psychoeval.rbridge.protocol import Reply
from psychoeval.results.convergence import Convergence
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult
from psychoeval.results.posterior import posterior_result
from psychoeval.results.predictive import with_log_likelihood, with_replicated_scores
from psychoeval.results.provenance import Provenance


def make_result(
    name: str,
    settings: JobSettings,
    design: Design,
    model: ItemModel,
    program: Program,
    reply: Reply,
    call: str,
    *,
    log_likelihood: bool = False,
    replicated_scores: bool = False,
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
    log_likelihood, replicated_scores : bool
        Whether draws come with each person's marginal log-likelihood, and with scores drawn anew. brms's own
        log-likelihood is of cells given the abilities, with which leaving out a person would not do.
    """
    draws = read_draws(reply, design, program, settings.samples, settings.max_treedepth)
    if log_likelihood:
        draws = with_log_likelihood(draws, design.modeled, model)
    if replicated_scores:
        assert settings.seed is not None
        draws = with_replicated_scores(draws, design.modeled, model, settings.seed)
    convergence = Convergence(
        "sampled",
        iterations=settings.warmup + settings.samples,
        messages=(*(reply.get("messages") or ()), *(reply.get("warnings") or ())),
    )
    provenance = _provenance(settings, reply, draws, call)
    return posterior_result(
        name,
        model,
        design.responses,
        draws,
        convergence,
        provenance,
        failed=failed_chains(reply),
        warnings=_remarks(reply, model),
    )


def _remarks(reply: Reply, model: ItemModel) -> list[str]:
    remarks = []
    if reply.get("cache_problem"):
        remarks.append(
            f"The built program was not kept, and the next fit builds it again: {reply['cache_problem'][0]}. Make "
            "room, or set XDG_CACHE_HOME to a folder that can be written."
        )
    stated = None if model.priors is None or model.priors.population is not None else model.priors
    if model.name == "Rasch" and stated is not None and stated.has_slope:
        remarks.append("The Rasch model fixes every slope at 1, so the prior on slopes has no effect on it.")
    return remarks


def _provenance(settings: JobSettings, reply: Reply, draws: Draws, call: str) -> Provenance:
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
            "items_given": len(draws.item_ids),
            "persons_given": len(draws.person_ids),
        },
    )

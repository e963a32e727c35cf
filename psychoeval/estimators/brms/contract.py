"""The job that R is sent, and what its reply means when it is no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from psychoeval.errors import DataError, EngineFailedError, EngineUnavailableError, PsychoevalError
from psychoeval.estimators.brms.design import Design
from psychoeval.estimators.brms.syntax import Program
from psychoeval.rbridge.protocol import Reply

#: Of what R or Stan said; more is a page of C++.
_SAID: Final = 300
_NO_SPACE: Final = "No space left on device"
_NO_START: Final = (
    "Tighter priors (priors='weak') or another seed may help; describe() shows the R script of this fit, to try it "
    "in R."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Settings of a job; `options` are rstan's own: ``init``, ``init_r``, ``control``."""

    chains: int
    warmup: int
    samples: int
    seed: int | None
    adapt_delta: float
    max_treedepth: int
    n_jobs: int
    options: Mapping[str, Any]


def make_job(
    design: Design, program: Program, settings: JobSettings, cache: Path | None, cache_problem: str = ""
) -> dict[str, Any]:
    """Return the job for ``run_brms_job``: numbers and brms's words only; names of items and persons stay here.

    `cache` is the folder of built programs, and `cache_problem` why there is none.
    """
    densities = program.densities
    return {
        "y": design.successes,
        "n": design.trials,
        "person": design.person,
        "item": design.item,
        "n_cells": len(design.item),
        "n_persons": len(design.persons),
        "n_items": len(design.items),
        "formula": program.formula,
        "parts": dict(program.parts),
        "trials": program.trials,
        "link": program.link,
        "priors": {
            "prior": [p.prior for p in densities],
            "class": [p.kind for p in densities],
            "coef": [p.coef for p in densities],
            "group": [p.group for p in densities],
            "nlpar": [p.nlpar for p in densities],
            "lb": [p.lb for p in densities],
            "ub": [p.ub for p in densities],
        },
        "chains": settings.chains,
        "warmup": settings.warmup,
        "samples": settings.samples,
        "seed": settings.seed,
        "adapt_delta": settings.adapt_delta,
        "max_treedepth": settings.max_treedepth,
        "cores": min(settings.n_jobs, settings.chains),
        "init": settings.options.get("init", "random"),
        "init_r": settings.options.get("init_r", 2.0),
        "control": settings.options.get("control") or None,
        "cache": None if cache is None else str(cache),
        "cache_problem": cache_problem,
    }


def check_reply(reply: Reply) -> None:
    """Raise what R or Stan stopped with, as one sentence and what to do.

    Raises
    ------
    EngineUnavailableError
        If programs cannot be built here.
    EngineFailedError
        For anything else, also if no chain ended well.
    """
    error = reply.get("error")
    if error:
        raise _stopped(reply["stage"][0], str(error[0]), [*(reply.get("messages") or [])])
    if "draws" not in reply:
        failed = {int(k): _text(said) for k, said in (reply.get("failed") or {}).items()}
        said = next(iter(failed.values()), "it said nothing")
        if any(_NO_SPACE in text for text in failed.values()):
            raise _no_room("sampling")
        if "Initialization" in said or "initial value" in said:
            raise EngineFailedError(
                f"Stan found no point to start from: in all {len(failed)} chains every random start was rejected.",
                _NO_START,
            )
        raise EngineFailedError(f"All {len(failed)} chains of brms failed: {_sentence(said)}", _NO_START)


def _no_room(stage: str) -> EngineFailedError:
    return EngineFailedError(
        f"R found no room on the disk while {stage}.",
        "Make room in the folder for temporary files, or set TMPDIR to another before Python starts.",
    )


def _stopped(stage: str, error: str, messages: list[str]) -> PsychoevalError:
    text = f"{error} {' '.join(messages)}"
    if "boost" in text.lower() and "not found" in text.lower():
        return EngineUnavailableError(
            "rstan finds no Boost, the C++ headers with which it builds programs.",
            'Install them: `apt-get install r-cran-bh libboost-dev`, or in R install.packages("BH").',
        )
    if _NO_SPACE in text:
        return _no_room(stage)
    if stage.startswith("building"):
        if re.search(r"make: not found|g\+\+: (?:command )?not found|C\+\+ compiler|C\+\+14 standard", text):
            return EngineUnavailableError(
                "rstan finds no C++ compiler, which brms needs to build its program.",
                "Install one: `apt-get install g++ make` on Debian or Ubuntu, Xcode's command line tools on macOS.",
            )
        return EngineFailedError(
            f"The program that brms wrote could not be built: {_sentence(error)}",
            "Check that rstan can build any: Rscript -e 'rstan::stan_model(model_code = \"parameters{real x;} "
            "model{x ~ normal(0,1);}\")'.",
        )
    if "the data arrived" in error:
        return DataError(f"Of the responses {_sentence(error)}", "Please report this with the data.")
    return EngineFailedError(
        f"brms stopped while {stage}: {_sentence(error)}", "describe() shows the R script of this fit, to try it in R."
    )


def failed_chains(reply: Reply) -> dict[int, str]:
    """Return what each chain that failed said last."""
    return {int(number): _sentence(_text(said)) for number, said in (reply.get("failed") or {}).items()}


def _text(said: Any) -> str:
    return " ".join(str(line) for line in said) if isinstance(said, list) else str(said)


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return (text if len(text) <= _SAID else f"{text[:_SAID].rstrip()} ...").rstrip(".") + "."

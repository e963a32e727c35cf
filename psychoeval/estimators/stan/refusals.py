"""Why chains gave no draws, as one error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from psychoeval.children import ended_by
from psychoeval.errors import EngineFailedError
from psychoeval.estimators.stan.words import reason, sentence

#: Stage -> what comes before Stan's own words, and what to do.
_STAGES: Final = {
    "engine": (
        "What runs {name} is installed but does not start",
        "Install it again, or use the other back end (stanli, CmdStan).",
    ),
    "program": (
        "Stan does not accept the program {name}",
        "If the program is psychoeval's own, that is a defect: please report it. Otherwise correct the program.",
    ),
    "data": (
        "Stan does not accept the data of the program {name}",
        "Correct the prior or the data that it names; if it names nothing that you gave, please report it.",
    ),
    "executable": (
        "The compiled program {name} does not start",
        "Remove the folder that holds it, so that it is compiled again.",
    ),
    "start": (
        "There is no start for the program {name}",
        'Check that the priors allow what was observed; try other initial values (inits="random", another seed).',
    ),
    "sampling": (
        "Stan stopped while it ran {name}",
        "Try another seed; check that the priors rule out extreme values.",
    ),
    "writing": ("The draws of {name} were lost", "Make room there, or set TMPDIR to another folder."),
    "defect": ("The draws of {name} could not be taken over", "This is a defect: please report it."),
    "killed": ("Stan ended while it ran {name}", "Run fewer chains at a time (n_jobs), or fit fewer items."),
}

#: Stages at which all chains fail alike.
FOR_ALL: Final = ("engine", "program", "data", "executable")


def why(stage: str, status: int, reply: Mapping[str, Any], console: str, name: str) -> str:
    """Return in one sentence why a chain gave no draws."""
    if stage == "killed":
        code = reply.get("return_code") or status  # of CmdStan's own process, where there is one
        last = reason(console)
        return f"The chain {ended_by(code)}" + (f"; its last words: {sentence(last, name)}" if last else ".")
    return f"{_STAGES[stage][0].format(name=name)}: {sentence(str(reply['error']), name)}"


def refusal(chains: Mapping[int, tuple[str, int, Mapping[str, Any], str]], name: str, wanted: int) -> EngineFailedError:
    """Return the error of a run without draws.

    Parameters
    ----------
    chains : mapping
        Number -> (stage, exit status, reply, console) of each chain that ended.
    name : str
        The program's.
    wanted : int
        Chains asked for.
    """
    first = min(chains)
    stage, status, reply, console = chains[first]
    problem = why(stage, status, reply, console, name)
    if wanted > 1 and stage not in FOR_ALL:
        problem = f"None of {wanted} chains gave draws. Chain {first}: {problem}"
    return EngineFailedError(problem, _STAGES[stage][1])

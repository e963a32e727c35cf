"""rpy2: whether it starts the R that is there, tried in a child process, which a wrong R_HOME would end."""

from __future__ import annotations

import os
import sys
from typing import Final

from psychoeval.availability import parts
from psychoeval.availability.parts import EngineState, environment, numbers, pip, python_packages, run
from psychoeval.availability.r import MARK, R_FLAGS, ask_r

RPY2_OPTIONS: Final = ("rpy2", "--quiet", *R_FLAGS)
#: For rpy2, which already when it is imported starts an R of its own, without those flags.
NO_PROFILES: Final = {"R_PROFILE": os.devnull, "R_PROFILE_USER": os.devnull}


def rpy2_requirement(r_version: str) -> str:
    """Return the rpy2 that an R can load, as pip spells it.

    rpy2-rinterface 3.6.6 and newer need a symbol of R 4.5 (R_getVar).

    Examples
    --------
    >>> rpy2_requirement("4.2.2"), rpy2_requirement("4.5.0")
    ('rpy2==3.5.17', 'rpy2>=3.6')
    """
    return "rpy2==3.5.17" if numbers(r_version) < (4, 5) else "rpy2>=3.6"


def rpy2_environment() -> dict[str, str]:
    """Return the environment variables under which rpy2 was probed: set them before importing it.

    The ABI mode needs no compiler and no headers, and is the one that is built by set-up.
    """
    return {
        "R_HOME": ask_r(environment())[0].paths["R_HOME"],
        "RPY2_CFFI_MODE": os.environ.get("RPY2_CFFI_MODE", "ABI"),
    }


#: As bridge_rpy2 does it; rinterface.initr() would ask a child that runs profiles.
_START_RPY2: Final = f"""
from rpy2 import rinterface
from rpy2.rinterface_lib import embedded
embedded.set_initoptions({RPY2_OPTIONS!r})
rinterface.initr_simple()
print("\\npsychoeval:" + rinterface.evalr("as.character(getRversion())")[0])
"""


def rpy2() -> EngineState:
    """Return the state of rpy2."""
    python = python_packages("rpy2", ("rpy2",))
    r, _ = ask_r(environment())
    if not r.available:
        return EngineState("rpy2", False, f"rpy2 needs R. {r.problem}", r.remedy, python.versions, r.paths)
    r_version, versions = r.versions["R"], {**python.versions, **r.versions}
    remedy = f"Run: RPY2_CFFI_MODE=ABI {pip(repr(rpy2_requirement(r_version)))}. Until then R is reached by Rscript."
    if not python.available:
        return EngineState("rpy2", False, python.problem, remedy, versions, r.paths)
    interface = versions["rpy2"]  # a package of its own since 3.6, whose version counts
    if numbers(interface) >= (3, 6) and (own := parts.installed_version("rpy2-rinterface")):
        interface = versions["rpy2-rinterface"] = own
    if numbers(interface) >= (3, 6, 6) and numbers(r_version) < (4, 5):
        problem = f"rpy2-rinterface {interface} needs R >= 4.5 (its symbol R_getVar), and this is R {r_version}."
        # Else 3.5, which is one package, would be written over the files of three.
        remedy = f"Run: {sys.executable} -m pip uninstall -y rpy2 rpy2-rinterface rpy2-robjects. {remedy}"
        return EngineState("rpy2", False, problem, remedy, versions, r.paths)
    output, failure = run([sys.executable, "-c", _START_RPY2], {**rpy2_environment(), **NO_PROFILES})
    started = [line.removeprefix(MARK) for line in output.splitlines() if line.startswith(MARK)]
    if failure or not started:
        problem = (
            f"rpy2 {versions['rpy2']} does not start R {r_version} in {r.paths['R_HOME']}: {failure or 'no answer'}."
        )
    elif started != [r_version]:
        problem = f"rpy2 {versions['rpy2']} starts R {started[0]}, and {r.paths['Rscript']} starts R {r_version}."
        remedy = f"Set R_HOME to the R that is meant, and install rpy2 anew. {remedy}"
    else:
        return EngineState("rpy2", True, "", "", versions, {"R_HOME": r.paths["R_HOME"]})
    return EngineState("rpy2", False, problem, remedy, versions, r.paths)

"""What each engine lacks and how to get it; probed in child processes, and remembered for as long as this one lives.

R and rpy2 are never started here: a wrong ``R_HOME`` makes rpy2 end the process that tries. Nothing but the standard
library is imported, so that set-up can use this module before anything is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from psychoeval.availability.cmdstan import cmdstan
from psychoeval.availability.parts import R_UNWANTED, EngineState, environment, python_packages
from psychoeval.availability.r import DERIV_HELP, R_FLAGS, ask_r, r_package
from psychoeval.availability.rpy2_state import (
    NO_PROFILES,
    RPY2_OPTIONS,
    rpy2,
    rpy2_environment,
    rpy2_requirement,
)
from psychoeval.errors import EngineUnavailableError, SettingsError

__all__ = [
    "DERIV_HELP", "NO_PROFILES", "RPY2_OPTIONS", "R_FLAGS", "R_UNWANTED", "EngineState", "doctor", "probe", "require",
    "rpy2_environment", "rpy2_requirement",
]  # fmt: skip


def probe(engine: str) -> EngineState:
    """Return the state of an engine.

    They are numpy, r, mirt, rpy2, lme4, psych, erm, equateirt, catr, brms, stanli, cmdstan, pystan, arviz, report and
    parquet. The first call for R costs the start of one child process (about .3 s), that for rpy2 another; later ones
    nothing.

    Raises
    ------
    SettingsError
        If there is no such engine.
    """
    if engine not in _PROBES:
        raise SettingsError(f"There is no engine {engine!r}.", f"Choose one of {', '.join(_PROBES)}.")
    return _probe(engine, environment())


def require(engine: str) -> EngineState:
    """Return the state of an engine that can be used.

    Raises
    ------
    EngineUnavailableError
        If it cannot, with the problem and the remedy.
    """
    state = probe(engine)
    if not state.available:
        raise EngineUnavailableError(state.problem, f"{state.remedy} Check with: psychoeval doctor")
    return state


def doctor() -> tuple[EngineState, ...]:
    """Return the states of all engines, looked at anew."""
    _probe.cache_clear()
    ask_r.cache_clear()
    return tuple(probe(engine) for engine in _PROBES)


@cache
def _probe(engine: str, variables: tuple[str | None, ...]) -> EngineState:
    return _PROBES[engine]()


_PROBES: dict[str, Callable[[], EngineState]] = {
    "numpy": partial(python_packages, "numpy", ("psychoeval", "numpy", "scipy", "pandas")),
    "r": lambda: ask_r(environment())[0],
    "mirt": partial(r_package, "mirt"),
    "rpy2": rpy2,
    "lme4": partial(r_package, "lme4", "r-cran-lme4"),
    "psych": partial(r_package, "psych", "r-cran-psych"),
    "erm": partial(r_package, "eRm"),
    "equateirt": partial(r_package, "equateIRT"),
    "catr": partial(r_package, "catR"),
    "brms": partial(r_package, "brms", "r-cran-brms"),
    "stanli": partial(python_packages, "stanli", ("stanli",)),
    "cmdstan": cmdstan,
    "pystan": partial(python_packages, "pystan", ("pystan",)),
    "arviz": partial(python_packages, "arviz", ("arviz", "arviz-stats")),
    "report": partial(python_packages, "report", ("matplotlib", "jinja2")),
    "parquet": partial(python_packages, "parquet", ("pyarrow",)),
}

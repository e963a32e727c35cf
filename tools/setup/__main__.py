"""``python3 -m tools.setup``: see the package's docstring."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

if sys.version_info < (3, 11):  # noqa: UP036 - said here, because nothing else has looked yet
    sys.exit(
        f"psychoeval needs Python >= 3.11, and {sys.executable} is {sys.version.split()[0]}.\n"
        "Name a newer one: make setup PYTHON=python3.12"
    )

from psychoeval import availability
from psychoeval.availability import EngineState
from tools.setup import debian, environment, mirt
from tools.setup.steps import SetupError, say


def main() -> int:
    """Bring what is missing, and say what still is."""
    if environment.is_current():
        states = environment.engines()
        if all(state.available for state in states.values()):
            say("all engines are there; nothing to do")
            return 0
    system_packages()
    if not environment.is_current():
        environment.install_package()
    problems: dict[str, str] = {}
    states = environment.engines()
    for package in ("mirt", "eRm", "equateIRT", "catR"):
        if states["r"].available and not states[package.lower()].available:
            problems[package.lower()] = mirt.install(states["r"], package)
    if states["r"].available and not states["rpy2"].available:
        environment.install_rpy2(states["r"].versions["R"])
    return conclude(environment.engines(), problems)


def system_packages() -> None:
    """By apt: R where there is none; what Debian's own R lacks of mirt's dependencies and the tests' references."""
    if not debian.can_use_apt():
        return
    states = {state.engine: state for state in availability.doctor()}
    r, packages = states["r"], ("mirt", "lme4", "psych", "erm", "equateirt", "catr", "brms")
    no_r = shutil.which("Rscript") is None and not os.environ.get("R_HOME")
    debians = r.available and r.paths["R_HOME"] == "/usr/lib/R"
    if no_r or (debians and not all(states[name].available for name in packages)):
        debian.install(debian.r_packages(), "R and the R packages that this distribution has")


def conclude(states: dict[str, EngineState], problems: Mapping[str, str]) -> int:
    """Print what is there and what is not, and what kept set-up from it; return the exit status."""
    missing = [state for state in states.values() if not state.available]
    say(f"ready:   {', '.join(name for name, state in states.items() if state.available)}")
    by_remedy: dict[str, list[EngineState]] = {}
    for state in missing:
        by_remedy.setdefault(problems.get(state.engine) or state.remedy, []).append(state)
    for remedy, alike in by_remedy.items():
        say(f"MISSING: {', '.join(state.engine for state in alike)}. {alike[0].problem}")
        say(f"         {remedy}")
    if any(state.engine == "r" for state in missing) and not debian.can_use_apt():
        say(f"         On Debian or Ubuntu: {debian.by_hand()}")
    if missing:
        say("psychoeval works without them; what needs them says so. `make setup` again brings what can be brought.")
    required = {name.strip() for name in os.environ.get("PSYCHOEVAL_REQUIRE", "").split(",")}
    if lacking := [state.engine for state in missing if state.engine in required]:
        say(f"PSYCHOEVAL_REQUIRE names {', '.join(lacking)}: set-up has failed.")
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as error:
        say(f"FAILED. {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)

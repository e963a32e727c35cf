"""R and its packages: where it is, and what it says of them. R is asked in a child process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from glob import glob
from pathlib import Path
from typing import Final

from psychoeval.availability.parts import EngineState, environment, numbers, run
from psychoeval.resources import resource

#: How R is started everywhere. No profile of the user, the site or the folder of the data is run: it may print, ask,
#: stop, or attach packages that mask others. Environment files are read, because they say where packages are.
R_FLAGS: Final = ("--no-save", "--no-restore", "--no-site-file", "--no-init-file")
#: Before what R and rpy2 are asked to print: R or a library may print too.
MARK: Final = "psychoeval:"
#: Where R packages lie on machines whose R looks elsewhere, as after an upgrade of R.
LIBRARIES: Final = ("~/R/*/*", "~/R/*", "/usr/local/lib/R/site-library", "/usr/lib/R/site-library")
_R_INSTALL: Final = """`Rscript -e 'install.packages("{}")'`"""
#: Why CRAN's mirt cannot be installed on an older R, and the two ways that do not need a newer one.
DERIV_HELP: Final = (
    "On R < 4.5 this stops with \"dependency 'Deriv' is not available\", because Deriv 4.3.6 asks for R >= 4.5: "
    'first install an older Deriv, in R remotes::install_version("Deriv", "4.1.3"), or name a repository '
    "whose Deriv takes this R, PSYCHOEVAL_CRAN=<folder> make setup."
)


def _find_rscript() -> tuple[str, str, str]:
    """Return the path of Rscript, or the problem and the remedy."""
    on_path = shutil.which("Rscript")
    home = os.environ.get("R_HOME")
    if home:
        rscript = Path(home, "bin", "Rscript")
        if rscript.is_file():
            return str(rscript), "", ""
        what = "holds no R (no bin/Rscript)" if Path(home).is_dir() else "is not a folder"
        other = f"the R on PATH is {on_path}" if on_path else "there is no R on PATH either"
        remedy = f"Unset R_HOME ({other}), or set it to what `R RHOME` prints."
        return "", f"R_HOME is set to {home}, which {what}.", remedy
    if on_path:
        return on_path, "", ""
    remedy = (
        "Install R >= 4.1: `make setup` as root on Debian or Ubuntu, or `apt-get install r-base-core`; elsewhere with "
        "the system's or conda's packages. If R is there, put the folder of Rscript on PATH or set R_HOME."
    )
    return "", "There is no R: no Rscript on PATH, and R_HOME is not set.", remedy


def _remedy_for_r(rscript: str, problem: str) -> str:
    if "R_TempDir" in problem:
        return "Make room in the folder for temporary files, or set TMPDIR to another that can be written."
    return (
        f"Try `{rscript} --vanilla -e 1`. If that works, the fault is in an environment file (~/.Renviron) or in a "
        "library that R_LIBS names; if not, and the message names nothing else, reinstall R."
    )


@dataclass(frozen=True, slots=True)
class _Package:
    """What R says of one of its packages; `fault` is what keeps it from loading."""

    least: str
    version: str
    built: str
    path: str
    fault: str


@cache
def ask_r(variables: tuple[str | None, ...]) -> tuple[EngineState, Mapping[str, _Package]]:
    """Return the state of R, and what it says of the packages that r_scripts/DESCRIPTION names."""
    rscript, problem, remedy = _find_rscript()
    if not rscript:
        return EngineState("r", False, problem, remedy), {}
    paths = {"Rscript": rscript}
    output, failure = run([rscript, *R_FLAGS, str(resource("r_scripts", "check_install.R"))])
    marked = (line.removeprefix(MARK) for line in output.splitlines() if line.startswith(MARK))
    replies = [line.split("\t") for line in marked]
    if failure or ["end"] not in replies:
        starts = any(reply[0] == "version" for reply in replies)
        what = "R starts, but cannot tell what it has" if starts else "R does not start"
        problem = f"{what}: {rscript}: {failure or 'it stopped before the end'}."
        return EngineState("r", False, problem, _remedy_for_r(rscript, problem), {}, paths), {}
    said = {reply[0]: reply[1] for reply in replies if len(reply) == 2}
    paths["R_HOME"] = said["home"]
    paths["libraries"] = os.pathsep.join(reply[1] for reply in replies if reply[0] == "library")
    versions = {"R": said["version"]}
    if numbers(said["version"]) < numbers(said["least"]):
        problem = f"R {said['version']} ({rscript}) is older than {said['least']}, the oldest that mirt takes."
        return EngineState("r", False, problem, f"Install R >= {said['least']}.", versions, paths), {}
    packages = {reply[1]: _Package(*reply[2:]) for reply in replies if reply[0] == "package"}
    return EngineState("r", True, "", "", versions, paths), packages


def _elsewhere(package: str, home: str) -> list[str]:
    """Return libraries that hold `package` although R does not look into them."""
    found = (
        p
        for pattern in (*LIBRARIES, f"{home}/library")
        for p in glob(os.path.expanduser(f"{pattern}/{package}/DESCRIPTION"))
    )
    return sorted({str(Path(p).parents[1]) for p in found})


def r_package(package: str, apt: str = "") -> EngineState:
    """Return the state of an R package; `apt` is its name on Debian."""
    engine, (r, packages) = package.lower(), ask_r(environment())
    if not r.available:
        return EngineState(engine, False, f"{package} needs R. {r.problem}", r.remedy, r.versions, r.paths)
    found, r_version, libraries = packages[package], r.versions["R"], r.paths["libraries"]
    versions, paths = dict(r.versions), {"libraries": libraries}
    remedy = f"Run `make setup` in the checkout{apt and f', `apt-get install {apt}`'} or {_R_INSTALL.format(package)}."
    if package == "mirt" and numbers(r_version) < (4, 5):
        remedy += f" {DERIV_HELP}"
    if found.path:
        versions[package], paths[package] = found.version, found.path
        problem = f"{package} {found.version} in {found.path} (built for R {found.built}) "
        if not found.version:
            problem = f"{package} in {found.path} is damaged: {found.fault}."
            remedy = f"Remove that folder. {remedy}"
        elif numbers(found.version) < numbers(found.least):
            problem += f"is older than {found.least}, the oldest that was checked."
        elif found.fault:
            problem += f"cannot load: {found.fault}."
        else:
            return EngineState(engine, True, "", "", versions, paths)
    elif others := _elsewhere(package, r.paths["R_HOME"]):
        problem = f"{package} is in {', '.join(others)}, and R {r_version} looks only into {libraries}."
        remedy = f"If it was built for this R: export R_LIBS={others[0]}. Otherwise: {remedy}"
    else:
        problem = f"{package} is not installed for R {r_version}, which looks into {libraries}."
        remedy += " A library that only a start-up file (.Rprofile) names is not looked into: name it in R_LIBS."
    return EngineState(engine, False, problem, remedy, versions, paths)

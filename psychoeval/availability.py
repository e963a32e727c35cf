"""What each engine lacks and how to get it; probed in child processes, and remembered for as long as this one lives.

R and rpy2 are never started here: a wrong ``R_HOME`` makes rpy2 end the process that tries. Nothing but the standard
library is imported, so that set-up can use this module before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from glob import glob
from importlib import metadata
from pathlib import Path
from typing import Final

from psychoeval.errors import EngineUnavailableError, SettingsError
from psychoeval.resources import resource

#: How R is started everywhere. No profile of the user, the site or the folder of the data is run: it may print, ask,
#: stop, or attach packages that mask others. Environment files are read, because they say where packages are.
R_FLAGS: Final = ("--no-save", "--no-restore", "--no-site-file", "--no-init-file")
RPY2_OPTIONS: Final = ("rpy2", "--quiet", *R_FLAGS)
#: Variables kept from R. R_HOME: R's front end sets its own and complains about another. R_TESTS names a file that R
#: would run.
R_UNWANTED: Final = ("R_HOME", "R_TESTS", "R_DEFAULT_PACKAGES")
#: For rpy2, which already when it is imported starts an R of its own, without those flags.
NO_PROFILES: Final = {"R_PROFILE": os.devnull, "R_PROFILE_USER": os.devnull}

#: Before what R and rpy2 are asked to print: R or a library may print too.
_MARK: Final = "psychoeval:"
#: Seconds allowed to a child that probes. A cold disk takes ten of them.
TIME_LIMIT: Final = 60.0
#: Of what a child said before it failed; R's very last one is often no more than "Execution halted".
LAST_LINES: Final = 6
#: What decides which R, libraries and packages are found; a change makes the probes run again.
_ENVIRONMENT = (
    "PATH", "HOME", "R_HOME", "R_LIBS", "R_LIBS_USER", "R_LIBS_SITE", "R_ENVIRON", "R_ENVIRON_USER",
    "RPY2_CFFI_MODE", "LD_LIBRARY_PATH", "TMPDIR", "CMDSTAN",
)  # fmt: skip

#: Where R packages lie on machines whose R looks elsewhere, as after an upgrade of R.
_LIBRARIES: Final = ("~/R/*/*", "~/R/*", "/usr/local/lib/R/site-library", "/usr/lib/R/site-library")
_R_INSTALL: Final = """`Rscript -e 'install.packages("{}")'`"""
#: Why CRAN's mirt cannot be installed on an older R, and the two ways that do not need a newer one.
DERIV_HELP: Final = (
    "On R < 4.5 this stops with \"dependency 'Deriv' is not available\", because Deriv 4.3.6 asks for R >= 4.5: "
    'first install an older Deriv, in R remotes::install_version("Deriv", "4.1.3"), or name a repository '
    "whose Deriv takes this R, PSYCHOEVAL_CRAN=<folder> make setup."
)


@dataclass(frozen=True, slots=True)
class EngineState:
    """Whether an engine can be used, and if not why and what to do.

    Parameters
    ----------
    engine : str
    available : bool
    problem, remedy : str
        Empty where it is available.
    versions : mapping
        Name -> version of its parts, as far as they were found.
    paths : mapping
        Name -> path, e.g. ``Rscript``, ``R_HOME`` and ``libraries`` (joined as in PATH).
    """

    engine: str
    available: bool
    problem: str = ""
    remedy: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)


def probe(engine: str) -> EngineState:
    """Return the state of an engine.

    They are numpy, r, mirt, rpy2, lme4, psych, erm, brms, stanli, cmdstan, pystan, arviz, report and parquet. The first
    call for R costs the start of one child process (about .3 s), that for rpy2 another; later ones nothing.

    Raises
    ------
    SettingsError
        If there is no such engine.
    """
    if engine not in _PROBES:
        raise SettingsError(f"There is no engine {engine!r}.", f"Choose one of {', '.join(_PROBES)}.")
    return _probe(engine, _environment())


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
    _ask_r.cache_clear()
    return tuple(probe(engine) for engine in _PROBES)


def rpy2_requirement(r_version: str) -> str:
    """Return the rpy2 that an R can load, as pip spells it.

    rpy2-rinterface 3.6.6 and newer need a symbol of R 4.5 (R_getVar).

    Examples
    --------
    >>> rpy2_requirement("4.2.2"), rpy2_requirement("4.5.0")
    ('rpy2==3.5.17', 'rpy2>=3.6')
    """
    return "rpy2==3.5.17" if _numbers(r_version) < (4, 5) else "rpy2>=3.6"


def rpy2_environment() -> dict[str, str]:
    """Return the environment variables under which rpy2 was probed: set them before importing it.

    The ABI mode needs no compiler and no headers, and is the one that is built by set-up.
    """
    return {"R_HOME": probe("r").paths["R_HOME"], "RPY2_CFFI_MODE": os.environ.get("RPY2_CFFI_MODE", "ABI")}


def _environment() -> tuple[str | None, ...]:
    return tuple(os.environ.get(name) for name in _ENVIRONMENT)


@cache
def _probe(engine: str, environment: tuple[str | None, ...]) -> EngineState:
    return _PROBES[engine]()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.replace("-", ".").split(".") if part.isdigit())


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return what a child printed and, if it failed, what was wrong with it: its last words."""
    inherited = {key: value for key, value in os.environ.items() if key not in R_UNWANTED}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIME_LIMIT,
            env={**inherited, "LANGUAGE": "en", **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        return "", f"it did not answer within {TIME_LIMIT:.0f} s"
    except OSError as error:
        return "", str(error)
    if done.returncode == 0:
        return done.stdout, ""
    said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return done.stdout, f"exit status {done.returncode}: {' / '.join(said[-LAST_LINES:]) or 'it said nothing'}"


def _python_packages(engine: str, packages: Sequence[str]) -> EngineState:
    versions = {"python": sys.version.split()[0]} if engine == "numpy" else {}
    versions |= {name: version for name in packages if (version := _version(name))}
    missing = [name for name in packages if name not in versions]
    if not missing:
        return EngineState(engine, True, versions=versions, paths={"python": sys.executable})
    problem = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed in {sys.prefix}."
    return EngineState(engine, False, problem, f"Run: {_pip(*missing)}.", versions)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _pip(*packages: str) -> str:
    return f"{sys.executable} -m pip install {' '.join(packages)}"


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
def _ask_r(environment: tuple[str | None, ...]) -> tuple[EngineState, Mapping[str, _Package]]:
    """Return the state of R, and what it says of the packages that r_scripts/DESCRIPTION names."""
    rscript, problem, remedy = _find_rscript()
    if not rscript:
        return EngineState("r", False, problem, remedy), {}
    paths = {"Rscript": rscript}
    output, failure = _run([rscript, *R_FLAGS, str(resource("r_scripts", "check_install.R"))])
    marked = (line.removeprefix(_MARK) for line in output.splitlines() if line.startswith(_MARK))
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
    if _numbers(said["version"]) < _numbers(said["least"]):
        problem = f"R {said['version']} ({rscript}) is older than {said['least']}, the oldest that mirt takes."
        return EngineState("r", False, problem, f"Install R >= {said['least']}.", versions, paths), {}
    packages = {reply[1]: _Package(*reply[2:]) for reply in replies if reply[0] == "package"}
    return EngineState("r", True, "", "", versions, paths), packages


def _elsewhere(package: str, home: str) -> list[str]:
    """Return libraries that hold `package` although R does not look into them."""
    found = (
        p
        for pattern in (*_LIBRARIES, f"{home}/library")
        for p in glob(os.path.expanduser(f"{pattern}/{package}/DESCRIPTION"))
    )
    return sorted({str(Path(p).parents[1]) for p in found})


def _r_package(package: str, apt: str = "") -> EngineState:
    engine, (r, packages) = package.lower(), _ask_r(_environment())
    if not r.available:
        return EngineState(engine, False, f"{package} needs R. {r.problem}", r.remedy, r.versions, r.paths)
    found, r_version, libraries = packages[package], r.versions["R"], r.paths["libraries"]
    versions, paths = dict(r.versions), {"libraries": libraries}
    remedy = f"Run `make setup` in the checkout{apt and f', `apt-get install {apt}`'} or {_R_INSTALL.format(package)}."
    if package == "mirt" and _numbers(r_version) < (4, 5):
        remedy += f" {DERIV_HELP}"
    if found.path:
        versions[package], paths[package] = found.version, found.path
        problem = f"{package} {found.version} in {found.path} (built for R {found.built}) "
        if not found.version:
            problem = f"{package} in {found.path} is damaged: {found.fault}."
            remedy = f"Remove that folder. {remedy}"
        elif _numbers(found.version) < _numbers(found.least):
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


#: As bridge_rpy2 does it; rinterface.initr() would ask a child that runs profiles.
_START_RPY2: Final = f"""
from rpy2 import rinterface
from rpy2.rinterface_lib import embedded
embedded.set_initoptions({RPY2_OPTIONS!r})
rinterface.initr_simple()
print("\\npsychoeval:" + rinterface.evalr("as.character(getRversion())")[0])
"""


def _rpy2() -> EngineState:
    python = _python_packages("rpy2", ("rpy2",))
    r, _ = _ask_r(_environment())
    if not r.available:
        return EngineState("rpy2", False, f"rpy2 needs R. {r.problem}", r.remedy, python.versions, r.paths)
    r_version, versions = r.versions["R"], {**python.versions, **r.versions}
    remedy = f"Run: RPY2_CFFI_MODE=ABI {_pip(repr(rpy2_requirement(r_version)))}. Until then R is reached by Rscript."
    if not python.available:
        return EngineState("rpy2", False, python.problem, remedy, versions, r.paths)
    interface = versions["rpy2"]  # a package of its own since 3.6, whose version counts
    if _numbers(interface) >= (3, 6) and (own := _version("rpy2-rinterface")):
        interface = versions["rpy2-rinterface"] = own
    if _numbers(interface) >= (3, 6, 6) and _numbers(r_version) < (4, 5):
        problem = f"rpy2-rinterface {interface} needs R >= 4.5 (its symbol R_getVar), and this is R {r_version}."
        # Else 3.5, which is one package, would be written over the files of three.
        remedy = f"Run: {sys.executable} -m pip uninstall -y rpy2 rpy2-rinterface rpy2-robjects. {remedy}"
        return EngineState("rpy2", False, problem, remedy, versions, r.paths)
    output, failure = _run([sys.executable, "-c", _START_RPY2], {**rpy2_environment(), **NO_PROFILES})
    started = [line.removeprefix(_MARK) for line in output.splitlines() if line.startswith(_MARK)]
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


def _cmdstan() -> EngineState:
    """Look where cmdstanpy looks, which needs neither it nor the network."""
    python = _python_packages("cmdstan", ("cmdstanpy",))
    folder, problem = _find_cmdstan()
    if python.available and not problem:
        versions = {**python.versions, "cmdstan": _cmdstan_version(folder)}
        return EngineState("cmdstan", True, versions=versions, paths={"cmdstan": str(folder)})
    remedy = (
        f"Run `{sys.executable} -m cmdstanpy.install_cmdstan` (it needs the network and a C++ compiler), or "
        "`conda install -c conda-forge cmdstan`, or point to one that is there: export CMDSTAN=<its folder>."
    )
    said = [text for text in (python.problem, problem) if text]
    remedies = ([] if python.available else [python.remedy]) + ([remedy] if problem else [])
    return EngineState("cmdstan", False, " ".join(said), " ".join(remedies), python.versions)


def _find_cmdstan() -> tuple[Path, str]:
    """Return the folder of CmdStan, or what is wrong."""
    named = os.environ.get("CMDSTAN")
    home = Path("~/.cmdstan").expanduser()
    found = [p for p in home.glob("cmdstan-*") if p.is_dir()]
    if not named and not found:
        return home, f"There is no CmdStan: CMDSTAN is not set, and {home} holds none."
    # Of several the newest, a release after its candidates, as cmdstanpy has it.
    folder = Path(named) if named else max(found, key=lambda p: (_numbers(p.name.split("-")[1]), "-rc" not in p.name))
    where = f"CMDSTAN is set to {folder}, which" if named else f"The CmdStan in {folder}"
    if not folder.is_dir():
        return folder, f"{where} is not a folder."
    if not (folder / "makefile").is_file():
        return folder, f"{where} holds no CmdStan (no makefile)."
    if not any((folder / "bin" / name).is_file() for name in ("stanc", "stanc.exe")):
        return folder, f"{where} is not built (no bin/stanc): run `make build` there."
    return folder, ""


def _cmdstan_version(folder: Path) -> str:
    for line in (folder / "makefile").read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, version = line.partition(":=")
        if name.strip() == "CMDSTAN_VERSION":
            return version.strip()
    return "of unknown version"


_PROBES: dict[str, Callable[[], EngineState]] = {
    "numpy": partial(_python_packages, "numpy", ("psychoeval", "numpy", "scipy", "pandas")),
    "r": lambda: _ask_r(_environment())[0],
    "mirt": partial(_r_package, "mirt"),
    "rpy2": _rpy2,
    "lme4": partial(_r_package, "lme4", "r-cran-lme4"),
    "psych": partial(_r_package, "psych", "r-cran-psych"),
    "erm": partial(_r_package, "eRm"),
    "brms": partial(_r_package, "brms", "r-cran-brms"),
    "stanli": partial(_python_packages, "stanli", ("stanli",)),
    "cmdstan": _cmdstan,
    "pystan": partial(_python_packages, "pystan", ("pystan",)),
    "arviz": partial(_python_packages, "arviz", ("arviz", "arviz-stats")),
    "report": partial(_python_packages, "report", ("matplotlib", "jinja2")),
    "parquet": partial(_python_packages, "parquet", ("pyarrow",)),
}

"""mirt, and what tests need (eRm, equateIRT, catR): from a local folder of R packages, or from repositories R knows."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path

from psychoeval.availability import DERIV_HELP, EngineState
from tools.setup import debian
from tools.setup.steps import LOG, ROOT, SetupError, run, say, show_end

#: Seconds after which a repository of R packages counts as unreachable.
REPOSITORY_LIMIT = 15
_MARK = "psychoeval:"


def install(r: EngineState, package: str = "mirt") -> str:
    """Install `package` for this R; return "" or what kept it from being installed and what helps."""
    rscript, version = r.paths["Rscript"], r.versions["R"]
    folder = local_folder()
    local, is_built = local_repository(folder, debian.release(), version) if folder else (None, False)
    if folder and not local:
        return (
            f"{folder} holds no R repository (src/contrib/PACKAGES). Name another: PSYCHOEVAL_CRAN=<folder> make setup"
        )
    if not is_built and debian.can_use_apt():
        debian.install(["r-base-dev", "cmake"], f"the compilers and cmake, to build what {package} builds on")
    repositories = [local.as_uri()] if local else reachable_repositories(rscript)
    if not repositories:
        return (
            "There is no R repository to take it from. Run PSYCHOEVAL_CRAN=<folder of R packages> make setup, or "
            "make setup again where a repository that R has configured can be reached."
        )
    where = f"{repositories[0]}{'' if is_built else '; building it takes some minutes'}"
    fine, output = _run_r(f"installing {package} for R {version} from {where}", package, rscript, repositories)
    if local and not fine and gap(output):
        say(f"  it builds on {', '.join(gap(output))}: looking into the repositories that R has configured")
        if more := reachable_repositories(rscript):
            fine, output = _run_r(f"installing {package} with those too", package, rscript, repositories + more)
    if fine:
        return ""
    if not gap(output):
        show_end(output)
    return explain(gap(output))


def explain(missing: list[str]) -> str:
    """Return why a package could not be installed and what helps, from the R packages found nowhere."""
    if "Deriv" in missing:
        return DERIV_HELP
    if missing:
        return f"It builds on R packages found nowhere: {', '.join(missing)}. On Debian or Ubuntu: {debian.by_hand()}"
    return f"R could not install it; all that R said is in {LOG.relative_to(ROOT)}."


def local_folder() -> Path | None:
    """Return the folder of R packages that PSYCHOEVAL_CRAN or the default names."""
    if named := os.environ.get("PSYCHOEVAL_CRAN"):
        if not Path(named).is_dir():
            raise SetupError(f"PSYCHOEVAL_CRAN is {named}, which is not a folder. Unset it or name a folder.")
        return Path(named).resolve()
    default = ROOT.parent / "shared" / "cran"
    return default if default.is_dir() else None


def local_repository(folder: Path, release: Mapping[str, str], r_version: str) -> tuple[Path | None, bool]:
    """Return the repository in `folder` that serves this R, and whether its packages are built for it.

    Packages built for another minor version of R or another distribution may load and then crash: they are not taken.
    """
    minor = ".".join(r_version.split(".")[:2])
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    built = f"{release.get('ID', '')}{release.get('VERSION_ID', '')}-r{minor}-{machine}"
    for candidate in (folder / built, folder / "source", folder):
        if (candidate / "src" / "contrib" / "PACKAGES").is_file():
            return candidate, candidate.name == built
    return None, False


def reachable_repositories(rscript: str) -> list[str]:
    """Return those of R's configured repositories that answer in time; say which do not."""
    code = f'cat("\\n", paste0("{_MARK}", getOption("repos"), "\\n"), sep = "")'
    asked = subprocess.run([rscript, "-e", code], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    urls = [line.removeprefix(_MARK) for line in asked.stdout.splitlines() if line.startswith(_MARK)]
    urls = [url for url in urls if url != "@CRAN@"]
    if not urls:
        say("  R has no repository configured (in R: options(repos = ...))")
    return [url for url in urls if _answers(rscript, url)]


def _answers(rscript: str, url: str) -> bool:
    code = "q(status = nrow(suppressWarnings(available.packages(repos = commandArgs(TRUE)))) == 0)"
    try:
        # A process of its own: R's own limit counts anew for each of the three files it tries.
        done = subprocess.run(
            [rscript, "-e", code, url], stdin=subprocess.DEVNULL, capture_output=True, timeout=REPOSITORY_LIMIT
        )
        problem = "could not be reached" if done.returncode else ""
    except subprocess.TimeoutExpired:
        problem = f"did not answer within {REPOSITORY_LIMIT} s"
    if problem:
        say(f"  the R repository {url} {problem}")
    return not problem


def gap(output: str) -> list[str]:
    """Return the R packages that install_package.R found nowhere."""
    return next((line.split("\t")[1:] for line in output.splitlines() if line.startswith(f"{_MARK}gap")), [])


def _run_r(what: str, package: str, rscript: str, repositories: list[str]) -> tuple[bool, str]:
    script = Path(__file__).with_name("install_package.R")
    return run(what, [rscript, str(script), package, *repositories], {"MAKEFLAGS": f"-j{os.cpu_count() or 1}"})

"""Environments of the peers, made when one is asked for, under ``benchmarks/.environments`` (not in git)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tools.setup import debian
from tools.setup.mirt import local_folder, local_repository

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "benchmarks" / ".environments"

#: One thread for every library that starts its own; `threads` of `one_thread` says otherwise.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
    "RCPP_PARALLEL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class NotThere(Exception):
    """A peer cannot run here; the message is a sentence for the table."""


def one_thread(**more: str) -> dict[str, str]:
    """Return this process's environment with every library held to one thread."""
    xla = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return {**os.environ, **dict.fromkeys(_THREADS, "1"), "XLA_FLAGS": xla, "JAX_PLATFORMS": "cpu", **more}


def python_with(requirement: str) -> list[str]:
    """Return the Python of an environment that holds `requirement` (``name==version``), made if there is none.

    Raises
    ------
    NotThere
        If it cannot be installed.
    """
    folder = CACHE / requirement.replace("==", "-")
    python, stamp = folder / "bin" / "python", folder / "installed"
    if not stamp.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        _say(f"installing {requirement} into {folder.relative_to(ROOT)}")
        venv, install = (
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "-q", requirement],
        )
        for command in (venv, install):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                raise NotThere(f"{requirement} could not be installed from the package index ({reason}).")
        stamp.write_text(requirement)
    return [str(python)]


@cache
def rscript_with(package: str) -> tuple[list[str], dict[str, str]]:
    """Return the command of an R that loads `package`, and what its environment needs besides.

    The user's R library comes first; then one of our own, filled from the local folder of R packages where there is one
    (PSYCHOEVAL_CRAN, or ``../shared/cran``).

    Raises
    ------
    NotThere
        If R or the package is missing and cannot be had.
    """
    rscript = shutil.which("Rscript")
    if rscript is None:
        raise NotThere("R is not installed.")
    library = CACHE / "r-library"
    more = {"R_LIBS": os.pathsep.join(filter(None, [os.environ.get("R_LIBS", ""), str(library)]))}
    if _loads(rscript, package, more):
        return [rscript], more
    library.mkdir(parents=True, exist_ok=True)
    folder = local_folder()
    version = _output(rscript, "cat(as.character(getRversion()))", more)
    repository = local_repository(folder, debian.release(), version)[0] if folder else None
    if repository is None:
        raise NotThere(f"R's {package} is not installed, and there is no local folder of R packages to take it from.")
    _say(f"installing R's {package} into {library.relative_to(ROOT)}")
    _output(rscript, f"install.packages('{package}', '{library}', '{repository.as_uri()}', type = 'source')", more)
    if not _loads(rscript, package, more):
        raise NotThere(
            f"R's {package} was installed but does not load: what it builds on is missing. On Debian or Ubuntu: "
            "apt-get install r-cran-admisc r-cran-mvtnorm r-cran-polycor"
        )
    return [rscript], more


def _loads(rscript: str, package: str, more: dict[str, str]) -> bool:
    return _output(rscript, f"cat(requireNamespace('{package}', quietly = TRUE))", more) == "TRUE"


def _output(rscript: str, code: str, more: dict[str, str]) -> str:
    done = subprocess.run(
        [rscript, "-e", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**os.environ, **more}
    )
    return done.stdout.strip()


def _say(text: str) -> None:
    print(f"benchmark: {text}", file=sys.stderr, flush=True)

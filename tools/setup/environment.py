"""The virtual environment .venv: psychoeval itself, its extras, and the rpy2 that this R can load."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys

from psychoeval.availability import EngineState, rpy2_requirement
from tools.setup import debian
from tools.setup.steps import ROOT, VENV, SetupError, run_or_show

PYTHON = VENV / "bin" / "python"
STAMP = VENV / "setup.stamp"
EXTRAS = "report,parquet,logs,bayes,pystan,dev"
#: What set-up does not bring, and so does not miss.
NOT_BROUGHT = ("cmdstan",)

_DOCTOR = """
import dataclasses, json
from psychoeval.availability import doctor
print(json.dumps([dataclasses.asdict(state) for state in doctor()]))
"""


def fingerprint() -> str:
    """Return what the installed package depends on: its declaration, this Python, the place of the checkout."""
    parts = [(ROOT / "pyproject.toml").read_bytes(), str(ROOT).encode(), sys.version.encode(), EXTRAS.encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def is_current() -> bool:
    """Return whether .venv is what a run of this set-up left."""
    return PYTHON.exists() and STAMP.is_file() and STAMP.read_text() == fingerprint()


def install_package() -> None:
    """Make .venv unless there is one that runs, and install psychoeval with its extras."""
    if not PYTHON.exists() or subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True).returncode:
        _make_venv()
    if not _pip("psychoeval and its extras", "--editable", f"{ROOT}[{EXTRAS}]"):
        raise SetupError("pip could not install psychoeval (see above); it needs a package index that it can reach.")
    STAMP.write_text(fingerprint())


def install_rpy2(r_version: str) -> None:
    """Install the rpy2 that fits, in place of any other."""
    # Since 3.6 rpy2 is three packages, and 3.5 writes over the files of two of them.
    subprocess.run(
        [PYTHON, "-m", "pip", "uninstall", "-q", "-y", "rpy2-rinterface", "rpy2-robjects"], capture_output=True
    )
    requirement = rpy2_requirement(r_version)
    _pip(f"{requirement} for R {r_version}", requirement)


def engines() -> dict[str, EngineState]:
    """Return the states of all engines as .venv sees them, without those not there that it does not bring."""
    done = subprocess.run([PYTHON, "-c", _DOCTOR], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SetupError(f"psychoeval does not run in .venv. Remove .venv and try again.\n{done.stderr}")
    states = [EngineState(**state) for state in json.loads(done.stdout)]
    return {state.engine: state for state in states if state.available or state.engine not in NOT_BROUGHT}


def _make_venv() -> None:
    if importlib.util.find_spec("ensurepip") is None:  # Debian keeps it in a package of its own
        package = f"python3.{sys.version_info.minor}-venv"
        if not (debian.can_use_apt() and debian.install([package], package)):
            command = f"sudo apt-get install {package}"
            raise SetupError(f"{sys.executable} cannot make virtual environments. On Debian or Ubuntu: {command}")
    if not run_or_show("making .venv", [sys.executable, "-m", "venv", "--clear", str(VENV)]):
        raise SetupError("python -m venv failed (see above).")


def _pip(what: str, *arguments: str) -> bool:
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    # With rpy2's API build, pip fails where gcc is there and R's headers or libblas are not.
    return run_or_show(f"pip install {what}", command, {"RPY2_CFFI_MODE": "ABI"})

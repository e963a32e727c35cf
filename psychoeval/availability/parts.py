"""What the probes of all engines share: the state that they return, versions of packages, child processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Final

#: Variables kept from R. R_HOME: R's front end sets its own and complains about another. R_TESTS names a file that R
#: would run.
R_UNWANTED: Final = ("R_HOME", "R_TESTS", "R_DEFAULT_PACKAGES")
#: Seconds allowed to a child that probes. A cold disk takes ten of them.
TIME_LIMIT: Final = 60.0
#: Of what a child said before it failed; R's very last one is often no more than "Execution halted".
LAST_LINES: Final = 6
#: What decides which R, libraries and packages are found; a change makes the probes run again.
ENVIRONMENT: Final = (
    "PATH", "HOME", "R_HOME", "R_LIBS", "R_LIBS_USER", "R_LIBS_SITE", "R_ENVIRON", "R_ENVIRON_USER",
    "RPY2_CFFI_MODE", "LD_LIBRARY_PATH", "TMPDIR", "CMDSTAN",
)  # fmt: skip


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


def environment() -> tuple[str | None, ...]:
    """Return the values of the variables that decide what is found."""
    return tuple(os.environ.get(name) for name in ENVIRONMENT)


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, to be compared."""
    return tuple(int(part) for part in version.replace("-", ".").split(".") if part.isdigit())


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[str, str]:
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


def python_packages(engine: str, packages: Sequence[str]) -> EngineState:
    """Return the state of an engine that consists of Python packages."""
    versions = {"python": sys.version.split()[0]} if engine == "numpy" else {}
    versions |= {name: version for name in packages if (version := installed_version(name))}
    missing = [name for name in packages if name not in versions]
    if not missing:
        return EngineState(engine, True, versions=versions, paths={"python": sys.executable})
    problem = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed in {sys.prefix}."
    return EngineState(engine, False, problem, f"Run: {pip(*missing)}.", versions)


def installed_version(package: str) -> str:
    """Return the version of a Python package, "" where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def pip(*packages: str) -> str:
    """Return the command that installs Python packages."""
    return f"{sys.executable} -m pip install {' '.join(packages)}"

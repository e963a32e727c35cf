"""CmdStan: looked for where cmdstanpy looks, which needs neither it nor the network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from psychoeval.availability import parts
from psychoeval.availability.parts import EngineState, numbers, python_packages


def cmdstan() -> EngineState:
    """Return the state of CmdStan."""
    python = python_packages("cmdstan", ("cmdstanpy",))
    folder, problem = _find_cmdstan()
    if python.available and not problem:
        versions = {**python.versions, "cmdstan": _cmdstan_version(folder)}
        return EngineState("cmdstan", True, versions=versions, paths={"cmdstan": str(folder)})
    remedies = [] if python.available else [python.remedy]
    if problem:
        remedies.append(
            f"{'Run' if python.available else 'Then run'} `{sys.executable} -m cmdstanpy.install_cmdstan` (it needs "
            "the network and a C++ compiler), or `conda install -c conda-forge cmdstan`, or point to one that is "
            "there: export CMDSTAN=<its folder>."
        )
        if parts.installed_version("stanli"):
            remedies.append('Without it stan-hmc takes stanli, which is here (backend="auto").')
    said = [text for text in (python.problem, problem) if text]
    return EngineState("cmdstan", False, " ".join(said), " ".join(remedies), python.versions)


def _find_cmdstan() -> tuple[Path, str]:
    """Return the folder of CmdStan, or what is wrong."""
    named = os.environ.get("CMDSTAN")
    home = Path("~/.cmdstan").expanduser()
    found = [p for p in home.glob("cmdstan-*") if p.is_dir()]
    if not named and not found:
        return home, f"There is no CmdStan: CMDSTAN is not set, and {home} holds none."
    # Of several the newest, a release after its candidates, as cmdstanpy has it.
    folder = Path(named) if named else max(found, key=lambda p: (numbers(p.name.split("-")[1]), "-rc" not in p.name))
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

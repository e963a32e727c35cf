"""The programs that are compared, and how to start each."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.native.environments import ROOT, NotThere, one_thread, python_with, rscript_with
from psychoeval.registry import REGISTRY

_PEERS = Path(__file__).with_name("peers")


@dataclass(frozen=True, slots=True)
class Program:
    """One program with its settings.

    Parameters
    ----------
    key : str
        What ``--peers`` calls it.
    label : str
        What the table calls it.
    script : str
        Of ``peers/``.
    needs : str
        ``""`` (this project), ``"R:package"`` or ``"name==version"`` on PyPI.
    settings : mapping
        For the script.
    """

    key: str
    label: str
    script: str
    needs: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether it is of this project."""
        return not self.needs

    def command(self) -> tuple[list[str], dict[str, str]]:
        """Return the command (the job's folder goes last) and its environment.

        Raises
        ------
        NotThere
            If the program is not here and cannot be had; a sentence says why.
        """
        script, more = str(_PEERS / self.script), {}
        if self.is_ours:
            name = self.settings["estimator"]
            if name not in REGISTRY:
                raise NotThere(f"psychoeval has no estimator {name!r} yet.")
            start, more = [sys.executable], {"PYTHONPATH": str(ROOT)}
        elif self.needs.startswith("R:"):
            start, more = rscript_with(self.needs.removeprefix("R:"))
        else:
            start = python_with(self.needs)
        return [*start, script], one_thread(**more)


PROGRAMS = {
    program.key: program
    for program in (
        Program("mml", "mml", "own.py", settings={"estimator": "mml", "n_threads": 1}),
        Program(
            "mml-none",
            "mml, no priors, any sign",
            "own.py",
            settings={"estimator": "mml", "priors": "none", "slopes": "free", "n_threads": 1},
        ),
        Program("random-item", "random-item", "own.py", settings={"estimator": "random-item"}),
        Program("vi", "vi", "own.py", settings={"estimator": "vi"}),
        Program("map", "map", "own.py", settings={"estimator": "map"}),
        Program("r-mirt", "R mirt", "mirt.R", "R:mirt"),
        Program("r-mirt-fine", "R mirt, 241 nodes", "mirt.R", "R:mirt", {"quadpts": 241, "NCYCLES": 5000}),
        Program("tam", "R TAM", "tam.R", "R:TAM"),
        Program("pypi-mirt", "PyPI mirt 1.2.0", "pypi_mirt.py", "mirt==1.2.0"),
        Program("theta-irt", "theta-irt 0.1.1", "theta_irt.py", "theta-irt==0.1.1"),
        Program("girth", "girth 0.8.0", "girth_mml.py", "girth==0.8.0"),
    )
}

"""A Python that has psychoeval and what it must have, without any extra: links to what is installed here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def needed(package: str, found: set[str] | None = None) -> set[str]:
    """Return the distributions that one needs, itself among them, extras left out."""
    found = set() if found is None else found
    try:
        distribution = metadata.distribution(package)
    except metadata.PackageNotFoundError:  # for another platform or Python
        return found
    if distribution.name in found:
        return found
    found.add(distribution.name)
    for requirement in distribution.requires or ():
        name, _, condition = requirement.partition(";")
        match = re.match(r"[\w.-]+", name)
        if "extra" not in condition and match:
            needed(match[0], found)
    return found


def make_site(folder: Path) -> Path:
    """Fill `folder` with links to psychoeval and what it needs, and return it."""
    for name in needed("psychoeval"):
        distribution = metadata.distribution(name)
        tops = {Path(str(file)).parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
        for top in tops:
            source = Path(str(distribution.locate_file(top)))
            if source.exists() and source.suffix != ".pth" and not source.name.startswith("__editable__"):
                (folder / top).symlink_to(source)
    if not (folder / "psychoeval").exists():
        (folder / "psychoeval").symlink_to(ROOT / "psychoeval")
    return folder


def run(site: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with that site and no other, and with no R but what `environment` names."""
    base = {k: v for k, v in os.environ.items() if not k.startswith(("R_", "RPY2_", "PYTHON", "PSYCHOEVAL_"))}
    variables: Mapping[str, str] = {**base, "PYTHONPATH": str(site), **environment}
    command = [sys.executable, "-S", "-P", *arguments]
    return subprocess.run(command, env=dict(variables), cwd=site, capture_output=True, text=True, timeout=120)

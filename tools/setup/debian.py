"""What apt can bring: Debian's R, the R packages that Debian has, a compiler, Python's venv."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping

from tools.setup.steps import ROOT, run, run_or_show, say

R_PACKAGES = ROOT / "r_scripts" / "debian-packages.txt"


def release() -> Mapping[str, str]:
    """Return what /etc/os-release says, or nothing where there is none."""
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def can_use_apt() -> bool:
    """Return whether this is root on Debian, Ubuntu or a relative of theirs."""
    family = {release().get("ID", ""), *release().get("ID_LIKE", "").split()}
    return os.geteuid() == 0 and shutil.which("apt-get") is not None and bool(family & {"debian", "ubuntu"})


def r_packages() -> list[str]:
    """Return the names in r_scripts/debian-packages.txt."""
    lines = R_PACKAGES.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def by_hand() -> str:
    """Return the command that brings R and its packages, for those who have to ask root."""
    file = R_PACKAGES.relative_to(ROOT)
    return f"sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends $(grep -v ^# {file})'"


def install(packages: Iterable[str], what: str) -> bool:
    """Install those packages that this distribution has and that are not installed."""
    installed = _lines("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n")
    wanted = [name for name in packages if f"{name} installed" not in installed]
    if not wanted:
        return True
    _update()
    known = _lines("apt-cache", "pkgnames")
    if unknown := [name for name in wanted if name not in known]:
        say(f"  this distribution does not have {', '.join(unknown)}")
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=600"]
    command += [name for name in wanted if name in known]
    return run_or_show(f"apt-get install {what}", command, {"DEBIAN_FRONTEND": "noninteractive"})


def _update() -> None:
    for _ in range(10):  # apt waits for dpkg's lock, not for the one on its lists
        fine, output = run("apt-get update", ["apt-get", "update", "-qq"])
        if fine or "lock" not in output:
            return
        time.sleep(10)


def _lines(*command: str) -> set[str]:
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())

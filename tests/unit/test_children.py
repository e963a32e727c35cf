"""Children of children: none outlives Python, whatever ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from psychoeval.availability import R_FLAGS, require
from tests.gates import needs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")

#: Runs argv[2:] as a child and waits for it; says when it runs.
PARENT = """
import os, sys
from pathlib import Path
from psychoeval.children import running
folder = Path(sys.argv[1])
with running(sys.argv[2:], folder / "console", folder, dict(os.environ), "R") as process:
    (folder / "leader").write_text(str(process.pid))
    sys.exit(process.wait())
"""


def gone(pid: int) -> bool:
    try:
        # A killed orphan may wait for whoever adopted it to read its status.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def soon(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def group_of(leader: int) -> list[int]:
    """Return the processes of a group that are alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


class Family:
    """A Python that waits for a child with children of its own, which write their numbers to files."""

    def __init__(self, folder: Path, *command: str) -> None:
        self.folder = folder
        self.parent = subprocess.Popen([sys.executable, "-c", PARENT, str(folder), *command])

    def wait_for(self, grandchildren: int) -> list[int]:
        def numbers() -> list[int]:
            return [int(p.read_text() or 0) for p in self.folder.glob("grandchild-*") if p.read_text().strip()]

        assert soon(lambda: len(numbers()) == grandchildren), (self.folder / "console").read_text()
        return [int((self.folder / "leader").read_text()), *numbers()]

    def end(self) -> None:
        if self.parent.poll() is None:
            self.parent.kill()
        self.parent.wait()
        for pid in group_of(int((self.folder / "leader").read_text())):  # where a test failed
            os.kill(pid, signal.SIGKILL)


SHELL = "for k in 1 2; do sleep 300 & echo $! > grandchild-$k; done; wait"


@pytest.mark.parametrize("ended", ["python", "leader"])
def test_grandchildren_end_too(tmp_path: Path, ended: str) -> None:
    family = Family(tmp_path, "/bin/sh", "-c", SHELL)
    try:
        pids = family.wait_for(2)
        os.kill(family.parent.pid if ended == "python" else pids[0], signal.SIGKILL)
        assert soon(lambda: all(map(gone, pids)))
        assert soon(lambda: not group_of(pids[0]))  # the one that watched included
    finally:
        family.end()


def test_a_normal_end_leaves_nothing_and_keeps_the_status(tmp_path: Path) -> None:
    family = Family(tmp_path, "/bin/sh", "-c", "sleep 300 & echo $! > grandchild-1; exit 7")
    assert family.parent.wait(20) == 7
    leader, grandchild = family.wait_for(1)
    assert soon(lambda: gone(grandchild))
    assert soon(lambda: not group_of(leader))


@needs("r")
def test_parallel_chains_of_r_end_when_python_is_killed(tmp_path: Path) -> None:
    rscript = require("r").paths["Rscript"]
    code = (
        "done <- parallel::mclapply(1:2, function(k) { writeLines(as.character(Sys.getpid()), "
        'paste0("grandchild-", k)); Sys.sleep(300) }, mc.cores = 2, mc.preschedule = FALSE)'
    )
    family = Family(tmp_path, rscript, *R_FLAGS, "-e", code)
    try:
        pids = family.wait_for(2)
        family.parent.kill()
        assert soon(lambda: all(map(gone, pids)))
        assert soon(lambda: not group_of(pids[0]))
    finally:
        family.end()

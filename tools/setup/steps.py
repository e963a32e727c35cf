"""Run the commands of set-up, one line each on the screen and all they print in a log."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
LOG = VENV / "setup.log"


class SetupError(Exception):
    """Set-up cannot go on; the message says what to do."""


def say(text: str) -> None:
    """Print a line about set-up at once."""
    print(f"setup: {text}", flush=True)


def run(what: str, command: list[str], environment: Mapping[str, str] | None = None) -> tuple[bool, str]:
    """Run a command; return whether it succeeded, and what it printed."""
    say(what)
    start = time.monotonic()
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
    )
    seconds = time.monotonic() - start
    VENV.mkdir(exist_ok=True)
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"$ {shlex.join(command)}\n{done.stdout}[status {done.returncode}, {seconds:.1f} s]\n\n")
    say(f"  {'done' if done.returncode == 0 else 'FAILED'} in {seconds:.0f} s")
    return done.returncode == 0, done.stdout


def run_or_show(what: str, command: list[str], environment: Mapping[str, str] | None = None) -> bool:
    """Run a command; if it fails, show the end of what it printed and return False."""
    fine, output = run(what, command, environment)
    if not fine:
        show_end(output)
    return fine


def show_end(output: str, lines: int = 15) -> None:
    """Print the last lines of an output, indented."""
    print("\n".join(f"    {line}" for line in output.rstrip().splitlines()[-lines:]), flush=True)

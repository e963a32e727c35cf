"""The line that says how far chains are: on a terminal only, rewritten in place, gone in the end."""

from __future__ import annotations

import io
import os
import re
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from psychoeval.estimators.progress import ChainLine, shown_by
from tests.gates import needs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in place of stderr; in the test itself, since pytest puts its own there before each phase."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("psychoeval.estimators.progress.time.monotonic", lambda: now[0])
    return now


def test_the_line_says_chain_iteration_and_seconds_left(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    terminal = on_terminal(monkeypatch)
    with ChainLine("stan-hmc", 2) as line:
        line.stage("compiling the program")
        line.iteration(1, 1, 1000)
        clock[0] = 10.0
        line.iteration(1, 401, 1000)  # 40 a second, and 1599 are left
        clock[0] = 25.0
        line.iteration(1, 1000, 1000)
    assert terminal.getvalue().split("\r\x1b[K")[1:] == [
        "stan-hmc: compiling the program",
        "stan-hmc: chain 1 1/1000",
        "stan-hmc: about 40 s left; chain 1 401/1000",
        "stan-hmc: about 25 s left; 1 of 2 chains done",
        "",  # gone
    ]
    assert "\n" not in terminal.getvalue()


def test_it_is_no_longer_than_the_terminal_is_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "30")
    with ChainLine("brms", 1) as line:
        line.stage("x" * 100)
    assert terminal.getvalue().split("\r\x1b[K")[1] == "brms: " + "x" * 23


def test_nothing_is_said_where_there_is_no_terminal_or_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with ChainLine("brms", 1, wanted=False) as line:
        line.stage("sampling")
    monkeypatch.setenv("TERM", "dumb")
    with ChainLine("brms", 1) as line:
        line.stage("sampling")
    assert terminal.getvalue() == ""
    monkeypatch.setenv("TERM", "xterm")
    for stream in (None, pipe := io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with ChainLine("brms", 1) as line:
            line.stage("sampling")
    assert pipe.getvalue() == ""


def test_of_two_runs_the_first_has_the_line_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with ChainLine("one", 1) as one:
        with ChainLine("two", 1) as two:
            two.stage("waits")
            one.stage("runs")
        one.stage("runs on")
    with pytest.raises(ZeroDivisionError), ChainLine("three", 1):
        raise ZeroDivisionError
    with ChainLine("four", 1) as four:
        four.stage("runs")
    assert re.findall(r"[a-z]+: [a-z ]+", terminal.getvalue()) == ["one: runs", "one: runs on", "four: runs"]


def test_another_can_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    seen: list[tuple[str, str]] = []
    with shown_by(lambda name, text: seen.append((name, text))), ChainLine("one", 1) as line, ChainLine("two", 1):
        line.stage("runs")
    assert seen == [("one", "runs"), ("two", ""), ("one", "")]
    assert terminal.getvalue() == ""


RUN = """
import sys
from psychoeval import fit
from psychoeval.responses.matrix import Responses
x = Responses.from_array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
fit(x, "stan-hmc", model="Rasch", chains=2, warmup=1_000_000)
"""


@needs("stanli")
@pytest.mark.skipif(sys.platform != "linux", reason="tried on Linux's pseudo-terminals")
def test_ctrl_c_in_a_terminal_returns_at_once_and_says_what_was_stopped(tmp_path: Path) -> None:
    import pty

    child, screen = pty.fork()
    if child == 0:
        # Python 3.13 colors tracebacks.
        surroundings = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
        os.execve(sys.executable, [sys.executable, "-W", "ignore", "-c", RUN], surroundings)
    said, sent, end = b"", 0.0, time.monotonic() + 60
    try:
        while time.monotonic() < end:
            if not select.select([screen], [], [], 0.1)[0]:
                continue
            try:
                new = os.read(screen, 65536)
            except OSError:  # the other side is closed
                break
            if not new:
                break
            said += new
            if not sent and re.search(rb"chain 1 \d\d+/1001000", said):
                sent = time.monotonic()
                os.write(screen, b"\x03")
    finally:
        took = time.monotonic() - sent
        os.close(screen)
        if not sent:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert sent
    assert took < 2.0  # .1 s measured
    text = said.decode()
    assert "\r\x1b[KTraceback" in text.replace("^C", "")  # the line is gone before anything else is printed
    assert re.search(r"KeyboardInterrupt: Stan was stopped \(chain 1: warmup \d+/1001000, chain 2: ", text)

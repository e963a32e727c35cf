"""The child process, with programs in R's place."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from psychoeval.availability import EngineState
from psychoeval.children import allow_children, stop_children
from psychoeval.errors import EngineFailedError, FitTimeoutError
from psychoeval.rbridge import bridge_rscript
from psychoeval.rbridge.bridge_rscript import RscriptBridge


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture(autouse=True)
def allowed() -> Iterator[None]:
    yield
    allow_children()


def pretend(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> None:
    """Put a shell script in Rscript's place."""
    program = folder / "Rscript"
    program.write_text("#!/bin/sh\n" + textwrap.dedent(body))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(
        bridge_rscript, "require", lambda engine: EngineState(engine, True, paths={"Rscript": str(program)})
    )


def call(timeout: float | None = None) -> None:
    RscriptBridge().call(Path("job.R"), "run", {"x": 1.0}, timeout=timeout)


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie has)."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def written(path: Path) -> int:
    """Wait for a number in a file."""
    for _ in range(200):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.05)
    raise AssertionError(f"{path} was not written")


def test_exit_status_and_last_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path) -> None:
    pretend(monkeypatch, tmp_path, "echo no such package >&2; exit 3")
    with pytest.raises(EngineFailedError, match=r"(?s)exit status 3.*no such package"):
        call()
    assert list(temporary.iterdir()) == []


def test_a_reply_that_is_missing_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend(monkeypatch, tmp_path, "exit 0")
    with pytest.raises(EngineFailedError, match="without an answer"):
        call()


def test_killed_by_a_signal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path) -> None:
    pretend(monkeypatch, tmp_path, "echo cycle 7; kill -KILL $$")
    with pytest.raises(EngineFailedError, match=r"(?s)SIGKILL.*memory.*cycle 7"):
        call()
    assert list(temporary.iterdir()) == []


def test_time_limit_kills_the_child_and_its_children(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path
) -> None:
    pretend(monkeypatch, tmp_path, f"sleep 300 & echo $! > {tmp_path}/grandchild; echo $$ > {tmp_path}/child; wait")
    with pytest.raises(FitTimeoutError, match="within 1 s"):
        call(timeout=1.0)
    assert gone(written(tmp_path / "child"))
    assert gone(written(tmp_path / "grandchild"))
    assert list(temporary.iterdir()) == []


def test_children_left_after_a_normal_end_are_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend(monkeypatch, tmp_path, f"sleep 300 & echo $! > {tmp_path}/grandchild; exit 1")
    with pytest.raises(EngineFailedError):
        call()
    assert gone(written(tmp_path / "grandchild"))


def test_stop_children_from_another_thread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend(monkeypatch, tmp_path, f"echo $$ > {tmp_path}/child; exec sleep 300")
    failures: list[Exception] = []

    def work() -> None:
        try:
            call()
        except EngineFailedError as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    child = written(tmp_path / "child")
    stop_children()
    thread.join(20)
    assert len(failures) == 1
    assert gone(child)


def test_after_a_stop_no_child_starts_until_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path
) -> None:
    pretend(monkeypatch, tmp_path, f"touch {tmp_path}/started; exit 3")
    stop_children()
    with pytest.raises(EngineFailedError, match="was not started"):
        call()
    assert not (tmp_path / "started").exists()
    allow_children()
    with pytest.raises(EngineFailedError, match="exit status 3"):
        call()
    assert (tmp_path / "started").exists()


def test_a_stop_while_the_job_is_written_comes_in_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path
) -> None:
    pretend(monkeypatch, tmp_path, f"touch {tmp_path}/started; exit 3")
    monkeypatch.setattr(bridge_rscript, "_write", lambda path, job: stop_children())
    with pytest.raises(EngineFailedError, match="was not started"):
        call()
    assert not (tmp_path / "started").exists()
    assert list(temporary.iterdir()) == []


def test_no_room_for_the_job_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path) -> None:
    def full(path: Path, job: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    pretend(monkeypatch, tmp_path, "exit 3")
    monkeypatch.setattr(bridge_rscript, "_write", full)
    with pytest.raises(EngineFailedError, match=f"{temporary}.*No space left on device.*TMPDIR"):
        call()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo 'Error in saveRDS(reply) :'; echo '  error writing to connection'; exit 1", "no room for its answer"),
        (': > "${9}"', "cut short or damaged"),  # R does not always notice
    ],
)
def test_no_room_for_the_answer_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path, body: str, said: str
) -> None:
    pretend(monkeypatch, tmp_path, body)
    with pytest.raises(EngineFailedError, match=said) as caught:
        call()
    assert "TMPDIR" in caught.value.remedy


def test_a_temporary_folder_that_is_gone_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path
) -> None:
    pretend(monkeypatch, tmp_path, "exit 3")
    temporary.rmdir()
    with pytest.raises(EngineFailedError, match=f"{temporary}.*TMPDIR"):
        call()


def test_lines_are_passed_on_while_r_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    heard: list[tuple[str, bool]] = []
    pretend(monkeypatch, tmp_path, f"echo one; echo two >&2; sleep 1; touch {tmp_path}/end; printf last; exit 3")
    bridge = RscriptBridge(listen=lambda line: heard.append((line, (tmp_path / "end").exists())))
    with pytest.raises(EngineFailedError, match="exit status 3"):
        bridge.call(Path("job.R"), "run", {"x": 1.0}, timeout=20)
    assert heard == [("one", False), ("two", False), ("last", True)]


def test_the_time_limit_holds_while_listening(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend(monkeypatch, tmp_path, f"echo $$ > {tmp_path}/child; echo one; exec sleep 300")
    heard: list[str] = []
    with pytest.raises(FitTimeoutError, match=r"within 0\.6 s"):
        RscriptBridge(listen=heard.append).call(Path("job.R"), "run", {"x": 1.0}, timeout=0.6)
    assert heard == ["one"]
    assert gone(written(tmp_path / "child"))


def test_hostile_environment_does_not_reach_the_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend(monkeypatch, tmp_path, f"env > {tmp_path}/env; echo $@ > {tmp_path}/arguments; exit 1")
    monkeypatch.setenv("R_HOME", "/nonexistent")
    monkeypatch.setenv("R_TESTS", "evil.R")
    with pytest.raises(EngineFailedError):
        call()
    environment = (tmp_path / "env").read_text().splitlines()
    assert not [line for line in environment if line.startswith(("R_HOME=", "R_TESTS="))]
    flags = (tmp_path / "arguments").read_text().split()
    assert {"--no-site-file", "--no-init-file", "--no-restore"} <= set(flags)


_FIT = """
import sys
from pathlib import Path
from psychoeval.availability import EngineState
from psychoeval.rbridge import bridge_rscript
bridge_rscript.require = lambda engine: EngineState(engine, True, paths={"Rscript": sys.argv[1]})
bridge_rscript.RscriptBridge().call(Path("job.R"), "run", {"x": 1.0})
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_child_outlives_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path, number: signal.Signals
) -> None:
    if number == signal.SIGKILL and sys.platform != "linux":
        pytest.skip("only Linux ends a child with its parent")
    pretend(monkeypatch, tmp_path, f"echo $$ > {tmp_path}/child; exec sleep 300")
    command = [sys.executable, "-c", _FIT, str(tmp_path / "Rscript")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(temporary)}) as process:
        child = written(tmp_path / "child")
        os.kill(process.pid, number)
        _, errors = process.communicate(timeout=20)
    assert gone(child)
    if number == signal.SIGINT:
        assert b"KeyboardInterrupt" in errors
        assert list(temporary.iterdir()) == []

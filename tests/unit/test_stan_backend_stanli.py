"""stanli in child processes: its draws, and all that can go wrong."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from psychoeval import children
from psychoeval.errors import EngineFailedError, EngineWarning, FitTimeoutError, SettingsError
from psychoeval.estimators.stan import size
from psychoeval.estimators.stan.backend_stanli import StanliBackend
from tests.gates import needs
from tests.stan_programs import EIGHT_SCHOOLS, EIGHT_SCHOOLS_DATA, NORMAL_DATA, TWO_MAXIMA, endless, job

pytestmark = needs("stanli")

sample = StanliBackend().sample


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give temporary files a folder of their own, with a space in its path, that must be empty in the end."""
    folder = tmp_path / "temporary files"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    children.allow_children()
    assert list(folder.iterdir()) == []


def child_ids() -> list[int]:
    return [process.pid for process in children._running]


def ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_what_comes_back(tmp_path: Path) -> None:
    sampled = sample(job(tmp_path, chains=3, samples=40))
    assert {name: array.shape for name, array in sampled.values.items()} == {"mu": (3, 40), "cells": (3, 40, 2, 3)}
    assert sampled.values["cells"][2, 39].tolist() == [[11, 12, 13], [21, 22, 23]]
    assert {name: (array.shape, array.dtype.kind) for name, array in sampled.sample_stats.items()} == {
        "lp": ((3, 40), "f"),
        "acceptance_rate": ((3, 40), "f"),
        "step_size": ((3, 40), "f"),
        "tree_depth": ((3, 40), "i"),
        "n_steps": ((3, 40), "i"),
        "diverging": ((3, 40), "b"),
        "energy": ((3, 40), "f"),
    }
    assert sampled.chain_numbers == (1, 2, 3)
    assert sampled.failed == {}
    assert sampled.return_codes == {1: 0, 2: 0, 3: 0}
    assert sampled.versions["stanli"].startswith("0.")
    assert min(sampled.warmup_seconds + sampled.sampling_seconds) >= 0
    assert "chain 3:\n" in sampled.console


def test_the_posterior_that_is_known(tmp_path: Path) -> None:
    sampled = sample(job(tmp_path, warmup=500, samples=2000))
    precision = NORMAL_DATA["N"] + 1 / NORMAL_DATA["s"] ** 2
    mu = sampled.values["mu"]
    # NUTS in one dimension: an effective draw for each four is less than it reaches.
    error = 4 * np.sqrt(1 / precision / (mu.size / 4))
    assert mu.mean() == pytest.approx(sum(NORMAL_DATA["y"]) / precision, abs=error)
    assert mu.var() * precision == pytest.approx(1, abs=4 * np.sqrt(2 / (mu.size / 4)))


def test_draws_do_not_depend_on_how_many_run_at_once(tmp_path: Path) -> None:
    import stanli

    settings: dict[str, Any] = {"data": EIGHT_SCHOOLS_DATA, "chains": 3}
    one, two = (sample(job(tmp_path, EIGHT_SCHOOLS, "schools", n_jobs=n, **settings)) for n in (1, 2))
    whole = stanli.Model(stan_code=EIGHT_SCHOOLS, data=EIGHT_SCHOOLS_DATA).sample(
        chains=3, seed=4, warmup=100, samples=50, refresh=0
    )
    for name in ("mu", "tau", "z", "theta"):
        np.testing.assert_array_equal(one.values[name], two.values[name])
        np.testing.assert_array_equal(one.values[name], whole.draws(name))
    np.testing.assert_array_equal(one.sample_stats["energy"], whole.sampler_stats[:, :, 6])
    assert len(np.unique(one.values["mu"][:, 0])) == 3


def test_each_chain_starts_where_it_is_told(tmp_path: Path) -> None:
    sampled = sample(job(tmp_path, TWO_MAXIMA, "two", inits=({"x": 99.0}, {"x": np.array(-101.0)})))
    np.testing.assert_allclose(sampled.values["x"].mean(axis=1), [100, -100], atol=2)


def test_progress_is_told_and_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    events: list[tuple[str, str]] = []
    sample(job(tmp_path, n_jobs=1, progress=lambda label, event: events.append((label, event))))
    assert [e for e in events if e[1] in ("start", "done")] == [
        ("chain 1", "start"), ("chain 1", "done"), ("chain 2", "start"), ("chain 2", "done"),
    ]  # fmt: skip
    assert ("chain 2", "sampling 150/150") in events
    assert capfd.readouterr() == ("", "")


def test_progress_comes_while_a_chain_runs(tmp_path: Path) -> None:
    seen: list[str] = []

    def progress(label: str, event: str) -> None:
        seen.append(event)
        if re.fullmatch(r"warmup \d+/\d+", event):
            raise StopIteration

    with pytest.raises(StopIteration):
        sample(endless(tmp_path, progress=progress))
    assert seen[-1].endswith("/100000050")


def test_a_time_limit_ends_the_chains(tmp_path: Path) -> None:
    pids: set[int] = set()
    start = time.monotonic()
    with pytest.raises(FitTimeoutError) as caught:
        sample(endless(tmp_path, timeout=1.0, progress=lambda label, event: pids.update(child_ids())))
    assert time.monotonic() - start < 3
    assert "did not finish within 1 s and was stopped (chain 1: warmup 1/100000050, chain 2: " in caught.value.problem
    assert len(pids) == 2
    assert all(map(ended, pids))


def test_ctrl_c_returns_at_once_and_leaves_no_child(tmp_path: Path) -> None:
    pids: set[int] = set()
    sent = 0.0

    def progress(label: str, event: str) -> None:
        nonlocal sent
        pids.update(child_ids())
        if event.startswith("warmup") and not sent:
            sent = time.monotonic() + 0.2
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        sample(endless(tmp_path, progress=progress))
    assert time.monotonic() - sent < 1
    assert len(pids) == 2
    assert all(map(ended, pids))


def test_all_children_can_be_stopped_from_another_thread(tmp_path: Path) -> None:
    def progress(label: str, event: str) -> None:
        if event.startswith("warmup"):
            threading.Thread(target=children.stop_children).start()

    with pytest.raises(EngineFailedError):
        sample(endless(tmp_path, progress=progress))
    assert child_ids() == []


ORPHAN = """
import sys
from pathlib import Path
from psychoeval import children
from psychoeval.estimators.stan.backend_stanli import StanliBackend
from tests.stan_programs import endless
tell = lambda label, event: event.startswith("warmup") and print(*(p.pid for p in children._running), flush=True)
StanliBackend().sample(endless(Path(sys.argv[1]), progress=tell, chains=1))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can end a child with its parent")
def test_chains_end_when_python_is_killed(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    end = time.monotonic() + 5
    while not ended(pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert ended(pid)


def killer(label: str, event: str) -> None:
    """Kill chain 2 when it starts, which it does alone."""
    if (label, event) == ("chain 2", "start"):
        os.kill(child_ids()[0], signal.SIGKILL)


def test_a_chain_that_dies_leaves_the_others(tmp_path: Path) -> None:
    whole = sample(job(tmp_path, chains=3))
    sampled = sample(job(tmp_path, chains=3, n_jobs=1, progress=killer))
    assert sampled.chain_numbers == (1, 3)
    assert list(sampled.failed) == [2]
    assert "was killed by SIGKILL" in sampled.failed[2]
    assert sampled.return_codes == {1: 0, 2: -9, 3: 0}
    np.testing.assert_array_equal(sampled.values["mu"], whole.values["mu"][[0, 2]])
    assert len(sampled.warmup_seconds) == 2


@pytest.mark.parametrize(
    ("source", "data", "said"),
    [
        ("parameters { real x } model { }", {}, r"not accept the program wrong: Syntax error in wrong\.stan, line 1"),
        ("parameters { real x; } model { x ~ normal(0, z); }", {}, r'program wrong: .*Identifier "z" not in scope\.$'),
        ("data { int N; } parameters { real x; } model { target += -x^2; }", {}, r"data of .* data variable N"),
        ("data { real<lower=0> sd_b; } parameters { real x; } model { }", {"sd_b": -1}, r"sd_b is -1, but must be gr"),
        (
            "data { int N; vector[N] y; } parameters { real x; } model { }",
            {"N": 2, "y": [1, 2, 3]},
            r"variable name=y; position=0; dims declared=\(2\); dims found=\(3\)",
        ),
    ],
)
def test_what_stan_refuses_is_one_sentence(tmp_path: Path, source: str, data: dict[str, Any], said: str) -> None:
    with pytest.raises(EngineFailedError) as caught:
        sample(job(tmp_path, source, "wrong", data=data))
    assert re.search(said, caught.value.problem), caught.value.problem
    assert "\n" not in caught.value.problem
    assert not caught.value.problem.startswith("None of")
    assert caught.value.remedy


def test_a_start_that_is_rejected_is_said(tmp_path: Path) -> None:
    never = "parameters { real x; } model { target += log(-1 - x^2); }"
    with pytest.raises(EngineFailedError) as caught:
        sample(job(tmp_path, never, "never"))
    assert caught.value.problem == (
        "None of 2 chains gave draws. Chain 1: There is no start for the program never: initialization failed: no draw "
        "in 100 attempts had finite log density and gradient."
    )


def test_a_start_outside_its_support_fails_only_its_chain(tmp_path: Path) -> None:
    good, bad = ({"mu": 0.0, "tau": tau, "z": [0.0] * 8} for tau in (1.0, -1.0))
    sampled = sample(job(tmp_path, EIGHT_SCHOOLS, "schools", data=EIGHT_SCHOOLS_DATA, inits=(bad, good)))
    assert sampled.chain_numbers == (2,)
    assert re.search(r"Lower bounded variable is -1.*starting value for tau", sampled.failed[1])


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    try:
        with pytest.raises(EngineFailedError, match=r"draws of normal were lost: .*cannot be written: no room is left"):
            sample(job(tmp_path, samples=5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_temporary_folder_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
        with pytest.raises(EngineFailedError, match="TMPDIR"):
            sample(job(tmp_path))


def test_much_memory_is_said_before_it_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "LARGE_BYTES", 2 * 50 * 7 * 8 - 1)
    with pytest.warns(EngineWarning, match="2 chains x 50 draws x 7 numbers x 8 bytes") as caught:
        sample(job(tmp_path))
    assert len(caught) == 1
    monkeypatch.setattr(size, "LARGE_BYTES", 2 * 50 * 7 * 8)
    sample(job(tmp_path))


def test_no_room_for_the_draws_is_said_before_they_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size.shutil, "disk_usage", lambda folder: SimpleNamespace(free=100))
    with pytest.raises(EngineFailedError, match=r"has room for 0\.0001 MB"):
        sample(endless(tmp_path))


def test_files_that_stanli_does_not_write_are_not_promised(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="output_dir"):
        sample(job(tmp_path, output_dir=tmp_path / "out"))


def test_what_nobody_foresaw_is_a_defect(tmp_path: Path) -> None:
    with pytest.raises(EngineFailedError, match=r"could not be taken over: TypeError") as caught:
        sample(job(tmp_path, seed="four"))
    assert "defect" in caught.value.remedy


@pytest.mark.parametrize(
    "said", ["ImportError('numpy is too old')", "OSError('libstanli.so: cannot open shared object')"]
)
def test_a_stanli_that_does_not_start_is_no_chain_that_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    (tmp_path / "stanli.py").write_text(f"raise {said}")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EngineFailedError, match=r"installed but does not start: [IO]") as caught:
        sample(job(tmp_path, chains=3))
    assert "Install it again" in caught.value.remedy

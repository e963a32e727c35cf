"""CmdStan's back end on a STAND-IN for CmdStan (tests/cmdstan_stand_in.py), and on CSV in CmdStan's form."""

from __future__ import annotations

import dataclasses
import os
import re
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval import children
from psychoeval.errors import EngineFailedError, EngineUnavailableError, FitTimeoutError, StoredFileError
from psychoeval.estimators.stan.backend import choose_backend
from psychoeval.estimators.stan.backend_cmdstan import CmdStanBackend, read_csv
from psychoeval.estimators.stan.backend_stanli import StanliBackend
from psychoeval.estimators.stan.compiled import cache_folder
from tests.cmdstan_stand_in import cmdstan_folder, make_program
from tests.gates import needs
from tests.stan_programs import EIGHT_SCHOOLS, EIGHT_SCHOOLS_DATA, NORMAL, job

pytestmark = needs("stanli")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give temporary files, the cache and the home folders of their own; nothing temporary may stay."""
    import cmdstanpy  # noqa: F401 - makes a temporary folder that stays until Python ends

    for name in ("temporary files", "a home"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary files"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "a home"))
    monkeypatch.delenv("CMDSTAN", raising=False)
    yield tmp_path
    assert list((tmp_path / "temporary files").iterdir()) == []


@pytest.fixture
def cmdstan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a stand-in CmdStan that CMDSTAN names."""
    folder = cmdstan_folder(tmp_path / "cmdstan")
    monkeypatch.setenv("CMDSTAN", str(folder))
    return folder


def compiled(folder: Path, source: str = NORMAL, name: str = "normal") -> CmdStanBackend:
    """Return the back end for a program that a stand-in has compiled, with no CmdStan about."""
    path = folder / f"{name}.stan"
    path.write_text(source)
    return CmdStanBackend(exe_file=make_program(path, folder / name))


def ended(pid: int) -> bool:
    try:
        # A killed grandchild may wait for whoever adopted it to read its status.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def group_of(child: int) -> list[int]:
    """Return all processes of the group that a child leads."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == child:
            found.append(int(path.parent.name))
    return found


def test_a_program_is_compiled_once_and_its_draws_are_stans(cmdstan: Path, tmp_path: Path) -> None:
    wanted = job(tmp_path, EIGHT_SCHOOLS, "schools", data=EIGHT_SCHOOLS_DATA, adapt_delta=0.9, max_treedepth=4)
    install = [path for path in (*cmdstan.rglob("*"), tmp_path / "schools.stan") if path.is_file()]
    before = [path.stat().st_mtime_ns for path in install]
    backend = choose_backend("auto")
    assert backend.name == "cmdstan"
    first, second = backend.sample(wanted), backend.sample(dataclasses.replace(wanted, chains=1))
    assert len((cmdstan / "log").read_text().splitlines()) == 1
    assert [path.stat().st_mtime_ns for path in install] == before
    assert sorted(path.name for path in cache_folder().glob("*/*")) == ["schools", "schools.stan"]
    # The stand-in samples with stanli: equal bits say that seed, chain, data, settings and draws were handed over.
    whole = StanliBackend().sample(wanted)
    for sampled, chains in ((first, 2), (second, 1)):
        assert sampled.values.keys() == whole.values.keys()
        for name, array in whole.values.items():
            np.testing.assert_array_equal(sampled.values[name], array[:chains])
        for name, array in whole.sample_stats.items():
            np.testing.assert_array_equal(sampled.sample_stats[name], array[:chains])
            assert sampled.sample_stats[name].dtype == array.dtype
    assert first.versions["cmdstan"] == "2.36.0"
    assert first.versions["cmdstanpy"]
    assert first.return_codes == {1: 0, 2: 0}
    assert first.files == ()


def test_starts_reach_each_chain_and_matrices_keep_their_order(tmp_path: Path) -> None:
    source = """
    parameters { matrix[2, 3] x; }
    model { for (i in 1:2) for (j in 1:3) target += log_mix(0.5, normal_lpdf(x[i, j] | 100 * (3 * i + j), 1),
                                                                 normal_lpdf(x[i, j] | -100, 1)); }
    """
    backend = compiled(tmp_path, source, "matrix")
    high = np.array([[400, 500, 600], [700, 800, 900]])
    inits = ({"x": high}, {"x": [[-100.0] * 3] * 2})
    sampled = backend.sample(job(tmp_path, source, "matrix", inits=inits))
    np.testing.assert_allclose(sampled.values["x"].mean(axis=1), [high, np.full((2, 3), -100)], atol=2)


def test_files_are_kept_where_they_are_wanted(tmp_path: Path) -> None:
    backend, out = compiled(tmp_path), tmp_path / "some output" / "here"
    one = backend.sample(job(tmp_path, chains=1, output_dir=out))
    two = backend.sample(job(tmp_path, output_dir=out))
    assert [re.sub(r"\d{20}", "T", path.name) for path in two.files] == [
        "normal-T-chain-1.csv", "normal-T-chain-1_0-stdout.txt",
        "normal-T-chain-2.csv", "normal-T-chain-2_0-stdout.txt",
    ]  # fmt: skip
    assert {*one.files, *two.files} == set(out.iterdir())
    assert len(one.files) == 2
    again = read_csv([path for path in two.files if path.suffix == ".csv"])
    np.testing.assert_array_equal(again.values["mu"], two.values["mu"])
    assert again.warmup_seconds == (0.25, 0.25)


def test_a_compiled_program_needs_no_cmdstan(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    events: list[tuple[str, str]] = []
    backend = compiled(tmp_path)
    sampled = backend.sample(job(tmp_path, chains=1, progress=lambda label, event: events.append((label, event))))
    assert sampled.values["cells"][0, 0].tolist() == [[11, 12, 13], [21, 22, 23]]
    assert events[0] == ("chain 1", "start")
    assert ("chain 1", "sampling 150/150") in events
    assert events[-1] == ("chain 1", "done")
    assert capfd.readouterr() == ("", "")
    with pytest.raises(EngineUnavailableError, match="There is no CmdStan"):
        CmdStanBackend().sample(job(tmp_path))


def test_a_chain_that_dies_leaves_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "die:1")
    sampled = compiled(tmp_path).sample(job(tmp_path))
    assert sampled.chain_numbers == (2,)
    assert sampled.failed[1].startswith("The chain was killed by SIGKILL")
    assert sampled.return_codes == {1: -9, 2: 0}
    assert "chain 1:" in sampled.console


def test_output_that_is_cut_short_is_not_taken_for_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "cut")
    with pytest.raises(EngineFailedError) as caught:
        compiled(tmp_path).sample(job(tmp_path, chains=1))
    assert "The draws of normal were lost" in caught.value.problem
    assert re.search(r"chain-1\.csv \(.*expecting 14 items", caught.value.problem)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("how", ["time limit", "ctrl-c"])
def test_no_process_of_cmdstan_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("STAND_IN", "hang")
    pids: set[int] = set()
    sent = 0.0

    def progress(label: str, event: str) -> None:
        nonlocal sent
        if event.startswith(("warmup", "sampling")) and how == "ctrl-c":
            sent = time.monotonic() + 0.3
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        if event != "start":
            pids.update(pid for child in children._running for pid in group_of(child.pid))

    error = FitTimeoutError if how == "time limit" else KeyboardInterrupt
    with pytest.raises(error) as caught:
        compiled(tmp_path).sample(
            job(tmp_path, chains=1, timeout=4.0 if how == "time limit" else None, progress=progress)
        )
    if sent:
        assert time.monotonic() - sent < 1
    else:
        assert re.search(r"within 4 s and was stopped \(chain 1: (warmup|sampling) \d+/150\)", str(caught.value))
    assert len(pids) == 3  # cmdstanpy's, the program's, and the one that watches over them
    patience = time.monotonic() + 5  # a process that was killed still has to be taken off a busy machine
    while not all(map(ended, pids)) and time.monotonic() < patience:
        time.sleep(0.05)
    assert all(map(ended, pids))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"N": 2, "y": [1, 2, 3], "s": 1}, r"does not accept the data of the program normal: .*variable name=y"),
        ({"N": 1, "y": [float("nan")], "s": 1}, r"no start for the program normal: Initialization between"),
    ],
)
def test_what_stan_refuses_is_one_sentence(tmp_path: Path, data: dict[str, Any], said: str) -> None:
    with pytest.raises(EngineFailedError) as caught:
        compiled(tmp_path).sample(job(tmp_path, chains=1, data=data))
    assert re.search(said, caught.value.problem), caught.value.problem
    assert "\n" not in caught.value.problem


def test_a_program_that_does_not_compile_is_said(cmdstan: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineFailedError) as caught:
        choose_backend("cmdstan").sample(job(tmp_path, "parameters { real x }", "wrong"))
    assert caught.value.problem.startswith("Stan does not accept the program wrong: Syntax error in wrong.stan, line 1")
    assert "\n" not in caught.value.problem
    assert list(cache_folder().iterdir()) == []


def test_a_cache_that_cannot_be_written_is_said(cmdstan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(EngineFailedError, match=r"cannot be kept in .*/file/psychoeval/stan: Not a dir") as caught:
        choose_backend("cmdstan").sample(job(tmp_path))
    assert "XDG_CACHE_HOME" in caught.value.remedy
    assert not (cmdstan / "log").exists()  # found before minutes went into compiling


def test_a_program_that_another_may_have_put_there_is_not_run(cmdstan: Path, tmp_path: Path) -> None:
    backend = choose_backend("cmdstan")
    backend.sample(job(tmp_path, chains=1))
    cache_folder().chmod(0o777)
    with pytest.raises(EngineFailedError, match="others may write there"):
        backend.sample(job(tmp_path, chains=1))
    folder = next(cache_folder().iterdir())
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("what", ["the compiled program", "the draws"])
def test_a_full_disk_is_said(cmdstan: Path, tmp_path: Path, what: str) -> None:
    wanted, backend = job(tmp_path, chains=1, samples=3000), choose_backend("cmdstan")
    if what == "the draws":
        backend.sample(dataclasses.replace(wanted, samples=10))  # compiled
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200 if what == "the compiled program" else 60_000, before[1]))
    try:
        with pytest.raises(EngineFailedError) as caught:
            backend.sample(wanted)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    if what == "the draws":
        assert caught.value.problem.startswith("The draws of normal were lost: ")
    assert "File too large" in caught.value.problem
    assert "Make room there, or set TMPDIR" in caught.value.remedy


def test_an_output_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EngineFailedError, match=r"output_dir .*file/out cannot be written: Not a directory"):
        compiled(tmp_path).sample(job(tmp_path, output_dir=tmp_path / "file" / "out"))


def test_a_program_that_cannot_start_is_said(tmp_path: Path) -> None:
    backend = compiled(tmp_path)
    assert backend.exe_file is not None
    backend.exe_file.write_text("#!/no such interpreter\n")
    with pytest.raises(EngineFailedError, match=r"compiled program normal does not start: .*/normal\. ") as caught:
        backend.sample(job(tmp_path))
    assert "compiled again" in caught.value.remedy


#: By hand, after the form that the CmdStan guide describes ("Stan CSV File Format"); the numbers are made up.
CSV = """# stan_version_major = 2
# stan_version_minor = 35
# stan_version_patch = 0
# model = made_model
# method = sample (Default)
#   sample
#     num_samples = 3
#     num_warmup = 2
#     save_warmup = false (Default)
#     thin = 1 (Default)
#     algorithm = hmc (Default)
#       hmc
#         engine = nuts (Default)
#           nuts
#             max_depth = 10 (Default)
#         metric = diag_e (Default)
# id = {chain}
lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,x.1.1,x.2.1,x.1.2,x.2.2
# Adaptation terminated
# Step size = 0.5
# Diagonal elements of inverse mass matrix:
# 1, 1, 1, 1, 1
-1.5,0.9,0.5,2,3,0,2.5,{chain}.25,11,21,12,22
-1.25,0.8,0.5,1,1,1,2.75,{chain}.5,11,21,12,22
-1.75,1,0.5,3,7,0,3,{chain}.75,11,21,12,22
#
#  Elapsed Time: 0.5 seconds (Warm-up)
#                0.25 seconds (Sampling)
#                0.75 seconds (Total)
#
"""


def test_stored_csv_is_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"made-{chain}.csv" for chain in (1, 2)]
    for chain, file in enumerate(files, start=1):
        file.write_text(CSV.format(chain=chain))
    sampled = read_csv(files)
    assert sampled.values["mu"].tolist() == [[1.25, 1.5, 1.75], [2.25, 2.5, 2.75]]
    assert sampled.values["x"].shape == (2, 3, 2, 2)
    assert sampled.values["x"][1, 2].tolist() == [[11, 12], [21, 22]]
    assert sampled.sample_stats["lp"].tolist() == [[-1.5, -1.25, -1.75]] * 2
    assert sampled.sample_stats["diverging"].tolist() == [[False, True, False]] * 2
    assert sampled.sample_stats["n_steps"].dtype == np.int64
    assert sampled.chain_numbers == (1, 2)
    assert (sampled.warmup_seconds, sampled.sampling_seconds) == ((0.5, 0.5), (0.25, 0.25))
    assert sampled.versions["cmdstan"] == "2.35.0"
    assert capfd.readouterr() == ("", "")


def test_csv_that_is_cut_short_or_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "made-1.csv"
    for text in (CSV[: CSV.index("-1.75")], "a,b\n1,2\n"):
        file.write_text(text.format(chain=1))
        with pytest.raises(StoredFileError, match="not the output of CmdStan"):
            read_csv([file])

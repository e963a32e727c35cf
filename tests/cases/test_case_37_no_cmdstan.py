"""No CmdStan, no network, a path with a space, a read-only installation, output that fills the disk."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from psychoeval import availability
from psychoeval.availability import require
from psychoeval.errors import EngineUnavailableError
from psychoeval.estimators.stan.backend import choose_backend
from psychoeval.estimators.stan.size import draws_bytes
from tests.gates import needs
from tests.stan_programs import job


@pytest.fixture(autouse=True)
def no_cmdstan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "empty home"))
    monkeypatch.delenv("CMDSTAN", raising=False)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("the network was asked")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("no_network")
def test_what_is_missing_is_said_in_under_two_seconds() -> None:
    start = time.monotonic()
    with pytest.raises(EngineUnavailableError) as caught:
        choose_backend("cmdstan")
    assert time.monotonic() - start < 2
    assert "There is no CmdStan" in caught.value.problem
    for way in ("install_cmdstan", "conda", "CMDSTAN="):
        assert way in caught.value.remedy


def test_an_existing_cmdstan_can_be_pointed_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "opt" / "some cmdstan"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "stanc").touch()
    (folder / "makefile").write_text("CMDSTAN_VERSION := 2.36.0\n")
    monkeypatch.setenv("CMDSTAN", str(folder))
    monkeypatch.setattr(availability.parts, "installed_version", lambda name: "1.3.2")
    assert require("cmdstan").paths == {"cmdstan": str(folder)}
    assert choose_backend("auto").name == "cmdstan"


def test_both_ways_are_named_where_nothing_runs_stan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability.parts, "installed_version", lambda name: "")
    with pytest.raises(EngineUnavailableError) as caught:
        choose_backend("auto")
    assert "pip install stanli" in caught.value.remedy
    assert "install_cmdstan" in caught.value.remedy


def test_importing_needs_neither() -> None:
    code = (
        "import sys; sys.modules.update(cmdstanpy=None, stanli=None)\n"
        "import psychoeval, psychoeval.estimators.stan.backend_cmdstan, psychoeval.estimators.stan.backend_stanli"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@needs("stanli")
def test_cmdstanpy_itself_says_so_at_once() -> None:
    import cmdstanpy

    start = time.monotonic()
    with pytest.raises(ValueError, match="No CmdStan installation found"):
        cmdstanpy.cmdstan_path()
    assert time.monotonic() - start < 0.1


@needs("stanli")
def test_a_working_folder_with_a_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "dir with space"
    folder.mkdir()
    monkeypatch.chdir(folder)
    sampled = choose_backend("auto").sample(job(folder, chains=1))
    assert sampled.values["mu"].shape == (1, 50)
    assert [path.name for path in folder.iterdir()] == ["normal.stan"]


def test_the_size_of_the_draws() -> None:
    numbers = 50 + 2 * 5000 + 50 * 5000
    assert 4 * 1000 * numbers == pytest.approx(1.0402e9, rel=1e-4)
    assert draws_bytes(4, 1000, numbers) / 1e9 == pytest.approx(8.3, abs=0.05)

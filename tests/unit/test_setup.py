"""The decisions of `make setup`; its steps are run on bare systems, not here."""

from __future__ import annotations

import os
import platform
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from psychoeval.availability import EngineState, probe
from tests.gates import needs
from tools.setup import __main__ as main
from tools.setup import debian, environment, mirt, steps

DEBIAN = {"ID": "debian", "VERSION_ID": "12"}


def repository(folder: Path, *packages: str) -> Path:
    """Make a repository that offers packages; `packages` are paragraphs of its index."""
    index = folder / "src" / "contrib" / "PACKAGES"
    index.parent.mkdir(parents=True)
    index.write_text("\n\n".join(packages) + "\n")
    return folder


@pytest.fixture
def cran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    repository(tmp_path / "debian12-r4.2-amd64")
    repository(tmp_path / "source")
    return tmp_path


@pytest.mark.parametrize(
    ("release", "r_version", "machine", "chosen"),
    [
        (DEBIAN, "4.2.2", "x86_64", "debian12-r4.2-amd64"),
        (DEBIAN, "4.3.1", "x86_64", "source"),
        (DEBIAN, "4.2.2", "aarch64", "source"),
        ({"ID": "debian", "VERSION_ID": "13"}, "4.5.0", "x86_64", "source"),
        ({"ID": "ubuntu", "VERSION_ID": "22.04"}, "4.2.2", "x86_64", "source"),
        ({}, "4.2.2", "x86_64", "source"),
    ],
)
def test_packages_built_for_another_r_or_system_are_not_taken(
    cran: Path, monkeypatch: pytest.MonkeyPatch, release: dict[str, str], r_version: str, machine: str, chosen: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert mirt.local_repository(cran, release, r_version) == (cran / chosen, chosen != "source")


def test_a_folder_that_is_a_repository_itself(tmp_path: Path) -> None:
    folder = repository(tmp_path / "mine")
    assert mirt.local_repository(folder, DEBIAN, "4.2.2") == (folder, False)
    assert mirt.local_repository(tmp_path, DEBIAN, "4.2.2") == (None, False)


def test_psychoeval_cran_that_is_no_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSYCHOEVAL_CRAN", str(tmp_path / "nowhere"))
    with pytest.raises(steps.SetupError, match=r"PSYCHOEVAL_CRAN is .*/nowhere, which is not a folder"):
        mirt.local_folder()


def test_a_folder_without_a_repository_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSYCHOEVAL_CRAN", str(tmp_path))
    said = mirt.install(EngineState("r", True, versions={"R": "4.2.2"}, paths={"Rscript": "Rscript"}))
    assert f"{tmp_path} holds no R repository" in said


@pytest.mark.parametrize(
    ("family", "user", "can"),
    [
        ({"ID": "debian"}, 0, True),
        ({"ID": "ubuntu", "ID_LIKE": "debian"}, 0, True),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, 0, True),
        ({"ID": "debian"}, 1000, False),
        ({"ID": "fedora"}, 0, False),
        ({}, 0, False),
    ],
)
def test_apt_is_for_root_on_debian_and_its_relatives(
    monkeypatch: pytest.MonkeyPatch, family: dict[str, str], user: int, can: bool
) -> None:
    monkeypatch.setattr(debian, "release", lambda: family)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(debian.shutil, "which", lambda _: "/usr/bin/apt-get")
    assert debian.can_use_apt() is can


def test_the_list_of_debian_packages_is_names_only() -> None:
    names = debian.r_packages()
    assert {"r-base-core", "r-cran-vegan", "r-cran-lme4", "r-cran-psych"} <= set(names)
    assert all(re.fullmatch(r"r-(base-core|cran-[a-z0-9.]+)", name) for name in names)
    assert len(names) == len(set(names))


def test_the_command_for_those_who_ask_root_names_that_list() -> None:
    shell = debian.by_hand().removeprefix("sudo sh -c '").removesuffix("'")
    listing = re.search(r"\$\((.*)\)", shell)
    assert listing
    listed = subprocess.run(["sh", "-c", listing[1]], cwd=steps.ROOT, capture_output=True, text=True, check=True)
    assert listed.stdout.split() == debian.r_packages()


def test_the_stamp_knows_the_declaration_and_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text("one")
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(environment, "PYTHON", Path(sys.executable))
    assert not environment.is_current()
    (tmp_path / "stamp").write_text(environment.fingerprint())
    assert environment.is_current()
    (tmp_path / "pyproject.toml").write_text("two")
    assert not environment.is_current()


STATES = {
    "numpy": EngineState("numpy", True),
    "r": EngineState("r", True, versions={"R": "4.2.2"}),
    "mirt": EngineState("mirt", False, "mirt is not installed.", "Install it."),
}


def test_what_is_missing_is_said_and_set_up_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PSYCHOEVAL_REQUIRE", raising=False)
    assert main.conclude(STATES, {}) == 0
    said = capsys.readouterr().out
    assert "ready:   numpy, r\n" in said
    assert "MISSING: mirt. mirt is not installed." in said
    assert "Install it." in said


def test_what_is_required_and_missing_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSYCHOEVAL_REQUIRE", "r, mirt")
    assert main.conclude(STATES, {"mirt": "Deriv stops it."}) == 1
    said = capsys.readouterr().out
    assert "Deriv stops it." in said
    assert "PSYCHOEVAL_REQUIRE names mirt: set-up has failed." in said


def test_a_python_too_old_is_told_which_to_name() -> None:
    code = "import sys; sys.version_info = (3, 10); import runpy; runpy.run_module('tools.setup', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=steps.ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "make setup PYTHON=python3.12" in done.stderr


@pytest.fixture
def silent_repository() -> Iterator[str]:
    """Return the address of a server that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the start-up file of an R that has no library but its own; the log of set-up goes beside it."""
    for name in ("VENV", "LOG"):
        monkeypatch.setattr(steps, name, tmp_path / name)
    path = tmp_path / "Rprofile"
    path.write_text(".libPaths(character(), include.site = FALSE)\n")
    monkeypatch.setenv("R_PROFILE_USER", str(path))
    return path


@needs("r")
def test_a_repository_that_does_not_answer_is_given_up(
    profile: Path,
    tmp_path: Path,
    silent_repository: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    there = repository(tmp_path / "there", "Package: mirt\nVersion: 1.48").as_uri()
    nowhere = (tmp_path / "nowhere").as_uri()
    with profile.open("a") as file:
        file.write(f'options(repos = c("{silent_repository}", "{nowhere}", "@CRAN@", "{there}"))\n')
    monkeypatch.setattr(mirt, "REPOSITORY_LIMIT", 3)
    start = time.monotonic()
    assert mirt.reachable_repositories(probe("r").paths["Rscript"]) == [there]
    assert 3 <= time.monotonic() - start < 30
    said = capsys.readouterr().out
    assert f"{silent_repository} did not answer within 3 s" in said
    assert f"{nowhere} could not be reached" in said


def test_the_limit_is_what_was_promised() -> None:
    assert mirt.REPOSITORY_LIMIT == 15


@needs("r")
@pytest.mark.parametrize(
    ("needed", "offered", "said"),
    [
        ("Deriv", "Package: Deriv\nVersion: 4.3.6\nDepends: R (>= 99)", "dependency 'Deriv' is not available"),
        ("vegan, stats", "Package: other\nVersion: 1", "found nowhere: vegan. On Debian or Ubuntu: sudo"),
    ],
)
def test_what_mirt_lacks_is_recognized(
    profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needed: str, offered: str, said: str
) -> None:
    repository(tmp_path / "cran", f"Package: mirt\nVersion: 1.48\nImports: {needed}", offered)
    with profile.open("a") as file:
        file.write('options(repos = c(CRAN = "@CRAN@"))\n')
    monkeypatch.setenv("PSYCHOEVAL_CRAN", str(tmp_path / "cran"))
    monkeypatch.setattr(debian, "can_use_apt", lambda: False)
    assert said in mirt.install(probe("r"))


@needs("r")
def test_no_repository_at_all(profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with profile.open("a") as file:
        file.write('options(repos = c(CRAN = "@CRAN@"))\n')
    monkeypatch.delenv("PSYCHOEVAL_CRAN", raising=False)
    monkeypatch.setattr(mirt, "local_folder", lambda: None)
    monkeypatch.setattr(debian, "can_use_apt", lambda: False)
    assert "PSYCHOEVAL_CRAN=<folder of R packages> make setup" in mirt.install(probe("r"))


def test_a_failing_step_shows_the_end_of_what_it_said_and_logs_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steps, "VENV", tmp_path)
    monkeypatch.setattr(steps, "LOG", tmp_path / "log")
    assert not steps.run_or_show("a step", ["sh", "-c", "seq 100 130; exit 3"])
    said = capsys.readouterr().out
    assert "FAILED" in said
    assert "130" in said
    assert "    100\n" not in said
    assert "\n100\n" in (tmp_path / "log").read_text()
    assert "[status 3," in (tmp_path / "log").read_text()


def test_a_missing_cmdstan_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CMDSTAN", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(environment, "PYTHON", Path(sys.executable))
    assert "cmdstan" not in environment.engines()
    assert "stanli" in environment.engines()

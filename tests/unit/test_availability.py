from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from psychoeval import availability
from psychoeval.availability import doctor, probe, require, rpy2_environment, rpy2_requirement
from psychoeval.errors import EngineUnavailableError, SettingsError
from tests.gates import needs

ANSWER = """Welcome, says a start-up file.
psychoeval:version|{version}
psychoeval:platform|x86_64-pc-linux-gnu
psychoeval:home|{home}
psychoeval:library|/lib/one
psychoeval:library|/lib/two
psychoeval:least|4.1
psychoeval:package|mirt|1.48|{mirt}|4.2.2|{path}|{fault}
psychoeval:package|lme4|1.1-31|1.1-31|4.2.2|/lib/two/lme4|{nothing}
psychoeval:package|psych|2.2.9||||
psychoeval:package|brms|2.18||||
psychoeval:package|eRm|1.0-10|1.0-10|4.2.2|/lib/two/eRm|{nothing}
psychoeval:package|equateIRT|2.5.2||||
psychoeval:package|catR|3.17||||
psychoeval:end
""".replace("|", "\t")


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class FakeR:
    """An Rscript on PATH that prints what a test wants, and nothing else of this machine's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "R home"
        self.rscript = folder / "bin" / "Rscript"

    def answers(
        self, version: str = "4.2.2", mirt: str = "1.48", path: str = "/lib/one/mirt", fault: str = ""
    ) -> FakeR:
        text = ANSWER.format(version=version, home=self.home, mirt=mirt, path=path, fault=fault, nothing="")
        self.folder.mkdir(exist_ok=True)
        (self.folder / "answer").write_text(text)
        return self.runs(f'exec /bin/cat "{self.folder}/answer"')

    def runs(self, script: str) -> FakeR:
        program(self.rscript, f'echo >> "{self.folder}/starts"\n{script}')
        return self

    @property
    def starts(self) -> int:
        return len((self.folder / "starts").read_text().splitlines())


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeR:
    for name in os.environ:
        if name.startswith(("R_", "RPY2_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(availability.r, "LIBRARIES", ("~/R/*/*",))
    made = FakeR(tmp_path)
    monkeypatch.setenv("PATH", str(made.rscript.parent))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return made


@pytest.fixture
def rpy2_versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    versions: dict[str, str] = {}
    monkeypatch.setattr(availability.parts, "installed_version", lambda name: versions.get(name, ""))
    return versions


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(SettingsError, match="mirt"):
        probe("matlab")


def test_numpy_is_there_with_its_versions() -> None:
    state = require("numpy")
    assert state.versions["numpy"]
    assert state.versions["python"] == sys.version.split()[0]


def test_no_r(fake: FakeR) -> None:
    with pytest.raises(EngineUnavailableError) as caught:
        require("r")
    assert "no Rscript on PATH" in caught.value.problem
    assert "apt-get install r-base-core" in caught.value.remedy
    assert caught.value.remedy.endswith("Check with: psychoeval doctor")


def test_mirt_missing_is_another_thing_than_r_missing(fake: FakeR, monkeypatch: pytest.MonkeyPatch) -> None:
    without_r = probe("mirt")
    fake.answers(path="")
    monkeypatch.setenv("R_LIBS", "another environment")  # the probe is remembered for the one before
    without_mirt = probe("mirt")
    assert without_r.problem.startswith("mirt needs R. There is no R")
    assert without_mirt.problem.startswith("mirt is not installed for R 4.2.2, which looks into /lib/one:/lib/two")
    assert probe("r").available


@pytest.mark.parametrize(("version", "helps"), [("4.2.2", True), ("4.4.3", True), ("4.5.0", False)])
def test_deriv_is_explained_where_it_stops_an_installation(fake: FakeR, version: str, helps: bool) -> None:
    remedy = fake.answers(version=version, path="") and probe("mirt").remedy
    assert "make setup" in remedy
    assert ("Deriv" in remedy) is helps


@pytest.mark.parametrize(("make", "problem"), [(False, "is not a folder"), (True, "holds no R")])
def test_wrong_r_home(fake: FakeR, monkeypatch: pytest.MonkeyPatch, make: bool, problem: str) -> None:
    fake.answers()
    if make:
        fake.home.mkdir()
    monkeypatch.setenv("R_HOME", str(fake.home))
    for engine in ("r", "mirt", "rpy2"):
        state = probe(engine)
        assert not state.available
        assert f"R_HOME is set to {fake.home}" in state.problem
        assert problem in state.problem
        assert "Unset R_HOME" in state.remedy
        assert str(fake.rscript) in state.remedy


def test_a_right_r_home_goes_before_path(fake: FakeR, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.answers(version="4.2.2")
    other = FakeR(fake.folder / "other")
    other.rscript = other.home / "bin" / "Rscript"
    other.answers(version="4.5.1")
    monkeypatch.setenv("R_HOME", str(other.home))
    assert require("r").versions["R"] == "4.5.1"
    assert require("r").paths["Rscript"] == str(other.rscript)


def test_r_that_does_not_start(fake: FakeR) -> None:
    fake.runs("echo 'error while loading shared libraries: libRblas.so' >&2; exit 127")
    state = probe("r")
    assert "exit status 127: error while loading shared libraries: libRblas.so" in state.problem
    assert str(fake.rscript) in state.remedy


def test_more_than_the_last_line_is_shown(fake: FakeR) -> None:
    fake.runs("printf 'psychoeval:version\\t4.2.2\\n'; printf 'Error: bad thing\\nExecution halted\\n' >&2; exit 1")
    state = probe("r")
    assert state.problem.startswith("R starts, but")
    assert "exit status 1: Error: bad thing / Execution halted" in state.problem
    assert "--vanilla -e 1" in state.remedy


def test_a_full_temporary_folder_is_not_rs_fault(fake: FakeR) -> None:
    fake.runs("""echo "Fatal error: cannot create 'R_TempDir'" >&2; exit 2""")
    assert "TMPDIR" in probe("r").remedy
    assert "reinstall" not in probe("r").remedy


def test_r_is_probed_as_it_is_used(fake: FakeR, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.answers()
    program(fake.rscript, f'echo "$@" > "{fake.folder}/flags"; /usr/bin/env > "{fake.folder}/env"; exit 1')
    monkeypatch.setenv("R_TESTS", "evil.R")
    monkeypatch.setenv("R_DEFAULT_PACKAGES", "NULL")
    probe("r")
    flags = (fake.folder / "flags").read_text().split()
    assert set(availability.R_FLAGS) <= set(flags)
    assert {"--no-site-file", "--no-init-file", "--no-save", "--no-restore"} == set(availability.R_FLAGS)
    names = {line.partition("=")[0] for line in (fake.folder / "env").read_text().splitlines()}
    assert "PATH" in names
    assert not names & {"R_TESTS", "R_DEFAULT_PACKAGES", "R_HOME"}


def test_r_that_hangs(fake: FakeR, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability.parts, "TIME_LIMIT", 0.3)
    fake.runs("exec /bin/sleep 20")
    assert "did not answer within" in probe("r").problem


def test_r_that_stops_half_way(fake: FakeR) -> None:
    fake.runs("printf 'psychoeval:version\\t4.2.2\\n'")
    assert "stopped before the end" in probe("r").problem


def test_r_too_old(fake: FakeR) -> None:
    state = fake.answers(version="4.0.5") and probe("r")
    assert "R 4.0.5" in state.problem
    assert "older than 4.1" in state.problem


def test_mirt_too_old(fake: FakeR) -> None:
    state = fake.answers(mirt="1.37.1") and probe("mirt")
    assert "mirt 1.37.1 in /lib/one/mirt" in state.problem
    assert "older than 1.48" in state.problem


def test_mirt_that_cannot_load(fake: FakeR) -> None:
    state = fake.answers(fault="its dependency vegan is missing") and probe("mirt")
    assert state.problem.endswith("cannot load: its dependency vegan is missing.")


def test_mirt_damaged(fake: FakeR) -> None:
    state = fake.answers(mirt="", fault="its DESCRIPTION cannot be read") and probe("mirt")
    assert state.problem == "mirt in /lib/one/mirt is damaged: its DESCRIPTION cannot be read."
    assert state.remedy.startswith("Remove that folder. Run `make setup`")


def test_mirt_in_another_library(fake: FakeR) -> None:
    library = fake.folder / "user" / "R" / "x86_64-pc-linux-gnu-library" / "4.1"
    (library / "mirt").mkdir(parents=True)
    (library / "mirt" / "DESCRIPTION").write_text("Package: mirt\n")
    state = fake.answers(path="") and probe("mirt")
    assert f"mirt is in {library}" in state.problem
    assert f"export R_LIBS={library}" in state.remedy


def test_one_start_of_r_serves_every_package(fake: FakeR) -> None:
    fake.answers()
    assert [probe(name).available for name in ("r", "mirt", "lme4", "psych", "erm", "r", "mirt")] == [
        True, True, True, False, True, True, True,
    ]  # fmt: skip
    assert fake.starts == 1


def test_doctor_looks_again(fake: FakeR, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability.parts, "installed_version", lambda name: "")
    fake.answers(path="")
    assert not {s.engine: s for s in doctor()}["mirt"].available
    fake.answers()
    assert {s.engine: s for s in doctor()}["mirt"].available


@pytest.mark.parametrize(
    ("r_version", "expected"),
    [("4.1.0", "rpy2==3.5.17"), ("4.4.3", "rpy2==3.5.17"), ("4.5.0", "rpy2>=3.6"), ("5.0.0", "rpy2>=3.6")],
)
def test_rpy2_is_chosen_by_the_r_that_is_there(r_version: str, expected: str) -> None:
    assert rpy2_requirement(r_version) == expected


@pytest.mark.parametrize(("r_version", "expected"), [("4.2.2", "'rpy2==3.5.17'"), ("4.5.1", "'rpy2>=3.6'")])
def test_rpy2_missing(fake: FakeR, rpy2_versions: dict[str, str], r_version: str, expected: str) -> None:
    state = fake.answers(version=r_version) and probe("rpy2")
    assert "rpy2 is not installed" in state.problem
    assert f"RPY2_CFFI_MODE=ABI {sys.executable} -m pip install {expected}" in state.remedy


def test_rpy2_too_new_for_r(fake: FakeR, rpy2_versions: dict[str, str]) -> None:
    rpy2_versions |= {"rpy2": "3.6.9", "rpy2-rinterface": "3.6.7"}
    state = fake.answers(version="4.2.2") and probe("rpy2")
    assert "rpy2-rinterface 3.6.7 needs R >= 4.5" in state.problem
    assert "R 4.2.2" in state.problem
    assert "uninstall" in state.remedy
    assert "rpy2==3.5.17" in state.remedy


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo 'cannot find system Renviron' >&2; exit 2", "exit status 2: cannot find system Renviron"),
        ("kill -9 $$", "exit status -9"),
        ("exec /bin/sleep 20", "did not answer within"),
        ("echo nothing", "no answer"),
        ("echo; echo psychoeval:4.3.1", "starts R 4.3.1"),
    ],
)
def test_rpy2_that_does_not_start_this_r(
    fake: FakeR, rpy2_versions: dict[str, str], monkeypatch: pytest.MonkeyPatch, script: str, problem: str
) -> None:
    rpy2_versions |= {"rpy2": "3.5.17"}
    fake.answers()
    assert probe("r").available
    monkeypatch.setattr(availability.parts, "TIME_LIMIT", 0.5)
    monkeypatch.setattr(sys, "executable", str(program(fake.folder / "python", script)))
    state = probe("rpy2")
    assert not state.available
    assert problem in state.problem


def test_rpy2_that_starts(fake: FakeR, rpy2_versions: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    rpy2_versions |= {"rpy2": "3.6.9", "rpy2-rinterface": "3.6.7"}
    fake.answers(version="4.5.1")
    script = f'test "$R_HOME" = "{fake.home}" && test "$RPY2_CFFI_MODE" = ABI && echo psychoeval:4.5.1'
    monkeypatch.setattr(sys, "executable", str(program(fake.folder / "python", script)))
    assert require("rpy2").versions == {"rpy2": "3.6.9", "rpy2-rinterface": "3.6.7", "R": "4.5.1"}
    assert rpy2_environment() == {"R_HOME": str(fake.home), "RPY2_CFFI_MODE": "ABI"}


def test_report_and_parquet_missing(monkeypatch: pytest.MonkeyPatch, rpy2_versions: dict[str, str]) -> None:
    monkeypatch.setenv("R_LIBS", "not remembered yet")
    report, parquet = probe("report"), probe("parquet")
    assert "matplotlib and jinja2 are not installed" in report.problem
    assert report.remedy == f"Run: {sys.executable} -m pip install matplotlib jinja2."
    assert "pyarrow is not installed" in parquet.problem


@needs("r", "mirt")
def test_this_machines_r_says_the_same_itself() -> None:
    state = require("mirt")
    rscript = require("r").paths["Rscript"]
    code = 'cat(as.character(getRversion()), as.character(packageVersion("mirt")), find.package("mirt"), R.home())'
    said = subprocess.run([rscript, "-e", code], capture_output=True, text=True, check=True).stdout.split()
    assert said == [state.versions["R"], state.versions["mirt"], state.paths["mirt"], require("r").paths["R_HOME"]]


@needs("r", "mirt")
def test_a_missing_dependency_is_found_without_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In front of the real mirt stands one that asks for a package nobody has."""
    (tmp_path / "mirt" / "Meta").mkdir(parents=True)
    description = "Package: mirt\nVersion: 9.9\nImports: stats, nobodyhasthis\nBuilt: R 4.2.2; ; 2026-01-01; unix\n"
    (tmp_path / "mirt" / "DESCRIPTION").write_text(description)
    code = f'd <- as.list(read.dcf("{tmp_path}/mirt/DESCRIPTION")[1, ]); ' + (
        f'saveRDS(list(DESCRIPTION = unlist(d)), "{tmp_path}/mirt/Meta/package.rds")'
    )
    subprocess.run([require("r").paths["Rscript"], "-e", code], check=True)
    monkeypatch.setenv("R_LIBS", str(tmp_path))
    state = probe("mirt")
    assert not state.available
    assert "mirt 9.9" in state.problem
    assert "cannot load: its dependency nobodyhasthis is missing" in state.problem


GARBAGE = b"Package: x\n\xff\x00 no colon\n"


@needs("r", "mirt")
def test_a_damaged_package_is_named_and_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One package is damaged itself, one builds on it, and a damaged copy of mirt stands before the real one."""
    for name in ("damagedhere", "mirt", "buildsonit"):
        (tmp_path / "lib" / name).mkdir(parents=True)
        (tmp_path / "lib" / name / "DESCRIPTION").write_bytes(GARBAGE)
    description = "Package: buildsonit\nVersion: 1.0\nImports: damagedhere\nBuilt: R 4.2.2; ; 2026-01-01; unix\n"
    (tmp_path / "lib" / "buildsonit" / "DESCRIPTION").write_text(description)
    scripts = tmp_path / "r_scripts"
    scripts.mkdir()
    (scripts / "check_install.R").write_bytes(availability.r.resource("r_scripts", "check_install.R").read_bytes())
    own = "Package: own\nDepends: R (>= 4.1)\nImports: damagedhere, buildsonit, mirt (>= 1.48)\n"
    (scripts / "DESCRIPTION").write_text(own)
    monkeypatch.setattr(availability.r, "resource", lambda _, name: scripts / name)
    monkeypatch.setenv("R_LIBS", str(tmp_path / "lib"))
    assert probe("r").available
    assert probe("mirt").available  # as for R itself, which passes over what it cannot read
    damaged, above = availability.r.r_package("damagedhere"), availability.r.r_package("buildsonit")
    where = tmp_path / "lib" / "damagedhere"
    assert f"damagedhere in {where} is damaged" in damaged.problem
    assert f"cannot load: its dependency damagedhere cannot be read in {where}" in above.problem


@needs("r", "mirt")
@pytest.mark.parametrize("engine", ["mirt", "rpy2"])
def test_start_up_files_do_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    if not probe(engine).available:
        pytest.skip(f"{engine} is not available")
    profile = f'file.create("{tmp_path}/ran"); stop("boo")\n'
    for name in (".Rprofile", "profile.R"):
        (tmp_path / name).write_text(profile)
    monkeypatch.chdir(tmp_path)
    for name in ("R_PROFILE", "R_PROFILE_USER", "R_TESTS"):
        monkeypatch.setenv(name, str(tmp_path / "profile.R"))
    monkeypatch.setenv("R_DEFAULT_PACKAGES", "NULL")
    monkeypatch.setenv("R_LIBS", "not remembered")
    assert probe(engine).available, probe(engine)
    assert not (tmp_path / "ran").exists()


@needs("r")
def test_a_checkout_path_with_a_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a b" / "r_scripts"
    folder.mkdir(parents=True)
    for name in ("check_install.R", "DESCRIPTION"):
        (folder / name).write_bytes(availability.r.resource("r_scripts", name).read_bytes())
    monkeypatch.setattr(availability.r, "resource", lambda _, name: folder / name)
    monkeypatch.setenv("R_LIBS", str(tmp_path))
    assert probe("r").available


class CmdStans:
    """Folders that look like CmdStans, in a home of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def made(self, name: str, version: str, built: bool = True) -> Path:
        folder = self.home / ".cmdstan" / name
        (folder / "bin").mkdir(parents=True)
        (folder / "makefile").write_text(f"# CmdStan\nCMDSTAN_VERSION := {version}\n")
        if built:
            (folder / "bin" / "stanc").touch()
        return folder


@pytest.fixture
def cmdstans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CmdStans:
    monkeypatch.delenv("CMDSTAN", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "a home"))
    monkeypatch.setattr(availability.parts, "installed_version", lambda name: {"cmdstanpy": "1.3.2"}.get(name, ""))
    return CmdStans(tmp_path / "a home")


def test_the_newest_cmdstan_of_the_default_folder(cmdstans: CmdStans) -> None:
    cmdstans.made("cmdstan-2.9.0", "2.9.0")
    cmdstans.made("cmdstan-2.36.0-rc1", "2.36.0-rc1")
    newest = cmdstans.made("cmdstan-2.36.0", "2.36.0")
    state = require("cmdstan")
    assert state.paths["cmdstan"] == str(newest)
    assert state.versions == {"cmdstanpy": "1.3.2", "cmdstan": "2.36.0"}


def test_the_cmdstan_that_is_named_goes_first(cmdstans: CmdStans, monkeypatch: pytest.MonkeyPatch) -> None:
    cmdstans.made("cmdstan-2.36.0", "2.36.0")
    other = cmdstans.made("other", "2.35.0")
    monkeypatch.setenv("CMDSTAN", str(other))
    assert require("cmdstan").versions["cmdstan"] == "2.35.0"


def test_a_wrong_cmdstan_is_named(cmdstans: CmdStans, monkeypatch: pytest.MonkeyPatch) -> None:
    unbuilt = cmdstans.made("unbuilt", "2.36.0", built=False)
    for path, problem in (
        (unbuilt / "nowhere", "is not a folder"),
        (cmdstans.home, "holds no CmdStan (no makefile)"),
        (unbuilt, "is not built (no bin/stanc)"),
    ):
        monkeypatch.setenv("CMDSTAN", str(path))
        state = probe("cmdstan")
        assert not state.available
        assert state.problem.startswith(f"CMDSTAN is set to {path}, which {problem}")


def test_cmdstanpy_and_cmdstan_are_two_things(cmdstans: CmdStans, monkeypatch: pytest.MonkeyPatch) -> None:
    neither = probe("cmdstan").problem
    assert "There is no CmdStan: CMDSTAN is not set" in neither
    cmdstans.made("cmdstan-2.36.0", "2.36.0")
    monkeypatch.setattr(availability.parts, "installed_version", lambda name: "")
    state = {s.engine: s for s in doctor()}["cmdstan"]
    assert state.problem == f"cmdstanpy is not installed in {sys.prefix}."
    assert state.remedy.endswith("-m pip install cmdstanpy.")


def test_who_has_stanli_is_told_that_cmdstan_is_not_needed(cmdstans: CmdStans, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "stanli" not in probe("cmdstan").remedy
    monkeypatch.setattr(availability.parts, "installed_version", lambda name: "1.0" if name == "stanli" else "")
    state = {s.engine: s for s in doctor()}["cmdstan"]
    assert "-m pip install cmdstanpy. Then run `" in state.remedy
    assert state.remedy.endswith('Without it stan-hmc takes stanli, which is here (backend="auto").')

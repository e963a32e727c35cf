"""No R, a wrong R_HOME, an empty R_HOME, an rpy2 too new for this R: one typed error each, and no crash.

rpy2 itself raises a ValueError without R, ends the whole process (status 2) under a wrong R_HOME, and fails with an
undefined symbol (R_getVar) on an R older than 4.5. All is run in processes of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gates import needs

SETTINGS: dict[str, tuple[str, str]] = {
    "no R on PATH": ("There is no R: no Rscript on PATH, and R_HOME is not set.", "apt-get install r-base-core"),
    "bogus R_HOME": ("nowhere, which is not a folder.", "Unset R_HOME"),
    "empty R_HOME": ("which holds no R (no bin/Rscript).", "Unset R_HOME"),
}


def python(code: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict[str, str], str, str]:
    """Return an environment, and what is to be said of it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("R_", "RPY2_"))}
    if request.param == "no R on PATH":
        environment["PATH"] = str(tmp_path)
    else:
        environment["R_HOME"] = str(tmp_path / "nowhere" if request.param == "bogus R_HOME" else tmp_path)
    return environment, *SETTINGS[request.param]


Setting = tuple[dict[str, str], str, str]


def test_native_estimators_work(setting: Setting) -> None:
    code = "import psychoeval as pe; print(pe.fit(pe.load_dataset('lsat7'), 'simple-average').convergence.status)"
    done = python(code, setting[0])
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "not_iterative", "")


@pytest.mark.parametrize("bridge", ["auto", "rpy2", "rscript"])
def test_mirt_is_refused_with_the_cause_and_the_remedy(setting: Setting, bridge: str) -> None:
    environment, problem, remedy = setting
    code = f"""
import psychoeval as pe
from psychoeval.errors import EngineUnavailableError
try:
    pe.fit(pe.load_dataset("lsat7"), "mirt-em", model="Rasch", bridge="{bridge}")
except EngineUnavailableError as error:
    print(error)
"""
    done = python(code, environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert problem in done.stdout
    assert remedy in done.stdout
    assert "psychoeval doctor" in done.stdout


def test_doctor_gives_the_diagnosis(setting: Setting) -> None:
    environment, problem, remedy = setting
    command = [sys.executable, "-m", "psychoeval", "doctor", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    states = {state["engine"]: state for state in json.loads(done.stdout)}
    assert states["numpy"]["available"]
    for engine in ("r", "mirt", "rpy2"):
        assert not states[engine]["available"]
        assert problem in states[engine]["problem"]
        assert remedy in states[engine]["remedy"]
    assert states["mirt"]["problem"].startswith("mirt needs R.")


@needs("r", "mirt")
def test_mirt_missing_differs_from_r_missing(tmp_path: Path) -> None:
    """The real R, kept from every library but its own."""
    nothing = tmp_path / "Renviron"
    nothing.write_text("")
    libraries = dict.fromkeys(("R_LIBS", "R_LIBS_USER", "R_LIBS_SITE"), str(tmp_path / "none"))
    environment = {**os.environ, **libraries, "R_ENVIRON": str(nothing), "R_ENVIRON_USER": str(nothing)}
    code = "from psychoeval.availability import probe; print(probe('r').available, probe('mirt'))"
    done = python(code, environment)
    assert done.stdout.startswith("True EngineState(engine='mirt', available=False, problem='mirt is ")
    assert "mirt needs R" not in done.stdout
    assert "make setup" in done.stdout


def fake_distribution(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.fixture
def with_rpy2(tmp_path: Path) -> Callable[[str, str], dict[str, str]]:
    """Return an environment in which an rpy2 of some versions, whose code is given, goes before any other."""

    def make(interface_version: str, code: str) -> dict[str, str]:
        (tmp_path / "rpy2").mkdir()
        (tmp_path / "rpy2" / "__init__.py").write_text("")
        (tmp_path / "rpy2" / "rinterface.py").write_text(code)
        fake_distribution(tmp_path, "rpy2", "3.6.9")
        fake_distribution(tmp_path, "rpy2-rinterface", interface_version)
        return {**os.environ, "PYTHONPATH": str(tmp_path)}

    return make


@needs("r")
@pytest.mark.parametrize(
    ("interface_version", "code", "problem"),
    [
        ("3.6.5", "import os; os._exit(2)", "exit status 2"),
        ("3.6.5", "raise OSError('libR.so: undefined symbol: R_getVar')", "undefined symbol: R_getVar"),
    ],
)
def test_an_rpy2_that_does_not_start_is_survived(
    with_rpy2: Callable[[str, str], dict[str, str]], interface_version: str, code: str, problem: str
) -> None:
    done = python(
        "from psychoeval.availability import probe; s = probe('rpy2'); print(s.available, s.problem, s.remedy)",
        with_rpy2(interface_version, code),
    )
    assert done.stdout.startswith("False rpy2 3.6.9 does not start R")
    assert problem in done.stdout
    assert "pip install" in done.stdout


@needs("r")
def test_an_rpy2_too_new_for_r_is_named_without_starting_it(with_rpy2: Callable[[str, str], dict[str, str]]) -> None:
    started = "open('started', 'w')"
    done = python(
        "from psychoeval.availability import probe; s, r = probe('rpy2'), probe('r').versions['R']\n"
        "print(r < '4.5', 'rpy2-rinterface 3.6.7 needs R >= 4.5' in s.problem, 'rpy2==3.5.17' in s.remedy)",
        with_rpy2("3.6.7", started),
    )
    old, named, remedied = (word == "True" for word in done.stdout.split())
    assert named is old
    assert remedied is old


@needs("r", "mirt")
def test_auto_falls_back_to_the_other_bridge_and_says_so(with_rpy2: Callable[[str, str], dict[str, str]]) -> None:
    fitted = "pe.fit(pe.load_dataset('lsat7'), 'mirt-em', model='Rasch')"
    done = python(
        f"import psychoeval as pe; print({fitted}.provenance.bridge)", with_rpy2("3.6.5", "import os; os._exit(2)")
    )
    assert done.stdout.strip() == "rscript", done.stderr

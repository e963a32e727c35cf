"""What a wheel holds, built from a copy of the checkout in which stray files lie about."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", "*.so", "*.o", ".RData", ".Rhistory", "*.Rout")
STRAY = (
    "psychoeval/irt/__pycache__/curves.cpython-311.pyc",
    "psychoeval/irt/curves.cpython-311-x86_64-linux-gnu.so",
    "r_scripts/.RData",
    "r_scripts/.Rhistory",
    "r_scripts/mirt_job.Rout",
    "r_scripts/mirt_job.o",
    "build/lib/psychoeval/old.py",
    "dist/psychoeval-0.0.1-py3-none-any.whl",
    "out/report.html",
    "tests/test_something.py",
    "tools/scratch.py",
    "notes.txt",
)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None, reason="hatchling, which builds the wheel, comes with the dev extra"
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("checkout")
    for folder in ("psychoeval", "r_scripts"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=IGNORED)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def expected(tree: Path) -> set[str]:
    """Return the names that the wheel must hold, read before anything stray is planted."""
    package = {p.relative_to(tree).as_posix() for p in (tree / "psychoeval").rglob("*") if p.is_file()}
    scripts = {p.relative_to(tree).as_posix() for p in (tree / "r_scripts").rglob("*") if p.is_file()}
    return package | {f"psychoeval/_resources/{name}" for name in scripts}


@pytest.fixture(scope="module")
def wheel(tree: Path, expected: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in STRAY:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("stray")
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    return built


def test_it_holds_the_package_and_the_scripts_and_nothing_else(wheel: Path, expected: set[str]) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == expected
    assert {"psychoeval/py.typed", "psychoeval/_resources/r_scripts/check_install.R"} <= held


def test_it_is_for_every_platform(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(target)
    return target


def run_installed(installed: Path, *arguments: str) -> str:
    """Run Python where the wheel's files, and not the checkout's, are found first."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(command, cwd=installed, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("name", ["check_install.R", "DESCRIPTION", "mirt_job.R", "run_job.R"])
def test_an_installed_package_finds_its_scripts(installed: Path, name: str) -> None:
    code = f"from psychoeval.resources import resource; print(resource('r_scripts', '{name}'))"
    found = Path(run_installed(installed, "-c", code))
    assert found == installed / "psychoeval" / "_resources" / "r_scripts" / name
    assert found.read_bytes() == (ROOT / "r_scripts" / name).read_bytes()


def test_an_installed_package_has_its_data_and_commands(installed: Path) -> None:
    assert "swebench-verified" in run_installed(installed, "-m", "psychoeval", "data", "--format", "csv")
    (entry_points,) = installed.glob("*.dist-info/entry_points.txt")
    assert "psychoeval = psychoeval.cli:main" in entry_points.read_text()

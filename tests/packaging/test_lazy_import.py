"""`import psychoeval` is quick because it loads little, and starts nothing."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import psychoeval

HEAVY = ("pandas", "scipy.stats", "matplotlib", "rpy2", "typer", "rich", "jinja2", "pyarrow", "subprocess")


def loaded_by(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after a statement and had not before."""
    code = f"import json, sys; before = set(sys.modules); {statement}; print(json.dumps([*set(sys.modules) - before]))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def heavy(modules: set[str]) -> set[str]:
    return {name for name in modules for package in HEAVY if f"{name}.".startswith(f"{package}.")}


def test_importing_psychoeval_loads_no_other_package() -> None:
    loaded = loaded_by("import psychoeval")
    assert "psychoeval" in loaded
    foreign = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {"psychoeval"}
    assert foreign == set()
    assert heavy(loaded) == set()


def test_fitting_and_the_registry_load_no_pandas_and_no_statistics() -> None:
    loaded = loaded_by("import psychoeval.fitting, psychoeval.registry")
    assert {"numpy", "psychoeval.fitting"} <= loaded
    # NumPy and the standard library may load subprocess; starting one is test_layers' matter.
    assert heavy(loaded) - {"subprocess"} == set()


def test_the_measure_sees_what_is_loaded() -> None:
    assert {"scipy.stats", "pandas"} <= heavy(loaded_by("import scipy.stats, pandas"))


@pytest.mark.parametrize("name", psychoeval.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(psychoeval, name) is not None


def test_names_for_type_checkers_are_the_lazy_ones() -> None:
    """The table that `__getattr__` uses, `__all__` and what mypy reads name the same things in the same places."""
    tree = ast.parse(Path(psychoeval.__file__).read_text(encoding="utf-8"))
    block = next(n for n in tree.body if isinstance(n, ast.If))
    typed = {alias.name: n.module for n in block.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    assert typed == psychoeval._PUBLIC
    assert set(psychoeval.__all__) == {*typed, "__version__"}
    assert set(typed) <= set(dir(psychoeval))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        psychoeval.nothing  # noqa: B018

"""Which module may import which, read from the source by ast."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "psychoeval"

#: A module imports its own row or a lower one. The longest name that fits decides.
ROWS = {
    "_version": 0,
    "errors": 0,
    "files": 0,
    "resources": 0,
    "terminal": 0,
    "wording": 0,
    "irt": 1,
    "responses": 1,
    "results": 2,
    "estimators": 3,
    "estimators.base": 3,
    "availability": 3,
    "children": 3,
    "rbridge": 3,
    "estimators.native": 4,
    "estimators.mirt": 4,
    "estimators.settings": 3,
    "estimators.stan": 4,
    "estimators.brms": 4,
    "registry": 5,
    "fitting": 5,
    "agreement": 6,
    "audit": 6,
    "diagnostics": 6,
    "trust": 7,
    "studies": 7,
    "scoring": 6,
    "plots": 8,
    "report": 8,
    "cli": 8,
    "__main__": 8,
    "": 8,
}

#: Foreign modules that have one home; all other modules reach them through it.
HOMES = {
    "rpy2": ("rbridge.bridge_rpy2",),
    "subprocess": ("children", "availability", "rbridge.bridge_rscript"),
    "stanli": ("estimators.stan.stanli_child",),
    "cmdstanpy": ("estimators.stan.backend_cmdstan", "estimators.stan.cmdstan_child"),
    "arviz": ("results.arviz_groups",),
    "arviz_stats": ("results.sampling_figures",),
    "multiprocessing": (),
    "pty": (),
    "matplotlib": ("plots",),
    "jinja2": ("report",),
    "typer": ("cli", "__main__"),
    "rich": ("cli",),
}
PROCESS_CALLS = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "ProcessPoolExecutor"}
PROCESS_PREFIXES = ("exec", "spawn")

#: mirt's own words.
MIRT_WORDS = {"a1", "F1", "itemtype", "quadpts", "NCYCLES", "IRTpars", "technical"}
MIRT_HOMES = ("estimators.mirt", "agreement.external")


def sources() -> list[tuple[str, ast.Module]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append((name, ast.parse(path.read_text(encoding="utf-8"))))
    return found


SOURCES = sources()


def inside(module: str, home: str) -> bool:
    return module == home or module.startswith(f"{home}.")


def row(module: str) -> int:
    fits = [name for name in ROWS if name and inside(module, name)]
    if not fits and module:
        raise LookupError(f"psychoeval.{module} has no row: put its folder into ROWS")
    return ROWS[max(fits, key=len, default="")]


def only_for_types(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes under ``if TYPE_CHECKING``, which import nothing."""
    return {
        node
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and isinstance(branch.test, ast.Name) and branch.test.id == "TYPE_CHECKING"
        for statement in branch.body
        for node in ast.walk(statement)
    }


def imports(tree: ast.Module) -> Iterator[str]:
    """Yield what a module imports when it runs, anywhere in it, also by import_module("...")."""
    skipped = only_for_types(tree)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            first = node.args[0] if node.args else None
            if name in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield str(first.value)


def wrong_imports(module: str, tree: ast.Module) -> list[str]:
    """Return the imports that break a rule."""
    wrong = []
    for target in imports(tree):
        for foreign, homes in HOMES.items():
            if inside(target, foreign) and not any(inside(module, home) for home in homes):
                wrong.append(f"{module or '__init__'} imports {target}, whose home is {homes or 'nowhere'}")
        if not target.startswith("psychoeval."):
            continue
        ours = target.removeprefix("psychoeval.")
        if row(ours) > row(module):
            wrong.append(f"{module} (row {row(module)}) imports {ours} (row {row(ours)})")
        if inside(module, "irt") and not (inside(ours, "irt") or inside(ours, "errors")):
            wrong.append(f"{module} imports {ours}: irt imports nothing of ours but errors")
        folders = [name.split(".")[1] for name in (module, ours) if name.startswith("estimators.")]
        if len(folders) == 2 and folders[0] != folders[1] and folders[1] not in ("base", "settings", "progress"):
            wrong.append(f"{module} imports {ours}: estimators' folders never import each other")
    return sorted(set(wrong))


def process_calls(tree: ast.Module) -> list[str]:
    names = [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "os"]
    names += [t.rpartition(".")[2] for t in imports(tree) if t.startswith(("os.", "concurrent.futures."))]
    return [n for n in names if n in PROCESS_CALLS or n.startswith(PROCESS_PREFIXES)]


def mirt_words(tree: ast.Module) -> set[str]:
    """Return mirt's words among arguments and texts; local letters of a formula are not mirt's."""
    words = {n.arg for n in ast.walk(tree) if isinstance(n, (ast.keyword, ast.arg)) and n.arg}
    words |= {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return words & MIRT_WORDS


NAMES = [name or "__init__" for name, _ in SOURCES]


@pytest.mark.parametrize(("module", "tree"), SOURCES, ids=NAMES)
def test_imports_point_one_way(module: str, tree: ast.Module) -> None:
    assert wrong_imports(module, tree) == []


@pytest.mark.parametrize(("module", "tree"), SOURCES, ids=NAMES)
def test_child_processes_have_two_homes(module: str, tree: ast.Module) -> None:
    if module not in HOMES["subprocess"]:
        assert process_calls(tree) == []


@pytest.mark.parametrize(("module", "tree"), SOURCES, ids=NAMES)
def test_mirts_words_stop_at_its_folder(module: str, tree: ast.Module) -> None:
    if not any(inside(module, home) for home in MIRT_HOMES):
        assert mirt_words(tree) == set()


def test_no_folder_is_empty() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    empty = [f for f in folders if not [p for p in f.iterdir() if p.name not in ("__init__.py", "__pycache__")]]
    assert empty == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("irt.curves", "from psychoeval.responses.matrix import Responses"),
        ("results.fit_result", "import psychoeval.fitting"),
        ("results.fit_result", "def f():\n    from psychoeval import fitting"),
        ("responses.tables", "from psychoeval.results import checks"),
        ("estimators.native.map", "from psychoeval.estimators.mirt.contract import Reply"),
        ("fitting", "import rpy2.rinterface"),
        ("fitting", 'import_module("rpy2.robjects")'),
        ("estimators.mirt.estimator", "import subprocess"),
        ("agreement.comparison", "from matplotlib import pyplot"),
        ("plots.forest", "if x:\n    from psychoeval.missing_room import y"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    try:
        found = wrong_imports(module, ast.parse(source))
    except LookupError:
        found = ["no row"]
    assert found


@pytest.mark.parametrize(
    "source",
    ["import os\nos.system('R')", "from os import execv", "from concurrent.futures import ProcessPoolExecutor"],
)
def test_a_child_process_is_found(source: str) -> None:
    assert process_calls(ast.parse(source))


@pytest.mark.parametrize("source", ["fit(quadpts=61)", "row['a1']", "def f(technical): ..."])
def test_a_word_of_mirt_is_found(source: str) -> None:
    assert mirt_words(ast.parse(source))


def test_right_imports_are_taken() -> None:
    source = """
if TYPE_CHECKING:
    from psychoeval.report.html import report
from psychoeval.irt import curves
from psychoeval.estimators.base import Estimator
import numpy
"""
    assert wrong_imports("estimators.native.map", ast.parse(source)) == []

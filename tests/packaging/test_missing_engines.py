"""What stays usable without the extras, and what the rest says: with a bare Python, in processes of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.packaging.bare import run

NATIVE = """
import psychoeval as pe
fits = pe.fit_many(pe.load_dataset("lsat7"), ["simple-average", "additive", "ctt", "map"], model="Rasch")
assert not fits.failures, fits.failures
print(len(fits.results), len(pe.compare(fits).pairs))
"""


def doctor(site: Path, **environment: str) -> dict[str, dict[str, object]]:
    done = run(site, "-m", "psychoeval", "doctor", "--json", **environment)
    assert done.returncode == 0, done.stderr
    return {state["engine"]: state for state in json.loads(done.stdout)}


def refusal(site: Path, code: str, **environment: str) -> str:
    """Return the typed error that code ends with."""
    catch = f"""
from psychoeval.errors import EngineUnavailableError
import psychoeval as pe
try:
    {code}
except EngineUnavailableError as error:
    print(error)
"""
    done = run(site, "-c", catch, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_bare_site_has_no_extras(bare_site: Path) -> None:
    code = (
        "import importlib.util as u; print([n for n in ('matplotlib', 'jinja2', 'pyarrow', 'rpy2') if u.find_spec(n)])"
    )
    assert run(bare_site, "-c", code).stdout.strip() == "[]"


def test_native_estimators_and_the_comparison_need_no_extra(bare_site: Path) -> None:
    done = run(bare_site, "-c", NATIVE)
    assert done.stdout.split() == ["4", "6"], done.stderr


def test_doctor_names_each_missing_extra_and_its_command(bare_site: Path) -> None:
    states = doctor(bare_site)
    assert states["numpy"]["available"]
    for engine, packages in (("report", "matplotlib jinja2"), ("parquet", "pyarrow")):
        assert not states[engine]["available"]
        python, _, rest = states[engine]["remedy"].removeprefix("Run: ").partition(" -m ")
        assert rest == f"pip install {packages}."
        assert Path(python).samefile(sys.executable)


@pytest.mark.parametrize(
    ("code", "named"),
    [
        (
            "pe.report(pe.compare(pe.fit_many(pe.load_dataset('lsat7'), ['ctt', 'simple-average'])), 'o.html')",
            "atplotlib",
        ),
        ("pe.read_table('scores.parquet')", "pyarrow"),
    ],
)
def test_what_needs_an_extra_says_so(bare_site: Path, code: str, named: str) -> None:
    (bare_site / "scores.parquet").write_bytes(b"PAR1")
    said = refusal(bare_site, code)
    assert named in said
    assert "pip install" in said

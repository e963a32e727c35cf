import json
import re
from pathlib import Path

import numpy as np
import pytest

from psychoeval.responses.datasets import load_dataset
from tests.golden import FOLDER, data, reference, sha256

ROOT = FOLDER.parents[1]
MANIFEST = json.loads((FOLDER / "manifest.json").read_text())


def test_references_were_made_by_the_generator_that_is_here():
    generator = MANIFEST["generator"]
    assert sha256(ROOT / generator["path"]) == generator["sha256"]


def test_data_are_those_the_references_were_made_from():
    assert set(MANIFEST["sha256"]) == {f"data/{p.name}" for p in (FOLDER / "data").iterdir()}
    for name, digest in MANIFEST["sha256"].items():
        assert sha256(FOLDER / name) == digest


def test_references_are_as_they_were_made():
    files = {p.name for p in FOLDER.glob("*.json")} - {"manifest.json"}
    assert set(MANIFEST["references"]) == files
    for name, digest in MANIFEST["references"].items():
        assert sha256(FOLDER / name) == digest


def test_the_manifest_names_versions_and_settings():
    assert re.fullmatch(r"\d+\.\d+\.\d+", MANIFEST["R"])
    assert set(MANIFEST["packages"]) >= {"mirt", "psych"}
    assert MANIFEST["settings"]["TOL"] == 1e-10


@pytest.mark.parametrize("path", sorted(FOLDER.glob("mirt_*.json")), ids=lambda p: Path(p).stem)
def test_numbers_have_their_17_digits(path):
    digits = [len(m.replace(".", "").lstrip("0")) for m in re.findall(r"\d+\.\d+", path.read_text())]
    assert np.mean([d >= 16 for d in digits]) > 0.8


@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_bundled_data_are_the_reference_data(name):
    assert (load_dataset(name).successes == data(name).successes).all()


def test_the_simulated_set_has_missing_cells():
    observed = data("simulated_missing").observed
    assert 0.75 < observed.mean() < 0.85
    assert reference("mirt_simulated_missing")["two_pl"]["persons"] == len(observed)

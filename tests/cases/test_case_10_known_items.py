"""Two systems stopped early: what the scorers make of cells that were not run, kept missing or counted as wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.tables import read_table
from psychoeval.scoring import score

DATA = Path(__file__).parent / "data" / "10"
EXPECTED = json.loads((DATA / "expected.json").read_text())
#: The case's 61 nodes, .2 apart, from -6 to 6 err by this much at posterior SDs of .37 to .64 (a tenth of it measured).
NODES_61 = 1e-6


def known_items(ids: tuple[str, ...]) -> ItemParameters:
    items = json.loads((DATA / "item_parameters.json").read_text())
    return ItemParameters.from_difficulty(ids, items["a"], items["b"])


@pytest.mark.parametrize(("missing", "key"), [("missing", "eap_na"), ("wrong", "eap_zero")])
def test_eap(missing: str, key: str) -> None:
    responses = read_table(DATA / "responses.csv", missing=missing)
    found = score(responses, known_items(responses.item_ids))
    assert found.estimate == pytest.approx([EXPECTED[p][key] for p in found.person_ids], abs=NODES_61)
    if missing == "missing":
        assert found.standard_error == pytest.approx([EXPECTED[p]["se_na"] for p in found.person_ids], abs=NODES_61)


def test_items_that_were_not_run_do_not_touch_a_score() -> None:
    responses = read_table(DATA / "responses.csv")
    items = known_items(responses.item_ids)
    row = responses.person_ids.index("E_stopped_early")
    alone = responses.select(persons=np.array([row]), items=np.flatnonzero(responses.trials[row]))
    assert alone.n_items == 12
    for method in ("EAP", "MAP", "ML", "WLE"):
        whole, part = score(responses, items, method=method), score(alone, items, method=method)
        # Other nodes and other sums for EAP, rounding elsewhere.
        assert whole.estimate[row] == pytest.approx(part.estimate[0], abs=1e-8)

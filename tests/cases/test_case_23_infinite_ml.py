"""Three items, one with a negative slope: a mixed pattern without a finite maximum of the likelihood."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.scoring import ScoringMethod, score

DATA = Path(__file__).parent / "data" / "23"
EXPECTED = json.loads((DATA / "expected.json").read_text())


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(DATA / "responses.csv")


def scored(responses: Responses, method: ScoringMethod) -> Abilities:
    items = json.loads((DATA / "item_parameters.json").read_text())
    return score(responses, ItemParameters.from_difficulty(responses.item_ids, items["a"], items["b"]), method=method)


def test_ml_is_infinite_by_the_score_function_not_by_the_raw_score(responses: Responses) -> None:
    found = scored(responses, "ML")
    assert found.estimate == pytest.approx([float(EXPECTED[p]["mle"]) for p in found.person_ids], abs=1e-9)
    assert found.estimate[:2].tolist() == [np.inf, -np.inf]
    assert found.status == ("ml_infinite", "ml_infinite", "estimated")
    assert found.standard_error is not None
    assert found.standard_error[:2].tolist() == [np.inf, np.inf]


@pytest.mark.parametrize(
    ("method", "key", "tolerance"),
    # The case's EAPs come from 61 nodes from -6 to 6: 5e-8 off.
    [("MAP", "map_", 1e-7), ("EAP", "eap", 2e-7)],
)
def test_priors_keep_the_others_finite(responses: Responses, method: ScoringMethod, key: str, tolerance: float) -> None:
    found = scored(responses, method)
    assert found.estimate == pytest.approx([EXPECTED[p][key][0] for p in found.person_ids], abs=tolerance)
    assert found.standard_error == pytest.approx([EXPECTED[p][key][1] for p in found.person_ids], abs=tolerance)
    assert found.status == ("estimated",) * 3


def test_wle_is_finite_and_orders_them_alike(responses: Responses) -> None:
    found = scored(responses, "WLE")
    assert np.isfinite(found.estimate).all()
    assert np.argsort(found.estimate).tolist() == [1, 2, 0]

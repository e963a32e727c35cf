"""Six systems on algebra, six on chemistry, nothing in common: named before any fit, and refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import psychoeval as pe
from psychoeval.errors import DisconnectedDataError
from psychoeval.responses.connectivity import components
from psychoeval.responses.screening import item_status, screen

DATA = Path(__file__).parent / "data" / "14"
EXPECTED = json.loads((DATA / "expected.json").read_text())


@pytest.fixture(scope="module")
def responses() -> pe.Responses:
    return pe.read_table(DATA / "responses.csv")


def test_components(responses: pe.Responses) -> None:
    found = components(responses)
    assert found.n == EXPECTED["components"]
    of_item = {i.split("_")[0]: int(k) for i, k in zip(responses.item_ids, found.item_component, strict=True)}
    assert of_item["algebra"] != of_item["chem"]


def test_screening_warns(responses: pe.Responses) -> None:
    assert "disconnected" in {f.kind for f in screen(responses).warnings}


def test_constant_items(responses: pe.Responses) -> None:
    constant = [i for i, s in zip(responses.item_ids, item_status(responses), strict=True) if s.startswith("constant")]
    assert constant == EXPECTED["constant"]


@pytest.mark.parametrize("estimator", ["mml", "additive", "cml"])
def test_one_scale_is_refused_by_name(responses: pe.Responses, estimator: str) -> None:
    model = None if estimator == "additive" else "Rasch"
    with pytest.raises(DisconnectedDataError, match="2 components"):
        pe.fit(responses, estimator, model)


@pytest.mark.parametrize("estimator", ["map", "random-item"])
def test_a_scale_by_priors_alone_says_so(responses: pe.Responses, estimator: str) -> None:
    fit = pe.fit(responses, estimator, "Rasch")
    assert any("2 groups of systems" in w and "do not compare" in w for w in fit.convergence.warnings)


def test_each_component_is_fitted_alone(responses: pe.Responses) -> None:
    found = components(responses)
    for k in range(2):
        part = responses.select(persons=found.person_component == k, items=found.item_component == k)
        fit = pe.fit(part, "mml", "Rasch")
        assert fit.abilities is not None
        assert np.isfinite(fit.abilities.estimate).all()
        # Each has the mean 0 by construction: nothing compares the two.
        assert abs(fit.abilities.estimate.mean()) < 1e-6

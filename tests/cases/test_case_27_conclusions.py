"""12 systems, 200 items: estimators rank and conclude alike, and the simple average stands beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import psychoeval as pe
from psychoeval.agreement.inference import compare_inference
from psychoeval.agreement.inference_result import InferenceAgreement
from psychoeval.results.fit_result import FitResult

DATA = Path(__file__).parent / "data" / "27"
TRUTH = json.loads((DATA / "truth.json").read_text())["theta_true"]


@pytest.fixture(scope="module")
def fits() -> tuple[FitResult, ...]:
    responses = pe.read_table(DATA / "responses.csv")
    return pe.fit_many(responses, ["mml", "map", "random-item"], model="Rasch").results


@pytest.fixture(scope="module")
def found(fits: tuple[FitResult, ...]) -> InferenceAgreement:
    return compare_inference(fits, responses=pe.read_table(DATA / "responses.csv"))


def test_the_simple_average_stands_beside_though_nobody_asked_for_it(found: InferenceAgreement) -> None:
    assert found.names[-1] == "simple-average"
    beside = [p for p in found.pairs if p.second == "simple-average"]
    assert len(beside) == 3
    for pair in beside:
        # Rasch abilities are monotone in raw scores: no rank moves, and the case's two figures are one (.9912).
        assert pair.moves is not None
        assert pair.moves.largest == 0
        assert pair.decisions.opposite == 0
        assert pair.decisions.n == 66
        assert pair.unlike.startswith("logits against proportions")
        assert pair.overlap is None
    for column in found.ranks.T:
        assert spearmanr(-column, TRUTH).statistic == pytest.approx(0.9912, abs=5e-5)


def test_the_average_claims_less_and_never_something_else(found: InferenceAgreement) -> None:
    # Its errors hold the sampling of items without a model of their difficulty.
    claims = dict(zip(found.names, found.told_apart, strict=True))
    average = claims.pop("simple-average")
    assert all(0 < average < n for n in claims.values())
    assert all(p.decisions.only_second == 0 for p in found.pairs if p.second == "simple-average")
    assert all(p.decisions.only_first > 0 for p in found.pairs if p.second == "simple-average")


def test_two_systems_of_equal_scores_are_tied_for_all(found: InferenceAgreement) -> None:
    assert np.ptp(found.ranks[:2], axis=0).tolist() == [0.0] * 4
    assert [t.contested for t in found.tops] == [(), (), ()]

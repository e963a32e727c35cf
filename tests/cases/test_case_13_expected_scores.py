"""Strong systems report only hard suites: on known items, expected scores over all suites undo what averages turn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from psychoeval.irt.curves import probability
from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.scoring import ExpectedScores, expected_scores, score

DATA = Path(__file__).parent / "data" / "13"
TRUTH = {name: np.array(values) for name, values in json.loads((DATA / "truth.json").read_text()).items()}
EXPECTED = json.loads((DATA / "expected.json").read_text())
THETA = TRUTH["theta_true"]
#: The abilities are spread evenly from -2.2 to 2.2.
LATENT = LatentDistribution(0.0, 1.3)


@pytest.fixture(scope="module", params=["EAP", "WLE"])
def found(request: pytest.FixtureRequest) -> ExpectedScores:
    responses = read_table(DATA / "responses.csv")
    items = ItemParameters.from_difficulty(responses.item_ids, 1.0, TRUTH["b_true"])
    scored = score(responses, items, method=request.param, latent=LATENT)
    return expected_scores(items, scored, responses=responses)


def test_the_order_is_the_true_one_where_averages_turn_it(found: ExpectedScores) -> None:
    assert found.taken is not None
    # Printed with three decimals.
    printed = EXPECTED["spearman"]["mean over reported cells"]
    assert spearmanr(found.taken.observed, THETA).statistic == pytest.approx(printed, abs=5e-4)
    assert spearmanr(found.estimate, THETA).statistic > 0.85


def test_intervals_hold_the_true_scores_and_averages_lie_far_off(found: ExpectedScores) -> None:
    true = probability(THETA, np.ones(60), -TRUTH["b_true"]).mean(axis=1)
    # 36 to 40 of 40 for 95 % with a chance of 95 % (binomial).
    assert np.count_nonzero((found.low <= true) & (true <= found.high)) >= 36
    assert found.taken is not None
    assert np.abs(found.estimate - true).mean() < 0.08
    assert np.abs(found.taken.observed - true).mean() > 0.2


def test_who_took_easy_or_hard_suites_is_named(found: ExpectedScores) -> None:
    said = np.array(found.differs)
    assert set(said[THETA < 0]) <= {"", "easier items"}
    assert set(said[THETA > 0]) <= {"", "harder items"}
    assert np.count_nonzero(said != "") >= 25

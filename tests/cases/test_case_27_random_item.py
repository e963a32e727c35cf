"""12 systems, 200 items: the population of items holds the slopes that run away in a free 2PL."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from psychoeval.fitting import fit
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import FitResult

DATA = Path(__file__).parent / "data" / "27"
TRUTH = json.loads((DATA / "truth.json").read_text())["theta_true"]
#: Of the plain average, and of mirt's Rasch model (the case's figures).
MEAN = 0.99124
#: Of mirt's free 2PL.
FREE_2PL = 0.9720


@pytest.fixture(scope="module")
def fits() -> dict[str, FitResult]:
    responses: Responses = read_table(DATA / "responses.csv")
    return {model: fit(responses, "random-item", model=model) for model in ("Rasch", "2PL")}


def test_it_ranks_as_the_average_or_within_one_swap_of_neighbors(fits: dict[str, FitResult]) -> None:
    # Systems 1 and 2 have equal raw scores, and in the Rasch model abilities that rounding alone parts (2e-16).
    found = {model: spearmanr(np.round(fit_.abilities.estimate, 9), TRUTH).statistic for model, fit_ in fits.items()}
    assert found["Rasch"] == pytest.approx(MEAN, abs=5e-6)
    # One swap of neighbors costs 2 x 6 / (12 x 143) = .007. The 2PL puts systems 1 and 2, equal in raw scores, in their
    # true order, but .003 apart with standard errors of .17: a tie, which the average leaves one.
    assert found["2PL"] == pytest.approx(0.99301, abs=5e-6)
    assert found["2PL"] > FREE_2PL
    abilities = fits["2PL"].abilities
    assert abs(abilities.estimate[0] - abilities.estimate[1]) < 0.05 * abilities.standard_error[0]


def test_no_slope_runs_away_and_constant_items_are_finite(fits: dict[str, FitResult]) -> None:
    found = fits["2PL"]
    items = found.item_parameters
    assert items is not None
    assert found.convergence.status == "converged"
    assert items.estimated.all()
    assert sum(status.startswith("constant") for status in items.status) == 12
    # True slopes are log-normal with SD .3 (.45 to 2.2); a free 2PL gives -.8 to 88.
    assert 0.4 < items.discrimination.min() < items.discrimination.max() < 2.2
    assert any("12 of 200 items were answered alike" in w for w in found.convergence.warnings)


def test_the_evidence_prefers_the_rasch_model_on_12_systems(fits: dict[str, FitResult]) -> None:
    evidence = {model: fit_.statistics["log_evidence"] for model, fit_ in fits.items() if fit_.statistics}
    assert evidence["Rasch"] - evidence["2PL"] > 3.0
    assert np.isfinite(list(evidence.values())).all()

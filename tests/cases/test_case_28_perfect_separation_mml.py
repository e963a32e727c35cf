"""An item that is a step function of the rest, by marginal maximum likelihood in NumPy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.errors import ConvergenceWarning
from psychoeval.fitting import fit
from psychoeval.irt.models import ItemModel, LogNormal, Priors
from psychoeval.irt.quadrature import marginal_posterior, normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table

DATA = Path(__file__).parent / "data" / "28"
EXPECTED = json.loads((DATA / "expected.json").read_text())


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(DATA / "responses.csv")


def mirts(responses: Responses, n_nodes: int, limit: float) -> float:
    a, d = (np.array(EXPECTED[f"after_5000_{term}"]) for term in ("slopes", "intercepts"))
    grid = normal_grid(n_nodes, limit)
    return float(marginal_posterior(responses.successes, responses.trials, a, d, np.zeros(9), grid).log_marginal.sum())


def test_the_item_is_flagged_and_the_fit_not_believed(responses: Responses) -> None:
    with pytest.warns(ConvergenceWarning, match="threshold_item"):
        found = fit(responses, "mml", model="2PL", priors="none")
    items = found.item_parameters
    assert items is not None
    assert found.convergence.status == "failed_check"
    assert items.status == ("estimated",) * 8 + ("runaway",)
    assert any("'threshold_item' (slope 50" in f for f in found.convergence.failures)
    errors = items.standard_errors
    assert errors is None or not errors["discrimination"][8] <= 30  # missing, or beyond use


def test_mirts_log_likelihood_is_its_grids_and_not_the_datas(responses: Responses) -> None:
    # At a slope of 48 the curve steps between two of the 61 nodes, .2 apart: their sum is .31 too high.
    assert mirts(responses, 61, 6.0) == pytest.approx(EXPECTED["after_5000_log_likelihood"], abs=1e-6)
    exactly = mirts(responses, 4001, 8.0)
    assert exactly == pytest.approx(mirts(responses, 8001, 9.0), abs=1e-6)
    assert exactly == pytest.approx(-956.80735, abs=1e-5)
    with pytest.warns(ConvergenceWarning, match="threshold_item"):
        found = fit(responses, "mml", model="2PL", priors="none", standard_errors="none")
    assert found.log_likelihood is not None
    assert exactly < found.log_likelihood < exactly + 0.1


def test_a_prior_makes_it_finite_and_the_result_says_that_it_did(responses: Responses) -> None:
    model = ItemModel("2PL", Priors(discrimination=LogNormal(0.0, 0.5)))
    found = fit(responses, "mml", model=model, tolerance=1e-8)
    items = found.item_parameters
    assert items is not None
    assert found.convergence.status == "converged"
    assert items.status == ("estimated",) * 9
    # Three decimals are printed of the others; the reference's search stopped 1e-4 short in the steep one.
    assert items.discrimination[8] == pytest.approx(EXPECTED["prior_slope"], abs=2e-4)
    assert items.discrimination[:8] == pytest.approx(EXPECTED["prior_other_slopes"], abs=6e-4)
    assert found.label == "mml 2PL [a ~ LN(0, 0.5)]"
    assert found.aic is None
    assert any("'threshold_item'" in w and "Only the priors keep them finite" in w for w in found.convergence.warnings)

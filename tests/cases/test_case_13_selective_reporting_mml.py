"""Strong systems report only hard suites: one normal distribution for all takes part of the correction away."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from psychoeval.errors import ConvergenceWarning, ModelError
from psychoeval.fitting import fit
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table

DATA = Path(__file__).parent / "data" / "13"
THETA = np.array(json.loads((DATA / "expected.json").read_text())["theta_true"])
#: Direct maximisation on 61 nodes in NumPy; R mirt 1.47 the same.
SLOPE, LOG_LIKELIHOOD, SPEARMAN = 0.5810426, -472.8176352, 0.5317
EAP_FIRST = (-0.402098, -0.610074, -0.402098, 0.134233, -0.881586)


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(DATA / "responses.csv")


def rho(estimate: np.ndarray) -> float:
    return float(spearmanr(estimate, THETA).statistic)


def test_the_1pl_is_the_references(responses: Responses) -> None:
    # Neighbouring suites share systems, so that nothing is disconnected.
    found = fit(responses, "mml", model="1PL", priors="none", tolerance=1e-8)
    assert found.item_parameters is not None
    assert found.abilities is not None
    assert found.convergence.status == "converged"
    assert found.item_parameters.discrimination == pytest.approx(SLOPE, abs=1e-6)
    assert found.log_likelihood == pytest.approx(LOG_LIKELIHOOD, abs=1e-6)
    assert found.abilities.estimate[:5] == pytest.approx(EAP_FIRST, abs=1e-5)
    # Ties of systems with one raw score on the same suites: .5317 was broken by rounding.
    estimate = np.round(found.abilities.estimate, 6)
    assert rho(estimate - 1e-8 * THETA) <= SPEARMAN <= rho(estimate + 1e-8 * THETA)
    assert rho(estimate) == pytest.approx(SPEARMAN, abs=1e-3)


def test_the_free_2pl_is_refused_and_not_believed_where_it_is_forced(responses: Responses) -> None:
    with pytest.raises(ModelError, match="120 parameters for 40 systems"):
        fit(responses, "mml", model="2PL", priors="none")
    with pytest.warns(ConvergenceWarning, match="ran away"):
        found = fit(
            responses, "mml", model="2PL", priors="none", allow_free_2pl=True, slopes="free", max_iterations=30,
            standard_errors="none",
        )  # fmt: skip
    assert not found.convergence.believed
    assert any("items have slopes below 0" in w for w in found.convergence.warnings)

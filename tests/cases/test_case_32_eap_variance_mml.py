"""The variance of EAPs is not the variance of ability: the identity, and the reliability that it gives."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.fitting import fit
from psychoeval.irt.models import ModelName
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table

DATA = Path(__file__).parent / "data" / "32"
EXPECTED = json.loads((DATA / "expected.json").read_text())


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(DATA / "responses.csv")


def test_parts_and_reliability_are_mirts(responses: Responses) -> None:
    found = fit(responses, "mml", model="2PL", priors="none", tolerance=1e-8)
    assert found.abilities is not None
    assert found.abilities.standard_error is not None
    assert found.statistics is not None
    spread = float(np.var(found.abilities.estimate, ddof=1))
    error = float(np.mean(found.abilities.standard_error**2))
    assert spread == pytest.approx(EXPECTED["eap_variance"], abs=1e-6)
    assert error == pytest.approx(EXPECTED["mean_squared_error"], abs=1e-6)
    assert spread + error == pytest.approx(EXPECTED["sum"], abs=1e-6)
    assert spread / (spread + error) == pytest.approx(EXPECTED["reliability"], abs=1e-6)
    # The result divides by n where mirt divides by n - 1: 4e-4 apart at 500 systems.
    assert found.statistics["empirical_reliability"] == pytest.approx(EXPECTED["reliability"], abs=1 / 500)
    assert found.statistics["marginal_reliability"] == pytest.approx(1 - error, abs=1e-9)


@pytest.mark.parametrize("model", ["Rasch", "1PL"])
def test_the_parts_add_up_to_the_latent_variance(responses: Responses, model: ModelName) -> None:
    # At the maximum over one common slope, or over the latent variance, the identity is exact (divided by n).
    found = fit(responses, "mml", model=model, priors="none", tolerance=1e-8)
    assert found.abilities is not None
    assert found.latent_distribution is not None
    assert found.abilities.standard_error is not None
    total = np.var(found.abilities.estimate) + np.mean(found.abilities.standard_error**2)
    assert total == pytest.approx(found.latent_distribution.sd**2, abs=1e-7)

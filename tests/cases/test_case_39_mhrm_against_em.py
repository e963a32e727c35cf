"""How far MH-RM may be from EM: in standard errors, not in decimals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.errors import SettingsError
from psychoeval.fitting import fit
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

pytestmark = needs("mirt")
DATA = Path(__file__).parent / "data" / "39"
EXPECTED = json.loads((DATA / "expected.json").read_text())


@pytest.fixture(scope="module")
def em() -> FitResult:
    return fit(read_table(DATA / "responses.csv"), "mirt-em", model="2PL")


@pytest.fixture(scope="module")
def mhrm() -> FitResult:
    return fit(read_table(DATA / "responses.csv"), "mirt-mhrm", model="2PL", seed=8)


def test_em_against_em(em: FitResult) -> None:
    items = em.item_parameters
    assert items is not None
    errors = items.standard_errors
    assert errors is not None
    assert items.discrimination == pytest.approx(EXPECTED["a"], abs=3e-3)
    assert items.intercept == pytest.approx(EXPECTED["d"], abs=3e-3)
    assert errors["discrimination"] == pytest.approx(EXPECTED["se_a"], abs=1e-3)
    assert errors["intercept"] == pytest.approx(EXPECTED["se_d"], abs=1e-3)
    assert em.log_likelihood == pytest.approx(EXPECTED["log_likelihood"], abs=1e-3)


def test_mhrm_is_within_half_a_standard_error(em: FitResult, mhrm: FitResult) -> None:
    one, other = em.item_parameters, mhrm.item_parameters
    assert one is not None
    assert other is not None
    off = np.concatenate(
        [
            np.abs(other.discrimination - one.discrimination) / EXPECTED["se_a"],
            np.abs(other.intercept - one.intercept) / EXPECTED["se_d"],
        ]
    )
    assert off.max() < 0.5
    assert off.mean() < 0.2
    assert off.max() > 1e-3  # it is another estimate, not EM's under another name
    assert em.abilities is not None
    assert mhrm.abilities is not None
    assert np.corrcoef(em.abilities.estimate, mhrm.abilities.estimate)[0, 1] > 0.9999


def test_the_simulated_log_likelihood_has_its_error(em: FitResult, mhrm: FitResult) -> None:
    assert (em.log_likelihood_kind, em.log_likelihood_error) == ("marginal", None)
    assert mhrm.log_likelihood_kind == "simulated"
    assert mhrm.log_likelihood_error is not None
    assert 0 < mhrm.log_likelihood_error < 0.5
    assert mhrm.aic is None
    assert mhrm.log_likelihood == pytest.approx(EXPECTED["log_likelihood"], abs=1.0)
    assert mhrm.provenance.seed == 8


def test_an_error_type_of_another_method_is_refused_not_replaced() -> None:
    with pytest.raises(SettingsError, match="mhrm, fmhrm, none"):
        fit(read_table(DATA / "responses.csv"), "mirt-mhrm", model="2PL", standard_errors="oakes")

"""Guessing free, fixed, or with a prior: three different fits, each under its name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.errors import ModelError
from psychoeval.fitting import fit
from psychoeval.irt.models import Beta, Guessing, ItemModel, LogitNormal
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

pytestmark = needs("mirt")
DATA = Path(__file__).parent / "data" / "24"
EXPECTED = json.loads((DATA / "expected.json").read_text())


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(DATA / "responses.csv")


def three_pl(responses: Responses, guessing: Guessing, **settings: float) -> FitResult:
    return fit(responses, "mirt-em", model=ItemModel("3PL", guessing=guessing), **settings)


def test_fixed_guessing_stays_fixed(responses: Responses) -> None:
    found = three_pl(responses, 0.25, tolerance=1e-6)
    items = found.item_parameters
    assert items is not None
    assert items.guessing.tolist() == [0.25] * 15
    assert items.discrimination == pytest.approx(EXPECTED["fixed_a"], abs=2e-3)
    assert found.log_likelihood == pytest.approx(EXPECTED["fixed_log_likelihood"], abs=1e-4)
    assert found.n_parameters == 30
    errors = items.standard_errors
    assert errors is not None
    assert errors["guessing"].tolist() == [0.0] * 15
    assert found.label == "mirt-em 3PL, c = 0.25"


def test_free_guessing_is_as_mirt_leaves_it_and_warns(responses: Responses) -> None:
    found = three_pl(responses, "free")
    assert found.item_parameters is not None
    assert found.item_parameters.guessing == pytest.approx(EXPECTED["free_default_g"], abs=3e-3)
    assert found.log_likelihood == pytest.approx(EXPECTED["free_default_log_likelihood"], abs=1e-4)
    assert found.n_parameters == 45
    assert any("Free guessing parameters from 600 systems" in w for w in found.convergence.warnings)
    # Not yet at the maximum: .004 below it, and g of the third item .015 off.
    assert found.log_likelihood is not None
    assert found.log_likelihood < EXPECTED["free_log_likelihood"]


def test_a_prior_holds_it(responses: Responses) -> None:
    found = three_pl(responses, LogitNormal(-1.1, 0.5))
    assert found.item_parameters is not None
    # The 1.47 run had not converged; the items differ by what EM's stopping rules differ.
    assert found.item_parameters.guessing == pytest.approx(EXPECTED["prior_g"], abs=3e-3)
    assert found.log_likelihood == pytest.approx(EXPECTED["prior_log_likelihood"], abs=0.02)
    assert not any("Free guessing" in w for w in found.convergence.warnings)
    assert found.aic is None
    default = fit(responses, "mirt-em", model="3PL")
    assert default.label == found.label == "mirt-em 3PL, c ~ logit-N(-1.1, 0.5)"


def test_the_three_are_different_fits(responses: Responses) -> None:
    two = fit(responses, "mirt-em", model="2PL")
    assert two.log_likelihood == pytest.approx(EXPECTED["two_pl_log_likelihood"], abs=1e-4)
    assert two.item_parameters is not None
    assert not np.any(two.item_parameters.guessing)


def test_a_prior_that_mirt_computes_wrongly_is_refused(responses: Responses) -> None:
    with pytest.raises(ModelError, match="beta prior on guessing"):
        three_pl(responses, Beta(5, 17))

"""The variance of EAPs is not that of abilities: 500 systems on 10 items, known from mirt's 2PL."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.scoring import plausible_values, score

DATA = Path(__file__).parent / "data" / "32"
EXPECTED = json.loads((DATA / "expected.json").read_text())
#: The mean variance of 20 sets of mirt's (1.47).
PLAUSIBLE_VARIANCE = 1.00644722
#: mirt 1.48's items here, mirt 1.47's figures in the case, both stopped at TOL 1e-4: mirt 1.48's own EAPs on these
#: items have a variance 9e-6 and a mean squared error 1.7e-5 away from the case's.
STOPPED = 5e-5


@pytest.fixture(scope="module")
def case() -> tuple[Responses, ItemParameters]:
    responses = read_table(DATA / "responses.csv")
    known = json.loads((DATA / "item_parameters.json").read_text())
    return responses, ItemParameters.from_slope_intercept(responses.item_ids, known["a"], known["d"])


@pytest.fixture(scope="module")
def found(case: tuple[Responses, ItemParameters]) -> Abilities:
    return score(*case)


def test_variance_of_eaps_and_of_posteriors_add_up_to_the_models(found: Abilities) -> None:
    assert found.standard_error is not None
    between, within = float(found.estimate.var(ddof=1)), float((found.standard_error**2).mean())
    assert between == pytest.approx(EXPECTED["eap_variance"], abs=STOPPED)
    assert within == pytest.approx(EXPECTED["mean_squared_error"], abs=STOPPED)
    assert between / (between + within) == pytest.approx(EXPECTED["reliability"], abs=STOPPED)
    # E var + var E = 1 in the model; 500 systems have it within their sampling error, 1 / sqrt(250).
    assert between + within == pytest.approx(1.0, abs=0.01)


def test_plausible_values_have_the_models_variance_and_their_means_do_not(
    case: tuple[Responses, ItemParameters], found: Abilities
) -> None:
    draws = plausible_values(*case, 20, seed=32)
    assert draws.shape == (20, 500)
    # The case's own tolerance; over seeds the mean of 20 variances has an SD of .008.
    assert draws.var(axis=1, ddof=1).mean() == pytest.approx(PLAUSIBLE_VARIANCE, abs=0.03)
    # Averaged first, they are EAPs: their variance falls short by a quarter.
    assert draws.mean(axis=0).var(ddof=1) < 0.8


def test_draws_obey_the_seed(case: tuple[Responses, ItemParameters]) -> None:
    first = plausible_values(*case, 3, seed=1)
    np.testing.assert_array_equal(first, plausible_values(*case, 3, seed=1))
    assert (first != plausible_values(*case, 3, seed=2)).all()

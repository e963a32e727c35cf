"""Items everybody passes, everybody fails, or nobody was given."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.fitting import fit
from psychoeval.irt.quadrature import marginal_posterior, normal_grid
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

pytestmark = needs("mirt")
DATA = Path(__file__).parent / "data" / "02"
EXPECTED = json.loads((DATA / "expected.json").read_text())
IDS = ("q1", "q2", "all_right", "q3", "q4", "all_wrong", "q5", "q6", "never_run")
STATUS = (
    "estimated", "estimated", "constant_all_1", "estimated", "estimated", "constant_all_0", "estimated", "estimated",
    "no_responses",
)  # fmt: skip
INFORMATIVE = [0, 1, 3, 4, 6, 7]
#: The reference's 61 nodes reach to 6 SDs; a Rasch model with SD 1.32 has its own on [-6, 6] at 4.5 SDs, which takes
#: 2.5e-4 off the slope. With these nodes the two are 3e-5 apart.
SETTINGS = {"tolerance": 1e-8, "max_iterations": 2000, "quadrature_points": 241, "quadrature_limit": 12.0}


@pytest.fixture(scope="module")
def one_pl() -> FitResult:
    return fit(read_table(DATA / "responses.csv"), "mirt-em", model="1PL", **SETTINGS)


def test_every_item_is_there_in_place_with_its_status(one_pl: FitResult) -> None:
    items = one_pl.item_parameters
    assert items is not None
    assert items.item_ids == IDS
    assert items.status == STATUS
    assert np.flatnonzero(np.isfinite(items.discrimination)).tolist() == INFORMATIVE
    assert np.flatnonzero(np.isfinite(items.difficulty)).tolist() == INFORMATIVE
    errors = items.standard_errors
    assert errors is not None
    assert np.flatnonzero(np.isfinite(errors["intercept"])).tolist() == INFORMATIVE
    assert len(one_pl.item_table()) == 4 * len(IDS)


def test_values_are_those_of_the_six_informative_items(one_pl: FitResult) -> None:
    items, abilities = one_pl.item_parameters, one_pl.abilities
    assert items is not None
    assert abilities is not None
    assert items.discrimination[INFORMATIVE] == pytest.approx(EXPECTED["one_pl_slope"], abs=1e-4)
    assert items.intercept[INFORMATIVE] == pytest.approx(EXPECTED["one_pl_intercepts"], abs=1e-4)
    assert one_pl.log_likelihood == pytest.approx(EXPECTED["one_pl_log_likelihood"], abs=1e-5)
    assert abilities.estimate[:3] == pytest.approx(EXPECTED["eap_first_three"], abs=1e-3)
    assert one_pl.n_parameters == 7
    six = read_table(DATA / "responses.csv").select(items=np.array(INFORMATIVE))
    alone = fit(six, "mirt-em", model="1PL", **SETTINGS)
    assert alone.abilities is not None
    np.testing.assert_array_equal(alone.abilities.estimate, abilities.estimate)


def test_the_2pl_warns_of_its_steep_item() -> None:
    responses = read_table(DATA / "responses.csv")
    settings = {"tolerance": 1e-6, "max_iterations": 5000}
    with pytest.warns(UserWarning, match="mirt-em 2PL"):
        found = fit(responses, "mirt-em", model="2PL", allow_free_2pl=True, **settings)
    items, abilities = found.item_parameters, found.abilities
    assert items is not None
    assert abilities is not None
    # The reference is where 5,000 cycles end, not a maximum: after 20,000 the slope is above 10 and the log-likelihood
    # 3e-4 higher. Hence the status, and hence figures that agree to the five decimals printed.
    assert found.convergence.status == "iteration_limit"
    assert found.convergence.iterations == 5000
    assert found.log_likelihood == pytest.approx(EXPECTED["two_pl_log_likelihood"], abs=1e-6)
    assert items.discrimination[INFORMATIVE] == pytest.approx(EXPECTED["two_pl_a"], abs=1e-5)
    assert items.intercept[INFORMATIVE] == pytest.approx(EXPECTED["two_pl_d"], abs=1e-5)
    # The reference's EAPs are exact integrals; the 61 nodes of the fit, .2 apart, are 3.6e-5 off at a slope of 9.7.
    assert abilities.estimate[:3] == pytest.approx(EXPECTED["two_pl_eap_first_three"], abs=5e-5)
    fine = marginal_posterior(
        *(m[:3, INFORMATIVE] for m in (responses.successes, responses.trials)),
        items.discrimination[INFORMATIVE],
        items.intercept[INFORMATIVE],
        np.zeros(6),
        normal_grid(1001),
    )
    assert fine.mean == pytest.approx(EXPECTED["two_pl_eap_first_three"], abs=1e-5)
    assert items.status == STATUS
    assert any("'q4' (slope 9.71" in w and "priors" in w for w in found.convergence.warnings)

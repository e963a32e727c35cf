"""The best system gets the lowest ability: marginal maximum likelihood with slopes of either sign."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psychoeval.fitting import fit
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import FitResult

DATA = Path(__file__).parent / "data" / "04" / "responses.csv"
#: Direct maximisation on 61 nodes in NumPy, and R mirt 1.47 (543 cycles): the oriented one of two mirror images.
SLOPES = (
    -0.203600, 1.632743, 0.280612, 0.614048, -0.374803, -0.369434, 0.410721, 0.657196, 0.823203, 0.327971, -0.534852,
    -0.585731,
)  # fmt: skip
LOG_LIKELIHOOD = -405.1855146
EAP_FIRST, EAP_LAST = 0.7055871, -0.5410058
ONE_PL_SLOPE, ONE_PL_LOG_LIKELIHOOD = 0.1686921, -411.0263454
#: The reference's search stopped 8e-6 from the maximum in the steepest slope.
STOPPED = 2e-5


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(DATA)


def free(responses: Responses) -> FitResult:
    return fit(responses, "mml", model="2PL", priors="none", allow_free_2pl=True, slopes="free", tolerance=1e-8)


@pytest.fixture(scope="module")
def found(responses: Responses) -> FitResult:
    return free(responses)


def test_the_perfect_system_is_above_the_hopeless_one(found: FitResult) -> None:
    items, abilities = found.item_parameters, found.abilities
    assert items is not None
    assert abilities is not None
    assert found.convergence.status == "converged"
    assert found.log_likelihood == pytest.approx(LOG_LIKELIHOOD, abs=1e-6)
    assert items.discrimination == pytest.approx(np.array(SLOPES), abs=STOPPED)
    assert abilities.estimate[0] == pytest.approx(EAP_FIRST, abs=STOPPED)
    assert abilities.estimate[-1] == pytest.approx(EAP_LAST, abs=STOPPED)


def test_that_there_is_hardly_a_common_factor_is_said(found: FitResult) -> None:
    assert any("5 of 12 items have slopes below 0" in w for w in found.convergence.warnings)
    assert any("almost no common factor" in w for w in found.convergence.warnings)


def test_orientation_is_a_rule_and_not_a_start(responses: Responses, found: FitResult) -> None:
    # All answers turned round: the same likelihood, and the order of the systems turned round.
    turned = Responses(
        responses.trials - responses.successes, responses.trials, responses.person_ids, responses.item_ids
    )
    other = free(turned)
    assert found.abilities is not None
    assert other.abilities is not None
    assert found.item_parameters is not None
    assert other.item_parameters is not None
    assert other.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-9)
    np.testing.assert_allclose(other.abilities.estimate, -found.abilities.estimate, atol=1e-6)
    np.testing.assert_allclose(other.item_parameters.discrimination, found.item_parameters.discrimination, atol=1e-6)
    assert isinstance(found.provenance.details["flipped"], bool)


def test_the_common_slope_is_small(responses: Responses) -> None:
    one = fit(responses, "mml", model="1PL", priors="none", tolerance=1e-8)
    assert one.item_parameters is not None
    assert one.item_parameters.discrimination == pytest.approx(ONE_PL_SLOPE, abs=1e-6)
    assert one.log_likelihood == pytest.approx(ONE_PL_LOG_LIKELIHOOD, abs=1e-6)
    assert any("almost no common factor" in w for w in one.convergence.warnings)

"""Guessing free, fixed, or with a prior: three different fits of one marginal likelihood in NumPy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logit

from psychoeval.fitting import fit
from psychoeval.irt.models import Guessing, ItemModel, LogitNormal
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.quadrature import marginal_posterior, normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import FitResult

DATA = Path(__file__).parent / "data" / "24"
EXPECTED = json.loads((DATA / "expected.json").read_text())
#: mirt at TOL 1e-5 stops up to 3.8e-5 from the maximum (a, guessing .25; measured).
STOPPED = 5e-5
MAXIMUM_FREE = -4968.946816


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(DATA / "responses.csv")


def three_pl(responses: Responses, guessing: Guessing) -> tuple[FitResult, ItemParameters]:
    found = fit(responses, "mml", model=ItemModel("3PL", guessing=guessing), tolerance=1e-7)
    assert found.item_parameters is not None
    return found, found.item_parameters


def log_likelihood(
    responses: Responses, a: NDArray[np.float64], d: NDArray[np.float64], c: NDArray[np.float64]
) -> float:
    grid = normal_grid(2001, 9.0)
    return float(marginal_posterior(responses.successes, responses.trials, a, d, c, grid).log_marginal.sum())


def test_without_guessing(responses: Responses) -> None:
    found = fit(responses, "mml", model="2PL", priors="none", tolerance=1e-7)
    assert found.item_parameters is not None
    assert found.convergence.status == "converged"
    assert found.log_likelihood == pytest.approx(EXPECTED["two_pl_log_likelihood"], abs=1e-6)
    assert found.item_parameters.discrimination == pytest.approx(EXPECTED["two_pl_a"], abs=STOPPED)
    assert found.item_parameters.intercept == pytest.approx(EXPECTED["two_pl_d"], abs=STOPPED)


def test_fixed_guessing_stays_fixed(responses: Responses) -> None:
    found, items = three_pl(responses, 0.25)
    assert found.convergence.status == "converged"
    assert items.guessing.tolist() == [0.25] * 15
    assert found.n_parameters == 30
    assert found.log_likelihood == pytest.approx(EXPECTED["fixed_log_likelihood"], abs=1e-6)
    assert items.discrimination == pytest.approx(EXPECTED["fixed_a"], abs=STOPPED)
    assert items.intercept == pytest.approx(EXPECTED["fixed_d"], abs=STOPPED)


def test_free_guessing_is_no_lower_than_mirts_and_warns(responses: Responses) -> None:
    found, items = three_pl(responses, "free")
    assert found.log_likelihood is not None
    theirs = log_likelihood(responses, *(np.array(EXPECTED[f"free_{term}"]) for term in "adg"))
    assert theirs == pytest.approx(EXPECTED["free_log_likelihood"], abs=5e-5)
    # mirt's 4,696 cycles ended 2.7e-3 below: five guessing parameters were still on their way to 0. The maximum by
    # L-BFGS-B with bounds on a, d and c, in NumPy: projected gradient below 1e-5.
    assert found.log_likelihood == pytest.approx(MAXIMUM_FREE, abs=5e-5)
    assert found.log_likelihood > theirs + 2e-3
    assert found.log_likelihood == pytest.approx(
        log_likelihood(responses, items.discrimination, items.intercept, items.guessing), abs=1e-6
    )
    at_zero = np.flatnonzero(items.guessing < 1e-4)
    assert at_zero.tolist() == [0, 3, 5, 8, 13]
    assert max(EXPECTED["free_g"][j] for j in at_zero) < 0.006
    others = np.setdiff1d(np.arange(15), at_zero)
    assert items.guessing[others] == pytest.approx(np.array(EXPECTED["free_g"])[others], abs=0.007)
    assert any("Free guessing parameters from 600 systems" in w for w in found.convergence.warnings)
    assert any("next to nothing about the guessing" in w for w in found.convergence.warnings)


def test_a_prior_holds_it(responses: Responses) -> None:
    prior = LogitNormal(-1.1, 0.5)
    found, items = three_pl(responses, prior)
    assert found.convergence.status == "converged"
    assert found.label == "mml 3PL, c ~ logit-N(-1.1, 0.5)"
    assert items.guessing == pytest.approx(EXPECTED["prior_g"], abs=STOPPED)
    # The reference had not converged after 5,000 cycles: its last item's slope was .0018 and its intercept .0031 off.
    assert items.discrimination[:14] == pytest.approx(EXPECTED["prior_a"][:14], abs=3e-4)
    assert items.discrimination[14] == pytest.approx(EXPECTED["prior_a"][14], abs=3e-3)
    assert items.intercept[14] == pytest.approx(EXPECTED["prior_d"][14], abs=5e-3)
    penalty = [-0.5 * (((logit(np.array(g)) + 1.1) / 0.5) ** 2).sum() for g in (items.guessing, EXPECTED["prior_g"])]
    theirs = log_likelihood(responses, *(np.array(EXPECTED[f"prior_{term}"]) for term in "adg"))
    assert found.log_likelihood is not None
    assert found.log_likelihood + penalty[0] > theirs + penalty[1]
    assert found.statistics is not None
    assert found.statistics["penalised_log_likelihood"] == pytest.approx(found.log_likelihood + penalty[0], abs=1e-6)
    assert not any("Free guessing" in w for w in found.convergence.warnings)
    assert found.aic is None

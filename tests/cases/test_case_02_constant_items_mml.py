"""Items everybody passes, everybody fails, or nobody was given: by marginal maximum likelihood in NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval.errors import ConvergenceWarning
from psychoeval.fitting import fit
from psychoeval.irt.quadrature import marginal_posterior, normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import FitResult

DATA = Path(__file__).parent / "data" / "02"
EXPECTED = json.loads((DATA / "expected.json").read_text())
IDS = ("q1", "q2", "all_right", "q3", "q4", "all_wrong", "q5", "q6", "never_run")
STATUS = (
    "estimated", "estimated", "constant_all_1", "estimated", "estimated", "constant_all_0", "estimated", "estimated",
    "no_responses",
)  # fmt: skip
INFORMATIVE = np.array([0, 1, 3, 4, 6, 7])
SETTINGS: dict[str, Any] = {"priors": "none", "tolerance": 1e-8}


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(DATA / "responses.csv")


@pytest.fixture(scope="module")
def one_pl(responses: Responses) -> FitResult:
    return fit(responses, "mml", model="1PL", **SETTINGS)


def log_likelihood(responses: Responses, a: list[float], d: list[float], n_nodes: int) -> float:
    six = responses.select(items=INFORMATIVE)
    grid = normal_grid(n_nodes, 8.0)
    return float(
        marginal_posterior(six.successes, six.trials, np.array(a), np.array(d), np.zeros(6), grid).log_marginal.sum()
    )


def test_every_item_is_there_in_place_with_its_status(one_pl: FitResult) -> None:
    items = one_pl.item_parameters
    assert items is not None
    assert items.item_ids == IDS
    assert items.status == STATUS
    errors = items.standard_errors
    assert errors is not None
    for values in (items.discrimination, items.intercept, items.difficulty, errors["intercept"]):
        assert np.flatnonzero(np.isfinite(values)).tolist() == INFORMATIVE.tolist()


def test_values_are_those_of_the_six_informative_items(responses: Responses, one_pl: FitResult) -> None:
    items, abilities = one_pl.item_parameters, one_pl.abilities
    assert items is not None
    assert abilities is not None
    # Their search stopped 4e-6 away; five decimals are printed.
    assert items.discrimination[INFORMATIVE] == pytest.approx(EXPECTED["one_pl_slope"], abs=1e-5)
    assert items.intercept[INFORMATIVE] == pytest.approx(EXPECTED["one_pl_intercepts"], abs=1e-5)
    assert one_pl.log_likelihood == pytest.approx(EXPECTED["one_pl_log_likelihood"], abs=1e-6)
    assert abilities.estimate[:3] == pytest.approx(EXPECTED["eap_first_three"], abs=1e-5)
    assert one_pl.n_parameters == 7
    alone = fit(responses.select(items=INFORMATIVE), "mml", model="1PL", **SETTINGS)
    assert alone.abilities is not None
    np.testing.assert_allclose(alone.abilities.estimate, abilities.estimate, atol=1e-12)


def test_the_2pl_flags_its_steep_item_at_a_higher_likelihood_than_the_reference(responses: Responses) -> None:
    with pytest.warns(ConvergenceWarning, match="'q4'"):
        found = fit(responses, "mml", model="2PL", allow_free_2pl=True, **SETTINGS)
    items = found.item_parameters
    assert items is not None
    assert found.log_likelihood is not None
    assert found.convergence.status == "failed_check"
    assert [i for i, s in zip(items.item_ids, items.status, strict=True) if s == "runaway"] == ["q4"]
    assert items.discrimination[4] == pytest.approx(10.50, abs=0.01)
    # The reference, -210.114605 at a slope of 9.71, stopped short: its grid reads its own parameters right to 7e-7,
    # and here they are 2.9e-4 below the maximum.
    theirs = log_likelihood(responses, EXPECTED["two_pl_a"], EXPECTED["two_pl_d"], 4001)
    assert theirs == pytest.approx(EXPECTED["two_pl_log_likelihood"], abs=1e-6)
    assert found.log_likelihood == pytest.approx(theirs + 2.94e-4, abs=2e-6)
    ours = (items.discrimination[INFORMATIVE].tolist(), items.intercept[INFORMATIVE].tolist())
    assert found.log_likelihood == pytest.approx(log_likelihood(responses, *ours, 4001), abs=1e-7)

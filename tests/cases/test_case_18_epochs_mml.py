"""Repeated epochs as counts: a binomial marginal likelihood, and nothing rounded or truncated."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.fitting import fit
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

DATA = Path(__file__).parent / "data" / "18"
EXPECTED = json.loads((DATA / "expected.json").read_text())
EPOCHS = 4


@pytest.fixture(scope="module")
def counts() -> Responses:
    with (DATA / "epoch_counts.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    return Responses.from_array(
        np.array([row[1:] for row in rows], int), EPOCHS, person_ids=[r[0] for r in rows], item_ids=header[1:]
    )


@pytest.fixture(scope="module")
def found(counts: Responses) -> FitResult:
    return fit(counts, "mml", model="2PL", priors="none", tolerance=1e-8, item_uncertainty=False)


def test_items_and_abilities_are_those_of_the_binomial_likelihood(found: FitResult) -> None:
    items, abilities = found.item_parameters, found.abilities
    assert items is not None
    assert abilities is not None
    assert found.convergence.status == "converged"
    assert abilities.standard_error is not None
    # Printed with five decimals; the reference's search stopped up to 1e-5 from the maximum.
    assert items.discrimination == pytest.approx(EXPECTED["discrimination"], abs=2e-5)
    assert items.intercept == pytest.approx(EXPECTED["intercept"], abs=2e-5)
    assert found.log_likelihood == pytest.approx(EXPECTED["log_likelihood"], abs=1e-6)
    assert abilities.estimate[:3] == pytest.approx(EXPECTED["eap_first_three"], abs=2e-5)
    assert abilities.standard_error.mean() == pytest.approx(EXPECTED["mean_error"], abs=2e-5)


def test_counts_are_not_the_means_cut_off(counts: Responses, found: FitResult) -> None:
    cut = Responses.from_array((counts.successes == EPOCHS).astype(float))
    items = found.item_parameters
    other = fit(cut, "mml", model="1PL", priors="none").item_parameters
    assert items is not None
    assert other is not None
    assert (other.intercept < items.intercept - 0.5).all()


def test_counts_are_epochs_with_equal_parameters(counts: Responses, found: FitResult) -> None:
    # Four trials of one item as four items of a 1PL: one slope, and, by symmetry, nearly one intercept.
    epoch = np.arange(EPOCHS)
    rng = np.random.default_rng(0)
    order = rng.permuted(np.broadcast_to(epoch, (*counts.successes.shape, EPOCHS)), axis=2)
    columns = (order < counts.successes[:, :, None]).astype(float).reshape(counts.n_persons, -1)
    single = Responses.from_array(columns)
    one = fit(counts, "mml", model="1PL", priors="none", tolerance=1e-8)
    apart = fit(single, "mml", model="1PL", priors="none", tolerance=1e-8)
    assert one.log_likelihood is not None
    assert apart.log_likelihood is not None
    assert one.item_parameters is not None
    assert apart.item_parameters is not None
    # 18 more intercepts: twice the gain is chi-squared of 18, 99.9 % of which is below 42.3.
    assert 0 < 2 * (apart.log_likelihood - one.log_likelihood) < 42.3
    assert apart.item_parameters.discrimination[0] == pytest.approx(one.item_parameters.discrimination[0], rel=0.05)

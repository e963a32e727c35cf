"""The best system gets the lowest ability: 48 coin-flippers between a perfect and a hopeless system."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import psychoeval as pe

DATA = Path(__file__).parent / "data" / "04" / "responses.csv"


@pytest.fixture(scope="module")
def responses() -> pe.Responses:
    table = np.genfromtxt(DATA, delimiter=",", skip_header=1, dtype=str)
    return pe.Responses.from_array(table[:, 1:].astype(float), person_ids=table[:, 0])


@pytest.mark.parametrize("priors", ["published", "weak"])
@pytest.mark.parametrize("model", ["Rasch", "1PL", "2PL"])
def test_perfect_system_is_first_and_hopeless_one_last(responses, model, priors) -> None:
    fit = pe.fit(responses, "map", model=model, priors=priors)
    estimate = fit.abilities.estimate
    assert fit.abilities.person_ids[np.argmax(estimate)] == "user_0"
    assert fit.abilities.person_ids[np.argmin(estimate)] == "user_49"
    assert (fit.item_parameters.discrimination > 0).all()


def test_order_does_not_depend_on_the_order_of_the_rows(responses) -> None:
    backwards = responses.select(np.arange(50)[::-1], np.arange(12)[::-1])
    one, two = (pe.fit(r, "map", model="2PL").abilities.estimate for r in (responses, backwards))
    np.testing.assert_allclose(two[::-1], one, atol=1e-7)


def test_that_there_is_hardly_a_common_factor_is_said(responses) -> None:
    warnings = pe.fit(responses, "map", model="2PL").convergence.warnings
    assert any("almost no common factor" in w for w in warnings)


def test_it_is_not_said_of_data_that_have_one() -> None:
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-(rng.normal(size=(50, 1)) - rng.normal(size=12))))
    data = pe.Responses.from_array((rng.random((50, 12)) < p).astype(float))
    assert not any("common factor" in w for w in pe.fit(data, "map", model="2PL").convergence.warnings)

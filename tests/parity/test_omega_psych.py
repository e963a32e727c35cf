"""Omega and its factor against R's psych (complete data; tests/golden/make_psych_omega.R)."""

import numpy as np
import pytest

from psychoeval.irt.omega import omega_one_factor
from tests.golden import data, reference
from tests.parity import tolerances


@pytest.mark.parametrize("name", ["lsat7", "simulated_15"])
def test_loadings_and_omega_are_psychs(name):
    expected = reference("psych_omega")[name]
    responses = data(name)
    found = omega_one_factor(responses.successes, responses.trials)
    assert found.reason == ""
    assert found.loadings == pytest.approx(np.array(expected["loadings"]), rel=0, abs=tolerances.MINRES)
    assert found.value == pytest.approx(expected["omega"], rel=0, abs=tolerances.MINRES)

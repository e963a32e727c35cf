"""Two items: the conditional difference of their difficulties has a closed form."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from psychoeval.fitting import fit
from psychoeval.responses.tables import read_table

DATA = Path(__file__).parent / "data" / "26"


def test_conditional_difference_and_its_error() -> None:
    found = fit(read_table(DATA / "responses.csv"), "cml", model="Rasch")
    items = found.item_parameters
    assert items is not None
    assert items.joint_covariance is not None
    # 25 systems passed the first item only, 15 the second only: a binomial logit, whatever the abilities.
    assert found.convergence.status == "converged"
    assert items.difficulty[0] - items.difficulty[1] == pytest.approx(math.log(15 / 25), abs=1e-10)
    assert items.difficulty[0] - items.difficulty[1] == pytest.approx(-0.510826, abs=5e-7)
    contrast = np.array([1.0, -1.0])
    error = math.sqrt(contrast @ items.joint_covariance @ contrast)
    assert error == pytest.approx(math.sqrt(1 / 15 + 1 / 25), abs=1e-10)
    assert error == pytest.approx(0.326599, abs=5e-7)
    assert found.n_parameters == 1
    assert found.log_likelihood == pytest.approx(15 * math.log(15 / 40) + 25 * math.log(25 / 40), abs=1e-10)

"""Systems with everything wrong, half right and everything right, on 20 known items: what their posteriors are.

ML and WLE are in the tests of mirt beside this one. MAP under N(0, 1) (-+2.128035) has no function in the package that
takes known items: it belongs to the scorers, `irt/scoring.py`, and is asserted when they are there.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.irt.quadrature import Posterior, marginal_posterior, normal_grid
from psychoeval.responses.tables import read_table

DATA = Path(__file__).parent / "data" / "01"
EXPECTED = json.loads((DATA / "expected.json").read_text())
#: The figures are printed with six decimals.
PRINTED_6 = 6e-7


@pytest.fixture(scope="module")
def found() -> Posterior:
    responses = read_table(DATA / "responses.csv")
    zeros, ones = np.zeros(20), np.ones(20)
    return marginal_posterior(responses.successes, responses.trials, ones, zeros, zeros, normal_grid())


def test_eap_is_finite_and_symmetric(found: Posterior) -> None:
    assert found.mean == pytest.approx(EXPECTED["eap"], abs=PRINTED_6)
    assert found.mean[0] == pytest.approx(-found.mean[2], abs=1e-12)


def test_its_sd_is_larger_at_the_extremes(found: Posterior) -> None:
    assert found.sd == pytest.approx(EXPECTED["eap_sd"], abs=PRINTED_6)
    assert found.sd[1] < min(found.sd[0], found.sd[2])

"""An item that is a step function of the rest: its slope has no finite maximum."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from psychoeval.errors import ConvergenceWarning
from psychoeval.fitting import fit
from psychoeval.irt.models import ItemModel, LogNormal, Priors
from psychoeval.responses.tables import read_table
from tests.gates import needs

pytestmark = needs("mirt")
DATA = Path(__file__).parent / "data" / "28"
EXPECTED = json.loads((DATA / "expected.json").read_text())


def test_the_item_is_flagged_and_the_fit_not_believed() -> None:
    with pytest.warns(ConvergenceWarning, match="threshold_item"):
        found = fit(read_table(DATA / "responses.csv"), "mirt-em", model="2PL")
    items = found.item_parameters
    assert items is not None
    assert items.standard_errors is not None
    assert found.convergence.status == "failed_check"
    assert found.convergence.iterations == 500
    assert items.status == ("estimated",) * 8 + ("runaway",)
    assert items.discrimination[8] == pytest.approx(EXPECTED["default_slope"], abs=1e-2)
    # The error is nearly as large as the estimate; mirt's second-order test is content all the same.
    assert items.standard_errors["discrimination"][8] == pytest.approx(EXPECTED["default_slope_error"], rel=1e-3)
    assert found.log_likelihood == pytest.approx(EXPECTED["default_log_likelihood"], abs=1e-4)
    assert any("limit of 500 cycles" in w for w in found.convergence.warnings)


def test_a_prior_makes_it_finite_and_the_label_says_that_it_did() -> None:
    model = ItemModel("2PL", Priors(discrimination=LogNormal(0.0, 0.5)))
    found = fit(read_table(DATA / "responses.csv"), "mirt-em", model=model)
    items = found.item_parameters
    assert items is not None
    assert found.convergence.status == "converged"
    assert items.discrimination[8] == pytest.approx(EXPECTED["prior_slope"], abs=3e-3)
    assert items.discrimination[:8] == pytest.approx(EXPECTED["prior_other_slopes"], abs=3e-3)
    assert found.label == "mirt-em 2PL [a ~ LN(0, 0.5)]"
    assert found.aic is None

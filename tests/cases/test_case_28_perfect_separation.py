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
#: Printed with five decimals; as much again for another BLAS.
PRINTED_5 = 1e-5


def test_the_item_is_flagged_and_the_fit_not_believed() -> None:
    with pytest.warns(ConvergenceWarning, match="threshold_item"):
        found = fit(read_table(DATA / "responses.csv"), "mirt-em", model="2PL")
    items = found.item_parameters
    assert items is not None
    assert items.standard_errors is not None
    assert found.convergence.status == "failed_check"
    assert found.convergence.iterations == 500
    assert items.status == ("estimated",) * 8 + ("runaway",)
    # The same 500 cycles: five decimals are printed.
    assert items.discrimination == pytest.approx(EXPECTED["default_slopes"], abs=PRINTED_5)
    assert items.intercept == pytest.approx(EXPECTED["default_intercepts"], abs=PRINTED_5)
    # The error is nearly as large as the estimate; mirt's second-order test is content all the same.
    assert items.standard_errors["discrimination"][8] == pytest.approx(EXPECTED["default_slope_error"], rel=1e-3)
    assert items.standard_errors["intercept"][8] == pytest.approx(EXPECTED["default_intercept_error"], rel=1e-3)
    assert found.log_likelihood == pytest.approx(EXPECTED["default_log_likelihood"], abs=1e-6)
    assert any("limit of 500 cycles" in w for w in found.convergence.warnings)


def test_ten_times_the_cycles_only_take_it_further() -> None:
    settings = {"tolerance": 1e-5, "max_iterations": 5000, "standard_errors": "none"}
    with pytest.warns(ConvergenceWarning, match="threshold_item"):
        found = fit(read_table(DATA / "responses.csv"), "mirt-em", model="2PL", **settings)
    items = found.item_parameters
    assert items is not None
    assert found.convergence.status == "failed_check"
    assert found.convergence.iterations == 5000
    assert items.discrimination == pytest.approx(EXPECTED["after_5000_slopes"], abs=PRINTED_5)
    assert items.intercept == pytest.approx(EXPECTED["after_5000_intercepts"], abs=PRINTED_5)
    assert found.log_likelihood == pytest.approx(EXPECTED["after_5000_log_likelihood"], abs=1e-6)
    assert any("'threshold_item' (slope 48.2" in f for f in found.convergence.failures)


def test_a_prior_makes_it_finite_and_the_label_says_that_it_did() -> None:
    model = ItemModel("2PL", Priors(discrimination=LogNormal(0.0, 0.5)))
    found = fit(read_table(DATA / "responses.csv"), "mirt-em", model=model, tolerance=1e-7)
    items = found.item_parameters
    assert items is not None
    assert found.convergence.status == "converged"
    # mirt's maximiser stops 1.8e-4 from the reference's maximum in the steep slope, 7e-6 in the others, which are
    # printed with three decimals.
    assert items.status == ("estimated",) * 9
    assert items.discrimination[8] == pytest.approx(EXPECTED["prior_slope"], abs=5e-4)
    assert items.discrimination[:8] == pytest.approx(EXPECTED["prior_other_slopes"], abs=6e-4)
    assert found.label == "mirt-em 2PL [a ~ LN(0, 0.5)]"
    assert found.aic is None

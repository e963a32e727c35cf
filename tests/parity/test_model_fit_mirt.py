"""M2, RMSEA, SRMSR, CFI and TLI against mirt's M2, and where mirt differs, by what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psychoeval import fit
from psychoeval.diagnostics.model_fit import ModelFit, model_fit
from psychoeval.irt import limited_information as limited
from psychoeval.irt.models import ItemModel
from tests.golden import FOLDER, MODEL_KEYS, data, reference, sha256
from tests.parity import tolerances

GOLDEN = reference("mirt_local_dependence")
SETS = ("lsat7", "simulated_500")
SCRIPT = "tests/golden/make_local_dependence.R"


def ours(name: str, model: str) -> ModelFit:
    responses = data(name)
    how = {"guessing": 0.2} if model == "3PL" else {}
    return model_fit(fit(responses, "mml", ItemModel(model, **how)), responses)  # type: ignore[arg-type]


def on_mirts_items(name: str, key: str) -> tuple[limited.Curves, np.ndarray, np.ndarray, int]:
    """Return curves at nodes, the nodes, residual moments and persons, with mirt's own parameters."""
    golden = GOLDEN[name][key]
    a = np.array(golden["slope"]) * np.sqrt(golden["variance"])
    grid = limited.moment_grid(a)
    curves = limited.item_curves(a, np.array(golden["intercept"]), np.array(golden["guessing"]), grid)
    x = data(name).successes.astype(float)
    return curves, grid.nodes, limited.observed_moments(x) - limited.moments(curves), len(x)


def m2_by(curves: limited.Curves, residual: np.ndarray, n: int, *by: np.ndarray) -> float:
    derivatives = np.hstack([limited.moment_derivatives(curves, values) for values in by])
    return limited.m2(residual, limited.moment_covariance(curves), derivatives, n)[0]


def assert_indices(found: ModelFit, golden: dict[str, Any]) -> None:
    n = found.n_persons
    # mirt's RMSEA has N - 1 where its limits, and ours, have N.
    pairs = {
        "RMSEA": found.rmsea * np.sqrt(n / (n - 1)), "RMSEA_5": found.rmsea_low, "RMSEA_95": found.rmsea_high,
        "SRMSR": found.srmsr, "CFI": found.cfi, "TLI": found.tli, "p": found.p,
    }  # fmt: skip
    assert pairs == pytest.approx({name: golden[name] for name in pairs}, rel=0, abs=tolerances.M2_INDICES)


@pytest.mark.parametrize("model", ["1PL", "2PL"])
@pytest.mark.parametrize("name", SETS)
def test_m2_of_our_fit_is_mirts(name: str, model: str) -> None:
    found, golden = ours(name, model), GOLDEN[name][MODEL_KEYS[model]]["m2"]
    assert found.m2 == pytest.approx(golden["M2"], rel=0, abs=tolerances.M2)
    assert found.df == golden["df"]
    assert_indices(found, golden)


@pytest.mark.parametrize("name", SETS)
def test_the_rasch_models_is_that_of_mirts_1pl(name: str) -> None:
    found, golden = ours(name, "Rasch"), GOLDEN[name]
    assert found.m2 == pytest.approx(golden["one_pl"]["m2"]["M2"], rel=0, abs=tolerances.M2)
    # mirt leaves out the derivatives by the latent variance, which it counts in the degrees of freedom.
    assert found.m2 == pytest.approx(golden["rasch"]["m2"]["M2"], rel=0, abs=tolerances.M2_RASCH)
    assert_indices(found, golden["rasch"]["m2"])
    curves, _, residual, n = on_mirts_items(name, "rasch")
    without = m2_by(curves, residual, n, curves.intercept)
    assert without == pytest.approx(golden["rasch"]["m2"]["M2"], rel=0, abs=tolerances.M2)


@pytest.mark.parametrize("name", SETS)
def test_with_guessing_mirt_takes_another_derivative(name: str) -> None:
    """mirt 1.48 has P (1 - P) for dP/dd, which is (1 - c) L (1 - L); its M2 comes out with that alone."""
    golden = GOLDEN[name]["three_pl_fixed"]["m2"]
    found = ours(name, "3PL")
    assert found.srmsr == pytest.approx(golden["SRMSR"], rel=0, abs=tolerances.M2_INDICES)
    assert found.df == golden["df"]
    curves, nodes, residual, n = on_mirts_items(name, "three_pl_fixed")
    wrong = curves.p * (1 - curves.p)
    assert m2_by(curves, residual, n, wrong, wrong * nodes[:, None]) == pytest.approx(
        golden["M2"], rel=0, abs=tolerances.M2
    )
    right = m2_by(curves, residual, n, curves.intercept, curves.slope)
    assert found.m2 == pytest.approx(right, rel=0, abs=tolerances.M2)
    assert abs(right - golden["M2"]) > 100 * tolerances.M2


def test_the_references_were_made_by_the_script_that_is_here() -> None:
    manifest = reference("manifest")
    assert manifest["further_generators"][SCRIPT] == sha256(FOLDER.parents[1] / SCRIPT)
    assert manifest["packages"]["mirt"] == GOLDEN["mirt"]

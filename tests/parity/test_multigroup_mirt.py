"""Groups calibrated together, and onto fixed items, against mirt's multipleGroup (one group: its mirt)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from psychoeval.agreement.concurrent import calibrate_together
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from psychoeval.responses.matrix import Responses
from tests.gates import needs
from tests.parity import tolerances

pytestmark = needs("mirt")

MEANS, SDS = np.array([0.0, 0.7, -0.5]), np.array([1.0, 1.3, 0.8])
HELD = slice(3, 6)


def simulated(groups: list[int], guessing: float) -> tuple[Responses, list[str], ItemParameters]:
    """Return up to three groups of which the second did not run the first two items, and the third the last three."""
    rng = np.random.default_rng(3)
    code = np.repeat([0, 1, 2], [300, 250, 200])
    theta = rng.normal(MEANS[code], SDS[code])
    a, b = np.exp(rng.normal(0, 0.3, 10)), rng.normal(0, 1, 10)
    p = guessing + (1 - guessing) * expit(a * (theta[:, None] - b))
    x = (rng.random(p.shape) < p).astype(np.float64)
    x[code == 1, :2] = np.nan
    x[code == 2, -3:] = np.nan
    kept = np.isin(code, groups)
    run = ~np.isnan(x[kept]).all(axis=0)
    responses = Responses.from_array(x[kept][:, run])
    truth = ItemParameters.from_difficulty(responses.item_ids, a[run], b[run], guessing)
    return responses, [f"g{k}" for k in code[kept]], truth


def by_mirt(responses: Responses, labels: list[str], model: ItemModel, fixed: ItemParameters | None) -> dict[str, Any]:
    x = np.where(responses.trials > 0, responses.successes.astype(np.float64), np.nan)
    held = np.isin(responses.item_ids, () if fixed is None else fixed.item_ids)
    values = {"a1": np.ones(x.shape[1]), "d": np.zeros(x.shape[1])}
    if fixed is not None:
        values["a1"][held], values["d"][held] = fixed.discrimination, fixed.intercept
    job = {
        "x": np.ravel(x, order="F"),
        "n_persons": x.shape[0],
        "n_items": x.shape[1],
        "group": labels,
        "fixed": held.astype(np.float64),
        "itemtype": "2PL" if model.name == "3PL" else model.name,  # of a 3PL mirt estimates the guessing that is given
        "guess": model.guessing,
        "tolerance": 1e-12,
    }
    return RscriptBridge().call(Path(__file__).with_name("multigroup_mirt.R"), "mirt_groups", job | values, timeout=200)


@pytest.mark.parametrize(
    ("name", "groups", "anchored"),
    [
        ("2PL", [0, 1, 2], False),
        ("Rasch", [0, 1], False),
        ("3PL", [0, 1], True),
        ("Rasch", [1, 2], True),
        ("2PL", [1], True),
    ],
)
def test_items_groups_and_likelihood_are_mirts(name: Any, groups: list[int], anchored: bool) -> None:
    model = ItemModel(name, guessing=0.2 if name == "3PL" else None)
    responses, labels, truth = simulated(groups, 0.2 if name == "3PL" else 0.0)
    fixed = None
    if anchored:
        slope = np.ones(truth.n_items) if name == "Rasch" else truth.discrimination
        fixed = ItemParameters.from_slope_intercept(
            truth.item_ids[HELD], slope[HELD], truth.intercept[HELD], truth.guessing[HELD]
        )
    found = calibrate_together(
        responses, labels, model, fixed_items=fixed, reference=None if anchored else labels[0], tolerance=1e-9
    )
    expected = by_mirt(responses, labels, model, fixed)
    assert found.convergence.status == "converged"
    assert expected["converged"] == [True]
    assert found.n_parameters == expected["n_parameters"][0]
    exactly: dict[str, Any] = {"rel": 0, "abs": tolerances.GROUPS_PARAMETERS}
    assert found.items.discrimination == pytest.approx(np.array(expected["a1"]), **exactly)
    assert found.items.intercept == pytest.approx(np.array(expected["d"]), **exactly)
    sd = np.sqrt(expected["COV_11"])
    assert np.array([g.mean for g in found.groups]) == pytest.approx(np.array(expected["MEAN_1"]), **exactly)
    assert np.array([g.sd for g in found.groups]) == pytest.approx(sd, **exactly)
    # Ours is the higher one: by 1e-8 to 6e-8.
    likelihood = expected["log_likelihood"][0]
    assert found.log_likelihood == pytest.approx(likelihood, rel=0, abs=tolerances.GROUPS_LOG_LIKELIHOOD)
    assert found.log_likelihood > likelihood - 1e-9
    errors, relative = found.items.standard_errors, tolerances.NATIVE_ERRORS
    assert errors is not None
    if name != "Rasch":
        assert errors["discrimination"] == pytest.approx(np.array(expected["a1_se"]), rel=relative)
    assert errors["intercept"] == pytest.approx(np.array(expected["d_se"]), rel=relative)
    of_means = np.array([g.mean_standard_error or 0.0 for g in found.groups])
    of_sds = np.array([g.sd_standard_error or 0.0 for g in found.groups])
    assert of_means == pytest.approx(np.array(expected["MEAN_1_se"]), rel=relative)
    assert of_sds == pytest.approx(np.array(expected["COV_11_se"]) / (2 * sd), rel=relative)

"""S-X2, infit, outfit, Zh, Q3 and M2 against mirt as it is installed, on LSAT 7 and on simulated data.

Stored values of more models are in the tests of each; here nothing is stored, so that data and version can be any.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psychoeval import FitResult, ItemParameters, LatentDistribution, Responses, fit, import_fit, score
from psychoeval.diagnostics import item_fit, local_dependence, model_fit, person_fit
from psychoeval.irt.curves import probability
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from tests.gates import needs
from tests.golden import data
from tests.parity import tolerances

pytestmark = needs("mirt")

J = 12


def simulated(missing: float) -> Responses:
    """300 persons on 12 items of moderate difficulty, where no variance is below what mirt puts in its place."""
    rng = np.random.default_rng(20)
    a, d = rng.uniform(0.7, 1.6, J), rng.uniform(-1.2, 1.2, J)
    x = (rng.random((300, J)) < probability(rng.normal(size=300), a, d)).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    return Responses.from_array(x)


@pytest.fixture(scope="module", params=["lsat7", "complete", "missing"])
def both(request: pytest.FixtureRequest) -> tuple[Responses, FitResult, dict[str, np.ndarray]]:
    """Return responses, a fit with mirt's items and EAPs under them, and what mirt says."""
    name = request.param
    responses = data("lsat7") if name == "lsat7" else simulated(0.25 if name == "missing" else 0.0)
    job = {"x": np.ravel(responses.proportions, order="F"), "n_persons": responses.n_persons,
           "n_items": responses.n_items}  # fmt: skip
    script = Path(__file__).with_name("diagnostics_mirt.R")
    reply = {k: np.array(v) for k, v in RscriptBridge().call(script, "mirt_diagnostics", job, timeout=300).items()}
    items = ItemParameters.from_slope_intercept(responses.item_ids, reply["slope"], reply["intercept"])
    law = LatentDistribution()
    eap = dict(zip(responses.person_ids, score(responses, items, latent=law).estimate.tolist(), strict=True))
    return responses, import_fit(items, eap, model="2PL", latent_distribution=law), reply


def test_q3_is_mirts_with_missing_cells_too(both: tuple[Responses, FitResult, dict[str, np.ndarray]]) -> None:
    responses, fitted, mirt = both
    found = local_dependence(fitted, responses)
    order = np.lexsort((found.second, found.first))
    assert found.q3[order] == pytest.approx(mirt["q3"], rel=0, abs=tolerances.PAIRS_KNOWN_ITEMS)


def test_zh_is_mirts_with_missing_cells_too(both: tuple[Responses, FitResult, dict[str, np.ndarray]]) -> None:
    responses, fitted, mirt = both
    assert person_fit(fitted, responses).zh == pytest.approx(mirt["zh"], rel=0, abs=tolerances.PERSON_FIT)


def test_mean_squares_are_mirts_with_missing_cells_too(
    both: tuple[Responses, FitResult, dict[str, np.ndarray]],
) -> None:
    responses, fitted, mirt = both
    found = item_fit(fitted, responses)
    assert found.infit == pytest.approx(mirt["infit"], rel=0, abs=tolerances.MEAN_SQUARES)
    assert found.outfit == pytest.approx(mirt["outfit"], rel=0, abs=tolerances.MEAN_SQUARES)


def test_s_x2_and_m2_are_mirts_on_complete_data(both: tuple[Responses, FitResult, dict[str, np.ndarray]]) -> None:
    responses, fitted, mirt = both
    if not responses.is_complete:
        # mirt refuses S-X2 then, and its M2 rejects true models: ours says why there is none.
        assert "s_x2" not in mirt
        own = fit(responses, "mml", "2PL", priors="none", standard_errors="none")
        assert "cells are missing" in model_fit(own, responses).reason
        return
    found = item_fit(fitted, responses)
    assert found.s_x2 == pytest.approx(mirt["s_x2"], rel=0, abs=tolerances.S_X2)
    assert found.df == pytest.approx(mirt["df"])
    assert found.p == pytest.approx(mirt["p"], rel=0, abs=tolerances.S_X2)
    # At its default ours stops 2e-6 short of the slopes, which is 2e-5 of M2.
    own = fit(responses, "mml", "2PL", priors="none", standard_errors="none", tolerance=1e-8)
    whole = model_fit(own, responses)
    statistic, df, srmsr, cfi, tli = mirt["m2"]
    assert whole.m2 == pytest.approx(statistic, rel=0, abs=tolerances.M2)
    assert whole.df == df
    assert whole.srmsr == pytest.approx(srmsr, rel=0, abs=tolerances.M2_INDICES)
    assert (whole.cfi, whole.tli) == pytest.approx((cfi, tli), rel=0, abs=tolerances.M2_NULL)

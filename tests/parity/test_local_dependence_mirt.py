"""Q3 and LD-X2 of all pairs against mirt's residuals(type = "Q3") and (type = "LD"), missing cells included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval import ItemParameters, LatentDistribution, Responses, fit, import_fit, score
from psychoeval.diagnostics.local_dependence import LocalDependence, local_dependence
from psychoeval.diagnostics.model_fit import model_fit
from psychoeval.irt.models import ItemModel
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from tests.gates import needs
from tests.golden import MODEL_KEYS, data, reference
from tests.parity import tolerances

GOLDEN = reference("mirt_local_dependence")
SETS = ("lsat7", "simulated_500", "simulated_missing")
BOTH = pytest.mark.parametrize(("name", "model"), [(name, model) for name in SETS for model in MODEL_KEYS])


def item_model(model: str) -> ItemModel:
    return ItemModel(model, guessing=0.2) if model == "3PL" else ItemModel(model)  # type: ignore[arg-type]


def on_mirts_items(golden: dict[str, Any], model: str, responses: Responses) -> LocalDependence:
    """Return what we find with mirt's own parameters."""
    items = ItemParameters.from_slope_intercept(
        responses.item_ids, golden["slope"], golden["intercept"], golden["guessing"]
    )
    law = LatentDistribution(0.0, float(np.sqrt(golden["variance"])))
    abilities = score(responses, items, latent=law)
    known = dict(zip(responses.person_ids, abilities.estimate.tolist(), strict=True))
    found = import_fit(items, known, model=item_model(model), latent_distribution=law)
    return local_dependence(found, responses)


def assert_mirts(result: LocalDependence, golden: dict[str, Any], small: float, x2: float) -> None:
    order = np.lexsort((result.second, result.first))
    assert set(result.status) == {"tested"}
    assert result.q3[order] == pytest.approx(golden["q3"], rel=0, abs=small)
    assert result.signed_v[order] == pytest.approx(golden["signed_v"], rel=0, abs=small)
    assert result.x2[order] == pytest.approx(golden["ld_x2"], rel=0, abs=x2)


@BOTH
def test_on_the_same_items(name: str, model: str) -> None:
    golden = GOLDEN[name][MODEL_KEYS[model]]
    result = on_mirts_items(golden, model, data(name))
    assert_mirts(result, golden, tolerances.PAIRS_KNOWN_ITEMS, tolerances.PAIRS_KNOWN_ITEMS_X2)


@BOTH
def test_on_our_fit(name: str, model: str) -> None:
    responses = data(name)
    found = fit(responses, "mml", item_model(model))
    golden = GOLDEN[name][MODEL_KEYS[model]]
    assert_mirts(local_dependence(found, responses), golden, tolerances.PAIRS, tolerances.PAIRS_X2)


@needs("mirt")
def test_its_own_example_data_by_mirt_itself() -> None:
    model = "2PL"
    script = Path(__file__).with_name("local_dependence_mirt.R")
    reply = RscriptBridge().call(script, "mirt_local_dependence", {"model": model}, timeout=120)
    x = np.array(reply["responses"]).reshape(32, -1).T
    responses = Responses.from_array(np.where(np.isfinite(x), x, np.nan))
    golden = {name: np.array(reply[name]) for name in ("slope", "intercept", "ld_x2", "signed_v", "q3")}
    golden |= {"guessing": np.zeros(32), "variance": reply["variance"][0]}
    result = on_mirts_items(golden, model, responses)
    assert_mirts(result, golden, tolerances.PAIRS_KNOWN_ITEMS, tolerances.PAIRS_KNOWN_ITEMS_X2)
    whole = model_fit(fit(responses, "mml", item_model(model)), responses)
    statistic, df, srmsr, cfi, tli = reply["m2"]
    assert whole.m2 == pytest.approx(statistic, rel=tolerances.M2_RELATIVE)
    assert whole.df == df
    assert whole.srmsr == pytest.approx(srmsr, rel=0, abs=tolerances.M2_INDICES)
    assert (whole.cfi, whole.tli) == pytest.approx((cfi, tli), rel=0, abs=tolerances.M2_NULL)

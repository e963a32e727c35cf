"""DIF by likelihood ratio against mirt::DIF with scheme "drop"."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psychoeval.diagnostics import dif
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from tests.gates import needs
from tests.parity import tolerances
from tests.unit.test_dif import simulated

pytestmark = needs("mirt")


@pytest.mark.parametrize(("model", "seed"), [("2PL", 1), ("Rasch", 2)])
def test_likelihood_ratios_are_mirts(model: str, seed: int) -> None:
    responses, groups = simulated(seed, 250, 8, dif_items=1, impact=0.5)
    table = dif(responses, groups, "likelihood-ratio", reference="old", model=model, purify=False).to_frame()
    items = [1, 3]
    job = {
        "x": np.ravel(responses.proportions, order="F"),
        "group": groups,
        "n_items": 8,
        "model": model,
        "items": items,
    }
    reply = RscriptBridge().call(Path(__file__).with_name("dif_mirt.R"), "dif_mirt", job, timeout=200)
    ours = table.iloc[[i - 1 for i in items]]
    assert ours.df.tolist() == list(reply["df"])
    assert ours.statistic.to_numpy() == pytest.approx(reply["x2"], rel=0, abs=tolerances.DIF_LIKELIHOOD_RATIO)
    assert ours.p.to_numpy() == pytest.approx(reply["p"], rel=0, abs=tolerances.DIF_LIKELIHOOD_RATIO)

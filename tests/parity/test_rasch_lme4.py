"""The Rasch model by mirt against the same model as lme4 fits it."""

from pathlib import Path

import numpy as np
import pytest

from psychoeval.estimators.mirt.estimator import MirtEM
from psychoeval.irt.models import ItemModel
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from tests.gates import needs
from tests.golden import data
from tests.parity import tolerances

pytestmark = needs("mirt", "lme4")


@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_rasch_is_a_mixed_model(name):
    responses = data(name)
    job = {
        "x": np.ravel(responses.proportions, order="F"),
        "n_persons": responses.n_persons,
        "n_items": responses.n_items,
    }
    glmer = RscriptBridge().call(Path(__file__).with_name("rasch_lme4.R"), "glmer_rasch", job, timeout=300)
    mirt = MirtEM(tolerance=1e-10, max_iterations=5000, standard_errors="none").fit(responses, ItemModel("Rasch"))
    exactly = {"rel": 0, "abs": tolerances.LME4}
    assert mirt.item_parameters.intercept == pytest.approx(np.asarray(glmer["easiness"]), **exactly)
    assert mirt.latent_distribution.sd**2 == pytest.approx(glmer["variance"][0], **exactly)
    assert mirt.log_likelihood == pytest.approx(glmer["log_likelihood"][0], **exactly)

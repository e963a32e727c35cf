"""mirt keeps its own call; the data must not be in it."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.estimators.mirt.estimator import MirtEM
from psychoeval.irt.models import ItemModel, Normal, Priors
from psychoeval.rbridge.choice import BridgeName
from psychoeval.responses.matrix import Responses
from tests.gates import needs

pytestmark = needs("mirt", "rpy2")


@pytest.mark.parametrize("bridge", ["rpy2", "rscript"])
def test_the_stored_call_is_short_whatever_the_size(bridge: BridgeName) -> None:
    x = np.random.default_rng(1).integers(0, 2, (2000, 30))
    model = ItemModel("3PL", Priors(log_discrimination=Normal(0, 0.5), intercept=Normal(0, 3)))
    estimator = MirtEM(
        tolerance=0.5,
        bridge=bridge,
        standard_errors="none",
        engine_options={"technical": {"BURNIN": 10}, "accelerate": "none", "optimizer": "BFGS"},
    )
    details = estimator.fit(Responses.from_array(x), model).provenance
    # nchar(deparse(Call)) as R counts it
    assert 0 < details.details["call_characters"] < 500
    assert details.call.startswith("mirt::mirt(data = X, model = model")


def test_nothing_is_left_in_the_users_session() -> None:
    rinterface = pytest.importorskip("rpy2.rinterface")
    MirtEM(bridge="rpy2").fit(
        Responses.from_array(np.random.default_rng(1).integers(0, 2, (50, 5))), ItemModel("Rasch")
    )
    assert list(rinterface.globalenv) == []

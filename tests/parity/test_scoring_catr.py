"""Scores, their errors and test information on known items against R's catR 3.17, which shares no code with mirt.

Its search (uniroot, optimize) stops at 1e-4 of an ability; its own estimating equations at our abilities say more. With
guessing its WL is Warm's, as ours is and mirt's is not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from psychoeval import scoring
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.scoring import ScoringMethod
from tests.gates import needs
from tests.parity import tolerances

pytestmark = needs("catr")
FloatArray = NDArray[np.float64]
#: Ours, and catR's name.
METHODS: dict[ScoringMethod, str] = {"ML": "ml", "MAP": "bm", "WLE": "wl", "EAP": "eap"}
LATENT = LatentDistribution(0.3, 1.2)
#: Where catR's search ends.
LIMIT = 12.0
GRID = np.linspace(-4, 4, 33)

Case = tuple[ItemParameters, dict[ScoringMethod, Abilities], dict[str, FloatArray]]


@pytest.fixture(scope="module", params=[0.0, 0.2], ids=["2PL", "3PL"])
def case(request: pytest.FixtureRequest) -> Case:
    rng = np.random.default_rng(31)
    n, j = 60, 25
    a, b, c = rng.lognormal(0, 0.3, j), rng.normal(0, 1.2, j), np.full(j, float(request.param))
    p = c + (1 - c) / (1 + np.exp(-a * (rng.normal(0.3, 1.2, n)[:, None] - b)))
    x = (rng.random((n, j)) < p).astype(float)
    x[rng.random((n, j)) < 0.2] = np.nan
    x[0, ~np.isnan(x[0])], x[1, ~np.isnan(x[1])] = 1, 0
    items = ItemParameters.from_difficulty([f"q{k}" for k in range(j)], a, b, c)
    responses = Responses.from_array(x, item_ids=items.item_ids)
    ours = {m: scoring.score(responses, items, method=m, latent=LATENT) for m in METHODS}
    job: dict[str, Any] = {
        "a": a, "b": b, "c": c, "x": np.where(np.isnan(x), -1.0, x).ravel(), "persons": n, "mean": LATENT.mean,
        "sd": LATENT.sd, "limit": LIMIT, "grid": GRID,
    }  # fmt: skip
    job |= {METHODS[m]: found.estimate for m, found in ours.items()}
    reply = RscriptBridge().call(Path(__file__).with_name("scoring_catr.R"), "catr_scores", job, timeout=120)
    return items, ours, {name: np.asarray(values, dtype=float) for name, values in reply.items()}


@pytest.mark.parametrize("method", METHODS)
def test_abilities_and_errors_are_catrs(case: Case, method: ScoringMethod) -> None:
    _, ours, theirs = case
    found, name = ours[method], METHODS[method]
    assert found.standard_error is not None
    finite = np.isfinite(found.estimate)
    theta = theirs[f"{name}_theta"]
    # Where ours is infinite, its search goes to an end.
    assert finite.all() or method == "ML"
    assert np.abs(theta[~finite]) == pytest.approx(np.full((~finite).sum(), LIMIT), abs=tolerances.CATR_SEARCH)
    assert (np.sign(theta) == np.sign(found.estimate))[~finite].all()
    bound = tolerances.CATR_SUMS if method == "EAP" else tolerances.CATR_SEARCH
    assert found.estimate[finite] == pytest.approx(theta[finite], abs=bound)
    errors = theirs[f"{name}_se"]
    assert found.standard_error[finite] == pytest.approx(errors[finite], rel=tolerances.CATR_SUMS)
    if method != "EAP":
        assert np.abs(theirs[f"{name}_residual"][finite]).max() < tolerances.CATR_SUMS


def test_information_is_catrs(case: Case) -> None:
    items, _, theirs = case
    assert scoring.test_information(items, GRID).information == pytest.approx(
        theirs["information"], rel=tolerances.CATR_SUMS
    )

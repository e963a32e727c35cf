"""Priors at the limits of what they may be: an answer with its status, and no error or warning of NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.estimators.native.map import MAP
from psychoeval.estimators.native.mml import MML
from psychoeval.estimators.native.random_item import RandomItem
from psychoeval.estimators.native.variational import VI
from psychoeval.irt.models import Guessing, ItemModel, LogitNormal, Normal, Priors
from psychoeval.responses.matrix import Responses


def responses() -> Responses:
    rng = np.random.default_rng(0)
    theta = rng.normal(size=60)
    return Responses.from_array((rng.random((60, 6)) < 1 / (1 + np.exp(-(theta[:, None] - np.linspace(-1, 1, 6))))) * 1)


@pytest.mark.parametrize("log_slope", [Normal(3.0, 1e-6), Normal(3.0, 1e6), Normal(-3.0, 1e6)], ids=str)
@pytest.mark.parametrize("density", [Normal(30.0, 1e-6), Normal(-30.0, 1e-6), Normal(-30.0, 1e6)], ids=str)
@pytest.mark.parametrize(
    ("estimator", "location"),
    [
        (MML(max_iterations=60), "difficulty"),
        (MML(max_iterations=60), "intercept"),
        (MAP(max_iterations=15), "difficulty"),
        (MAP(max_iterations=15), "intercept"),
        (VI(max_iterations=200), "intercept"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_locations_and_slopes_far_from_the_data(
    estimator: MML | MAP | VI, density: Normal, location: str, log_slope: Normal
) -> None:
    priors = Priors(log_discrimination=log_slope, **{location: density})  # type: ignore[arg-type]
    found = estimator.fit(responses(), ItemModel("2PL", priors))
    assert found.item_parameters is not None
    assert found.item_parameters.estimated.all()
    assert found.item_parameters.standard_errors is not None or found.item_parameters.no_errors_because
    assert found.log_likelihood is not None
    assert np.isfinite(found.log_likelihood)


@pytest.mark.parametrize("guessing", [LogitNormal(1e6, 1e-6), LogitNormal(-1e6, 1.0), 5e-324, 1 - 2**-53], ids=str)
def test_guessing_at_its_bounds(guessing: Guessing) -> None:
    found = RandomItem().fit(responses(), ItemModel("3PL", None, guessing))
    assert found.item_parameters is not None
    assert found.item_parameters.estimated.all()
    assert (found.item_parameters.guessing < 1).all()

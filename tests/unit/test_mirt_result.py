"""What a fit by mirt is warned about or failed for, on data that hold no answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from psychoeval.errors import EngineFailedError, EngineWarning
from psychoeval.estimators.mirt.estimator import MirtEM
from psychoeval.irt.models import PRIOR_PRESETS, ItemModel
from psychoeval.responses.matrix import Responses
from tests.gates import needs

pytestmark = needs("mirt")
FREE, WEAK = ItemModel("2PL"), ItemModel("2PL", PRIOR_PRESETS["weak"])


def simulated(n: int, j: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=n), rng.normal(size=j)
    return (rng.random((n, j)) < 1 / (1 + np.exp(-1.5 * (theta[:, None] - b)))).astype(float)


def reversed_half() -> Responses:
    x = simulated(300, 10, 7)
    x[:, :5] = 1 - x[:, :5]
    return Responses.from_array(x)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_saddle_point_is_no_answer(seed: int) -> None:
    half = np.random.default_rng(seed).integers(0, 2, (60, 2))
    with pytest.warns(EngineWarning, match="Could not invert information matrix"):
        fit = MirtEM().fit(Responses.from_array(np.hstack([half, 1 - half])), FREE)
    assert fit.convergence.status == "failed_check"
    assert fit.convergence.failures[0].startswith("All 4 slopes are near 0")
    assert any("may not be a maximum" in w for w in fit.convergence.warnings)


def test_reversed_items_are_named_by_their_negative_slopes_or_by_the_data() -> None:
    free, weak = (MirtEM().fit(reversed_half(), model).convergence.warnings for model in (FREE, WEAK))
    assert any(w.startswith("5 of 10 items have slopes below 0") for w in free)
    assert any("items do not correlate positively with the rest" in w for w in free)
    assert not any("slopes below 0" in w for w in weak)
    assert any("items do not correlate positively with the rest" in w and "log a" in w for w in weak)


@pytest.mark.parametrize("name", ["Rasch", "1PL"])
def test_reversed_items_leave_the_rasch_model_no_variance(name: str) -> None:
    with pytest.raises(EngineFailedError, match="no common factor was found") as caught:
        MirtEM().fit(reversed_half(), ItemModel(name))  # type: ignore[arg-type]
    assert "reversed items" in caught.value.remedy


def test_disconnected_data_are_told_of() -> None:
    x = np.full((40, 8), np.nan)
    x[:20, :4], x[20:, 4:] = simulated(20, 4, 3), simulated(20, 4, 4)
    apart = MirtEM().fit(Responses.from_array(x), WEAK).convergence.warnings
    assert any("2 groups of persons and items that share no response" in w for w in apart)
    x[:10, 4:] = simulated(10, 4, 5)
    linked = MirtEM().fit(Responses.from_array(x), WEAK).convergence.warnings
    assert not any("share no response" in w for w in linked)


def test_right_data_are_left_alone() -> None:
    assert MirtEM().fit(Responses.from_array(simulated(300, 10, 7)), FREE).convergence.warnings == ()

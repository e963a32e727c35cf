"""Zh, infit and outfit of persons against mirt's personfit, on its own items."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.diagnostics import person_fit
from tests.golden import data, numbers
from tests.parity import tolerances
from tests.parity.test_item_fit_mirt import FLOOR, MEAN_SQUARES, MODELS, golden, on_mirts_items, variances


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["lsat7", "simulated_500", "simulated_missing"])
def test_persons_are_mirts(name: str, model: str) -> None:
    expected = golden(name, model)
    rows = np.array(expected["rows"], dtype=int)
    found = person_fit(on_mirts_items(name, model), data(name))
    same = ~(variances(name, model)[rows] < FLOOR).any(axis=1)
    assert np.count_nonzero(same) >= len(rows) - 3
    difference = np.abs(found.zh[rows] - numbers(expected["persons"]["Zh"]))
    assert difference.max() < tolerances.PERSON_FIT
    for ours, theirs in MEAN_SQUARES.items():
        if theirs == "z.outfit" and name == "simulated_missing":
            continue  # see below
        difference = np.abs(getattr(found, ours)[rows] - numbers(expected["persons"][theirs]))[same]
        assert difference.max() < tolerances.PERSON_FIT, ours


@pytest.mark.parametrize("model", MODELS)
def test_mirts_z_of_outfit_with_missing_cells_divides_by_all_items(model: str) -> None:
    """Its q is sqrt(|sum C / W^2 / J^2 - 1 / answered|) with J items in all, not those answered."""
    expected = golden("simulated_missing", model)
    rows = np.array(expected["rows"], dtype=int)
    w = variances("simulated_missing", model)[rows]
    answered = np.count_nonzero(np.isfinite(w), axis=1)
    q = np.minimum(np.sqrt(np.abs(np.nansum(1 / w - 3, axis=1) / w.shape[1] ** 2 - 1 / answered)), 1.4142)
    outfit = numbers(expected["persons"]["outfit"])
    theirs = numbers(expected["persons"]["z.outfit"])
    reproduced = (np.cbrt(outfit) - 1) * 3 / q + q / 3
    # q is a difference that nearly vanishes for some, and z divides by it.
    np.testing.assert_allclose(theirs, reproduced, rtol=1e-4, atol=1e-4)
    found = person_fit(on_mirts_items("simulated_missing", model), data("simulated_missing"))
    assert np.abs(found.outfit_z[rows] - theirs).max() > 1
    complete = answered == w.shape[1]
    assert np.abs(found.outfit_z[rows] - theirs)[complete].max(initial=0) < tolerances.PERSON_FIT
